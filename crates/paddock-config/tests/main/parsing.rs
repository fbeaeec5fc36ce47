//! What a valid file means.

use paddock_config::ConfigFile;
use paddock_config::schema::{ByteSize, Durability, HardLinks, MountSpec, Network};
use paddock_core::AccessScope;
use proptest::prelude::*;

pub(crate) const FULL: &str = include_str!("../full.toml");

pub(crate) fn parse(text: &str) -> ConfigFile {
    ConfigFile::parse("paddock.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_full_sample_is_read() {
    let file = parse(FULL);
    let config = file.config();
    assert_eq!(config.name.as_ref().unwrap().value, "my-app");
    assert_eq!(config.base.as_ref().unwrap().0.as_str(), "/project");
    let workspaces = config.workspace.as_ref().unwrap();
    let seen: Vec<_> = workspaces.iter().map(|w| (w.prefix.0.as_str(), w.scope.0.short())).collect();
    assert_eq!(
        seen,
        [("/project", "RO"), ("/project/workspace", "RW"), ("/notes", "RW"), ("/shared", "RO"), ("/try", "RW")]
    );
    let nested = &workspaces[1];
    assert_eq!(nested.quota.as_ref().unwrap().bytes, Some(ByteSize(1 << 30)));
    assert_eq!(nested.quota.as_ref().unwrap().files, Some(100_000));
    assert_eq!(nested.hard_links, Some(HardLinks::Read));
    assert_eq!(nested.durability, Some(Durability::Process));
    assert_eq!(nested.unguard.as_deref(), Some(&[][..]));
    assert!(
        matches!(&workspaces[3].mount.value, MountSpec::Virtual { name, shared: Some(true) } if name.value == "docs")
    );
    assert!(
        matches!(&workspaces[4].mount.value, MountSpec::Overlay { overlay } if overlay.0.as_str() == "/project/workspace")
    );
    let names: Vec<String> = file.agents().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["main", "reviewer"]);
    let commands = config.commands.as_ref().unwrap();
    assert_eq!(commands.network, Some(Network::Off));
    assert_eq!(commands.memory_limit, Some(ByteSize(2 << 30)));
    assert_eq!(config.model.as_ref().unwrap().key.as_ref().unwrap().0.secret.0.to_string(), "openai");
    assert_eq!(config.serve.as_ref().unwrap().port, Some(7433));
}

#[test]
fn every_rule_keeps_its_line_and_column() {
    let file = parse(FULL);
    let workspace = &file.config().workspace.as_ref().unwrap()[1];
    let line = |text: &str| u32::try_from(FULL[..FULL.find(text).unwrap()].lines().count()).unwrap() + 1;
    let at = |position: paddock_config::Position| (position.line, position.column);
    assert_eq!(at(workspace.prefix.at), (line("prefix = \"/project/workspace\""), 10));
    assert_eq!(at(workspace.mount.at), (line("mount = { physical = \"workspace\" }"), 9));
    assert_eq!(workspace.scope.at.column, 9);
}

#[test]
fn scopes_are_written_three_ways() {
    for scope in AccessScope::ALL {
        for written in [scope.name(), scope.short(), scope.words()] {
            let text =
                format!("[[workspace]]\nprefix = \"/a\"\nscope = \"{written}\"\nmount = {{ physical = \".\" }}\n");
            let file = parse(&text);
            assert_eq!(file.config().workspace.as_ref().unwrap()[0].scope.0, scope, "{written}");
        }
    }
}

#[test]
fn an_empty_file_is_valid_and_grants_nothing() {
    for text in ["", "\n\n# nothing\n", "\u{feff}"] {
        let file = parse(text);
        assert_eq!(file.agents(), []);
    }
}

#[test]
fn values_have_the_forms_that_are_documented() {
    for (accepted, line) in [
        (true, "[commands]\nnetwork = [\"packages.example.com\"]"),
        (true, "[approvals]\nnotify = \"https://example.com/hook\""),
        (true, "[approvals]\nabove = \"high\"\nexpires = \"90 min\""),
        (true, "[run]\nevict_above = 65536"),
        (true, "[virtual]\nurl = \"memory\""),
        (true, "[virtual]\nurl = \"postgres://u:p@host/db\""),
        (true, "[serve]\nbind = \"::1\""),
        (false, "[state]\nurl = \"memory\""),
        (false, "[serve]\nport = 65536"),
        (false, "[run]\nmax_steps = -1"),
        (false, "[run]\nmax_time = 60"),
    ] {
        assert_eq!(ConfigFile::parse("paddock.toml", line).is_ok(), accepted, "{line}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_message(text in "(?s).{0,400}") {
        if let Err(error) = ConfigFile::parse("paddock.toml", &text) {
            prop_assert!(error.to_string().starts_with("error: "));
        }
    }

    #[test]
    fn text_that_looks_like_toml_is_read_or_refused(
        lines in proptest::collection::vec(
            "(\\[\\[?[a-z.\"]{0,12}\\]?\\]|(name|base|prefix|scope|mount|hide|[a-z]{1,4}) = (\"[a-zA-Z/_.]{0,9}\"|[0-9_x-]{1,5}|\\[[\"a,]{0,6}\\]|\\{ ?[a-z]{0,8} ?= ?\"?.{0,5} ?\\}))",
            0..12,
        )
    ) {
        if let Err(error) = ConfigFile::parse("paddock.toml", &lines.join("\n")) {
            prop_assert!(error.to_string().contains("hint: "));
        }
    }

    #[test]
    fn a_damaged_sample_is_read_or_refused(cut in 0usize..4000, byte in any::<char>(), drop in 0usize..30) {
        let cut = FULL.floor_char_boundary(cut);
        let rest = FULL.ceil_char_boundary((cut + drop).min(FULL.len()));
        let text = format!("{}{byte}{}", &FULL[..cut], &FULL[rest..]);
        if let Err(error) = ConfigFile::parse("paddock.toml", &text) {
            prop_assert!(error.to_string().contains(" --> paddock.toml:"), "{}", error);
        }
    }
}
