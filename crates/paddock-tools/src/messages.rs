//! What an agent is told when a call has no result: every message, in one place.
//!
//! The first sentence of a refused write is the one that the project's first specification fixed.
//! Each message says what to do instead. None holds a host path: they are made from the logical
//! path and the kind of error alone, never from what a host or a panic said. What is hidden answers
//! a look exactly as if it were not there, to the byte and in the verdict.

use paddock_core::{
    AccessScope, AgentName, Denial, DenyRule, EditError, ErrorKind, LogicalPath, NotRun, OpKind, PathError, Refused,
    Vfs, list_some,
};
use paddock_state::SecretName;

use crate::answer::{Answer, Verdict};
use crate::failure::{Failure, NotSearched};

/// How to begin where there is nothing yet. Any agent but the usual one is in a configuration already: what it had, a fork perhaps, is gone.
pub(crate) fn how_to_begin(agent: &AgentName) -> String {
    if *agent == AgentName::main() {
        return "No Workspace is configured, so there is no access to any file. A person can begin with `paddock init` in the \
                directory of the project."
            .to_owned();
    }
    format!(
        "Agent {agent} has no Workspace, so there is no access to any file. A person can give it one in paddock.toml, or a fork \
         of one with `paddock fork WORKSPACE NAME --agent {agent}`."
    )
}

/// What a write-only Workspace answers, whatever was there.
pub(crate) const ACCEPTED: &str = "Accepted: this Workspace is write-only, so nothing about what is there comes back.";

/// A number of bytes, in words.
pub(crate) fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// That a person put other arguments in the place of the agent's.
pub fn edited_to(arguments: &str) -> String {
    format!("A person changed the arguments of this call to {arguments}")
}

/// The answer to a call that has no result.
pub(crate) fn answer_to(failure: &Failure) -> Answer {
    match failure {
        Failure::NoTool { given, nearest } => error(Verdict::Invalid, "unknown_tool", no_tool(given, *nearest)),
        Failure::NotProvided { tool, without } => not_provided(tool, without.as_ref()),
        Failure::Arguments(bad) => error(Verdict::Invalid, "arguments", bad.to_string()),
        Failure::Path(bad) => error(Verdict::Denied, "path", bad_path(bad)),
        Failure::SecretInPath(secret) => error(Verdict::Denied, "secret", secret_in_path(secret)),
        Failure::Refused(refused) => refusal(refused),
        Failure::Parked(id) => error(
            Verdict::Parked(id.clone()),
            "parked",
            format!(
                "A person has to approve this call first: `paddock approvals show {id}`. Make exactly the same call again once it \
                 is approved."
            ),
        )
        .with("approval", id.as_str()),
        Failure::Protected(path) => error(
            Verdict::Denied,
            "protected",
            format!("\"{path}\" is kept by the run itself and cannot be changed by a call. Read it to see the plan."),
        ),
        Failure::Restless(path) => error(
            Verdict::Failed,
            "stale",
            format!("\"{path}\" keeps changing while it is read. Read it again when whoever writes it is done."),
        ),
        Failure::NoPlace { asked, places } => {
            let places = list_some(places).unwrap_or_default();
            let text = format!("Commands run only in read-write Workspaces: {places}. Attempted: {asked}");
            error(Verdict::Denied, "denied", text)
        }
        Failure::NotRun(NotRun::Word(word)) => {
            error(Verdict::Denied, "word", format!("Dangerous command \"{word}\" is not allowed."))
        }
        Failure::NotRun(NotRun::Cannot { why, remedy }) => {
            let remedy = remedy.as_ref().map(|remedy| format!(" A person can help: {remedy}.")).unwrap_or_default();
            error(Verdict::Failed, "not_run", format!("The command was not run: {why}.{remedy}"))
        }
        Failure::NobodyToAsk { risk, why } => error(
            Verdict::Denied,
            "nobody_to_ask",
            format!(
                "The risk of this command is {}, because {why}, and there is nobody to ask. A person can let it through \
                 with [approvals] above in paddock.toml.",
                risk.name()
            ),
        ),
        Failure::NotSearched(why) => not_searched(*why),
        Failure::NotRecorded => error(
            Verdict::Failed,
            "not_recorded",
            "What became of this call could not be recorded, so it does not count as done, whatever it changed. A \
             person has to look at Paddock's database; until then only reading works.",
        ),
        // Made again with those arguments before anybody is told.
        Failure::Edited { .. } | Failure::Rehearsed | Failure::Defect => error(
            Verdict::Failed,
            "defect",
            "Something broke inside Paddock, and the call was stopped. Other calls still work; a person can find the \
             cause in Paddock's log.",
        ),
    }
}

