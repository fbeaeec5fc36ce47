//! `paddock connect`: writes a client's MCP entry and switches off its own file and shell tools, or takes that back.
//!
//! Everything is planned before anything is written: a file that cannot be read as it should stops the whole. The person sees
//! the difference and agrees; what is written is remembered first, so that also a half of it can be taken back. It must
//! never write a token, and never touch what it was not asked to.

mod clients;
mod document;
mod guard;
mod json;
mod plan;
mod record;
mod toml;
mod wish;

use std::path::{Path, PathBuf};

use paddock_desk::{Project, unified};
use serde_json::{Value, json};

use crate::cli::{Connect, Global};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Look, Printer};
use clients::{Client, Reach, Setting, Wanted};
use document::Format;
use plan::{Outcome, Refused};
use record::{Memory, Record, Written};

pub(crate) fn run(global: &Global, options: &Connect, printer: &Printer) -> anyhow::Result<Ended> {
    if options.hook {
        return guard::answer(options.client, printer);
    }
    let places = global.places();
    let needs_config = !options.undo && !options.http;
    let project = if needs_config { Project::with_config(&places)? } else { Project::find(&places)? };
    let directory = project.config.parent().unwrap_or(Path::new("/"));
    let directory = host::real(directory).unwrap_or_else(|_| directory.to_owned());
    let setting = Setting {
        project: &directory,
        person: if options.user { Some(persons_home()?) } else { None },
        reach: reach(global, options, &project)?,
        program: utf8(&std::env::current_exe()?)?,
    };
    let client = clients::of(options, &setting);
    let place = setting.person.as_deref().unwrap_or(&directory);
    let memory = Memory::of(&project.system_root, client.word, place);
    let record = memory.recall()?;
    let files = if options.undo { undone(record.as_ref())? } else { connected(&client, record.as_ref())? };
    let task = Task { options, client: &client, place, files };
    task.finish(&memory, printer)
}

/// How the client will reach Paddock. All paths are absolute: clients rarely have the person's PATH or directory.
fn reach(global: &Global, options: &Connect, project: &Project) -> anyhow::Result<Reach> {
    if options.http {
        return Ok(Reach::Ask { url: options.url.clone(), token_env: options.token_env.clone() });
    }
    let mut arguments = vec!["mcp".to_owned(), "--config".to_owned(), utf8(&project.config)?];
    if let Some(home) = global.home_elsewhere() {
        arguments.extend(["--home".to_owned(), utf8(&std::path::absolute(home)?)?]);
    }
    if let Some(agent) = &global.agent {
        arguments.extend(["--agent".to_owned(), agent.to_string()]);
    }
    Ok(Reach::Start(arguments))
}

fn persons_home() -> anyhow::Result<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
        Failure::failed(
            "your home directory is not known",
            "set HOME, or leave --user out to connect this project only",
        )
    })
}

fn utf8(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!("the path \"{}\" cannot be written into a client's file: it is no UTF-8", path.display());
        Failure::failed(message, "give the directories on it names in UTF-8")
    })
}

/// What happens to one file.
struct FilePlan {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// What is remembered of it then.
    written: Option<Written>,
    /// Directories that go with it when they are empty.
    directories: Vec<PathBuf>,
    kept: Vec<String>,
}

impl FilePlan {
    fn is_change(&self) -> bool {
        self.before != self.after
    }

    fn word(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, Some(_)) => "create",
            (Some(_), None) => "remove",
            (before, after) if before == after => "keep",
            _ => "change",
        }
    }
}

/// What connecting does: each file of the client, and those that an earlier version wrote and this one does not.
fn connected(client: &Client, record: Option<&Record>) -> anyhow::Result<Vec<FilePlan>> {
    let mut files = Vec::new();
    for Wanted { path, content } in &client.files {
        let before = read(path)?;
        let recorded = record.and_then(|record| record.of_file(path));
        let done = recorded.map(|written| written.done.as_slice()).unwrap_or_default();
        let outcome = plan::apply(content, before.as_deref(), done).map_err(|refused| told(path, refused))?;
        files.push(connected_file(path, before, outcome, recorded));
    }
    let wanted = |path: &Path| client.files.iter().any(|file| file.path == path);
    for stale in record.iter().flat_map(|record| &record.files).filter(|written| !wanted(&written.path)) {
        files.extend(undone_file(stale)?);
    }
    Ok(files)
}

