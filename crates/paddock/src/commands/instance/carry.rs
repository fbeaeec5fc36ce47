//! `instance export` and `instance import`: conversations as plain JSON lines, in the layout that goondan uses.
//!
//! An export of messages holds them as they are now, the open turn's events applied; one of everything changes nothing: confirmed
//! messages and events lie apart in it, as an import takes them. Both happen as a whole or not at all. What comes in passes the
//! redactor: nobody knows who wrote it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use paddock_core::{AgentName, visible};
use paddock_desk::instances;
use paddock_state::conversation::{ConversationError, Message, MessageEvent};
use paddock_state::instance::{Imported, Seen};
use paddock_state::{ExtensionName, InstanceKey, Redactor, Timestamp};
use serde_json::{Map, Value};

use super::plain::{Lines, unreadable};
use super::{Named, counted, made_instances, problem, tell_notices, transcript};
use crate::cli::{Global, InstanceExport, InstanceImport};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};

const METADATA: &str = "metadata.json";
const BASE: &str = "base.jsonl";
const EVENTS: &str = "events.jsonl";

pub(super) fn export(named: &Named, options: &InstanceExport, printer: &Printer) -> anyhow::Result<Ended> {
    let (written, path) = match options.path.to_str() {
        Some("-") => (messages(named, printer.stream())?, None),
        _ => {
            let path = &options.path;
            // Found out before anything is made.
            let Some(_) = named.instances().show(&named.key).map_err(|error| named.problem(&error))? else {
                return Err(named.problem(&ConversationError::NoInstance(named.key.clone())));
            };
            (made_whole(path, options.messages, |file| into(named, path, file))?, Some(path))
        }
    };
    let (count, seen) = written;
    tell_notices(&seen.notices);
    if let Some(open) = &seen.open_turn {
        let events = counted(open.events, "event");
        let place = if path.is_some() && !options.messages { "events.jsonl" } else { "the messages" };
        printer::tell(format_args!("note: turn \"{}\" is not over; its {events} so far are in {place}", open.turn));
    }
    if let Some(path) = path {
        printer::tell(format_args!("wrote {} to \"{}\"", counted(count, "message"), path.display()));
    }
    Ok(Ended::Done)
}