fn error(verdict: Verdict, code: &str, text: impl AsRef<str>) -> Answer {
    Answer::of(verdict, format!("❌ ERROR: {}", text.as_ref())).with("error", code)
}

fn no_tool(given: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("There is no tool \"{given}\". Did you mean \"{nearest}\"?"),
        None => format!("There is no tool \"{given}\"."),
    }
}

fn not_provided(tool: &str, without: Option<&AgentName>) -> Answer {
    let why = without.map_or_else(|| "No Workspace of yours allows what it does.".to_owned(), how_to_begin);
    error(Verdict::Denied, "not_provided", format!("The tool \"{tool}\" is not provided. {why}"))
}

fn not_searched(why: NotSearched) -> Answer {
    let failed = |code, text: String| error(Verdict::Failed, code, text);
    match why {
        NotSearched::Cancelled => failed("cancelled", "The call was cancelled.".to_owned()),
        NotSearched::Unreachable => failed(
            "unreachable",
            "The search service cannot be reached. Try again later, or ask a person to look at url under [web_search] in \
             paddock.toml."
                .to_owned(),
        ),
        NotSearched::Slow => failed(
            "timed_out",
            "The search service took too long. Try again later, or search for something simpler.".to_owned(),
        ),
        NotSearched::Status(status) => failed("service", refused_search(status)),
        NotSearched::TooLarge => failed(
            "too_large",
            "The search service answered with more than is read. Search for something narrower.".to_owned(),
        ),
        NotSearched::NotResults => failed(
            "service",
            "The search service answered with something else than results. A person has to look whether url under \
             [web_search] in paddock.toml names a SearXNG-compatible service."
                .to_owned(),
        ),
    }
}

fn refused_search(status: u16) -> String {
    let way_out = match status {
        300..=399 => {
            "it sends elsewhere, and that is not followed. A person has to write its own address under [web_search] in \
             paddock.toml."
        }
        403 => "it refuses. A person has to allow \"json\" among the formats of its search.",
        429 => "there were too many searches. Wait a while before the next one.",
        _ => "it failed. Try again later, or ask a person to look at the service.",
    };
    format!("The search service answered {status}: {way_out}")
}

/// Why no name may hold a secret.
pub(crate) fn secret_in_path(secret: &SecretName) -> String {
    format!("The path holds the value of the secret \"{secret}\", and names are recorded. Choose a name without it.")
}

fn bad_path(bad: &PathError) -> String {
    let mut text = format!("The path is refused: {bad}; {}.", bad.hint());
    if let PathError::Escapes(_) = bad {
        text.push_str(" Nothing exists above it.");
    }
    text
}

fn refusal(refused: &Refused) -> Answer {
    match refused {
        Refused::Denied(denial) if denial.rule == DenyRule::Hidden && !denial.op.changes() => not_found(&denial.asked),
        Refused::Denied(denial) => error(Verdict::Denied, "denied", denied(denial)),
        Refused::DeniedInside(denial) => error(Verdict::Denied, "denied", denied_inside(denial)),
        Refused::Store { path, source } => store_error(path, source.kind()),
        Refused::Misuse { path, why } => error(Verdict::Failed, "misuse", format!("\"{path}\": {why}.")),
        Refused::NotApproved { name, why } => {
            error(Verdict::Denied, name, format!("This call was not let through: {why}."))
        }
        Refused::Gate(why) => error(Verdict::Denied, "denied", format!("This call is not let through: {why}.")),
    }
}

