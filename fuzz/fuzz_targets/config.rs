//! Any text as a configuration, alone or put into a sample: read, or refused with words that steer no terminal.
#![no_main]

#[path = "../../crates/paddock-config/tests/main/properties/texts.rs"]
mod texts;

use libfuzzer_sys::fuzz_target;

/// Every key there is, so that the fuzzer need not find them first.
const SAMPLE: &str = include_str!("../../crates/paddock-config/tests/full.toml");

fuzz_target!(|input: (Option<(u16, u8)>, &str)| {
    let (place, text) = input;
    let Some((at, dropped)) = place else { return texts::hold(text) };
    let at = SAMPLE.floor_char_boundary(usize::from(at) % (SAMPLE.len() + 1));
    let rest = SAMPLE.ceil_char_boundary((at + usize::from(dropped)).min(SAMPLE.len()));
    texts::hold(&format!("{}{text}{}", &SAMPLE[..at], &SAMPLE[rest..]));
});