/// Makes a new file or directory and fills it; takes it away when that fails.
fn made_whole<T>(
    path: &Path,
    is_file: bool,
    fill: impl FnOnce(Option<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let made =
        if is_file { host::make_private_file(path).map(Some) } else { host::make_private_dir(path).map(|()| None) };
    let made = made.map_err(|error| {
        let hint = if is_file {
            "name a file that is not there yet"
        } else {
            "name a directory that is not there yet, or is empty"
        };
        Failure::failed(format!("cannot make \"{}\": {error}", path.display()), format!("{hint}, where you may write"))
    })?;
    fill(made).inspect_err(|_| host::remove_made(path))
}

/// Fills the new file, or the new directory where there is none.
fn into(named: &Named, path: &Path, file: Option<File>) -> anyhow::Result<(u64, Seen)> {
    if let Some(file) = file {
        return messages(named, file);
    }
    let key = &named.key;
    let problem = |error| named.problem(&error);
    let inner = path.join("messages");
    host::make_private_dir(&inner)?;
    let written = apart(named, host::make_private_file(&inner.join(BASE))?, &inner.join(EVENTS))?;
    let extensions = path.join("extensions");
    host::make_private_dir(&extensions)?;
    for name in named.instances().extensions(key).map_err(problem)? {
        if let Some(state) = named.instances().get_state(key, &name).map_err(problem)? {
            let mut file = host::make_private_file(&extensions.join(format!("{name}.json")))?;
            file.write_all(format!("{}\n", serde_json::to_string_pretty(&state)?).as_bytes())?;
        }
    }
    let instance = named.instances().show(key).map_err(problem)?;
    let mut file = host::make_private_file(&path.join(METADATA))?;
    file.write_all(format!("{}\n", serde_json::to_string_pretty(&instance)?).as_bytes())?;
    Ok(written)
}

/// Every message, one per line.
fn messages(named: &Named, out: impl Write) -> anyhow::Result<(u64, Seen)> {
    written(named, out, |each| named.instances().read(&named.key, each))
}

/// Every confirmed message, one per line, and beside them the events of the turn that is not over.
fn apart(named: &Named, out: impl Write, events: &Path) -> anyhow::Result<(u64, Seen)> {
    let (count, (open, seen)) = written(named, out, |each| named.instances().read_apart(&named.key, each))?;
    let mut file = BufWriter::new(host::make_private_file(events)?);
    for event in open {
        writeln!(file, "{}", serde_json::to_string(&event)?)?;
    }
    file.flush()?;
    Ok((count, seen))
}

/// Writes the messages that `read` gives out, and counts them.
fn written<T>(
    named: &Named,
    out: impl Write,
    read: impl FnOnce(&mut dyn FnMut(Message)) -> Result<T, ConversationError>,
) -> anyhow::Result<(u64, T)> {
    let mut out = BufWriter::with_capacity(64 * 1024, out);
    let (mut count, mut failed) = (0, None);
    let told = read(&mut |message| {
        if failed.is_none() {
            count += 1;
            failed = transcript::line(&mut out, &message).err();
        }
    });
    let told = told.map_err(|error| named.problem(&error))?;
    failed.map_or_else(|| out.flush(), Err)?;
    Ok((count, told))
}

pub(super) fn import(global: &Global, options: &InstanceImport, printer: &Printer) -> anyhow::Result<Ended> {
    let key = instances::key_of(&options.key)?;
    let mut from = From::look(&options.path).map_err(|error| refused(&error, &key))?;
    let agent = match (&global.agent, &from.metadata.agent) {
        (Some(agent), _) => agent.to_string(),
        (None, Some(agent)) => agent.clone(),
        (None, None) => AgentName::main().to_string(),
    };
    let (kept, redactor) = made_instances(global)?;
    from.redact(&redactor);
    let mut lines = Lines::of(from.messages, &from.path);
    let read = std::iter::from_fn(|| lines.read::<Message>());
    let mut messages = read.map(|message| Ok(message?.redacted(&redactor)));
    let (events, created_at) = (from.events.as_slice(), from.metadata.created_at);
    let imported = Imported { events, created_at, ..Imported::of(&mut messages) };
    let count = kept.import(&key, &agent, imported).map_err(|error| refused(&error, &key))?;
    for (name, state) in &from.extensions {
        if let Err(error) = kept.set_state(&key, name, state) {
            let _ = kept.delete(&key);
            return Err(refused(&error, &key));
        }
    }
    printer.line(format_args!(
        "imported {} as instance \"{key}\" of {}",
        counted(count, "message"),
        visible(&agent)
    ))?;
    if !from.events.is_empty() {
        printer::tell(format_args!(
            "{} of a turn that is not over came along; `paddock instance restart {key}` ends it",
            counted(from.events.len() as u64, "event")
        ));
    }
    Ok(Ended::Done)
}

/// Why nothing is imported.
fn refused(error: &ConversationError, key: &InstanceKey) -> anyhow::Error {
    match error {
        ConversationError::Damaged { .. } | ConversationError::DamagedFile { .. } => Failure::failed(
            visible(&error.to_string()),
            "nothing was imported; give what `paddock instance export` or goondan wrote, and correct that line or leave it out",
        ),
        ConversationError::Io { .. } => Failure::failed(
            visible(&error.to_string()),
            "name the directory of an instance, or a file with one message per line",
        ),
        other => problem(other, key),
    }
}

/// The state of an extension.
type State = (ExtensionName, Map<String, Value>);

/// A conversation that is about to be imported: all of it but the messages is in memory.
struct From {
    messages: BufReader<Box<dyn Read>>,
    /// Where the messages are.
    path: PathBuf,
    events: Vec<MessageEvent>,
    extensions: Vec<State>,
    metadata: Metadata,
}

/// What is known of the instance that it was.
#[derive(Default)]
struct Metadata {
    agent: Option<String>,
    created_at: Option<Timestamp>,
}

impl From {
    fn look(path: &Path) -> Result<Self, ConversationError> {
        if path.to_str() == Some("-") {
            return Ok(Self::of(Box::new(io::stdin()), "standard input".into()));
        }
        if !host::is_dir(path) {
            return Ok(Self::of(opened(path)?, path.to_owned()));
        }
        let inner = path.join("messages");
        let inner = if host::is_dir(&inner) { inner } else { path.to_owned() };
        let base = inner.join(BASE);
        Ok(Self {
            events: events(&inner.join(EVENTS))?,
            extensions: extensions(&path.join("extensions"))?,
            metadata: metadata(&path.join(METADATA))?,
            ..Self::of(opened(&base)?, base)
        })
    }

    fn of(messages: Box<dyn Read>, path: PathBuf) -> Self {
        let messages = BufReader::with_capacity(64 * 1024, messages);
        Self { messages, path, events: Vec::new(), extensions: Vec::new(), metadata: Metadata::default() }
    }

    /// Takes the values of secrets out of what is in memory.
    fn redact(&mut self, redactor: &Redactor) {
        self.events = std::mem::take(&mut self.events).into_iter().map(|event| event.redacted(redactor)).collect();
        for (_, state) in &mut self.extensions {
            let mut value = Value::Object(std::mem::take(state));
            redactor.json(&mut value);
            if let Value::Object(redacted) = value {
                *state = redacted;
            }
        }
    }
}

fn opened(path: &Path) -> Result<Box<dyn Read>, ConversationError> {
    Ok(Box::new(host::open(path).map_err(|error| unreadable(path, error))?))
}

fn events(path: &Path) -> Result<Vec<MessageEvent>, ConversationError> {
    if !host::is_file(path) {
        return Ok(Vec::new());
    }
    let mut lines = Lines::of(BufReader::new(opened(path)?), path);
    std::iter::from_fn(|| lines.read()).collect()
}

fn extensions(place: &Path) -> Result<Vec<State>, ConversationError> {
    let mut found = Vec::new();
    for file in host::names_in(place).map_err(|error| unreadable(place, error))? {
        let path = place.join(&file);
        let damaged = |reason: String| ConversationError::DamagedFile { path: path.clone(), reason };
        let stem = file.strip_suffix(".json").ok_or_else(|| damaged("it is no state of an extension".to_owned()))?;
        let name = ExtensionName::new(stem).map_err(|bad| damaged(bad.to_string()))?;
        let text = host::read_text(&path).map_err(|error| unreadable(&path, error))?;
        found.push((name, serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?));
    }
    Ok(found)
}

/// Whose instance it was, and since when.
fn metadata(path: &Path) -> Result<Metadata, ConversationError> {
    if !host::is_file(path) {
        return Ok(Metadata::default());
    }
    let damaged = |reason: String| ConversationError::DamagedFile { path: path.to_owned(), reason };
    let text = host::read_text(path).map_err(|error| unreadable(path, error))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    let Value::String(agent) = &metadata["agentName"] else {
        return Err(damaged("it does not say which agent's instance it is".to_owned()));
    };
    let created_at = match &metadata["createdAt"] {
        Value::Null => None,
        moment => Some(serde_json::from_value(moment.clone()).map_err(|error| damaged(error.to_string()))?),
    };
    Ok(Metadata { agent: Some(agent.clone()), created_at })
}
