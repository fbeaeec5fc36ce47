//! An agent with Workspaces in memory, in a few words.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Applied, Call, CallId, Cancel, ChangeSet, EntrySink, Expect, GUARDED,
    HidePattern, Hit, LastName, LogicalPath, Meta, Mount, NameRules, NoJournal, Operation, Origin, Passed, Place,
    Query, RelPath, RelPathBuf, Request, Result, Risk, Sink, Store, Vfs, Walk, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_tools::{Answer, Control, RecordingGate, Toolbox};
use serde_json::Value;

pub(crate) const RO: AccessScope = AccessScope::ReadOnly;
pub(crate) const RW: AccessScope = AccessScope::ReadWrite;
pub(crate) const WO: AccessScope = AccessScope::WriteOnly;

pub(crate) fn path(text: &str) -> LogicalPath {
    LogicalPath::parse(text, &LogicalPath::top()).unwrap()
}

pub(crate) fn workspace(prefix: &str, scope: AccessScope, store: Arc<dyn Store>) -> Workspace {
    Workspace::new(path(prefix), scope, Mount::new(store, None))
}

pub(crate) fn hiding(workspace: Workspace, patterns: &[&str]) -> Workspace {
    let hide = patterns.iter().map(|text| HidePattern { text: (*text).to_owned(), origin: Origin::unknown() });
    workspace.with_names(NameRules::new(hide.collect(), &[], &[]).unwrap())
}

/// A Store in memory that holds these files; a path that ends with `/` is a directory.
pub(crate) fn holding(files: &[(&str, &[u8])]) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    for (file, content) in files {
        plant(&store, file, content);
    }
    store
}

pub(crate) fn plant(store: &Arc<MemoryStore>, file: &str, content: &[u8]) {
    let at = path(file);
    let operation = if file.ends_with('/') {
        Operation::MakeDir { path: at }
    } else {
        Operation::Write { path: at, content: content.to_vec(), expect: Expect::Any }
    };
    // As a person would: no name is guarded.
    let unguard: Vec<String> = GUARDED.iter().map(|row| row.name.to_owned()).collect();
    let everywhere = workspace("/", RW, Arc::clone(store) as Arc<dyn Store>)
        .with_names(NameRules::new(vec![], &unguard, &[]).unwrap());
    let vfs = vfs(vec![everywhere], &Arc::new(RecordingGate::new()));
    let (agent, cancel) = (AgentName::main(), Cancel::default());
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
    let plan = vfs.plan(&call, operation).unwrap();
    match vfs.ask(&call, &Request::of_person("test", Risk::Low), &plan).unwrap() {
        Passed::Now(token) => vfs.run(&call, plan, token).unwrap(),
        other => unreachable!("{other:?}"),
    };
}

fn vfs(workspaces: Vec<Workspace>, gate: &Arc<RecordingGate>) -> Vfs {
    Vfs::new(workspaces, Arc::clone(gate) as _, Arc::new(NoJournal)).unwrap()
}

pub(crate) fn policy(workspaces: Vec<Workspace>, base: &str) -> AgentPolicy {
    policy_with(workspaces, base, &Arc::new(RecordingGate::new()))
}

fn policy_with(workspaces: Vec<Workspace>, base: &str, gate: &Arc<RecordingGate>) -> AgentPolicy {
    AgentPolicy::new(AgentName::main(), path(base), vfs(workspaces, gate))
}

pub(crate) struct Agent {
    pub(crate) toolbox: Toolbox,
    pub(crate) gate: Arc<RecordingGate>,
}

/// An agent whose relative paths start at `/`.
pub(crate) fn agent(workspaces: Vec<Workspace>) -> Agent {
    agent_at("/", workspaces)
}

pub(crate) fn agent_at(base: &str, workspaces: Vec<Workspace>) -> Agent {
    let gate = Arc::new(RecordingGate::new());
    Agent { toolbox: Toolbox::fixed(policy_with(workspaces, base, &gate)), gate }
}

impl Agent {
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Answer {
        call(&self.toolbox, tool, arguments)
    }

    /// The text of a call that has to be done.
    pub(crate) fn done(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error(), "{}", answer.text());
        answer.text()
    }

    /// The text of a call that has to be refused.
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.is_error(), "{}", answer.text());
        assert!(answer.text().starts_with("❌ ERROR: "), "{}", answer.text());
        answer.text()
    }

    pub(crate) fn tool_names(&self) -> Vec<&'static str> {
        self.toolbox.tools().iter().map(|tool| tool.name).collect()
    }
}

pub(crate) fn call(toolbox: &Toolbox, tool: &str, arguments: Value) -> Answer {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    toolbox.call(tool, arguments, &Control::for_at_most(Duration::from_secs(60)))
}

/// A Store double: passes everything on to another, except what is taken over.
pub(crate) trait Meddling: Send + Sync {
    fn inner(&self) -> &dyn Store;

    fn meddle(&self, _method: &'static str) -> Result<()> {
        Ok(())
    }

    fn after_read(&self, _range: &Range<u64>, _out: &mut Vec<u8>, _meta: &mut Meta) {}
}

pub(crate) struct Meddler<M>(pub(crate) M);

impl<M: Meddling> Store for Meddler<M> {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        self.0.meddle("resolve")?;
        self.0.inner().resolve(call, path, last)
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        self.0.meddle("stat")?;
        self.0.inner().stat(call, at)
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        self.0.meddle("read")?;
        let mut meta = self.0.inner().read(call, at, range.clone(), out)?;
        self.0.after_read(&range, out, &mut meta);
        Ok(meta)
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        self.0.meddle("walk")?;
        self.0.inner().walk(call, at, walk, sink)
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        self.0.meddle("search")?;
        self.0.inner().search(call, at, query, sink)
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        self.0.meddle("apply")?;
        self.0.inner().apply(call, set)
    }
}
