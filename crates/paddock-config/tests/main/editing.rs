//! `init`, `config get` and `config set`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use paddock_config::{ConfigFile, EditError, HIDE, find_upwards, get, init, save, set, template};
use proptest::prelude::*;
use serde_json::json;

use crate::parsing::{FULL, parse};

#[test]
fn the_template_is_the_layout_of_the_seed() {
    let file = parse(&template("my-app"));
    let config = file.config();
    assert_eq!(config.name.as_ref().unwrap().value, "my-app");
    assert_eq!(config.base.as_ref().unwrap().0.as_str(), "/project");
    let seen: Vec<_> = config.workspace.iter().flatten().map(|w| (w.prefix.0.as_str(), w.scope.0.short())).collect();
    assert_eq!(seen, [("/project", "RO"), ("/project/workspace", "RW")]);
    for workspace in config.workspace.iter().flatten() {
        let hidden: Vec<&str> = workspace.hide.iter().flatten().map(|p| p.0.as_str()).collect();
        assert_eq!(hidden, HIDE);
    }
    let deny = config.commands.as_ref().unwrap().deny.as_ref().unwrap();
    assert_eq!(deny, &["rm", "rmdir", "del", "format", "dd"]);
}

#[test]
fn init_writes_once() {
    let project = tempfile::tempdir().unwrap();
    let at = |name: &str| project.path().join(name);
    fs::write(at(".gitignore"), "target").unwrap();
    let written = init(project.path(), "shop").unwrap();
    assert_eq!(written, [at("paddock.toml"), at(".paddock.schema.json"), at(".gitignore")]);
    assert_eq!(fs::read_to_string(at(".gitignore")).unwrap(), "target\nworkspace/\n");
    assert_eq!(fs::read_to_string(at("paddock.toml")).unwrap(), template("shop"));
    serde_json::from_str::<serde_json::Value>(&fs::read_to_string(at(".paddock.schema.json")).unwrap()).unwrap();
    let error = init(project.path(), "other").unwrap_err();
    assert_eq!(error.to_string(), format!("\"{}\" exists already", at("paddock.toml").display()));
    assert_eq!(fs::read_to_string(at("paddock.toml")).unwrap(), template("shop"));
    fs::remove_file(at("paddock.toml")).unwrap();
    assert_eq!(init(project.path(), "shop").unwrap().len(), 2, "the line is there already");
}

#[test]
fn the_nearest_configuration_above_is_found() {
    let project = tempfile::tempdir().unwrap();
    let deep = project.path().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(project.path().join("paddock.toml"), "").unwrap();
    assert_eq!(find_upwards(&deep), Some(project.path().join("paddock.toml")));
    fs::create_dir(project.path().join("a/paddock.toml")).unwrap();
    assert_eq!(find_upwards(&deep), Some(project.path().join("paddock.toml")), "a directory is not a file");
}

#[test]
fn keys_are_read_by_their_path() {
    let read = |key: &str| get("paddock.toml", FULL, key).unwrap();
    assert_eq!(read("name"), Some(json!("my-app")));
    assert_eq!(read("workspace[1].scope"), Some(json!("READ_WRITE")));
    assert_eq!(read("workspace[1].quota.files"), Some(json!(100_000)));
    assert_eq!(read("agents.reviewer.workspace[0].prefix"), Some(json!("/code")));
    assert_eq!(read("commands.deny[4]"), Some(json!("dd")));
    assert_eq!(read("workspace[9].scope"), None);
    assert_eq!(read("serve.nothing"), None);
    for key in ["", ".", "a..b", "a[", "a[x]", "[0]", "a]"] {
        let error = get("paddock.toml", FULL, key).unwrap_err();
        assert_eq!(error.to_string(), format!("\"{key}\" is not the path of a key"));
    }
}

#[test]
fn a_change_keeps_every_comment() {
    let changed = set("paddock.toml", FULL, "workspace[1].scope", "WO").unwrap();
    let expected = FULL.replacen("scope = \"READ_WRITE\"", "scope = \"WO\"", 1);
    assert_eq!(changed, expected);
    let changed = set("paddock.toml", FULL, "base", "/").unwrap();
    let line = "base = \"/\"                      # where relative paths start (default \"/\")";
    assert!(changed.contains(line), "{changed}");
}

