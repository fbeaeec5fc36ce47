//! Any calls at all, on an agent with something to lose. `cargo xtask soak` runs the same function under a fuzzer
//! (`fuzz/fuzz_targets`), so what soaks is what is tested here.

mod calls;

use proptest::prelude::*;

/// This many cases, or as many as a longer run asks for by `PROPTEST_CASES`.
fn cases(n: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { n };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn any_calls_are_answered_and_let_nothing_out(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        calls::hold(&bytes);
    }
}

#[test]
fn of_the_calls_that_bytes_spell_many_are_done_and_without_rules_some_let_something_out() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()[7]
    };
    let (mut made, mut done, mut let_out) = (0, 0, 0);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..120).map(|_| next()).collect();
        let (more_made, more_done) = calls::hold(&bytes);
        (made, done) = (made + more_made, done + more_done);
        let_out += usize::from(calls::let_out_without_rules(&bytes));
    }
    assert!(made > 500 && done > made / 10 && done < made, "{done} of {made} were done");
    assert!(let_out > 10, "{let_out} of 200: the property was put to the test");
}