/// Why one path is refused, in a sentence.
pub(crate) fn reason(refused: &Refused) -> String {
    match refused {
        Refused::Denied(denial) | Refused::DeniedInside(denial) => denied(denial),
        Refused::Store { path, source } if *source.kind() == ErrorKind::Stale => {
            format!("\"{path}\" changed while the command ran. Run it again.")
        }
        other => {
            let text = refusal(other).text();
            text.strip_prefix("❌ ERROR: ").map(str::to_owned).unwrap_or(text)
        }
    }
}

/// The same for what a command did. It can take away what it never saw, with the directory around it: that is not named.
pub(crate) fn reason_of_command(vfs: &Vfs, refused: &Refused) -> String {
    match refused {
        Refused::Denied(denial) | Refused::DeniedInside(denial)
            if denial.rule == DenyRule::Hidden && matches!(denial.op, OpKind::Delete | OpKind::MoveFrom) =>
        {
            let asked = nearest_shown(vfs, &denial.path);
            denied_inside(&Denial { asked, ..(**denial).clone() })
        }
        other => reason(other),
    }
}

/// The directory around something hidden that an agent can see.
fn nearest_shown(vfs: &Vfs, hidden: &LogicalPath) -> LogicalPath {
    let mut around = hidden.parent().unwrap_or_else(LogicalPath::top);
    while let Some(parent) = around.parent().filter(|_| !vfs.judge(OpKind::List, &around).allowed()) {
        around = parent;
    }
    around
}

fn not_found(path: &LogicalPath) -> Answer {
    let text = format!("\"{path}\" does not exist. list_dir and find_files show what is there.");
    error(Verdict::Failed, "not_found", text)
}

/// How one kind of operation is spoken of.
struct Words {
    /// `Cannot … protected path`.
    cannot: &'static str,
    /// `Can only … /a`.
    only: &'static str,
    /// `Only /a directory is …`.
    able: &'static str,
}

fn words(op: OpKind) -> Words {
    let (cannot, only, able) = match op {
        OpKind::Write | OpKind::Append | OpKind::Edit => ("write to", "write to", "writable"),
        OpKind::Read => ("read", "read from", "readable"),
        OpKind::List => ("list", "list", "readable"),
        OpKind::Find => ("look for files in", "look for files in", "readable"),
        OpKind::Search => ("search", "search in", "readable"),
        OpKind::MakeDir => ("make a directory at", "make directories in", "open to that"),
        OpKind::MoveFrom => ("move", "move from", "open to that"),
        OpKind::MoveTo => ("move anything to", "move to", "open to that"),
        OpKind::Delete => ("delete", "delete in", "open to that"),
    };
    Words { cannot, only, able }
}

fn denied(denial: &Denial) -> String {
    let Denial { op, asked, .. } = denial;
    let Words { cannot, .. } = words(*op);
    match denial.rule {
        DenyRule::NoWorkspace => no_workspace(denial),
        DenyRule::Scope => wrong_scope(denial),
        DenyRule::Unserved => unserved(denial),
        DenyRule::Hidden => {
            format!("Cannot {cannot} \"{asked}\": this name is not available here. Use another name.")
        }
        DenyRule::Guarded(name) => format!(
            "Cannot {cannot} guarded path \"{asked}\": {} can be read and not changed, because {}. A person can allow \
             it with unguard in paddock.toml.",
            name.name, name.why
        ),
        DenyRule::Own => format!(
            "Cannot {cannot} \"{asked}\": it belongs to Paddock itself and no agent may change it. A person has to do \
             it."
        ),
        DenyRule::HoldsWorkspace => format!(
            "Cannot {cannot} \"{asked}\": it is a Workspace, or holds one, and stays where it is. Name what is inside."
        ),
    }
}

