//! A project with a policy, an installation and a scripted model, as a process would have them.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paddock_agent::model::{Prices, ScriptedModel};
use paddock_agent::record::{Record, schema};
use paddock_agent::state::{AgentMode, TrustLevel};
use paddock_agent::{Clock, Ended, RunError, RunEvent, RunOptions, RunSettings, Runtime, Settled, Watcher};
use paddock_config::{Installation, Ports, Reloader, Settings, StateDatabase, Tables};
use paddock_core::{
    AgentName, Call, CallId, Cancel, Effect, Journal, Part, PartDone, Plan, Refused, RelPath, Vfs, WayBack, Workspace,
};
use paddock_db::postgres_testing::Database;
use paddock_ledger::approvals::{Decision, Reach};
use paddock_state::{HomeSources, InstanceKey, Redactor, Secrets, SystemRoot};
use paddock_tools::{RecordingGate, Toolbox};

pub(crate) const POLICY: &str = r#"
name = "runs"
base = "/w"
[[workspace]]
prefix = "/w"
scope = "READ_WRITE"
mount = { physical = "w" }
[[workspace]]
prefix = "/r"
scope = "READ_ONLY"
mount = { physical = "r" }
"#;

pub(crate) struct World {
    _keep: Option<tempfile::TempDir>,
    _database: Option<Database>,
    pub(crate) top: PathBuf,
    script: Mutex<String>,
    pub(crate) settings: Mutex<RunSettings>,
    /// What the model costs.
    pub(crate) prices: Mutex<Option<Prices>>,
    /// How many seconds have passed.
    pub(crate) seconds: Arc<AtomicU64>,
    began: Instant,
}

impl World {
    pub(crate) fn new(script: &str) -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        for directory in ["project/w", "project/r"] {
            fs::create_dir_all(top.join(directory)).unwrap();
        }
        fs::write(top.join("project/paddock.toml"), POLICY).unwrap();
        fs::write(top.join("project/r/facts.txt"), "the answer is 42\n").unwrap();
        Self { _keep: Some(keep), ..Self::at(top, script) }
    }

    /// One that another process made, and looks after.
    pub(crate) fn at(top: PathBuf, script: &str) -> Self {
        let (script, settings) = (Mutex::new(script.to_owned()), Mutex::default());
        let (prices, seconds, began) = (Mutex::default(), Arc::default(), Instant::now());
        Self { _keep: None, _database: None, top, script, settings, prices, seconds, began }
    }

    /// The same with its state on a server.
    pub(crate) fn on_postgres(script: &str) -> Self {
        let database = Database::fresh();
        let world = Self::new(script);
        let policy = format!("{POLICY}\n[state]\nurl = \"{}\"\n", database.url());
        fs::write(world.top.join("project/paddock.toml"), policy).unwrap();
        Self { _database: Some(database), ..world }
    }

    /// Time passes only when a test says so.
    fn clock(&self) -> Arc<Clock> {
        let (seconds, began) = (Arc::clone(&self.seconds), self.began);
        Arc::new(move || began + Duration::from_secs(seconds.load(Ordering::SeqCst)))
    }

    pub(crate) fn say(&self, script: &str) {
        *self.script.lock().unwrap() = script.to_owned();
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.top.join("project/w").join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    pub(crate) fn process(&self) -> Process {
        self.process_watched(Arc::new(|_| {}))
    }

    /// What a new process has: everything is opened anew.
    pub(crate) fn process_watched(&self, watcher: Arc<Watcher>) -> Process {
        let home = HomeSources { option: Some(self.top.join("home")), ..HomeSources::default() };
        let system = SystemRoot::resolve(&home, None).unwrap();
        let mut taken = Installation::in_memory();
        let tables = Tables { sqlite: schema::SQLITE, postgres: schema::POSTGRES };
        let config = self.top.join("project/paddock.toml");
        let reloader = Reloader::start_with(&config, AgentName::main(), system.clone(), |host, file| {
            let settings = Settings::of(host.project_root().to_owned(), file, &Secrets::none())?.with_tables(tables);
            taken = Installation::claim(&system, &settings).unwrap();
            let ports = taken.ports(Arc::new(RecordingGate::new()));
            let journal = WatchedJournal { journal: Arc::clone(&ports.journal), watcher: Arc::clone(&watcher) };
            Ok::<_, paddock_config::ConfigError>(Ports { journal: Arc::new(journal), ..ports })
        });
        let record = match taken.state_database().unwrap() {
            StateDatabase::Sqlite(database) => Record::on_sqlite(database.clone()),
            StateDatabase::Postgres(database, home) => Record::on_postgres(database.clone(), home),
        };
        let model = Arc::new(ScriptedModel::parse(&self.script.lock().unwrap()).unwrap());
        let runtime = Runtime {
            record,
            instances: taken.instances().unwrap(),
            toolbox: Toolbox::new(Arc::new(reloader.unwrap())),
            model: model.clone(),
            model_name: "script".to_owned(),
            prices: self.prices.lock().unwrap().clone(),
            approvals: taken.approvals().cloned(),
            history: taken.history().cloned(),
            redactor: Redactor::default(),
            settings: self.settings.lock().unwrap().clone(),
            key: taken.session_key(),
            cancel: Arc::new(Cancel::default()),
            watcher,
            clock: self.clock(),
        };
        Process { runtime, model, installation: taken }
    }
}

