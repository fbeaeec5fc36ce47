//! Any edits of any content: as a plain model makes them, and nothing outside a match is touched.
#![no_main]

#[path = "../../crates/paddock-core/tests/main/properties/edits.rs"]
mod edits;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use paddock_core::Replacement;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    edits: Vec<Swap>,
    content: &'a [u8],
}

#[derive(Debug, Arbitrary)]
struct Swap {
    old: Text,
    new: Text,
    all: bool,
}

/// What a fuzzer makes up is seldom in the content; what is looked for should often be there.
#[derive(Debug, Arbitrary)]
enum Text {
    Any(String),
    /// A part of the content, or as much of that as is UTF-8.
    Part {
        from: u8,
        length: u8,
    },
    LineEnd,
}

impl Text {
    fn of(self, content: &[u8]) -> String {
        match self {
            Self::Any(text) => text,
            Self::LineEnd => "\n".to_owned(),
            Self::Part { from, length } => {
                let from = usize::from(from).min(content.len());
                let to = (from + usize::from(length)).min(content.len());
                String::from_utf8_lossy(&content[from..to]).into_owned()
            }
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    let Input { edits, content } = input;
    let edits: Vec<Replacement> = edits
        .into_iter()
        .take(4)
        .map(|Swap { old, new, all }| Replacement { old: old.of(content), new: new.of(content), all })
        .collect();
    edits::hold(content, &edits);
});
