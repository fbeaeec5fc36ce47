//! `{ secret = "NAME" }`: where it may stand, what it becomes, and what is told when there is none.

use std::sync::Arc;

use paddock_config::schema::SecretOr;
use paddock_config::{ConfigFile, Installation, Ports, Reloader, Settings, build};
use paddock_core::AgentName;
use paddock_state::{NewKey, SecretName, SecretValue, Secrets, Vault};

use crate::support::{Project, workspace};

fn store(project: &Project, name: &str, value: &str) {
    let value = SecretValue::to_store(value.as_bytes().to_vec()).unwrap();
    Vault::of(&project.system_root()).set(&SecretName::parse(name).unwrap(), value, &()).unwrap();
}

fn secrets(project: &Project) -> Secrets {
    Secrets::of(Vault::of(&project.system_root()), ())
}

fn ports(project: &Project) -> Ports {
    Ports { secrets: secrets(project), ..crate::support::ports() }
}

fn build_with(project: &Project, text: &str) -> Result<paddock_core::AgentPolicy, String> {
    let file = ConfigFile::parse("paddock.toml", text).map_err(|error| error.to_string())?;
    let ports = ports(project).with_runner(Arc::new(NoRunner));
    build(&file, &AgentName::main(), &project.host(), &ports).map_err(|error| error.to_string())
}

struct NoRunner;

impl paddock_core::CommandRunner for NoRunner {
    fn denied_word(&self, _: paddock_core::CommandLine<'_>, _: &[String]) -> Option<String> {
        None
    }

    fn run(
        &self,
        _: &paddock_core::Call<'_>,
        _: &paddock_core::CommandSpec<'_>,
        _: paddock_core::OutputSink<'_>,
    ) -> Result<paddock_core::Ran, paddock_core::NotRun> {
        Err(paddock_core::NotRun::Cannot { why: "never".into(), remedy: None })
    }
}

const COMMANDS: &str = "[commands]\nenv = { LANG = \"C\", TOKEN = { secret = \"token\" } }\n";

#[test]
fn a_variable_of_commands_gets_the_value_and_the_file_shows_the_name() {
    let project = Project::new();
    project.make("w");
    store(&project, "token", "the-value-of-it");
    let text = workspace("/w", "RW", "w") + COMMANDS;
    let policy = build_with(&project, &text).unwrap();
    let env = &policy.commands.as_ref().unwrap().settings.env;
    assert_eq!((env["LANG"].as_str(), env["TOKEN"].as_str()), ("C", "the-value-of-it"));
    let file = ConfigFile::parse("paddock.toml", &text).unwrap();
    let shown = serde_json::to_value(file.config()).unwrap();
    assert_eq!(shown["commands"]["env"]["TOKEN"], serde_json::json!({ "secret": "token" }));
}

#[test]
fn a_missing_secret_is_told_with_its_line_and_nothing_is_built() {
    let project = Project::new();
    project.make("w");
    let text = workspace("/w", "RW", "w") + COMMANDS;
    let error = build_with(&project, &text).unwrap_err();
    assert_eq!(
        error,
        "error: there is no secret \"token\"\n --> paddock.toml:6:29\n  |\n6 | env = { LANG = \"C\", TOKEN = { secret = \"token\" } }\n  \
         |                             ^^^^^^^^^^^^^^^^^^^^\nhint: store it with `paddock secret set token`"
    );
    // Checked without any: nothing is looked up.
    project.check(&text).unwrap();
    let file = ConfigFile::parse("paddock.toml", &text).unwrap();
    assert_eq!(file.missing_secrets(&secrets(&project)).unwrap().problems().len(), 1);
    store(&project, "token", "the-value-of-it");
    assert!(file.missing_secrets(&secrets(&project)).is_none());
}