/// Tells of the boundaries of the ledger's journal, as a run tells of its own.
struct WatchedJournal {
    journal: Arc<dyn Journal>,
    watcher: Arc<Watcher>,
}

/// The boundaries that the ledger's journal has, inside of a call.
pub(crate) const OF_THE_JOURNAL: [&str; 6] = [
    "before the intent",
    "after the intent",
    "before the change",
    "after the change",
    "before the end",
    "after the end",
];

impl WatchedJournal {
    fn tell(&self, boundary: &'static str) {
        (self.watcher)(&RunEvent::Boundary(boundary));
    }
}

impl Journal for WatchedJournal {
    fn keeps(&self) -> bool {
        self.journal.keeps()
    }

    fn begin(&self, call: &Call<'_>, plan: &Plan) -> paddock_core::Result<()> {
        self.tell("before the intent");
        self.journal.begin(call, plan)?;
        self.tell("after the intent");
        Ok(())
    }

    fn part_begins(&self, call: &Call<'_>, part: &Part<'_>) -> paddock_core::Result<()> {
        self.journal.part_begins(call, part)?;
        self.tell("before the change");
        Ok(())
    }

    fn part_done(&self, call: &Call<'_>, done: &PartDone<'_>) -> paddock_core::Result<()> {
        self.tell("after the change");
        self.journal.part_done(call, done)
    }

    fn end(&self, call: &Call<'_>, completed: bool) {
        self.tell("before the end");
        self.journal.end(call, completed);
        self.tell("after the end");
    }

    fn made_by(&self, call: &Call<'_>, workspace: &Workspace, rel: RelPath<'_>, now: &Effect) -> bool {
        self.journal.made_by(call, workspace, rel, now)
    }

    fn way_back(&self, vfs: &Vfs, call: &Call<'_>, undone: CallId) -> Result<WayBack, Refused> {
        self.journal.way_back(vfs, call, undone)
    }
}

pub(crate) struct Process {
    pub(crate) runtime: Runtime,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) installation: Installation,
}

pub(crate) fn key(name: &str) -> InstanceKey {
    InstanceKey::new(name).unwrap()
}

pub(crate) fn options(thread: &str) -> RunOptions {
    RunOptions {
        thread: key(thread),
        agent: "main".to_owned(),
        user: "alice".to_owned(),
        mode: AgentMode::Execution,
        level: TrustLevel::Admin,
        tools: None,
    }
}

impl Process {
    pub(crate) fn start(&self, thread: &str, prompt: &str) -> Result<Ended, RunError> {
        self.runtime.start(prompt, &options(thread))
    }

    /// As a new process does it: the script goes on where the run is.
    pub(crate) fn resume(&self, thread: &str) -> Result<Ended, RunError> {
        self.go_on(thread, None)
    }

    /// The same with a person's word about the call that was cut off.
    pub(crate) fn settle(&self, thread: &str, word: Settled) -> Result<Ended, RunError> {
        self.go_on(thread, Some(word))
    }

    fn go_on(&self, thread: &str, settled: Option<Settled>) -> Result<Ended, RunError> {
        self.model.skip(&self.runtime.record.askers(thread)?);
        self.runtime.resume(&key(thread), "alice", settled)
    }

    pub(crate) fn approve(&self, id: &str) {
        let approvals = self.installation.approvals().unwrap();
        approvals.decide(id, None, "bob", &Decision::Approve(Reach::Once)).unwrap();
    }

    pub(crate) fn said(&self, thread: &str) -> Vec<String> {
        let loaded = self.runtime.instances.load(&key(thread)).unwrap();
        loaded.messages.iter().map(|message| format!("{}: {}", message.role(), message.content())).collect()
    }
}

pub(crate) fn answer(content: &str) -> String {
    serde_json::json!({ "content": content }).to_string()
}

pub(crate) fn call(name: &str, arguments: &serde_json::Value) -> String {
    serde_json::json!({ "content": "", "tool_calls": [{ "name": name, "arguments": arguments }] }).to_string()
}

pub(crate) fn plan(steps: &[&str]) -> String {
    answer(&steps.iter().map(|step| format!("- [ ] {step}\n")).collect::<String>())
}

pub(crate) fn script(lines: &[String]) -> String {
    lines.join("\n")
}
