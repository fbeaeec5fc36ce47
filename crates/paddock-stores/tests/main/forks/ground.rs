//! A Workspace on a Store of any kind, forks of it, and what a person does with them.

use std::sync::{Arc, Mutex};

use paddock_core::{
    AccessScope, Alter, Alteration, Applied, Before, Call, ErrorKind, Expect, HidePattern, Journal, Kind, LogicalPath,
    Looks, Mount, NameRules, Operation, Origin, Outcome, PartDone, Plan, Refused, RelPathBuf, Replacement, Store, Vfs,
    View, Walk, Workspace,
};
pub(crate) use paddock_stores::conformance::world::path_of as at;
use paddock_stores::conformance::world::{self, Open, with_call};
use paddock_stores::fork::{self, Difference, DifferenceKind, Merge};
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::{BaseStore, Namespace};

pub(crate) const SOURCE: &str = "/w";
pub(crate) const FORK: &str = "/forks/f";

/// Keeps what the last change told of what was there before.
#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<(LogicalPath, Before)>>);

impl Journal for Told {
    fn keeps(&self) -> bool {
        true
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> paddock_core::Result<()> {
        self.0.lock().unwrap().clear();
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> paddock_core::Result<()> {
        let Applied { changes, .. } = done.applied;
        for (change, applied) in done.set.changes().iter().zip(changes) {
            let path = done.workspace.prefix().join(change.path());
            self.0.lock().unwrap().push((path, applied.before.clone()));
        }
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// The Workspace, one fork of it, and a person at both.
pub(crate) struct Ground {
    pub(crate) vfs: Vfs,
    pub(crate) fork: VirtualStore,
    pub(crate) view: View,
    pub(crate) told: Arc<Told>,
}

/// How the fork stands on its Workspace.
pub(crate) enum Standing {
    Live,
    /// On this Store, which never changes.
    Frozen(Arc<dyn Store>),
}

pub(crate) fn rel(path: &str) -> RelPathBuf {
    RelPathBuf::parse(path).unwrap()
}

impl Ground {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        standing: Standing,
        (base, namespace): (Arc<dyn BaseStore>, Namespace),
        nested: &[&str],
    ) -> Self {
        let hide = vec![HidePattern { text: ".env".to_owned(), origin: Origin::unknown() }];
        let source = Workspace::new(at(SOURCE), AccessScope::ReadOnly, Mount::new(store, None))
            .with_names(NameRules::new(hide, &[], &[]).unwrap());
        let mut all = vec![source.clone()];
        for prefix in nested {
            let store: Arc<dyn Store> = Arc::new(paddock_stores::MemoryStore::new());
            all.push(Workspace::new(at(prefix), AccessScope::ReadWrite, Mount::new(store, None)));
        }
        let view = View::of(&source, &all).unwrap();
        let fork = VirtualStore::new(base, namespace);
        let fork = match standing {
            Standing::Live => fork.over(view.clone()),
            Standing::Frozen(store) => fork.over_frozen(view.clone().standing_on(store)),
        };
        // Where git would write in a command, file tools may here.
        let lifted = NameRules::new(Vec::new(), &[".git/index".to_owned()], &[]).unwrap();
        let fork_of_it = Workspace::new(at(FORK), AccessScope::ReadWrite, Mount::new(Arc::new(fork.clone()), None));
        all.push(fork_of_it.with_names(lifted));
        let told = Arc::new(Told::default());
        let journal: Arc<dyn Journal> = Arc::<Told>::clone(&told);
        let vfs = Vfs::new(all, Arc::new(Open), journal).unwrap().for_person(Arc::new(Open));
        Self { vfs, fork, view, told }
    }

    pub(crate) fn run(&self, operation: Operation) -> Result<Outcome, Refused> {
        with_call(|call| world::run(&self.vfs, call, operation))
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let operation = Operation::Write { path: at(path), content: content.as_ref().to_vec(), expect: Expect::Any };
        self.run(operation).unwrap_or_else(|e| panic!("{path}: {e}"));
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Result<Outcome, Refused> {
        let edits = vec![Replacement { old: old.to_owned(), new: new.to_owned(), all: false }];
        self.run(Operation::Edit { path: at(path), edits, expect: Expect::Any })
    }

    pub(crate) fn delete(&self, path: &str) {
        self.run(Operation::Delete { path: at(path), recursive: true }).unwrap_or_else(|e| panic!("{path}: {e}"));
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        self.run(Operation::Move { from: at(from), to: at(to) }).unwrap_or_else(|e| panic!("{from}: {e}"));
    }

    pub(crate) fn link(&self, path: &str, leads_to: &str) {
        self.change(path, Alter::Link { leads_to: leads_to.to_owned() });
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        self.change(path, Alter::Dress(Looks { mode: Some(mode), modified: None }));
    }

    fn change(&self, path: &str, how: Alter) {
        let alterations = vec![Alteration { path: at(path), how, expect: Expect::Any }];
        let changed = self.run(Operation::Alter { path: at(path), alterations });
        changed.unwrap_or_else(|e| panic!("{path}: {e}"));
    }

    /// The permission bits of what is there.
    pub(crate) fn mode(&self, path: &str) -> u32 {
        with_call(|call| self.vfs.facts(call, &at(path))).unwrap().mode.unwrap() & 0o777
    }

    pub(crate) fn make_dir(&self, path: &str) {
        self.run(Operation::MakeDir { path: at(path) }).unwrap_or_else(|e| panic!("{path}: {e}"));
    }

    pub(crate) fn read(&self, path: &str) -> Option<Vec<u8>> {
        match self.run(Operation::Read { path: at(path), range: 0..u64::MAX }) {
            Ok(Outcome::Read { bytes, .. }) => Some(bytes),
            Ok(other) => panic!("{other:?}"),
            Err(_) => None,
        }
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.read(path).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    pub(crate) fn merge(&self) -> Merge {
        with_call(|call| fork::merge(call, &self.fork, &self.view, &at(SOURCE))).unwrap()
    }

    pub(crate) fn differences(&self) -> Vec<Difference> {
        with_call(|call| fork::differences(call, &self.fork, &self.view)).unwrap()
    }

    /// The differences, one word and one path each.
    pub(crate) fn diff(&self) -> Vec<String> {
        let word = |change| match change {
            DifferenceKind::Added => "added",
            DifferenceKind::Changed => "changed",
            DifferenceKind::Removed => "removed",
            DifferenceKind::KindChanged => "turned",
        };
        self.differences().iter().map(|d| format!("{} {}", word(d.change), d.path.as_str())).collect()
    }

    pub(crate) fn alter(&self, alterations: Vec<Alteration>) -> Result<(), Refused> {
        if alterations.is_empty() {
            return Ok(());
        }
        self.run(Operation::Alter { path: at(SOURCE), alterations }).map(|_| ())
    }

    /// Merges and applies, as `paddock apply` would.
    pub(crate) fn apply(&self) {
        let merge = self.merge();
        let alterations = merge.ready().unwrap_or_else(|conflicts| panic!("{conflicts:?}")).to_vec();
        self.alter(alterations).unwrap();
        assert!(with_call(|call| merge.applied(call, &self.fork)).unwrap());
        assert_eq!(self.diff(), [""; 0], "nothing is left to apply");
        assert_eq!(self.merge().alterations, []);
    }

    /// The conflicts, one line each.
    pub(crate) fn conflicts(&self) -> Vec<String> {
        let merge = self.merge();
        assert_eq!(merge.ready().is_err(), !merge.conflicts.is_empty());
        merge.conflicts.iter().map(ToString::to_string).collect()
    }

    /// Everything an agent sees: files with their content, directories with a slash.
    pub(crate) fn tree(&self, prefix: &str) -> Vec<(String, Vec<u8>)> {
        let store = self.vfs.workspaces().iter().find(|w| *w.prefix() == at(prefix)).unwrap();
        tree_of(&View::of(store, self.vfs.workspaces()).unwrap())
    }

    /// What the last change told of what was there before.
    pub(crate) fn last_told(&self) -> Vec<(LogicalPath, Before)> {
        self.told.0.lock().unwrap().clone()
    }
}

pub(crate) fn store_kind(outcome: Result<(), Refused>) -> ErrorKind {
    match outcome {
        Err(Refused::Store { source, .. }) => source.kind().clone(),
        other => panic!("expected what a Store says, got {other:?}"),
    }
}

/// Takes a change back by what it told: each path is as it was, the last first.
pub(crate) fn take_back(ground: &Ground, told: Vec<(LogicalPath, Before)>) {
    let undo = |(path, before)| {
        let how = match before {
            Before::Absent => Alter::Delete,
            Before::Dir(_) => Alter::MakeDir,
            Before::Kept(kept) => Alter::Restore(kept),
            Before::Prefix(len) => Alter::Truncate(len),
            Before::Looks(looks) => Alter::Dress(looks),
            Before::Lost => panic!("{path}: nothing was kept"),
        };
        Alteration { path, how, expect: Expect::Any }
    };
    ground.alter(told.into_iter().rev().map(undo).collect()).unwrap();
}

/// Everything a View shows: files with their content, directories with a slash, links with what they say.
pub(crate) fn tree_of(view: &View) -> Vec<(String, Vec<u8>)> {
    with_call(|call| {
        let mut entries = Vec::new();
        view.walk(call, rel("").as_rel(), &Walk::default(), &mut |entry| {
            entries.push((entry.path.to_owned(), entry.kind));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        let content = |(path, kind): (String, Kind)| match kind {
            Kind::File => {
                let mut bytes = Vec::new();
                view.read(call, rel(&path).as_rel(), 0..u64::MAX, &mut bytes).unwrap();
                (path, bytes)
            }
            Kind::Dir => (path + "/", Vec::new()),
            Kind::Link => {
                let text = view.leads_to(call, rel(&path).as_rel()).unwrap();
                (path + "@", text.into_bytes())
            }
            Kind::Special => (path + "|", Vec::new()),
        };
        entries.into_iter().map(content).collect()
    })
}