fn connected_file(path: &Path, before: Option<String>, outcome: Outcome, recorded: Option<&Written>) -> FilePlan {
    let earlier = recorded.cloned().unwrap_or_default();
    let mut directories = host::missing_above(path);
    directories.extend(earlier.directories.into_iter().filter(|_| before.is_some()));
    let written =
        Written { path: path.to_owned(), made: earlier.made || before.is_none(), directories, done: outcome.done };
    FilePlan {
        path: path.to_owned(),
        before,
        after: outcome.text,
        written: Some(written).filter(|written| !written.done.is_empty()),
        directories: Vec::new(),
        kept: outcome.kept,
    }
}

/// What taking back does: the entry goes before the client's own tools come back.
fn undone(record: Option<&Record>) -> anyhow::Result<Vec<FilePlan>> {
    let mut files = Vec::new();
    for written in record.iter().flat_map(|record| &record.files).rev() {
        files.extend(undone_file(written)?);
    }
    Ok(files)
}

fn undone_file(written: &Written) -> anyhow::Result<Option<FilePlan>> {
    let Some(before) = read(&written.path)? else { return Ok(None) };
    let format = match written.path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Some(Format::Json),
        Some("toml") => Some(Format::Toml),
        _ => None,
    };
    let outcome = plan::undo(format, &before, &written.done, written.made);
    let outcome = outcome.map_err(|refused| told(&written.path, refused))?;
    Ok(Some(FilePlan {
        path: written.path.clone(),
        before: Some(before),
        after: outcome.text,
        written: None,
        directories: written.directories.clone(),
        kept: outcome.kept,
    }))
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    host::text_if_any(path).map_err(|error| {
        let message = format!("cannot read \"{}\": {error}", path.display());
        Failure::misused(message, "check that it is a text file that you may read; nothing was written")
    })
}

/// Why a file is left alone, as it is told. Nothing was written then, to no file.
fn told(path: &Path, refused: Refused) -> anyhow::Error {
    let path = path.display();
    match refused {
        Refused::Broken(broken) => Failure::misused(
            format!("\"{path}\", line {}: {}", broken.line, broken.reason),
            format!("mend line {}, then connect again; nothing was written", broken.line),
        ),
        Refused::InTheWay(what) => Failure::misused(
            format!("\"{path}\": {what}"),
            "change or remove it, then connect again; nothing was written",
        ),
        Refused::Taken(what) => Failure::misused(
            format!("\"{path}\": {what}"),
            "rename or remove it if it is not needed, then connect again; nothing was written",
        ),
    }
}

/// What was planned, to be shown, agreed to and done.
struct Task<'a> {
    options: &'a Connect,
    client: &'a Client,
    place: &'a Path,
    files: Vec<FilePlan>,
}

