//! What is valid and looks like a slip.

use paddock_config::{ConfigFile, template, warnings};

use crate::support::workspace;

fn told(text: &str) -> Vec<String> {
    let file = ConfigFile::parse("paddock.toml", text).unwrap();
    let told =
        warnings(&file, None).into_iter().map(|warning| format!("{} {}: {warning}", warning.agent, warning.at.line));
    told.collect()
}

fn hiding(prefix: &str, hide: &[&str]) -> String {
    format!("{}hide = {hide:?}\n", workspace(prefix, "RO", "."))
}

#[test]
fn what_init_writes_has_no_slip() {
    assert_eq!(told(&template("x")), [""; 0]);
}

#[test]
fn a_nested_workspace_that_hides_less_is_told() {
    let outer = hiding("/p", &[".env", "*.key", "**/secret"]);
    assert_eq!(told(&format!("{outer}{}", hiding("/p/in", &["*.key", ".env", "**/secret"]))), [""; 0]);
    assert_eq!(
        told(&format!("{outer}{}", hiding("/p/in", &["*.key"]))),
        ["main 7: the Workspace \"/p/in\" shows what \"/p\" around it hides: \".env\", \"**/secret\""]
    );
    let grouped = hiding("/p", &["{/private,.env,*.key}"]);
    assert_eq!(
        told(&format!("{grouped}{}", hiding("/p/in", &["*.key"]))),
        ["main 7: the Workspace \"/p/in\" shows what \"/p\" around it hides: \".env\""],
        "each alternative by itself"
    );
    assert_eq!(told(&format!("{outer}{}", hiding("/p/in", &["{**/secret,.env}", "*.key"]))), [""; 0]);
    assert_eq!(told(&format!("{outer}{}", workspace("/p/in", "RW", "in"))).len(), 1, "no hide at all");
    assert_eq!(told(&format!("{outer}{}", workspace("/px", "RO", "in"))), [""; 0], "it is beside");
    let between = format!("{outer}{}{}", workspace("/p/in", "RO", "in"), workspace("/p/in/deep", "RO", "deep"));
    assert_eq!(told(&between).len(), 1, "the innermost is compared with the one right around it");
}

#[test]
fn patterns_that_mean_one_place_or_take_something_back_are_not_missed() {
    let outer = hiding("/p", &["/private", "a/b", ".env.*", "!.env.example", "cache/"]);
    let inner = hiding("/p/in", &[".env.*"]);
    assert_eq!(
        told(&format!("{outer}{inner}")),
        ["main 7: the Workspace \"/p/in\" shows what \"/p\" around it hides: \"cache/\""]
    );
}

#[test]
fn many_patterns_are_counted() {
    let outer = hiding("/p", &["a", "b", "c", "d", "e", "f", "g"]);
    let told = told(&format!("{outer}{}", workspace("/p/in", "RW", "in")));
    assert!(told[0].ends_with("\"a\", \"b\", \"c\", \"d\", \"e\" and 2 more"), "{told:?}");
}

#[test]
fn a_pattern_cannot_steer_a_terminal() {
    let outer = hiding("/p", &["a"]).replace("\"a\"", "\"\u{202e}a\"");
    let told = told(&format!("{outer}{}", workspace("/p/in", "RW", "in")));
    assert!(told[0].ends_with("\"\\u{202e}a\""), "{told:?}");
}

#[test]
fn a_base_outside_every_workspace_is_told_with_its_line() {
    let based = |base: &str| told(&format!("name = \"x\"\nbase = \"{base}\"\n{}", workspace("/team/a", "RO", ".")));
    for fine in ["/team/a", "/team/a/src", "/team", "/"] {
        assert_eq!(based(fine), [""; 0], "{fine}");
    }
    for outside in ["/tea", "/team/ab", "/project"] {
        let expected =
            format!("main 2: base \"{outside}\" lies outside every Workspace, so every relative path is denied");
        assert_eq!(based(outside), [expected]);
    }
    assert_eq!(told("base = \"/project\"\n"), [""; 0], "without Workspaces there is nothing to be outside of");
}

#[test]
fn every_agent_is_looked_at_alone() {
    let text = format!(
        "{}[agents.b]\nbase = \"/p\"\n[[agents.b.workspace]]\nprefix = \"/q\"\nscope = \"RO\"\nmount = {{ physical = \".\" }}\n",
        hiding("/p", &[".env"])
    );
    assert_eq!(told(&text), ["b 7: base \"/p\" lies outside every Workspace, so every relative path is denied"]);
}

#[test]
fn a_mount_of_everything_is_told() {
    let all = format!("{}{}{}", workspace("/a", "RW", "~"), workspace("/b", "RO", "/"), workspace("/c", "RW", "~/x"));
    assert_eq!(
        told(&all),
        [
            "main 4: the Workspace \"/a\" shows all that is in \"~\"",
            "main 8: the Workspace \"/b\" shows all that is in \"/\"",
        ]
    );
}
