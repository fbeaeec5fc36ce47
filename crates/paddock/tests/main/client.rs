//! Two MCP clients for the tests: rmcp's, in either era, and one that speaks raw lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RoleClient, RunningService, ServiceError,
};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::sync::Notify;

use crate::harness::World;

/// Nothing here takes long; past this it hangs.
pub(crate) const HANG: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What the client does when it is told something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ears {
    pub(crate) tools_changed: Arc<Notify>,
}

impl ClientHandler for Ears {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }
}

/// A client that is connected to `paddock mcp`.
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Ears>,
    server: tokio::process::Child,
    /// What the server tells people.
    told: tokio::task::JoinHandle<String>,
}

impl Client {
    pub(crate) async fn connect(world: &World, era: Era, arguments: &[&str]) -> Self {
        let mut command = tokio::process::Command::from(world.command(arguments));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut server = command.spawn().unwrap();
        let streams = (server.stdout.take().unwrap(), server.stdin.take().unwrap());
        let mut stderr = server.stderr.take().unwrap();
        let told = tokio::spawn(async move {
            let mut text = String::new();
            stderr.read_to_string(&mut text).await.unwrap();
            text
        });
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        };
        let connecting = Ears::default().serve_with_lifecycle(streams, lifecycle);
        let service = tokio::time::timeout(HANG, connecting).await.unwrap().unwrap();
        Self { service, server, told }
    }

    pub(crate) async fn try_call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        tokio::time::timeout(HANG, self.service.call_tool(call)).await.unwrap()
    }

    /// Calls a tool: whether it was refused, and the text of the answer.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> (bool, String) {
        let result = self.try_call(tool, arguments).await.unwrap();
        (result.is_error.unwrap_or(false), text(&result))
    }

    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let tools = self.service.list_all_tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// Waits until the server says that the tools changed.
    pub(crate) async fn tools_changed(&self) {
        tokio::time::timeout(HANG, self.service.service().tools_changed.notified()).await.unwrap();
    }

    /// Leaves, sees that the server ends well, and gives what it told people.
    pub(crate) async fn close(mut self) -> String {
        self.service.cancel().await.unwrap();
        let status = tokio::time::timeout(HANG, self.server.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}");
        self.told.await.unwrap()
    }
}

/// All text of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone());
    texts.collect::<Vec<_>>().join("\n")
}

/// A client that sends lines and reads lines.
pub(crate) struct Raw {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Raw {
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from }
    }

    /// Starts and greets, as a legacy client does.
    pub(crate) fn greeted(world: &World, arguments: &[&str]) -> Self {
        let mut raw = Self::start(world, arguments);
        let client = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        raw.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(raw.receive()["id"], 0);
        raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        raw
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&format!("{message}\n"));
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Asks the server to end, as whoever started it does; how it ended.
    pub(crate) fn terminate(mut self, signal: &str) -> std::process::ExitStatus {
        let asked = std::process::Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status();
        assert!(asked.unwrap().success());
        self.child.wait().unwrap()
    }

    /// Ends the server as nothing it could prepare for.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes standard input and gives every line that still comes, once the server has ended by itself.
    pub(crate) fn end(mut self) -> Vec<Value> {
        drop(self.to);
        let lines: Vec<String> = self.from.lines().map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success());
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A call as it goes over the wire.
pub(crate) fn call(id: i64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}