#[test]
fn the_address_of_a_server_and_of_a_service_may_be_secrets() {
    let project = Project::new();
    let text = "[virtual]\nurl = { secret = \"db\" }\n[state]\nurl = { secret = \"db\" }\n\
                [web_search]\nurl = { secret = \"search\" }\nkey = { secret = \"key\" }\n";
    let file = ConfigFile::parse("paddock.toml", text).unwrap();
    assert!(matches!(file.config().virtual_.as_ref().unwrap().url, Some(SecretOr::Secret(_))));
    let root = project.root.clone();
    let error = Settings::of(root.clone(), Some(&file), &secrets(&project)).unwrap_err().to_string();
    assert!(error.starts_with("error: there is no secret \"db\"\n --> paddock.toml:2:7\n"), "{error}");
    store(&project, "db", "not-an-address-at-all");
    let error = Settings::of(root.clone(), Some(&file), &secrets(&project)).unwrap_err().to_string();
    assert!(error.contains("the secret \"db\" is not the address of a server"), "{error}");
    assert!(!error.contains("at-all"), "{error}");
    store(&project, "db", "postgres://me:very-secret-word@127.0.0.1:1/db");
    let settings = Settings::of(root, Some(&file), &secrets(&project)).unwrap();
    assert!(!format!("{settings:?}").contains("very-secret-word"), "{settings:?}");
    store(&project, "search", "https://search.example/");
    store(&project, "key", "bearer-word");
    let service = build_with(&project, text).unwrap().web_search.unwrap();
    assert_eq!(
        (service.url.as_str(), service.key.as_ref().unwrap().expose()),
        ("https://search.example", "bearer-word")
    );
    assert!(!format!("{service:?}").contains("bearer-word"));
}

#[test]
fn references_are_read_strictly() {
    for (text, told) in [
        ("[virtual]\nurl = { secrte = \"db\" }\n", "unknown key \"secrte\" in this reference"),
        ("[virtual]\nurl = { secret = \"../db\" }\n", "\"../db\" cannot name a secret"),
        ("[virtual]\nurl = {}\n", "\"secret\" is missing in this reference"),
        ("[virtual]\nurl = 7\n", "\"url\" must be a text in quotes"),
        ("[commands]\nenv = { A = 7 }\n", "\"A\" must be a text in quotes"),
        ("[web_search]\nurl = \"http://h\"\nkey = \"plain-key-text\"\n", "\"key\" holds a secret in plain text"),
    ] {
        let error = ConfigFile::parse("paddock.toml", text).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
        assert!(!error.contains("plain-key-text"), "{error}");
    }
}

#[test]
fn a_secret_that_comes_or_changes_takes_effect_at_the_next_call() {
    let project = Project::new();
    project.make("w");
    project.write(&(workspace("/w", "RW", "w") + COMMANDS));
    let start = || {
        let ports = ports(&project).with_runner(Arc::new(NoRunner));
        Reloader::start(&project.file(), AgentName::main(), project.system_root(), ports)
    };
    assert!(start().unwrap_err().to_string().contains("there is no secret \"token\""));
    store(&project, "token", "first-value-of-it");
    let reloader = start().unwrap();
    let token = || reloader.current().commands.as_ref().unwrap().settings.env["TOKEN"].clone();
    assert_eq!(token(), "first-value-of-it");
    store(&project, "token", "second-value-of-it");
    assert_eq!(token(), "second-value-of-it");
    assert_eq!(reloader.redactor().text("first-value-of-it second-value-of-it"), "[secret token] [secret token]");
    // One that is gone leaves the policy as it is, and is told.
    Vault::of(&project.system_root()).remove(&[SecretName::parse("token").unwrap()], &()).unwrap();
    assert_eq!(token(), "second-value-of-it");
    assert!(reloader.notice().unwrap().contains("there is no secret \"token\""));
}

#[test]
fn where_secrets_are_locked_nothing_is_done_for_an_agent() {
    let project = Project::new();
    store(&project, "token", "first-value-of-it");
    let words = SecretValue::new("five good words".to_owned());
    Vault::of(&project.system_root()).rotate(&NewKey::Passphrase(&words), &()).unwrap();
    let settings = Settings::of(project.root.clone(), None, &secrets(&project)).unwrap();
    let error = Installation::claim(&project.system_root(), &settings).unwrap_err();
    assert_eq!(error.to_string(), "the secrets are locked by a passphrase, and none was given");
    assert!(Installation::look(&project.system_root(), &settings).is_ok(), "looking needs none");
}
