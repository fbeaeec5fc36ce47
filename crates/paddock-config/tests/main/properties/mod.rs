//! Any text is a configuration or is refused with words. `cargo xtask soak` runs the same function under a fuzzer
//! (`fuzz/fuzz_targets`), so what soaks is what is tested here.

mod texts;

use paddock_config::template;
use proptest::prelude::*;

use crate::parsing::FULL;

/// Lines that a configuration is made of, right and wrong.
fn line() -> impl Strategy<Value = String> {
    let head = prop::sample::select(vec![
        "[[workspace]]",
        "[workspace]",
        "[agents.reviewer]",
        "[[agents.reviewer.workspace]]",
        "[agents.\"\u{202e}\"]",
        "[agents.main]",
        "[commands]",
        "[virtual]",
        "[state]",
        "[approvals]",
        "[[approvals.rule]]",
        "[model]",
        "[run]",
        "[serve]",
        "[web_search]",
        "[x]",
    ]);
    let key = prop::sample::select(vec![
        "name",
        "base",
        "prefix",
        "scope",
        "mount",
        "hide",
        "quota",
        "unguard",
        "hard_links",
        "durability",
        "url",
        "history",
        "id",
        "deny",
        "changes",
        "network",
        "env",
        "time_limit",
        "memory_limit",
        "above",
        "expires",
        "notify",
        "risk",
        "examples",
        "use",
        "key",
        "max_steps",
        "max_time",
        "bind",
        "port",
        "nmae",
        "\"\u{1b}\"",
    ]);
    let value = prop_oneof![
        6 => prop::sample::select(vec![
            "\"/a\"", "\"/a/b\"", "\"RO\"", "\"READ_WRITE\"", "{ physical = \".\" }", "{ virtual = \"v\" }", "{ overlay = \"/a\" }", "[\".env\"]",
            "[\".git/hooks\"]", "{ bytes = \"1 GiB\" }", "\"disk\"", "\"deny\"", "\"sqlite\"", "false", "[\"a\"]", "{ A = \"b\" }", "\"60 s\"",
            "\"2 GiB\"", "\"low\"", "{ secret = \"s\" }", "7", "\"127.0.0.1\"", "{ match = [\"/a\"] }",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => any::<String>().prop_map(|text| format!("{text:?}")),
        1 => any::<i64>().prop_map(|number| number.to_string()),
    ];
    prop_oneof![2 => head.prop_map(str::to_owned), 6 => (key, value).prop_map(|(key, value)| format!("{key} = {value}"))]
}

/// A whole Workspace, so that many texts are right.
fn workspace() -> impl Strategy<Value = String> {
    ("/[a-c]{1,2}", prop::sample::select(vec!["RO", "RW", "WO"])).prop_map(|(prefix, scope)| {
        format!("[[workspace]]\nprefix = \"{prefix}\"\nscope = \"{scope}\"\nmount = {{ physical = \".\" }}\n")
    })
}

/// This many cases, or as many as a longer run asks for by `PROPTEST_CASES`.
fn cases(n: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { n };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn lines_of_a_configuration_in_any_order_are_read_or_refused(
        before in prop::collection::vec(line(), 0..4),
        workspaces in prop::collection::vec(workspace(), 0..3),
        after in prop::collection::vec(line(), 0..6),
    ) {
        texts::hold(&format!("{}\n{}{}", before.join("\n"), workspaces.concat(), after.join("\n")));
    }

    #[test]
    fn a_sample_with_a_part_replaced_is_read_or_refused(cut in 0usize..4000, part in any::<String>(), drop in 0usize..30) {
        let cut = FULL.floor_char_boundary(cut);
        let rest = FULL.ceil_char_boundary((cut + drop).min(FULL.len()));
        texts::hold(&format!("{}{part}{}", &FULL[..cut], &FULL[rest..]));
    }
}

#[test]
fn the_samples_have_the_property_too() {
    texts::hold(FULL);
    texts::hold(&template("shop"));
    texts::hold("");
}

#[test]
fn names_of_agents_cannot_steer_a_terminal() {
    for name in ["\\u202e", "\\u001b[2J"] {
        for rest in ["workspace = 1", "workspace = {}", "base = \"x\"", "x = 1"] {
            texts::hold(&format!("[agents.\"{name}\"]\n{rest}\n"));
        }
        texts::hold(&format!("[agents.\"{name}\".workspace]\nprefix = \"/a\"\n"));
        texts::hold(&format!(
            "[[agents.\"{name}\".workspace]]\nprefix = \"/a\"\nscope = \"RO\"\nmount = {{ physical = \"\" }}\n"
        ));
    }
}
