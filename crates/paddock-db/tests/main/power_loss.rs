//! A disk that loses power: only what was synced survives.
//!
//! A process runs under `strace`; from what it asked of the kernel, a model of its directory is rebuilt that keeps apart
//! what is *there* and what is *on the disk*. A file's content gets onto the disk by `fsync` or `fdatasync` of the file, a name
//! by `fsync` of its directory, and by nothing else: real file systems keep more, none may be relied on. At each line
//! that the process says on its standard output the power can be cut, and the directory looked at as it would then be found.
//!
//! It knows one process with its threads, paths below the given directory, and the calls listed in [`CALLS`]. What
//! is written through a mapping is not seen, and never counts as on the disk.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The calls that change what is on a disk, or by which descriptor.
const CALLS: &str = "open,openat,openat2,creat,mknod,mknodat,mkdir,mkdirat,close,dup,dup2,dup3,fcntl,lseek,read,write,pwrite64,\
     writev,pwritev,pwritev2,truncate,ftruncate,fallocate,fsync,fdatasync,sync,syncfs,rename,renameat,renameat2,link,linkat,\
     unlink,unlinkat,rmdir,copy_file_range,sendfile,symlink,symlinkat";

/// `strace` around the command that is still to be given as arguments, writing to `log`.
pub(crate) fn under_strace(log: &Path, more: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-xx", "-s", "10000000", "-e", &format!("trace={CALLS}"), "-o"]).arg(log);
    strace.args(more).arg("--");
    strace
}

/// Replays `log`, and calls `at` with each line said on the standard output, before it was said, and the disk as it was then.
pub(crate) fn replay(log: &Path, directory: &Path, mut at: impl FnMut(&str, &Disk)) {
    let log = std::fs::read_to_string(log).unwrap();
    let mut disk = Disk::new(directory);
    let mut begun: HashMap<&str, (String, Option<Snapshot>)> = HashMap::new();
    for line in log.lines() {
        let (task, rest) = line.split_once(char::is_whitespace).unwrap();
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        if let Some((_, end)) = rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            let (start, snapshot) = begun.remove(task).unwrap();
            disk.end(&Call::parse(&(start + end)), snapshot);
        } else if let Some(start) = rest.strip_suffix("<unfinished ...>") {
            let snapshot = disk.start(&Call::parse(start), &mut at);
            begun.insert(task, (start.trim_end().to_owned(), snapshot));
        } else {
            let call = Call::parse(rest);
            let snapshot = disk.start(&call, &mut at);
            disk.end(&call, snapshot);
        }
    }
}

/// One call, as `strace` writes it.
#[derive(Debug)]
struct Call {
    name: String,
    arguments: Vec<String>,
    /// What it answered; nothing for a failure, or while it runs.
    answer: Option<i64>,
}

impl Call {
    fn parse(text: &str) -> Self {
        let (name, rest) = text.split_once('(').unwrap_or_else(|| panic!("not a call: {text}"));
        let (inside, answer) = match rest.rfind(" = ") {
            Some(at) => (rest[..at].trim_end().trim_end_matches(')'), Some(&rest[at + 3..])),
            None => (rest, None),
        };
        let answer = answer.and_then(|text| text.split_whitespace().next()?.parse().ok()).filter(|answer| *answer >= 0);
        Self { name: name.to_owned(), arguments: split(inside), answer }
    }

    fn number(&self, at: usize) -> i64 {
        self.arguments[at].parse().unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn size(&self, at: usize) -> usize {
        usize::try_from(self.number(at)).unwrap()
    }

    fn bytes(&self, at: usize) -> Vec<u8> {
        unescape(&self.arguments[at])
    }

    fn path(&self, at: usize) -> PathBuf {
        String::from_utf8(self.bytes(at)).unwrap().into()
    }

    fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.split('|').any(|one| one == flag))
    }
}

/// The arguments, at the commas outside strings and lists. Bytes are all escaped, so a quote is a quote.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

