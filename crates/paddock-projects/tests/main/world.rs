//! A person with a Workspace on a disk, one in a database, and a history of what they do.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Alter, Alteration, Audit, CallRecord, Cancel, Expect, HidePattern, Kind,
    LogicalPath, Mount, NameRules, Operation, Origin, PLAIN_MODE, Quota, RelPathBuf, Result as StoreResult, Store,
    Territory, Vfs, View, Walk, Workspace,
};
use paddock_db::{Durability, Schema, Sqlite};
use paddock_ledger::history::{History, schema};
use paddock_projects::export::{Export, Exported};
use paddock_projects::import::{Import, Imported};
use paddock_projects::{ProjectError, Remote, Scratch, export, import, unwatched};
use paddock_stores::conformance::world::Open;
pub(crate) use paddock_stores::conformance::world::path_of as path;
use paddock_stores::quota::reconcile;
use paddock_stores::virtual_store::base::Namespace;
use paddock_stores::virtual_store::{SqliteBase, VirtualStore};
use paddock_stores::{HardLinks, KeptPlace, MemoryUsage, PhysicalStore};
use paddock_tools::Person;
use tempfile::TempDir;

/// What is at a path: mode and content, where a link leads, or that it is a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Dir(u32),
    File(u32, Vec<u8>),
    Link(String),
}

pub(crate) type Tree = BTreeMap<String, Node>;

#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<(String, String)>>);

impl Audit for Heard {
    fn record(&self, record: &CallRecord<'_>) -> StoreResult<()> {
        self.0.lock().unwrap().push((record.tool.to_owned(), record.outcome.to_owned()));
        Ok(())
    }
}

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) policy: AgentPolicy,
    pub(crate) history: History,
    pub(crate) heard: Heard,
    pub(crate) scratch: Scratch,
}

/// The Workspaces that things are played on: on a disk, and in a database.
pub(crate) const GROUNDS: [&str; 2] = ["/p", "/v"];

impl World {
    pub(crate) fn new() -> Self {
        Self::with_quota(Quota::default())
    }

    pub(crate) fn with_quota(quota: Quota) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str, schema: Schema| Sqlite::new(dir.path().join(name), vec![schema], Durability::Process);
        let history = History::on_sqlite(open("history.db", schema::SQLITE));
        let kept = KeptPlace::new(&dir.path().join("kept")).unwrap();
        let physical = |name: &str| -> Arc<dyn Store> {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
            let store = PhysicalStore::new(&dir.path().join(name)).unwrap();
            let store = store.with_history(kept.clone()).with_usage(Arc::new(MemoryUsage::new()));
            reconcile(&store, &Cancel::default()).unwrap();
            Arc::new(store)
        };
        std::fs::create_dir_all(dir.path().join("h")).unwrap();
        let strict = PhysicalStore::new(&dir.path().join("h")).unwrap().with_hard_links(HardLinks::Deny);
        let base = SqliteBase::new(open("state.db", SqliteBase::STATE), open("content.db", SqliteBase::CONTENT));
        let rows: Arc<dyn Store> = Arc::new(VirtualStore::new(Arc::new(base), Namespace::new(["v"])));
        let names = || {
            let hide = [".env", ".env.*", "*.pem"];
            let hide = hide.map(|text| HidePattern { text: text.to_owned(), origin: Origin::unknown() });
            NameRules::new(hide.to_vec(), &[], &[]).unwrap()
        };
        let workspace = |prefix: &str, scope, store: Arc<dyn Store>| {
            let mount = Mount::new(store, Some(Territory::new("test", [prefix])));
            Workspace::new(path(prefix), scope, mount).with_names(names()).with_quota(quota)
        };
        let workspaces = vec![
            workspace("/p", AccessScope::ReadWrite, physical("p")),
            workspace("/v", AccessScope::ReadWrite, rows),
            workspace("/r", AccessScope::ReadOnly, physical("r")),
            workspace("/h", AccessScope::ReadWrite, Arc::new(strict)),
            workspace("/p/holds/nested", AccessScope::ReadWrite, physical("nested")),
        ];
        let vfs = Vfs::new(workspaces, Arc::new(Open), Arc::new(history.clone())).unwrap();
        let scratch = Scratch::new(dir.path().join("scratch"));
        let policy = AgentPolicy::new(AgentName::main(), LogicalPath::top(), vfs);
        Self { dir, policy, history, heard: Heard::default(), scratch }
    }

    pub(crate) fn person(&self) -> Person<'_> {
        Person::on(&self.policy, &self.heard)
    }

    /// Where the Workspace `/p` is on the disk.
    pub(crate) fn disk(&self, below: &str) -> PathBuf {
        self.dir.path().join("p").join(below)
    }

    pub(crate) fn heard(&self) -> Vec<(String, String)> {
        self.heard.0.lock().unwrap().clone()
    }

    /// Puts these things below a path, one call each.
    pub(crate) fn plant(&self, at: &str, tree: &Tree) {
        let person = self.person();
        let act = |path: LogicalPath, how| {
            let alterations = vec![Alteration { path: path.clone(), how, expect: Expect::Any }];
            person.act("plant", &person.call(), Operation::Alter { path, alterations }).unwrap();
        };
        act(path(at), Alter::MakeDir);
        let looks = |mode: &u32| Alter::Dress(paddock_core::Looks { mode: Some(*mode), modified: None });
        for (name, node) in tree {
            let at = path(&format!("{at}/{name}"));
            match node {
                Node::Dir(_) => act(at, Alter::MakeDir),
                Node::File(mode, content) => {
                    act(at.clone(), Alter::Write { content: content.clone(), mode: Some(*mode) });
                    act(at, looks(mode));
                }
                Node::Link(leads_to) => act(at, Alter::Link { leads_to: leads_to.clone() }),
            }
        }
        for (name, node) in tree.iter().rev() {
            if let Node::Dir(mode) = node {
                act(path(&format!("{at}/{name}")), looks(mode));
            }
        }
    }

    /// Everything below a path, as the person sees it.
    pub(crate) fn tree(&self, at: &str) -> Tree {
        let person = self.person();
        let all = person.vfs().workspaces();
        let at = path(at);
        let covers = all.iter().filter(|workspace| at.below(workspace.prefix()).is_some());
        let workspace = covers.max_by_key(|workspace| workspace.prefix().as_str().len()).unwrap();
        let (view, call) = (View::of(workspace, all).unwrap(), person.call());
        let start = at.below(workspace.prefix()).unwrap();
        let mut found = Vec::new();
        let walked = view.walk(&call, start, &Walk::default(), &mut |entry| {
            found.push((entry.path.to_owned(), entry.kind));
            ControlFlow::Continue(())
        });
        if walked.is_err() {
            return Tree::new();
        }
        let node = |(rel, kind): (String, Kind)| {
            let at = RelPathBuf::parse(&rel).unwrap();
            let mode = view.stat(&call, at.as_rel()).unwrap().mode.unwrap() & PLAIN_MODE;
            let node = match kind {
                Kind::Dir => Node::Dir(mode),
                Kind::Link => Node::Link(view.leads_to(&call, at.as_rel()).unwrap()),
                _ => {
                    let mut content = Vec::new();
                    view.read(&call, at.as_rel(), 0..u64::MAX, &mut content).unwrap();
                    Node::File(mode, content)
                }
            };
            (rel[start.as_str().len()..].trim_start_matches('/').to_owned(), node)
        };
        found.into_iter().map(node).collect()
    }

    pub(crate) fn zip(&self, at: &str) -> (Exported, Vec<u8>) {
        self.zip_with(at, Export::default())
    }

    pub(crate) fn zip_with(&self, at: &str, how: Export) -> (Exported, Vec<u8>) {
        let mut out = Vec::new();
        let told = export::zip(&self.person(), &path(at), how, &mut out, &mut unwatched).unwrap();
        (told, out)
    }

    pub(crate) fn unzip(&self, at: &str, archive: &[u8]) -> Result<Imported, ProjectError> {
        self.unzip_with(at, archive, Import::default())
    }

    pub(crate) fn unzip_with(&self, at: &str, archive: &[u8], how: Import) -> Result<Imported, ProjectError> {
        import::zip(&self.person(), &path(at), how, Cursor::new(archive), &self.scratch, &mut unwatched)
    }

    pub(crate) fn clone(&self, at: &str, address: &str) -> Result<Imported, ProjectError> {
        self.clone_with(at, address, Import::default())
    }

    pub(crate) fn clone_with(&self, at: &str, address: &str, how: Import) -> Result<Imported, ProjectError> {
        import::git(&self.person(), &path(at), how, &Remote::open(address), None, &self.scratch, &mut unwatched)
    }

    /// Takes back a call, as `paddock undo` does.
    pub(crate) fn undo(&self, call: &str) {
        let person = self.person();
        let acting = person.call();
        let way = self.history.undo(person.vfs(), &acting, paddock_core::CallId::parse(call).unwrap()).unwrap();
        person.act("undo", &acting, way.operation()).unwrap();
    }

    /// How many files wait in the place for temporary ones.
    pub(crate) fn waiting(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("scratch")).map_or(0, Iterator::count)
    }
}