fn wrong_scope(denial: &Denial) -> String {
    let Denial { op, asked, .. } = denial;
    let Words { cannot, able, .. } = words(*op);
    let only = only_these(&denial.allowed_in, able);
    let linked = if denial.path == *asked { "" } else { " It is a link into another Workspace." };
    match &denial.workspace {
        Some((prefix, AccessScope::WriteOnly, _)) => {
            format!(
                "Cannot {cannot} \"{asked}\": {prefix} is write-only, so nothing comes back from it.{linked} {only}"
            )
        }
        _ => format!("Cannot {cannot} protected path \"{asked}\".{linked} {only}{}", except_nested(denial)),
    }
}

/// The scope would allow it, and what backs the Workspace cannot.
fn unserved(denial: &Denial) -> String {
    let Words { cannot, .. } = words(denial.op);
    let behind = denial.workspace.as_ref().map_or_else(String::new, |(prefix, ..)| format!(" behind {prefix}"));
    let way_out = match list_some(&denial.allowed_in) {
        Some(places) => format!("It works in {places}."),
        None => "It works in no Workspace of yours.".to_owned(),
    };
    format!("Cannot {cannot} \"{}\": the Store{behind} cannot do that. {way_out}", denial.asked)
}

fn no_workspace(denial: &Denial) -> String {
    let Words { cannot, only, .. } = words(denial.op);
    match list_some(&denial.allowed_in) {
        Some(places) => format!("Can only {only} {places}. Attempted: {}", denial.asked),
        None => format!("Cannot {cannot} \"{}\": no Workspace of yours allows it.", denial.asked),
    }
}

fn only_these(places: &[LogicalPath], able: &str) -> String {
    match (list_some(places), places.len()) {
        (None, _) => format!("No directory is {able}."),
        (Some(place), 1) => format!("Only {place} directory is {able}."),
        (Some(places), _) => format!("Only {places} directories are {able}."),
    }
}

/// The Workspace that denies may lie in one of those that were just named: then it is the exception to what was said.
fn except_nested(denial: &Denial) -> String {
    let Some((prefix, scope, _)) = &denial.workspace else { return String::new() };
    match denial.allowed_in.iter().find(|outer| prefix.below(outer).is_some()) {
        Some(outer) => format!(" {prefix} in {outer} is not: it is {}.", scope.words()),
        None => String::new(),
    }
}

/// A directory that cannot go because of what it holds. What is hidden in it is not named.
fn denied_inside(denial: &Denial) -> String {
    let Words { cannot, .. } = words(denial.op);
    let (asked, path) = (&denial.asked, &denial.path);
    let inside = match denial.rule {
        DenyRule::Guarded(name) => format!("\"{path}\", which is guarded: {}", name.why),
        DenyRule::Own => format!("\"{path}\", which belongs to Paddock itself"),
        _ => "something that is not yours to change".to_owned(),
    };
    format!("Cannot {cannot} \"{asked}\" whole, and nothing was changed: it holds {inside}. Name single files instead.")
}

