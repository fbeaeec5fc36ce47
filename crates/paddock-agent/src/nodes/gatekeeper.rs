//! The Gatekeeper: looks at what came in, and says what the run may do.

use paddock_core::is_unseen;

use super::{Node, NodeError};
use crate::state::{AgentMode, SecurityContext, TrustLevel};

/// The longest task, in bytes.
pub const LONGEST: usize = 256 * 1024;

/// Lets a task in.
#[derive(Debug, Clone, Copy)]
pub struct Gatekeeper;

/// A tool that the policy provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// Its name.
    pub name: String,
    /// Does it only look?
    pub read_only: bool,
}

/// What the Gatekeeper sees.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The task as it came.
    pub prompt: &'a str,
    /// How far the agent may go.
    pub mode: AgentMode,
    /// How much the run is trusted with.
    pub level: TrustLevel,
    /// What the policy provides.
    pub provided: &'a [Provided],
    /// What the person narrows it to, if they do.
    pub wanted: Option<&'a [String]>,
    /// Binds a resume to who may resume.
    pub session_token_hash: &'a str,
}

/// A task that may be worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// The task, without what cannot be seen.
    pub prompt: String,
    /// What the run may do.
    pub context: SecurityContext,
}

impl Node for Gatekeeper {
    type Sees<'a> = Incoming<'a>;
    type Says = Admitted;

    fn run(&self, sees: Incoming<'_>) -> Result<Admitted, NodeError> {
        admits(sees.prompt)?;
        let prompt = sanitized(sees.prompt);
        let allowed = sees.provided.iter().filter(|tool| is_allowed(tool, &sees)).map(|tool| tool.name.clone());
        let context = SecurityContext {
            permissions_level: sees.level,
            allowed_tools: allowed.collect(),
            session_token_hash: sees.session_token_hash.to_owned(),
            is_sanitized: true,
        };
        Ok(Admitted { prompt, context })
    }
}

/// Whether a text is a task at all.
///
/// # Errors
/// With what is wrong with it.
pub fn admits(prompt: &str) -> Result<(), NodeError> {
    if prompt.len() > LONGEST {
        return Err(NodeError::TaskTooLong(prompt.len()));
    }
    if sanitized(prompt).trim().is_empty() { Err(NodeError::NoTask) } else { Ok(()) }
}

/// The table of levels: what removes is for those who are trusted with more. Narrowing never adds.
pub(super) fn level_allows(level: TrustLevel, tool: &str) -> bool {
    match level {
        TrustLevel::User => tool != "delete_file",
        TrustLevel::Admin | TrustLevel::System => true,
    }
}

fn is_allowed(tool: &Provided, sees: &Incoming<'_>) -> bool {
    let by_level = level_allows(sees.level, &tool.name);
    let by_mode = match sees.mode {
        AgentMode::Consulting => tool.read_only,
        AgentMode::Planning => false,
        AgentMode::Execution => true,
    };
    by_level && by_mode && sees.wanted.is_none_or(|wanted| wanted.contains(&tool.name))
}

/// Without characters that steer a terminal or deceive a reader.
pub(crate) fn sanitized(text: &str) -> String {
    let hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_unseen(c);
    text.chars().filter(|c| !hidden(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<Provided> {
        let tool = |name: &str, read_only| Provided { name: name.to_owned(), read_only };
        vec![tool("read_file", true), tool("write_file", false), tool("delete_file", false)]
    }

    fn admitted(mode: AgentMode, level: TrustLevel, wanted: Option<&[String]>) -> Vec<String> {
        let provided = tools();
        let sees = Incoming { prompt: "x", mode, level, provided: &provided, wanted, session_token_hash: "h" };
        Gatekeeper.run(sees).unwrap().context.allowed_tools
    }

    #[test]
    fn mode_level_and_wishes_narrow_and_never_widen() {
        use AgentMode::{Consulting, Execution, Planning};
        use TrustLevel::{Admin, User};
        assert_eq!(admitted(Execution, User, None), ["read_file", "write_file"]);
        assert_eq!(admitted(Execution, Admin, None), ["read_file", "write_file", "delete_file"]);
        assert_eq!(admitted(Consulting, Admin, None), ["read_file"]);
        assert!(admitted(Planning, Admin, None).is_empty());
        let wanted = ["write_file".to_owned(), "execute_command".to_owned(), "delete_file".to_owned()];
        assert_eq!(admitted(Execution, User, Some(&wanted)), ["write_file"]);
    }

    #[test]
    fn what_cannot_be_seen_does_not_get_in() {
        let provided = tools();
        let ask = |prompt: &str| {
            let (mode, level) = (AgentMode::Execution, TrustLevel::User);
            let sees = Incoming { prompt, mode, level, provided: &provided, wanted: None, session_token_hash: "h" };
            Gatekeeper.run(sees).map(|admitted| (admitted.prompt, admitted.context.is_sanitized))
        };
        assert_eq!(ask("fix\u{202e} it\u{1b}[2J\n\tnow"), Ok(("fix it[2J\n\tnow".to_owned(), true)));
        assert_eq!(ask("a\u{2028}b\u{2060}\u{e0041}\u{e007f}c"), Ok(("abc".to_owned(), true)));
        assert_eq!(ask(" \u{200b}\n"), Err(NodeError::NoTask));
        assert!(matches!(ask(&"x".repeat(LONGEST + 1)), Err(NodeError::TaskTooLong(_))));
    }
}
