//! What holds for any calls of any tools with any arguments. The fuzz target `tool_arguments` checks the same
//! function.
//!
//! Calls are read from bytes, so that a fuzzer and a property test make them alike. They go to an agent beside whose
//! files stand some that it must never see or change: hidden, guarded, shadowed, delivered, read-only, and a Store that
//! tells a path of its host with every error.

use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Applied, Call, ChangeSet, EntrySink, ErrorKind, GUARDED, HidePattern, Hit,
    LastName, LogicalPath, Meta, Mount, NameRules, NoJournal, Origin, Place, Query, RelPath, RelPathBuf, Result, Sink,
    Store, StoreError, Vfs, Walk, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_tools::{Answer, Control, Piece, RecordingGate, ToolSpec, Toolbox};
use serde_json::{Map, Value, json};

const MOST_CALLS: usize = 8;
/// In everything that must not come out, and in nothing else.
const MARK: &str = "8f3a";
const HIDDEN: &str = "secret-8f3a";

/// What the Store behind `/w` holds that no call may change, by path.
const KEPT: &[(&str, &str)] = &[
    ("/secret-8f3a", "hidden 8f3a"),
    ("/d/secret-8f3a/deep", "hidden 8f3a"),
    ("/o/shadow", "shadowed 8f3a"),
    ("/.git/hooks/pre-commit", "#!/bin/sh\n"),
    ("/bin/paddock", "Paddock itself"),
];

/// Makes the calls that the bytes spell, and checks each answer and what is left in the end. Gives back how many
/// were made, and how many of them were done.
pub(crate) fn hold(bytes: &[u8]) -> (usize, usize) {
    let pen = Pen::new();
    let (mut made, mut done) = (0, 0);
    let mut told_by_agent = false;
    for (tool, arguments) in calls(bytes, &pen.agent.tools()) {
        told_by_agent |= Value::Object(arguments.clone()).to_string().contains(MARK);
        let answer = pen.agent.call(&tool, arguments.clone(), &control());
        let all = everything(&answer);
        assert!(!answer.content.is_empty(), "{tool} {arguments:?}");
        assert!(told_by_agent || !all.contains(MARK), "{tool} {arguments:?} let out {all}");
        assert_ne!(answer.structured.get("error"), Some(&json!("defect")), "{tool} {arguments:?}: {all}");
        made += 1;
        done += usize::from(!answer.is_error());
        if answer.is_error() {
            assert!(answer.text().starts_with("❌ ERROR: "), "{tool} {arguments:?}: {all}");
            assert!(answer.structured["error"].is_string(), "{tool} {arguments:?}: {all}");
        }
    }
    for (path, content) in KEPT {
        assert_eq!(read(&pen.behind_w, path), content.trim_end(), "{path} is as it was");
    }
    assert_eq!(read(&pen.behind_r, "/f"), "kept", "read-only is read-only");
    (made, done)
}

