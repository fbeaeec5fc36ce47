//! Every way in which a configuration can be wrong: one variant each, with the bad value and a hint.
//!
//! The words are decided here and nowhere else, so that the command line, the log and the tests agree.

use paddock_core::{BadHost, PathError, visible};
use paddock_state::{BadSecretName, SecretName};

/// What is wrong. Displays as the sentence after `error:`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each field holds")]
pub enum Fault {
    /// The host does not give the file.
    #[error("cannot read the file: {0}")]
    Unreadable(String),
    /// The bytes are not text.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// The file kept changing while it was to be read.
    #[error("the file is still being written")]
    StillWritten,
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key that means nothing here.
    #[error("unknown key \"{}\" {within}", visible(key))]
    UnknownKey {
        key: String,
        within: &'static str,
        nearest: Option<&'static str>,
        home: Option<&'static str>,
        known: &'static [&'static str],
    },
    /// A key that has to be there.
    #[error("\"{key}\" is missing {within}")]
    MissingKey { key: &'static str, within: &'static str },
    /// A value of another kind.
    #[error("\"{}\" must be {expected}, not {found}", visible(key))]
    WrongType { key: String, expected: &'static str, found: &'static str },
    /// One table where several are listed.
    #[error("\"{}\" must be a list of tables, not one table", visible(key))]
    SingleTable { key: String },
    /// A number outside what is possible.
    #[error("\"{}\" must be a whole number from {least} to {most}, not {found}", visible(key))]
    OutOfRange { key: String, least: u64, most: u64, found: String },
    /// A word that is not one of the few possible.
    #[error("\"{}\" is not one of {}", visible(found), quoted(choices))]
    NotAChoice { found: String, choices: &'static [&'static str], nearest: Option<&'static str> },
    /// Not one of the three Access Scopes.
    #[error("\"{}\" is not an Access Scope", visible(.0))]
    NotAScope(String),
    /// Not a size.
    #[error("\"{}\" is not a size", visible(.0))]
    NotASize(String),
    /// Not a duration.
    #[error("\"{}\" is not a duration", visible(.0))]
    NotADuration(String),
    /// Not an amount of money.
    #[error("\"{}\" is not an amount of money", visible(.0))]
    NotAnAmount(String),
    /// Not the word for a money.
    #[error("\"{}\" cannot name a currency", visible(.0))]
    NotACurrency(String),
    /// Empty where something has to be said.
    #[error("\"{}\" is empty", visible(key))]
    Empty { key: String },
    /// A logical path that does not start with `/`.
    #[error("\"{}\" is not absolute", visible(.0))]
    NotAbsolute(String),
    /// Not a logical path at all.
    #[error("{0}")]
    NotAPath(PathError),
    /// Characters that nobody sees, or that deceive.
    #[error("\"{}\" cannot name a Virtual Store", visible(.0))]
    NotAName(String),
    /// A Mount of no kind, or of several.
    #[error("a mount is exactly one of \"physical\", \"virtual\" and \"overlay\"; this one names {0}")]
    MountKind(&'static str),
    /// `shared` where nothing can be shared.
    #[error("\"shared\" belongs to a virtual mount only")]
    SharedWithoutVirtual,
    /// Every host at once.
    #[error("\"network\" cannot be true")]
    WholeNetwork,
    /// Not a host that can be listed.
    #[error("\"{}\" is not a host that commands may reach: {why}", visible(found))]
    NotAHost { found: String, why: BadHost },
    /// Not the address of a service.
    #[error("\"{}\" is not the address of a service", visible(.0))]
    NotAService(String),
    /// Not where a database can be.
    #[error("\"{}\" is not a place for {what}", visible(found))]
    NotADatabase { found: String, what: &'static str, choices: &'static str },
    /// Not an address to listen on.
    #[error("\"{}\" is not an IP address", visible(.0))]
    NotAnAddress(String),
    /// A secret in plain text.
    #[error("\"{}\" holds a secret in plain text", visible(key))]
    PlainSecret { key: String },
    /// A name that no secret can have.
    #[error("\"{}\" cannot name a secret", visible(&.0.0))]
    NotASecretName(BadSecretName),
    /// Nothing is stored under the name.
    #[error("there is no secret \"{0}\"")]
    NoSecret(SecretName),
    /// What is stored is something else.
    #[error("the secret \"{name}\" is not {what}")]
    SecretIsNot { name: SecretName, what: &'static str },
    /// The vault does not open.
    #[error("the secret \"{name}\" cannot be read: {}", visible(why))]
    SecretsClosed { name: SecretName, why: String, hint: String },
    /// A name that no agent can have.
    #[error("\"{}\" cannot name an agent", visible(.0))]
    AgentName(String),
    /// The default agent, configured a second time.
    #[error("the agent \"main\" is configured by the keys at the top of the file")]
    MainAgentTwice,
    /// No such agent.
    #[error("there is no agent \"{}\"", visible(name))]
    NoSuchAgent { name: String, known: Vec<String> },
    /// The same logical directory twice.
    #[error("the prefix \"{0}\" is used twice")]
    DuplicatePrefix(String),
    /// Not gitignore syntax.
    #[error("\"{}\" is not a pattern", visible(.0))]
    BadPattern(String),
    /// A pattern that no name can match, so that what it was meant for would stay visible.
    #[error("\"{}\" under hide hides nothing: {why}", visible(pattern))]
    HidesNothing { pattern: String, why: &'static str },
    /// Nothing guarded has this name.
    #[error("\"{}\" is not a guarded name", visible(found))]
    NotGuarded { found: String, nearest: Option<&'static str> },
    /// An overlay stands on itself, by way of others.
    #[error("the overlay \"{0}\" stands on itself")]
    OverlayCircle(String),
    /// There is no Workspace below an overlay.
    #[error("the agent has no Workspace \"{0}\" for an overlay to stand on")]
    OverlayOnNothing(String),
    /// What is below an overlay cannot be read.
    #[error("an overlay cannot stand on \"{0}\": it is write-only, and what is in it must not come back")]
    OverlayUnreadable(String),
    /// The directory behind a Workspace is not there.
    #[error("the directory \"{}\"{} does not exist", visible(path), behind(path, prefix))]
    NoDirectory { path: String, prefix: String },
    /// The directory behind a Workspace cannot be used.
    #[error("the directory \"{}\"{} cannot be used: {why}", visible(path), behind(path, prefix))]
    BadDirectory { path: String, prefix: String, why: String },
    /// The System Root would be inside a Workspace.
    #[error("the mount \"{}\" contains the System Root \"{}\"", visible(path), visible(home))]
    HoldsSystemRoot { path: String, home: String },
    /// A Workspace would be inside the System Root.
    #[error("the mount \"{}\" lies in the System Root \"{}\"", visible(path), visible(home))]
    InSystemRoot { path: String, home: String },
    /// An agent may have put a link on the way to a Mount.
    #[error(
        "the mount \"{}\" of \"{}\" leads through the link \"{}\", in a directory that agents write",
        visible(path),
        visible(prefix),
        visible(link)
    )]
    LinkThatAgentsWrite { path: String, link: String, prefix: String },
    /// A rule with a pattern that is none.
    #[error("\"{}\" is no pattern of paths: {why}", visible(path))]
    BadRulePattern { path: String, why: String },
    /// A rule that says nothing about what it is for.
    #[error("a rule needs a tool or a path: without either it would be about everything")]
    RuleForEverything,
    /// A rule that does not do what its examples say.
    #[error("the rule {} \"{}\", against its examples", if *matches { "matches" } else { "does not match" }, visible(path))]
    RuleExample { path: String, matches: bool },
    /// A place for commands that is not there.
    #[error("\"{}\" under tools is not there", visible(.0))]
    NoSuchTool(String),
    /// No command could run with so little.
    #[error("with {key} = {found} no command could run")]
    LimitTooSmall { key: &'static str, found: String, least: &'static str },
    /// Commands would read the System Root.
    #[error("\"{}\" under tools reaches the System Root", visible(.0))]
    ToolInSystemRoot(String),
    /// An agent may have put a link on the way to a place for commands.
    #[error(
        "\"{}\" under tools leads through the link \"{}\", in a directory that agents write",
        visible(tool),
        visible(link)
    )]
    ToolByLink { tool: String, link: String },
    /// A Workspace stands where a command finds its system.
    #[error("with [commands] no Workspace can show \"/{}\" (\"{}\")", visible(name), visible(prefix))]
    SystemPrefix { prefix: String, name: String },
    /// A Workspace stands where outputs are kept.
    #[error("with [commands] no Workspace can have the prefix \"{}\"", visible(.0))]
    ReservedPrefix(String),
    /// Two Workspaces reach one place and disagree about it.
    #[error("{0}")]
    Alias(String),
}

