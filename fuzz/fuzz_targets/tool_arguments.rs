//! Any calls of any tools: always an answer, nothing let out, and what is not the agent's is left alone.
//!
//! The fuzzer stops at the first panic, also at one that the tool boundary would have caught.
#![no_main]

#[allow(dead_code, reason = "the honest twin is for the tests")]
#[path = "../../crates/paddock-tools/tests/main/properties/calls.rs"]
mod calls;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    calls::hold(bytes);
});