fn store_error(path: &LogicalPath, kind: &ErrorKind) -> Answer {
    let told = |verdict, code, text: String| error(verdict, code, format!("\"{path}\" {text}"));
    let failed = |code, text: &str| told(Verdict::Failed, code, text.to_owned());
    let denied = |text: &str| told(Verdict::Denied, "denied", text.to_owned());
    match kind {
        ErrorKind::NotFound => not_found(path),
        ErrorKind::AlreadyExists => failed("exists", "exists already. Choose another path, or delete it first."),
        ErrorKind::IsADirectory => failed("is_a_directory", "is a directory. list_dir shows what it holds."),
        ErrorKind::NotADirectory => failed(
            "not_a_directory",
            "is a file, or leads through one, where a directory is needed. read_file reads files.",
        ),
        ErrorKind::NotEmpty => failed("not_empty", "is not empty. Set recursive to true to delete all that it holds."),
        ErrorKind::Stale => failed(
            "stale",
            "has changed since it was read, so nothing was changed: read it again, then repeat the call.",
        ),
        ErrorKind::Link | ErrorKind::LinkEscapes => {
            denied("is a link that leads out of its Workspace, or in circles. Use the real path of a file inside.")
        }
        ErrorKind::NotAFile => denied("is a pipe, a device or a socket, and those are never opened."),
        ErrorKind::HardLinked => denied("has several hard links, which its Workspace denies. A person can copy it."),
        ErrorKind::Edit(edit) => edit_error(path, edit),
        ErrorKind::BadPattern(why) => {
            let text = format!("The pattern cannot be used: {why}. It has to be a regular expression.");
            error(Verdict::Invalid, "pattern", text)
        }
        ErrorKind::TooLarge { what, limit } => {
            told(Verdict::Failed, "too_large", format!("is too large for one call: {what} is over {limit}."))
        }
        ErrorKind::Full => failed("full", "cannot be written: no space is left. Delete something, or ask a person."),
        ErrorKind::OverQuota { what, limit } => told(
            Verdict::Failed,
            "over_quota",
            format!(
                "cannot grow: its Workspace may hold {limit} {what} and no more. Delete something, or ask a person."
            ),
        ),
        ErrorKind::UsedUp => failed("token_used", "was not changed: the approval for it was used already."),
        ErrorKind::NotKept => failed("not_kept", "cannot be put back: what was there before is no longer kept."),
        ErrorKind::HostRefuses => {
            failed("host_refuses", "cannot be opened: the host refuses. A person has to allow it.")
        }
        ErrorKind::Busy => failed("busy", "is being changed by someone else. Try again."),
        ErrorKind::Cancelled => error(Verdict::Failed, "cancelled", "The call was cancelled."),
        ErrorKind::TimedOut => error(
            Verdict::Failed,
            "timed_out",
            "The call ran out of time. Ask for less: a smaller directory, a narrower pattern.",
        ),
        ErrorKind::Unsupported(what) => {
            told(Verdict::Failed, "unsupported", format!("cannot do this: {what} is not possible there."))
        }
        ErrorKind::BadAnswer(what) => told(
            Verdict::Failed,
            "bad_answer",
            format!("cannot be reached: its Store gave an answer that cannot be used ({what}). Ask a person to look."),
        ),
        ErrorKind::Io => failed("io", "cannot be reached: the host failed. Try again, or ask a person to look."),
    }
}

fn edit_error(path: &LogicalPath, edit: &EditError) -> Answer {
    let failed = |code, text: String| error(Verdict::Failed, code, text);
    match edit {
        EditError::Pointless(why) => error(Verdict::Invalid, "arguments", format!("Nothing to edit: {why}.")),
        EditError::Absent { .. } => failed(
            "absent",
            format!("\"{path}\": {edit}. Nothing was changed: read it again and copy the text exactly."),
        ),
        EditError::Ambiguous { count, lines, .. } => failed(
            "ambiguous",
            format!(
                "\"{path}\": {edit}. Nothing was changed. Add lines around it until it is there once, or set \
                 replace_all to true."
            ),
        )
        .with("matches", *count)
        .with("lines", lines.clone()),
        EditError::TooLarge => failed("too_large", format!("\"{path}\": {edit}. Nothing was changed.")),
        EditError::NotText => failed("not_text", format!("\"{path}\" is not text, so it cannot be edited.")),
        EditError::Encoding(_) => failed("encoding", format!("\"{path}\": {edit}. Use characters of that encoding.")),
    }
}
