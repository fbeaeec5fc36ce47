//! The small files of an instance, each one JSON object: its last field is a sum over every byte before it, so that no bit of it changes
//! unnoticed.
//!
//! The sum is put in and taken out as text, so that an object may have any field of its own. Who reads the plain format sees one field more.
//! A file of before has no sum, and is taken as it is until it is next written. As with lines, the sum is against accidents.

use crate::conversation::line::{SUM, sum};

const NAME: &str = "\"paddock.sum\"";
/// What stands around the sum.
const BEGIN: &str = "\n  \"paddock.sum\": \"";
const END: &str = "\"\n}\n";
const SEAL: usize = BEGIN.len() + SUM + END.len();
/// With so many other bytes around it a sum is still known to have been one.
const FEW: usize = 4;

/// Puts the sum into an object that is written two spaces deep.
pub(super) fn seal(object: &str) -> String {
    let open = object.trim_end().strip_suffix('}').unwrap_or(object).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    let summed = format!("{open}{comma}");
    let sum = sum(summed.as_bytes());
    summed + BEGIN + &sum + END
}

/// The object as it was before [`seal`]. An error says what is wrong with the file.
pub(super) fn open(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let Some((summed, ending)) = text.len().checked_sub(SEAL).and_then(|at| text.split_at_checked(at)) else {
        return of_before(text);
    };
    let Some(told) = ending.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) else {
        return of_before(text);
    };
    if told != sum(summed.as_bytes()) {
        return Err("its checksum does not fit".to_owned());
    }
    Ok(format!("{}\n}}\n", summed.strip_suffix(',').unwrap_or(summed)))
}

/// A file that has no sum, unless one was there and is spoiled itself.
fn of_before(text: String) -> Result<String, String> {
    if text.contains(NAME) || ends_nearly_sealed(text.as_bytes()) {
        return Err("its checksum cannot be read".to_owned());
    }
    Ok(text)
}

/// Whether what stands around a sum is where it would stand, but for a few bytes.
fn ends_nearly_sealed(text: &[u8]) -> bool {
    let Some(at) = text.len().checked_sub(SEAL) else { return false };
    let (begin, end) = (&text[at..], &text[text.len() - END.len()..]);
    let pairs = BEGIN.bytes().zip(begin).chain(END.bytes().zip(end));
    pairs.filter(|(wanted, found)| wanted != *found).count() <= FEW
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTS: [&str; 4] = [
        "{}\n",
        "{\n  \"a\": \"naïve\"\n}\n",
        "{\n  \"paddock.sum\": \"0123456789abcdef\"\n}\n",
        "{\n  \"list\": [\n    1,\n    {}\n  ]\n}\n",
    ];

    #[test]
    fn a_sealed_object_is_json_with_one_field_more_and_comes_back_as_it_was() {
        for object in OBJECTS {
            let sealed = seal(object);
            let read: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&sealed).unwrap();
            assert_eq!(read["paddock.sum"].as_str().map(str::len), Some(SUM));
            let opened = open(sealed.into_bytes()).unwrap();
            let plain = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(plain(&opened), plain(object));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        for object in OBJECTS {
            let sealed = seal(object).into_bytes();
            let is_taken =
                |bytes: Vec<u8>| open(bytes).is_ok_and(|text| serde_json::from_str::<serde_json::Value>(&text).is_ok());
            for bit in 0..sealed.len() * 8 {
                let mut flipped = sealed.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(!is_taken(flipped), "bit {bit} of {object} was accepted");
            }
            for len in 0..sealed.len() {
                assert!(!is_taken(sealed[..len].to_vec()), "{len} bytes of {object} were accepted");
            }
        }
    }

    #[test]
    fn a_file_without_a_sum_is_taken_as_it_is() {
        let with_a_sum_of_its_own = "{\n  \"a\": 1,\n  \"order.sum\": \"0123456789abcdef\"\n}\n";
        for text in ["{}\n", "{\"a\":1}", "{\n  \"visits\": 3\n}\n", with_a_sum_of_its_own] {
            assert_eq!(open(text.as_bytes().to_vec()).unwrap(), text);
        }
    }
}