#[test]
fn values_are_toml_or_else_text() {
    for (key, value, line) in [
        ("name", "shop", "name = \"shop\""),
        ("name", "5", "name = \"5\""),
        ("name", "\"5\"", "name = \"5\""),
        ("serve.port", "80", "[serve]\nport = 80"),
        ("commands.network", "false", "[commands]\nnetwork = false"),
        ("commands.deny", "[\"rm\"]", "[commands]\ndeny = [\"rm\"]"),
        ("commands.env.LANG", "C", "[commands.env]\nLANG = \"C\""),
        ("commands.time_limit", "90 s", "[commands]\ntime_limit = \"90 s\""),
        ("agents.bob.base", "/x", "[agents.bob]\nbase = \"/x\""),
    ] {
        let changed = set("paddock.toml", "# mine\n", key, value).unwrap();
        assert!(changed.contains(line), "{key}: {changed}");
        assert!(changed.contains("# mine"), "{changed}");
    }
}

#[test]
fn a_workspace_can_be_added_whole() {
    let new = "{ prefix = \"/docs\", scope = \"RO\", mount = { physical = \"docs\" } }";
    let text = template("x");
    let changed = set("paddock.toml", &text, "workspace[2]", new).unwrap();
    assert_eq!(parse(&changed).config().workspace.as_ref().unwrap()[2].prefix.0.as_str(), "/docs");
    let changed = set("paddock.toml", &changed, "workspace[2].mount.physical", "doc").unwrap();
    assert!(changed.contains("{ physical = \"doc\" }"), "{changed}");
    let first = set("paddock.toml", "", "workspace[0]", new).unwrap();
    assert_eq!(parse(&first).agents().len(), 1);
}

#[test]
fn a_change_that_would_break_the_file_is_refused() {
    let error = set("paddock.toml", "name = \"x\"\n", "nmae", "y").unwrap_err();
    assert!(error.to_string().starts_with("error: unknown key \"nmae\""), "{error}");
    for (key, value) in [
        ("workspace[0].scope", "everything"),
        ("workspace[0].prefix", "relative"),
        ("workspace[1].prefix", "/project"),
        ("workspace[0].mount", "{ physical = \".\", overlay = \"/a\" }"),
        ("workspace", "[]x"),
        ("agents.main.base", "/"),
    ] {
        let refused = set("paddock.toml", FULL, key, value);
        assert!(matches!(refused, Err(EditError::Broken(_))), "{key} = {value}: {refused:?}");
    }
    for key in ["workspace[9].scope", "name.first", "workspace.scope", "commands.deny[9]"] {
        let error = set("paddock.toml", FULL, key, "x").unwrap_err();
        assert!(matches!(error, EditError::Nowhere(_)), "{key}: {error}");
    }
    assert!(matches!(set("paddock.toml", "a = ", "name", "x"), Err(EditError::Broken(_))));
}

#[test]
fn saving_replaces_the_text_and_keeps_mode_and_link() {
    let project = tempfile::tempdir().unwrap();
    let (real, link) = (project.path().join("real.toml"), project.path().join("paddock.toml"));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    save(&link, "new").unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(project.path()).unwrap().count(), 2, "nothing is left over");
}

proptest! {
    #[test]
    fn what_set_gives_back_is_always_valid(
        key in "(name|base|workspace\\[[0-3]\\](\\.(scope|prefix|mount|hide|quota\\.files))?|serve\\.port|agents\\.[a-z ]{1,3}\\.base|[a-z.\\[\\]0-9]{0,8})",
        value in "(\\PC{0,12}|[0-9]{1,6}|/[a-z/.]{0,6}|RO|RW|\\[\"[a-z\\[]{0,3}\"\\]|\\{ physical = \"[a-z.]{0,3}\" \\})",
    ) {
        if let Ok(changed) = set("paddock.toml", FULL, &key, &value) {
            prop_assert!(ConfigFile::parse("paddock.toml", &changed).is_ok(), "{}", changed);
        }
    }

    #[test]
    fn any_name_makes_a_valid_template(name in "\\PC{0,30}") {
        let file = parse(&template(&name));
        prop_assert_eq!(&file.config().name.as_ref().unwrap().value, &name);
    }
}
