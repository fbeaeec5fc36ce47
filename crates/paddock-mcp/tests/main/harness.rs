//! A served agent in memory, a policy that can change, and two kinds of client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use paddock_core::{AccessScope, AgentName, AgentPolicy, LogicalPath, Mount, NoJournal, Store, Vfs, Workspace};
use paddock_mcp::serve;
use paddock_stores::MemoryStore;
use paddock_tools::{Control, PolicySource, RecordingGate, Toolbox};
use rmcp::ClientHandler;
use rmcp::model::{ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RoleClient, RunningService};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Nothing here takes long; past this it hangs.
pub(crate) const HANG: Duration = Duration::from_secs(30);

/// Waits, but not forever.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(HANG, future).await.expect("it hangs")
}

/// A policy that a test can change.
pub(crate) struct Changing {
    policy: RwLock<Arc<AgentPolicy>>,
    generation: AtomicU64,
}

impl Changing {
    pub(crate) fn of(policy: AgentPolicy) -> Arc<Self> {
        Arc::new(Self { policy: RwLock::new(Arc::new(policy)), generation: AtomicU64::new(1) })
    }

    pub(crate) fn change(&self, policy: AgentPolicy) {
        *self.policy.write().unwrap() = Arc::new(policy);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl PolicySource for Changing {
    fn redactor(&self) -> paddock_state::Redactor {
        paddock_state::Redactor::none()
    }

    fn current(&self) -> Arc<AgentPolicy> {
        Arc::clone(&self.policy.read().unwrap())
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn notice(&self) -> Option<String> {
        None
    }
}

/// One Workspace at `/w` with this scope and Store.
pub(crate) fn policy(scope: AccessScope, store: Arc<dyn Store>) -> AgentPolicy {
    let prefix = LogicalPath::parse("/w", &LogicalPath::top()).unwrap();
    let workspace = Workspace::new(prefix.clone(), scope, Mount::new(store, None));
    let vfs = Vfs::new(vec![workspace], Arc::new(RecordingGate::new()), Arc::new(NoJournal)).unwrap();
    AgentPolicy::new(AgentName::main(), prefix, vfs)
}

/// A Store in memory with `a.txt` in it.
pub(crate) fn store() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let toolbox = Toolbox::fixed(policy(AccessScope::ReadWrite, Arc::clone(&store) as Arc<dyn Store>));
    let Value::Object(arguments) = json!({"path": "a.txt", "content": "first line\nsecond line\n"}) else {
        unreachable!()
    };
    let answer = toolbox.call("write_file", arguments, &Control::for_at_most(HANG));
    assert!(!answer.is_error(), "{answer:?}");
    store
}

/// Serves a policy over a stream in memory.
pub(crate) fn served(source: Arc<dyn PolicySource>) -> (DuplexStream, JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(ours);
    let server = tokio::spawn(async move { serve(source, read, write).await.unwrap() });
    (theirs, server)
}

/// What rmcp's client hears.
#[derive(Debug, Clone)]
pub(crate) struct Ears {
    changed: mpsc::UnboundedSender<()>,
    progress: mpsc::UnboundedSender<ProgressNotificationParam>,
}

impl ClientHandler for Ears {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.changed.send(());
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(progress);
    }
}

pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Ears>,
    pub(crate) changed: mpsc::UnboundedReceiver<()>,
    pub(crate) progress: mpsc::UnboundedReceiver<ProgressNotificationParam>,
    server: JoinHandle<()>,
}

pub(crate) fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

impl Client {
    pub(crate) async fn connect(source: Arc<dyn PolicySource>, lifecycle: ClientLifecycleMode) -> Self {
        let (stream, server) = served(source);
        let (changed, has_changed) = mpsc::unbounded_channel();
        let (progress, has_progress) = mpsc::unbounded_channel();
        let ears = Ears { changed, progress };
        let service = soon(ears.serve_with_lifecycle(stream, lifecycle)).await.unwrap();
        Self { service, changed: has_changed, progress: has_progress, server }
    }

    /// Leaves, and sees that the server ends by itself.
    pub(crate) async fn close(self) {
        self.service.cancel().await.unwrap();
        soon(self.server).await.unwrap();
    }
}

/// A client of raw lines.
pub(crate) struct Raw {
    to: WriteHalf<DuplexStream>,
    from: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Raw {
    pub(crate) fn connect(source: Arc<dyn PolicySource>) -> Self {
        Self::over(served(source).0)
    }

    pub(crate) fn over(stream: DuplexStream) -> Self {
        let (from, to) = tokio::io::split(stream);
        Self { to, from: BufReader::new(from).lines() }
    }

    /// Connects and greets in this version.
    pub(crate) async fn greeted(source: Arc<dyn PolicySource>, version: &str) -> (Self, Value) {
        let mut raw = Self::connect(source);
        let answer = raw.greet(version).await;
        (raw, answer)
    }

    pub(crate) async fn greet(&mut self, version: &str) -> Value {
        let client = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        serde_json::from_str(&soon(self.from.next_line()).await.unwrap().unwrap()).unwrap()
    }

    /// Sends a request and gives its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], 1, "{answer}");
        answer
    }
}

/// The context that modern requests carry.
pub(crate) fn context() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
