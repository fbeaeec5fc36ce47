//! Paths and edits against models that are slow and plain. `cargo xtask soak` runs the same functions under a
//! fuzzer (`fuzz/fuzz_targets`), so what soaks is what is tested here.

mod edits;
mod paths;

use paddock_core::Replacement;
use proptest::prelude::*;

use crate::common::cases;

/// Pieces of paths: ordinary names, what steers, and what no name may hold.
fn path() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "src", "a b", "...", "~", "日本", "é", "e\u{301}", "👩\u{200d}💻", "[..x]"]),
        4 => prop::sample::select(vec!["", ".", ".."]),
        1 => prop::sample::select(vec!["a\0", "a\\b", "\n", "\u{202e}x", ".e\u{200b}nv", "\u{7f}", "\u{feff}", "\u{e0041}"]),
    ];
    let pieces = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.join("/"));
    let long = (200usize..300, 0usize..20).prop_map(|(name, names)| format!("/{}", "n".repeat(name)).repeat(names));
    let rooted = (any::<bool>(), pieces).prop_map(|(rooted, path)| if rooted { format!("/{path}") } else { path });
    prop_oneof![12 => rooted, 2 => any::<String>(), 1 => long]
}

/// Texts of few letters, so that what is looked for is often there, and often more than once.
fn few_letters() -> impl Strategy<Value = String> {
    prop_oneof![8 => "[ab\n]{0,6}", 2 => "(a|b|\r\n){0,6}", 2 => "[aé日ßя\n]{0,5}", 1 => any::<String>()]
}

fn lines() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(few_letters(), 0..8);
    (lines, prop::sample::select(vec!["", "\n", "\r\n"])).prop_map(|(lines, end)| lines.join(end))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let utf8 = lines().prop_map(String::into_bytes);
    let utf16 = lines().prop_map(|text| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect());
    let latin = "[ab éßüö\n]{0,40}".prop_map(|text| text.chars().map(|c| u8::try_from(c).unwrap()).collect());
    let broken = prop::collection::vec(prop_oneof![4 => Just(b'a'), 2 => Just(b'\n'), 1 => any::<u8>()], 0..40);
    prop_oneof![6 => utf8, 2 => utf16, 2 => latin, 1 => broken]
}

fn replacement() -> impl Strategy<Value = Replacement> {
    (few_letters(), few_letters(), any::<bool>()).prop_map(|(old, new, all)| Replacement { old, new, all })
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn any_text_is_a_normal_path_or_is_refused_as_the_model_says(base in path(), text in path()) {
        paths::hold(&base, &text);
    }

    #[test]
    fn any_edit_does_what_the_model_says_and_touches_nothing_else(
        content in content(),
        edits in prop::collection::vec(replacement(), 0..4),
    ) {
        edits::hold(&content, &edits);
    }
}

#[test]
fn the_edits_of_the_property_are_not_all_refused() {
    let swap = |old: &str, new: &str, all| Replacement { old: old.to_owned(), new: new.to_owned(), all };
    for content in [&b"x\r\nab\r\n"[..], b"\xff\xfea\0b\0", b"Gr\xf6\xdfe ab \xfcber"] {
        assert!(paddock_core::edit(content, &[swap("a", "ö", false), swap("öb", "\n", true)]).is_ok(), "{content:?}");
        edits::hold(content, &[swap("a", "ö", false), swap("öb", "\n", true)]);
    }
}