/// The calls that the bytes spell. With none left every choice is the first, so any bytes will do.
fn calls(bytes: &[u8], tools: &[ToolSpec]) -> Vec<(String, Map<String, Value>)> {
    let mut bytes = Bytes(bytes);
    let mut calls = Vec::new();
    while !bytes.0.is_empty() && calls.len() < MOST_CALLS {
        let tool = bytes.pick(tools);
        calls.push(match bytes.below(16) {
            0 => (bytes.text(), bytes.object(2)),
            1 => (tool.name.to_owned(), bytes.object(2)),
            2 => (tool.name.to_owned(), bytes.written()),
            _ => (tool.name.to_owned(), bytes.fitting(tool)),
        });
    }
    calls
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: u8) -> u8 {
        self.next() % end
    }

    fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[usize::from(self.next()) % list.len()]
    }

    /// Arguments with the names and types of the tool, mostly: what gets past the first check.
    fn fitting(&mut self, tool: &ToolSpec) -> Map<String, Value> {
        let required = tool.input_schema["required"].as_array().unwrap();
        let mut arguments = Map::new();
        for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
            let there = if required.contains(&json!(name)) { self.below(32) != 31 } else { self.below(4) == 1 };
            if there {
                let is_path = ["path", "source", "destination", "after"].contains(&name.as_str());
                let kind = property["type"].as_str().unwrap();
                let value = if is_path { self.path().into() } else { self.value_of(kind) };
                arguments.insert(name.clone(), value);
            }
        }
        arguments
    }

    fn value_of(&mut self, kind: &str) -> Value {
        match kind {
            "string" => self.text().into(),
            "integer" => u64::from(self.below(5)).into(),
            "boolean" => (self.below(2) == 1).into(),
            _ => (0..self.below(3)).map(|_| json!({"old_string": self.text(), "new_string": self.text()})).collect(),
        }
    }

    fn object(&mut self, depth: u8) -> Map<String, Value> {
        const NAMES: &[&str] =
            &["path", "file_path", "content", "old_string", "new_string", "edits", "glob", "pattern"];
        (0..self.below(4)).map(|_| ((*self.pick(NAMES)).to_owned(), self.value(depth))).collect()
    }

    fn value(&mut self, depth: u8) -> Value {
        match self.below(8) {
            0 => Value::Null,
            1 => (self.next() > 127).into(),
            2 => i64::from_le_bytes(std::array::from_fn(|_| self.next())).into(),
            3 => f64::from_le_bytes(std::array::from_fn(|_| self.next())).into(),
            4 if depth > 0 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            5 if depth > 0 => Value::Object(self.object(depth - 1)),
            _ => self.text().into(),
        }
    }

    /// Arguments as JSON, as a client writes them.
    fn written(&mut self) -> Map<String, Value> {
        serde_json::from_str(&self.raw()).unwrap_or_default()
    }

    fn raw(&mut self) -> String {
        let length = usize::from(self.below(32));
        let (raw, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        String::from_utf8_lossy(raw).into_owned()
    }

    fn text(&mut self) -> String {
        if self.below(8) == 7 { self.raw() } else { (*self.pick(TEXTS)).to_owned() }
    }

    fn path(&mut self) -> String {
        if self.below(8) == 7 { self.text() } else { (*self.pick(PATHS)).to_owned() }
    }
}

const PATHS: &[&str] = &[
    "/w",
    "/w/f",
    "/w/d",
    "/w/d/e",
    "/w/new/x",
    "/w/link",
    "/w/to_hidden",
    "/w/to_dir",
    "/w/to_o",
    "/w/out",
    "/w/circle",
    "/w/.git",
    "/w/.git/hooks/pre-commit",
    "/w/bin",
    "/w/bin/paddock",
    "/w/o",
    "/w/o/f",
    "/w/o/new",
    "/r",
    "/r/f",
    "/",
    "/bad",
    "/bad/f",
    "/x",
];

const TEXTS: &[&str] = &[
    "*",
    "**/*",
    ".*",
    "x",
    "y\n",
    "kept",
    "",
    "^",
    "[",
    "(",
    "#",
    "v0",
    "/w/f#1",
    "/w",
    "w/../w/f",
    "..",
    "/w/paddock.toml",
];

/// The honest twin: do the same calls let something out where no rule of a name or a nested Workspace holds?
pub(crate) fn let_out_without_rules(bytes: &[u8]) -> bool {
    let pen = Pen::new();
    let calls = calls(bytes, &pen.agent.tools());
    calls.into_iter().any(|(tool, arguments)| {
        let told_by_agent = Value::Object(arguments.clone()).to_string().contains(MARK);
        !told_by_agent && everything(&pen.without_rules.call(&tool, arguments, &control())).contains(MARK)
    })
}

struct Pen {
    agent: Toolbox,
    without_rules: Toolbox,
    behind_w: Toolbox,
    behind_r: Toolbox,
}

impl Pen {
    fn new() -> Self {
        let (w, r, o) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
        let (behind_w, behind_r) = (behind(&w), behind(&r));
        for (path, content) in KEPT {
            write(&behind_w, path, content);
        }
        write(&behind_w, "/f", &"x\ny\n".repeat(20));
        write(&behind_w, "/d/e", "x\0binary");
        write(&behind_r, "/f", "kept");
        write(&behind(&o), "/f", "delivered 8f3a");
        for (link, to) in [
            ("link", "f"),
            ("to_hidden", HIDDEN),
            ("to_dir", "d/secret-8f3a"),
            ("to_o", "o/shadow"),
            ("out", "../../etc/passwd"),
            ("circle", "circle"),
        ] {
            w.plant_link(link, to);
        }
        let open = workspace("/w", AccessScope::ReadWrite, Arc::clone(&w) as _).with_names(NO_NAMES.clone());
        let agent = toolbox(vec![
            workspace("/w", AccessScope::ReadWrite, w).with_names(NAMES.clone()),
            workspace("/w/o", AccessScope::WriteOnly, o),
            workspace("/r", AccessScope::ReadOnly, r),
            workspace("/bad", AccessScope::ReadWrite, Arc::new(Telling)),
        ]);
        Self { agent, without_rules: toolbox(vec![open]), behind_w, behind_r }
    }
}