/// The Workspace of a directory, where there is one yet.
fn behind(path: &str, prefix: &str) -> String {
    if prefix == path { String::new() } else { format!(" behind \"{prefix}\"") }
}

impl Fault {
    /// Is it a matter of what lies behind a Mount now, which an agent may have brought about? Then the Workspace gives nothing, and
    /// all the rest holds: an agent must not keep a policy by breaking the next one.
    pub(crate) fn is_of_mount(&self) -> bool {
        matches!(
            self,
            Self::NoDirectory { .. }
                | Self::BadDirectory { .. }
                | Self::HoldsSystemRoot { .. }
                | Self::InSystemRoot { .. }
                | Self::LinkThatAgentsWrite { .. }
        )
    }

    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(_) => "check that the file exists and that you may read it".into(),
            Self::NotText => "save the file as UTF-8".into(),
            Self::StillWritten => "the last valid policy is kept until the file is quiet".into(),
            Self::Syntax(_) => "correct the TOML syntax at this place".into(),
            Self::UnknownKey { key, nearest, home, known, .. } => match (nearest, home) {
                (_, Some(home)) => format!("\"{}\" belongs {home}", visible(key)),
                (Some(nearest), None) => format!("did you mean \"{nearest}\"?"),
                (None, None) => format!("known keys here are {}", quoted(known)),
            },
            Self::MissingKey { key, .. } => missing_key_hint(key),
            Self::WrongType { key, .. } if key.ends_with("mount") => {
                "write it in braces, such as { physical = \"DIRECTORY\" }".into()
            }
            Self::WrongType { expected, .. } => match *expected {
                "a table" => "write it in braces, such as { name = \"value\" }".into(),
                "a list" => "write it in brackets, such as [\"a\", \"b\"]".into(),
                "a text in quotes" => "put it in quotes".into(),
                expected => format!("write {expected}"),
            },
            Self::SingleTable { key } => format!("write [[{}]] with double brackets", visible(key)),
            Self::OutOfRange { .. } => "write a number in that range, without quotes".into(),
            Self::NotAChoice { choices, nearest, .. } => match nearest {
                Some(nearest) => format!("did you mean \"{nearest}\"?"),
                None => format!("use {}", quoted(choices)),
            },
            Self::NotAScope(_) => "use \"READ_ONLY\" (RO), \"READ_WRITE\" (RW) or \"WRITE_ONLY\" (WO)".into(),
            Self::NotASize(_) => "write a number and a unit, such as \"64 KiB\", \"10 MiB\" or \"1 GiB\"".into(),
            Self::NotADuration(_) => {
                "write a number and a unit, such as \"60 s\", \"5 min\", \"2 h\" or \"30 days\"".into()
            }
            Self::NotAnAmount(_) => "write a number with at most six digits after the point, such as 1.25".into(),
            Self::NotACurrency(_) => "write a word of letters, such as \"USD\"".into(),
            Self::Empty { .. } => "write a name".into(),
            Self::NotAbsolute(path) => format!("start it with \"/\": \"/{}\"", visible(path.trim_start_matches("./"))),
            Self::NotAPath(error) => error.hint().to_owned(),
            Self::NotAName(_) => {
                "use names that everybody can read, parted by single \"/\": no control, invisible or direction-changing \
                 characters"
                    .into()
            }
            Self::MountKind(_) => "write for example mount = { physical = \"workspace\" }".into(),
            Self::SharedWithoutVirtual => "remove it, or use mount = { virtual = \"NAME\", shared = true }".into(),
            Self::WholeNetwork => "list the hosts that commands may reach, or write false".into(),
            Self::NotAHost { .. } => "write \"packages.example.com\", \"*.example.com\", \"10.0.0.7\", or one of these with a port, \"localhost:8080\"".into(),
            Self::NotAService(_) => "write http:// or https://, a host, and perhaps a port and a path; no user, no query".into(),
            Self::NotADatabase { choices, .. } => format!("use {choices}"),
            Self::NotAnAddress(_) => "write an address such as \"127.0.0.1\"".into(),
            Self::PlainSecret { key } => format!(
                "write {} = {{ secret = \"NAME\" }}, store it with `paddock secret set NAME`, and replace the exposed one",
                visible(key)
            ),
            Self::NotASecretName(error) => error.hint().into(),
            Self::NoSecret(name) | Self::SecretIsNot { name, .. } => {
                format!("store it with `paddock secret set {name}`")
            }
            Self::SecretsClosed { hint, .. } => hint.clone(),
            Self::AgentName(_) => "use 1 to 64 letters, digits, \"-\" or \"_\"".into(),
            Self::MainAgentTwice => "move these keys to the top of the file, or give the agent another name".into(),
            Self::NoSuchAgent { known, .. } => format!("agents of this file are {}", quoted(known)),
            Self::DuplicatePrefix(_) => "give each Workspace of an agent its own prefix".into(),
            Self::BadPattern(_) | Self::HidesNothing { .. } => {
                "write it as in a .gitignore file, such as \".env.*\" or \"/private\"".into()
            }
            Self::NotGuarded { nearest, .. } => match nearest {
                Some(nearest) => format!("did you mean \"{nearest}\"?"),
                None => "guarded names are for example \".git/hooks\", \".envrc\" and \".vscode\"".into(),
            },
            Self::OverlayCircle(_) => "let one of them stand on a physical or virtual Workspace".into(),
            Self::OverlayOnNothing(_) => "name the prefix of another Workspace of the same agent".into(),
            Self::OverlayUnreadable(_) => "give that Workspace another Access Scope, or overlay another one".into(),
            Self::NoDirectory { .. } => {
                "create it, or correct the path; it is relative to the directory of paddock.toml".into()
            }
            Self::BadDirectory { .. } => "correct the path, or make it a directory that you may open".into(),
            Self::HoldsSystemRoot { .. } => {
                "mount a smaller directory, or keep the System Root elsewhere with --home or PADDOCK_HOME".into()
            }
            Self::LinkThatAgentsWrite { .. } | Self::ToolByLink { .. } => "name the directory that it leads to, if that is meant, or remove the link".into(),
            Self::BadRulePattern { .. } => "write it as \"/project/migrations/**\"".into(),
            Self::RuleForEverything => "name a tool, or write `above` to ask about everything of a risk".into(),
            Self::RuleExample { .. } => "change the pattern of the rule, or the example".into(),
            Self::NoSuchTool(_) => "name a file or directory of this machine, or take it out".into(),
            Self::LimitTooSmall { least, .. } => format!("write at least {least}, or leave it out"),
            Self::ToolInSystemRoot(_) => {
                "name a smaller directory: what is in the System Root is for no command".into()
            }
            Self::SystemPrefix { .. } => {
                "give the Workspace another prefix, such as \"/project\": a command has its system there".into()
            }
            Self::ReservedPrefix(_) => "choose another one: long outputs of commands are read there".into(),
            Self::InSystemRoot { .. } => "mount a directory outside the System Root".into(),
            Self::Alias(_) => {
                "give both the same Access Scope, or nest one prefix in the other as the directories are nested".into()
            }
        }
    }

    /// Must the line it stands on stay unprinted?
    pub(crate) fn is_about_a_secret(&self) -> bool {
        matches!(self, Self::PlainSecret { .. })
    }
}

fn missing_key_hint(key: &str) -> String {
    match key {
        "prefix" => "add the logical directory that the agent sees, such as prefix = \"/project\"".into(),
        "scope" => "add scope = \"READ_ONLY\", \"READ_WRITE\" or \"WRITE_ONLY\"".into(),
        "mount" => "add what is behind it, such as mount = { physical = \"workspace\" }".into(),
        key => format!("add a line {key} = …"),
    }
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    quoted.join(", ")
}