impl Task<'_> {
    fn finish(self, memory: &Memory, printer: &Printer) -> anyhow::Result<Ended> {
        let changes = self.files.iter().any(FilePlan::is_change);
        if !self.options.json {
            self.show(printer)?;
        }
        let agreed = self.agreed(changes)?;
        if agreed && !self.options.dry_run && (changes || self.options.undo) {
            self.write(memory)?;
        }
        let written = agreed && changes && !self.options.dry_run;
        if self.options.json {
            printer.json(&self.value(written))?;
        } else {
            self.tell(changes, written, printer)?;
        }
        Ok(if agreed { Ended::Done } else { Ended::Denied })
    }

    /// May it be written? Nobody is asked about nothing.
    fn agreed(&self, changes: bool) -> anyhow::Result<bool> {
        if !changes || self.options.yes || self.options.dry_run {
            return Ok(true);
        }
        let question = if self.options.undo { "take this back?" } else { "write this?" };
        printer::confirmed(question)?.ok_or_else(|| {
            let hint = "--yes does it without a question, --dry-run only shows it";
            Failure::misused("nothing was written: nobody can be asked here", hint)
        })
    }

    fn write(&self, memory: &Memory) -> anyhow::Result<()> {
        for file in self.files.iter().filter(|file| file.is_change()) {
            if read(&file.path)? != file.before {
                let message = format!("\"{}\" was changed meanwhile; nothing was written", file.path.display());
                return Err(Failure::failed(message, "look at it, and connect again"));
            }
        }
        let remembered = || self.files.iter().filter_map(|file| file.written.clone()).collect();
        if !self.options.undo {
            // What is about to be written can be taken back from now on, however far it comes.
            memory.keep(&Record::new(self.client.word, self.place, remembered()))?;
        }
        for file in self.files.iter().filter(|file| file.is_change()) {
            write_file(file).map_err(|error| {
                let message = format!("cannot write \"{}\": {error}", file.path.display());
                Failure::failed(message, "check that you may write there; --undo takes back what was written before it")
            })?;
        }
        if self.options.undo { memory.forget() } else { Ok(()) }
    }

    /// The difference that writing it makes.
    fn show(&self, printer: &Printer) -> anyhow::Result<()> {
        for file in self.files.iter().filter(|file| file.is_change()) {
            for line in self.diff(file).lines() {
                let look = match line.as_bytes().first() {
                    Some(b'+') => Some(Look::Good),
                    Some(b'-') => Some(Look::Bad),
                    Some(b'@') => Some(Look::Faint),
                    _ => None,
                };
                printer.line(look.map_or_else(|| line.to_owned(), |look| printer.look(look, line)))?;
            }
            printer.line("")?;
        }
        Ok(())
    }

    fn diff(&self, file: &FilePlan) -> String {
        let name = self.name(&file.path);
        let side = |text: &Option<String>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
        let text = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
        let (old, new) = (side(&file.before), side(&file.after));
        unified::diff((&old, &text(&file.before)), (&new, &text(&file.after)))
    }

    fn name(&self, path: &Path) -> String {
        let short = path.strip_prefix(self.place).map(|path| path.display().to_string());
        match short {
            Ok(short) if self.options.user => format!("~/{short}"),
            Ok(short) => short,
            Err(_) => path.display().to_string(),
        }
    }

    fn tell(&self, changes: bool, written: bool, printer: &Printer) -> anyhow::Result<()> {
        let title = self.client.title;
        for (file, kept) in self.files.iter().flat_map(|file| file.kept.iter().map(move |kept| (file, kept))) {
            printer.line(format_args!("{}: kept {kept}", self.name(&file.path)))?;
        }
        let what = match (self.options.undo, changes) {
            (true, false) => return self.tell_of_nothing(printer),
            (false, false) => format!("nothing changes: {title} is connected already"),
            (_, true) if self.options.dry_run => "nothing was written: --dry-run".to_owned(),
            (_, true) if !written => "nothing was written".to_owned(),
            (true, true) => {
                return printer.line(format_args!("taken back; restart {title}, which has its own tools again"));
            }
            (false, true) => format!("connected {title}"),
        };
        printer.line(printer.look(if written { Look::Good } else { Look::Strong }, what))?;
        if self.options.undo || (changes && !written && !self.options.dry_run) {
            return Ok(());
        }
        self.list(printer, "Switched off:", self.client.off)?;
        self.list(printer, "What Paddock cannot confine there:", self.client.open)?;
        let next: Vec<&str> = self.client.next.iter().map(String::as_str).collect();
        self.list(printer, "Next:", &next)
    }

    /// Lists of names stand in lines, sentences each in one of its own.
    fn list(&self, printer: &Printer, head: &str, rows: &[&str]) -> anyhow::Result<()> {
        printer.line(format_args!("\n{}", printer.look(Look::Strong, head)))?;
        if rows.iter().all(|row| !row.contains(' ')) {
            return printer.line(format_args!("  {}", rows.join(", ")));
        }
        rows.iter().try_for_each(|row| printer.line(format_args!("  - {row}")))
    }

    /// Nothing is known to take back: lines that are there all the same were not written from here.
    fn tell_of_nothing(&self, printer: &Printer) -> anyhow::Result<()> {
        if !self.files.is_empty() {
            return printer.line("nothing is left to take back");
        }
        printer.line(format_args!("nothing to take back: {} was not connected from here", self.client.title))?;
        for file in &self.client.files {
            if read(&file.path)?.is_some_and(|text| text.contains(clients::NAME)) {
                printer.line(format_args!("{} names paddock: look at it yourself", self.name(&file.path)))?;
            }
        }
        Ok(())
    }

    fn value(&self, written: bool) -> Value {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| {
                let diff = if file.is_change() { self.diff(file) } else { String::new() };
                json!({ "path": file.path, "change": file.word(), "diff": diff, "kept": file.kept })
            })
            .collect();
        json!({
            "client": self.client.word,
            "for_every_project": self.options.user,
            "undo": self.options.undo,
            "written": written,
            "files": files,
            "switched_off": self.client.off,
            "not_confined": self.client.open,
            "next": self.client.next,
        })
    }
}

fn write_file(file: &FilePlan) -> std::io::Result<()> {
    match &file.after {
        Some(text) => {
            if let Some(above) = file.path.parent() {
                host::make_dir(above)?;
            }
            // New files are for everybody to read, as an editor makes them; the person's mask decides.
            host::replace(&file.path, text, 0o666)
        }
        None => {
            host::remove_if_there(&file.path)?;
            file.directories.iter().for_each(|directory| host::remove_dir_if_empty(directory));
            Ok(())
        }
    }
}