/// The rules of `/w`; compiled once, since a fuzzer makes a new agent for every case.
static NAMES: LazyLock<NameRules> = LazyLock::new(|| {
    let hide = vec![HidePattern { text: HIDDEN.to_owned(), origin: Origin::unknown() }];
    NameRules::new(hide, &[], &[RelPathBuf::parse("bin/paddock").unwrap()]).unwrap()
});

static NO_NAMES: LazyLock<NameRules> = LazyLock::new(|| {
    let unguard: Vec<String> = GUARDED.iter().map(|row| row.name.to_owned()).collect();
    NameRules::new(Vec::new(), &unguard, &[]).unwrap()
});

/// The Store by itself, with nothing hidden or guarded: as a person sees it.
fn behind(store: &Arc<MemoryStore>) -> Toolbox {
    let all = workspace("/", AccessScope::ReadWrite, Arc::clone(store) as _);
    toolbox(vec![all.with_names(NO_NAMES.clone())])
}

fn toolbox(workspaces: Vec<Workspace>) -> Toolbox {
    let vfs = Vfs::new(workspaces, Arc::new(RecordingGate::new()), Arc::new(NoJournal)).unwrap();
    Toolbox::fixed(AgentPolicy::new(AgentName::main(), LogicalPath::top(), vfs))
}

fn workspace(prefix: &str, scope: AccessScope, store: Arc<dyn Store>) -> Workspace {
    Workspace::new(LogicalPath::parse(prefix, &LogicalPath::top()).unwrap(), scope, Mount::new(store, None))
}

fn control() -> Control {
    Control::for_at_most(Duration::from_secs(60))
}

fn write(toolbox: &Toolbox, path: &str, content: &str) {
    let arguments = json!({"path": path, "content": content}).as_object().cloned().unwrap();
    let answer = toolbox.call("write_file", arguments, &control());
    assert!(!answer.is_error(), "{}", answer.text());
}

fn read(toolbox: &Toolbox, path: &str) -> String {
    let arguments = json!({ "path": path }).as_object().cloned().unwrap();
    let answer = toolbox.call("read_file", arguments, &control());
    assert!(!answer.is_error(), "{}", answer.text());
    answer.text().trim_end().to_owned()
}

fn everything(answer: &Answer) -> String {
    let pieces = answer.content.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Image { mime, data } => format!("{mime} {}", String::from_utf8_lossy(data)),
    });
    pieces.chain([Value::Object(answer.structured.clone()).to_string()]).collect()
}

/// A Store whose every error tells where it is on the host.
struct Telling;

fn told<T>() -> Result<T> {
    Err(StoreError::caused_by(ErrorKind::Io, io::Error::other("open /home/8f3a/data: input/output error")))
}

impl Store for Telling {
    fn resolve(&self, _: &Call<'_>, _: RelPath<'_>, _: LastName) -> Result<RelPathBuf> {
        told()
    }

    fn stat(&self, _: &Call<'_>, _: &Place<'_>) -> Result<Meta> {
        told()
    }

    fn read(&self, _: &Call<'_>, _: &Place<'_>, _: Range<u64>, _: &mut Vec<u8>) -> Result<Meta> {
        told()
    }

    fn walk(&self, _: &Call<'_>, _: &Place<'_>, _: &Walk<'_>, _: EntrySink<'_>) -> Result<()> {
        told()
    }

    fn search(&self, _: &Call<'_>, _: &Place<'_>, _: &Query, _: Sink<'_, Hit>) -> Result<()> {
        told()
    }

    fn apply(&self, _: &Call<'_>, _: &ChangeSet) -> Result<Applied> {
        told()
    }
}
