//! The clients: which of their files say what, what that switches off, and what no file can switch off.
//!
//! One file per client, each a description and nothing more: `plan.rs` makes it true. What stands here follows each client's
//! documentation; what could be tried on the real program was (`cargo xtask test`, suite of clients). It must never hold a
//! token, only the name under which the client finds one.

mod claude_code;
mod codex;
mod cursor;
mod vscode;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::plan::Content;
use crate::cli::{ClientName, Connect};

/// Paddock's name in every client.
pub(crate) const NAME: &str = "paddock";

/// Where the token is where nothing else is said.
const TOKEN_ENV: &str = "PADDOCK_TOKEN";

/// Everything that is known about connecting one client.
#[derive(Debug)]
pub(crate) struct Client {
    /// As it is written on the command line.
    pub(crate) word: &'static str,
    /// As its makers call it.
    pub(crate) title: &'static str,
    pub(crate) files: Vec<Wanted>,
    /// What it cannot do on its own any more.
    pub(crate) off: &'static [&'static str],
    /// What Paddock cannot confine there.
    pub(crate) open: &'static [&'static str],
    /// What to do next.
    pub(crate) next: Vec<String>,
}

/// One file, and what should stand in it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// What a description is made from.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    /// The Project Root.
    pub(crate) project: &'a Path,
    /// The person's home, where the files are for every project.
    pub(crate) person: Option<PathBuf>,
    pub(crate) reach: Reach,
    /// This very program.
    pub(crate) program: String,
}

/// How the client reaches Paddock.
#[derive(Debug)]
pub(crate) enum Reach {
    /// It starts the program with these arguments.
    Start(Vec<String>),
    /// It asks a running server.
    Ask { url: String, token_env: Option<String> },
}

impl Setting<'_> {
    /// A path of the project, or of the person where it is for all projects.
    fn place(&self, in_project: &str, of_person: impl FnOnce(&Path) -> PathBuf) -> PathBuf {
        self.person.as_deref().map_or_else(|| self.project.join(in_project), of_person)
    }

    /// What a hook runs. Where the program is gone, nothing may pass.
    fn hook(&self, client: &str) -> String {
        format!("{} connect {client} --hook || exit 2", quoted(&self.program))
    }

    fn token_env(&self) -> &str {
        match &self.reach {
            Reach::Ask { token_env: Some(name), .. } => name,
            _ => TOKEN_ENV,
        }
    }

    /// The entry as most clients write it in JSON; each has its own way to name a variable.
    fn entry(&self, kind: Option<(&str, &str)>, token: &str) -> Value {
        let mut entry = match &self.reach {
            Reach::Start(arguments) => json!({ "command": self.program, "args": arguments }),
            Reach::Ask { url, .. } => json!({ "url": url, "headers": { "Authorization": format!("Bearer {token}") } }),
        };
        if let Some((start, ask)) = kind {
            let kind = if matches!(self.reach, Reach::Start(_)) { start } else { ask };
            entry["type"] = kind.into();
        }
        entry
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The description of the client that was named.
pub(crate) fn of(options: &Connect, setting: &Setting<'_>) -> Client {
    let mut client = match options.client {
        ClientName::ClaudeCode => claude_code::client(setting),
        ClientName::Codex => codex::client(setting),
        ClientName::Cursor => cursor::client(setting),
        ClientName::VsCode => vscode::client(setting),
    };
    if let Reach::Ask { token_env, .. } = &setting.reach {
        let asks = options.client == ClientName::VsCode && token_env.is_none();
        let whereto = match asks {
            true => format!("{} asks for it once", client.title),
            false => format!("{} has to find it in the variable {}", client.title, setting.token_env()),
        };
        client.next.insert(0, format!("`paddock token new {}` makes a token; {whereto}", client.word));
    }
    client
}

/// A directory that a variable names, or this one.
fn directory(variable: &str, otherwise: PathBuf) -> PathBuf {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map_or(otherwise, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_lets_nothing_pass_where_the_program_is_gone() {
        let setting = Setting {
            project: Path::new("/p"),
            person: None,
            reach: Reach::Start(Vec::new()),
            program: "/no/such place/it's/paddock".to_owned(),
        };
        let hook = setting.hook("cursor");
        assert_eq!(hook, r"'/no/such place/it'\''s/paddock' connect cursor --hook || exit 2");
    }
}