/// All strings in the text, one after the other: one of them, or those of a vector.
fn unescape(text: &str) -> Vec<u8> {
    let hex = text.split('"').skip(1).step_by(2).flat_map(|string| string.split("\\x").skip(1));
    hex.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

type Id = usize;

/// A file or a directory: as it is, and as it is on the disk.
#[derive(Debug, Clone)]
enum Node {
    File { now: Vec<u8>, synced: Vec<u8> },
    Directory { now: BTreeMap<String, Id>, synced: BTreeMap<String, Id> },
}

/// What a sync that has begun will make durable.
#[derive(Debug)]
struct Snapshot(Id, Node);

#[derive(Debug, Clone, Copy)]
struct Open {
    node: Id,
    offset: usize,
    append: bool,
}

/// The directory, in both ways.
#[derive(Debug)]
pub(crate) struct Disk {
    directory: PathBuf,
    nodes: Vec<Node>,
    open: Vec<Open>,
    descriptors: HashMap<i64, usize>,
}

impl Disk {
    fn new(directory: &Path) -> Self {
        let top = Node::Directory { now: BTreeMap::new(), synced: BTreeMap::new() };
        Self { directory: directory.to_owned(), nodes: vec![top], open: Vec::new(), descriptors: HashMap::new() }
    }

    /// Writes what is on the disk into the empty directory `to`.
    pub(crate) fn write_into(&self, to: &Path) {
        self.write_node(0, to);
    }

    fn write_node(&self, id: Id, to: &Path) {
        match &self.nodes[id] {
            Node::File { synced, .. } => std::fs::write(to, synced).unwrap(),
            Node::Directory { synced, .. } => {
                std::fs::create_dir_all(to).unwrap();
                for (name, id) in synced {
                    self.write_node(*id, &to.join(name));
                }
            }
        }
    }

    fn start(&self, call: &Call, at: &mut impl FnMut(&str, &Self)) -> Option<Snapshot> {
        match call.name.as_str() {
            "write" if call.arguments[0] == "1" => {
                String::from_utf8_lossy(&call.bytes(1)).lines().for_each(|line| at(line, self));
                None
            }
            "fsync" | "fdatasync" => {
                let id = self.node_of(&call.arguments[0])?;
                Some(Snapshot(id, self.nodes[id].clone()))
            }
            "sync" | "syncfs" | "copy_file_range" | "sendfile" | "symlink" | "symlinkat" => {
                panic!("not modelled: {call:?}")
            }
            _ => None,
        }
    }

    fn end(&mut self, call: &Call, snapshot: Option<Snapshot>) {
        let Some(answer) = call.answer else { return };
        let written = usize::try_from(answer).unwrap();
        match call.name.as_str() {
            "fsync" | "fdatasync" => snapshot.into_iter().for_each(|Snapshot(id, then)| self.synced(id, then)),
            "open" | "creat" => self.opened(call, self.find(None, &call.path(0)), answer),
            "openat" | "openat2" => self.opened(call, self.find(Some(&call.arguments[0]), &call.path(1)), answer),
            "mknod" => drop(self.make(self.find(None, &call.path(0)), empty_file)),
            "mknodat" => drop(self.make(self.find(Some(&call.arguments[0]), &call.path(1)), empty_file)),
            "mkdir" => drop(self.make(self.find(None, &call.path(0)), empty_directory)),
            "mkdirat" => drop(self.make(self.find(Some(&call.arguments[0]), &call.path(1)), empty_directory)),
            "close" => drop(self.descriptors.remove(&call.number(0))),
            "dup" => self.duplicated(call.number(0), answer),
            "dup2" | "dup3" => self.duplicated(call.number(0), answer),
            "fcntl" if call.arguments[1].starts_with("F_DUPFD") => self.duplicated(call.number(0), answer),
            "lseek" => drop(self.file_of(call).map(|open| open.offset = written)),
            "read" => drop(self.file_of(call).map(|open| open.offset += written)),
            "write" | "writev" => self.write_on(call, written),
            "pwrite64" | "pwritev" | "pwritev2" => self.write_at(call, call.size(3), written),
            "ftruncate" => self.resize(self.node_of(&call.arguments[0]), call.size(1)),
            "truncate" => self.resize(self.find(None, &call.path(0)).and_then(|place| self.at(&place)), call.size(1)),
            "fallocate" if call.arguments[1] == "0" => self.grow(call),
            "rename" => self.moved(call, self.find(None, &call.path(0)), self.find(None, &call.path(1))),
            "renameat" | "renameat2" | "linkat" => self.moved(
                call,
                self.find(Some(&call.arguments[0]), &call.path(1)),
                self.find(Some(&call.arguments[2]), &call.path(3)),
            ),
            "link" => self.moved(call, self.find(None, &call.path(0)), self.find(None, &call.path(1))),
            "unlink" | "rmdir" => self.put(self.find(None, &call.path(0)), None),
            "unlinkat" => self.put(self.find(Some(&call.arguments[0]), &call.path(1)), None),
            _ => {}
        }
    }

    fn synced(&mut self, id: Id, then: Node) {
        match (&mut self.nodes[id], then) {
            (Node::File { synced, .. }, Node::File { now, .. }) => *synced = now,
            (Node::Directory { synced, .. }, Node::Directory { now, .. }) => *synced = now,
            _ => unreachable!("a node does not change its kind"),
        }
    }

    /// The directory and the name that a path stands for; nothing outside the modelled directory.
    fn find(&self, from: Option<&str>, path: &Path) -> Option<(Id, Option<String>)> {
        let (mut id, below) = match from {
            Some(from) if path.is_relative() => (self.node_of(from)?, path),
            _ => (0, path.strip_prefix(&self.directory).ok()?),
        };
        let mut names: Vec<_> = below.iter().map(|name| name.to_str().unwrap()).filter(|name| *name != ".").collect();
        let last = names.pop().map(str::to_owned);
        for name in names {
            id = self.at(&(id, Some(name.to_owned())))?;
        }
        Some((id, last))
    }

    fn at(&self, place: &(Id, Option<String>)) -> Option<Id> {
        match (&self.nodes[place.0], &place.1) {
            (_, None) => Some(place.0),
            (Node::Directory { now, .. }, Some(name)) => now.get(name).copied(),
            (Node::File { .. }, Some(_)) => None,
        }
    }

    fn put(&mut self, place: Option<(Id, Option<String>)>, id: Option<Id>) {
        let Some((directory, Some(name))) = place else { return };
        let Node::Directory { now, .. } = &mut self.nodes[directory] else { return };
        match id {
            Some(id) => now.insert(name, id),
            None => now.remove(&name),
        };
    }

    fn make(&mut self, place: Option<(Id, Option<String>)>, node: fn() -> Node) -> Option<Id> {
        self.nodes.push(node());
        let id = self.nodes.len() - 1;
        self.put(place.clone(), Some(id));
        place.map(|_| id)
    }

    fn moved(&mut self, call: &Call, from: Option<(Id, Option<String>)>, to: Option<(Id, Option<String>)>) {
        let Some(id) = from.as_ref().and_then(|from| self.at(from)) else {
            assert!(to.is_none(), "moved in from outside: {call:?}");
            return;
        };
        let other = if call.has("RENAME_EXCHANGE") { to.as_ref().and_then(|to| self.at(to)) } else { None };
        if !call.name.starts_with("link") {
            self.put(from, other);
        }
        self.put(to, Some(id));
    }

    fn opened(&mut self, call: &Call, place: Option<(Id, Option<String>)>, descriptor: i64) {
        self.descriptors.remove(&descriptor);
        let Some(place) = place else { return };
        let text = call.arguments.join("|");
        assert!(!text.contains("O_SYNC") && !text.contains("O_DSYNC"), "not modelled: {call:?}");
        let node = match self.at(&place) {
            Some(node) => node,
            None => self.make(Some(place), empty_file).unwrap(),
        };
        if text.contains("O_TRUNC") || call.name == "creat" {
            self.resize(Some(node), 0);
        }
        self.open.push(Open { node, offset: 0, append: text.contains("O_APPEND") });
        self.descriptors.insert(descriptor, self.open.len() - 1);
    }

    fn duplicated(&mut self, from: i64, to: i64) {
        match self.descriptors.get(&from).copied() {
            Some(open) => self.descriptors.insert(to, open),
            None => self.descriptors.remove(&to),
        };
    }

    fn node_of(&self, descriptor: &str) -> Option<Id> {
        let open = self.descriptors.get(&descriptor.parse().ok()?)?;
        Some(self.open[*open].node)
    }

    fn file_of(&mut self, call: &Call) -> Option<&mut Open> {
        let open = *self.descriptors.get(&call.number(0))?;
        Some(&mut self.open[open])
    }

    fn write_on(&mut self, call: &Call, written: usize) {
        let Some(open) = self.file_of(call).copied() else { return };
        let end = match &self.nodes[open.node] {
            Node::File { now, .. } => now.len(),
            Node::Directory { .. } => 0,
        };
        let offset = if open.append { end } else { open.offset };
        self.write_at(call, offset, written);
        let _ = self.file_of(call).map(|open| open.offset = offset + written);
    }

    fn write_at(&mut self, call: &Call, offset: usize, written: usize) {
        let Some(id) = self.node_of(&call.arguments[0]) else { return };
        let Node::File { now, .. } = &mut self.nodes[id] else { return };
        let bytes = call.bytes(1);
        if now.len() < offset + written {
            now.resize(offset + written, 0);
        }
        now[offset..offset + written].copy_from_slice(&bytes[..written]);
    }

    fn resize(&mut self, id: Option<Id>, size: usize) {
        if let Some(Node::File { now, .. }) = id.map(|id| &mut self.nodes[id]) {
            now.resize(size, 0);
        }
    }

    fn grow(&mut self, call: &Call) {
        let end = call.size(2) + call.size(3);
        if let Some(Node::File { now, .. }) = self.node_of(&call.arguments[0]).map(|id| &mut self.nodes[id]) {
            now.resize(now.len().max(end), 0);
        }
    }
}

fn empty_file() -> Node {
    Node::File { now: Vec::new(), synced: Vec::new() }
}

fn empty_directory() -> Node {
    Node::Directory { now: BTreeMap::new(), synced: BTreeMap::new() }
}
