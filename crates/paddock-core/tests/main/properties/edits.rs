//! What holds for every edit of any content. The fuzz target `edit` checks the same function.

use paddock_core::{EditError, Replacement, TextKind, edit};

/// Makes the replacements, and compares what came of it with a model that is slow and plain.
pub(crate) fn hold(content: &[u8], edits: &[Replacement]) {
    let made = edit(content, edits);
    if edits.is_empty() {
        assert!(matches!(made, Err(EditError::Pointless(_))), "{made:?}");
        return;
    }
    match TextKind::of(content) {
        TextKind::Binary => assert_eq!(made, Err(EditError::NotText)),
        TextKind::Utf8 => agree(made, &model(content, edits)),
        TextKind::Encoded(encoding) => {
            let decoded = encoding.decode_without_bom_handling_and_without_replacement(content);
            let (Some(text), Ok((bytes, count))) = (&decoded, made) else {
                // Refusing is always right here: what cannot be written back exactly is left alone.
                return;
            };
            let expected = model(text.as_bytes(), edits);
            let read_back = encoding.decode_without_bom_handling_and_without_replacement(&bytes).unwrap();
            agree(Ok((read_back.as_bytes().to_vec(), count)), &expected);
            the_ends_are_the_same_bytes(content, &bytes, text, &read_back, |part| match encoding.name() {
                "UTF-16LE" | "UTF-16BE" => 2 * part.encode_utf16().count(),
                _ => encoding.encode(part).0.len(),
            });
        }
    }
}

type Made = Result<(Vec<u8>, usize), Wrong>;

#[derive(Debug, PartialEq)]
enum Wrong {
    Pointless,
    Absent,
    Ambiguous(usize),
}

fn agree(made: Result<(Vec<u8>, usize), EditError>, expected: &Made) {
    let made = made.map_err(|error| match error {
        EditError::Pointless(_) => Wrong::Pointless,
        EditError::Absent { .. } => Wrong::Absent,
        EditError::Ambiguous { count, lines, .. } => {
            assert!(!lines.is_empty() && lines.len() <= count && lines.is_sorted(), "{lines:?} of {count}");
            Wrong::Ambiguous(count)
        }
        other => panic!("{other}"),
    });
    assert_eq!(made, *expected);
}

/// One replacement after the other, each cut and put together by hand.
fn model(content: &[u8], edits: &[Replacement]) -> Made {
    let mut content = content.to_vec();
    let mut total = 0;
    for Replacement { old, new, all } in edits {
        if old.is_empty() || old == new {
            return Err(Wrong::Pointless);
        }
        let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        let only_as_crlf = old.contains('\n')
            && places(&content, old.as_bytes()).is_empty()
            && !places(&content, crlf(old).as_bytes()).is_empty();
        let (old, new) = if ends_every_line_in_crlf(&content) || only_as_crlf {
            (crlf(old), crlf(new))
        } else {
            (old.clone(), new.clone())
        };
        let places = places(&content, old.as_bytes());
        match places.len() {
            0 => return Err(Wrong::Absent),
            1 => {}
            _ if *all => {}
            several => return Err(Wrong::Ambiguous(several)),
        }
        let mut made = Vec::new();
        let mut kept_from = 0;
        for place in places {
            // What overlaps the one before is a part of it.
            if place >= kept_from {
                made.extend([&content[kept_from..place], new.as_bytes()].concat());
                kept_from = place + old.len();
                total += 1;
            }
        }
        made.extend(&content[kept_from..]);
        content = made;
    }
    Ok((content, total))
}

fn places(content: &[u8], text: &[u8]) -> Vec<usize> {
    (0..content.len()).filter(|at| content[*at..].starts_with(text)).collect()
}

fn ends_every_line_in_crlf(content: &[u8]) -> bool {
    let feeds = places(content, b"\n").len();
    feeds > 0 && places(content, b"\r\n").len() == feeds
}

/// What two texts begin and end with alike is also alike in their bytes: nothing outside was touched.
fn the_ends_are_the_same_bytes(before: &[u8], after: &[u8], old: &str, new: &str, bytes_of: impl Fn(&str) -> usize) {
    let start = shared(old.chars(), new.chars());
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = shared(old_rest.chars().rev(), new_rest.chars().rev());
    let (first, last) = (bytes_of(&old[..start]), bytes_of(&old[old.len() - end..]));
    assert_eq!(before[..first], after[..first]);
    assert_eq!(before[before.len() - last..], after[after.len() - last..]);
}

/// How many bytes of UTF-8 both have in common.
fn shared(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}