/// Git as a person at a terminal has it, without anybody's settings.
pub(crate) fn git(at: &Path, arguments: &[&str]) -> String {
    let out = Command::new("git")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=Somebody", "-c", "user.email=some@body.example", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(at)
        .output()
        .expect("git is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success(), "git {arguments:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

pub(crate) fn file(content: &str) -> Node {
    Node::File(0o644, content.as_bytes().to_vec())
}

pub(crate) fn tree(nodes: &[(&str, Node)]) -> Tree {
    nodes.iter().map(|(name, node)| ((*name).to_owned(), node.clone())).collect()
}

/// A project with one of everything that can leave.
pub(crate) fn sample() -> Tree {
    tree(&[
        ("README.md", file("# hello\n")),
        ("bin", Node::Dir(0o755)),
        ("bin/run", Node::File(0o755, b"#!/bin/sh\n".to_vec())),
        ("empty", Node::Dir(0o755)),
        ("lib", Node::Dir(0o755)),
        ("lib-x", file("sorts between lib and lib/\n")),
        ("lib.rs", file("\u{e4}\n")),
        ("lib/deep", Node::Dir(0o755)),
        ("lib/deep/none", file("")),
        ("lib/same", file("# hello\n")),
        ("link", Node::Link("lib/deep/none".to_owned())),
        ("lib/up", Node::Link("../README.md".to_owned())),
        ("h\u{e9}llo w\u{f6}rld [1]", file("names\n")),
    ])
}

/// As Git has it: no empty directories, and only whether a file can be run.
pub(crate) fn as_git_has_it(tree: &Tree) -> Tree {
    let holds = |dir: &str| {
        tree.iter().any(|(name, node)| name.starts_with(&format!("{dir}/")) && !matches!(node, Node::Dir(_)))
    };
    let kept = tree.iter().filter_map(|(name, node)| match node {
        Node::Dir(_) => holds(name).then(|| (name.clone(), Node::Dir(0o755))),
        Node::File(mode, content) => {
            let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
            Some((name.clone(), Node::File(mode, content.clone())))
        }
        Node::Link(_) => Some((name.clone(), node.clone())),
    });
    kept.collect()
}
