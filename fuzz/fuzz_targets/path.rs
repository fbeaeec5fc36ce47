//! Any text as a path: normal, inside, and as a plain model says, or refused.
//!
//! The first line is where relative paths start, the rest is the path.
#![no_main]

#[path = "../../crates/paddock-core/tests/main/properties/paths.rs"]
mod paths;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (base, text) = text.split_once('\n').unwrap_or(("/", text));
    paths::hold(base, text);
});
