//! The agent's side of the demo: an MCP client that rmcp provides, over the server's standard streams.

use std::path::Path;

use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::{RoleClient, RunningService, ServiceExt as _};
use serde_json::Value;

use super::sample::Sample;
use super::scenes::Scene;
use crate::failure::Failure;
use crate::host;

/// A connected client and the server that it started.
pub(crate) struct Client {
    service: RunningService<RoleClient, ()>,
    server: tokio::process::Child,
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

impl Client {
    /// Starts `paddock mcp` on the sample project and greets it.
    pub(crate) async fn connect(sample: &Sample) -> anyhow::Result<Self> {
        let (home, config) = (sample.home(), sample.config());
        let options = ["--log", "error", "mcp"].map(Path::new);
        let arguments = [&[Path::new("--home"), &home, Path::new("--config"), &config][..], &options].concat();
        let mut server = host::start_ourselves(&arguments, &sample.project())?;
        let streams = server.stdout.take().zip(server.stdin.take());
        let streams = streams.ok_or_else(|| broken("the server has no standard streams"))?;
        let service = ().serve(streams).await.map_err(broken)?;
        Ok(Self { service, server })
    }

    /// Who answered.
    pub(crate) fn server(&self) -> String {
        let info = self.service.peer().peer_info();
        let name = info.as_ref().and_then(|info| info.server_info.as_ref());
        let name = name.map_or_else(String::new, |server| format!("{} {}", server.name, server.version));
        let version = info.map_or_else(String::new, |info| info.protocol_version.to_string());
        format!("{name} over MCP {version}")
    }

    /// What the agent is told about its Workspaces.
    pub(crate) fn instructions(&self) -> String {
        self.service.peer().peer_info().and_then(|info| info.instructions.clone()).unwrap_or_default()
    }

    /// Makes the call of a scene.
    pub(crate) async fn call(&self, scene: &Scene) -> anyhow::Result<Reply> {
        let Value::Object(arguments) = serde_json::from_str(scene.arguments)? else {
            return Err(broken("the arguments of a scene are an object"));
        };
        let call = CallToolRequestParams::new(scene.tool).with_arguments(arguments);
        Ok(Reply::of(self.service.call_tool(call).await.map_err(broken)?))
    }

    /// Says goodbye and waits for the server to end.
    pub(crate) async fn close(mut self) -> anyhow::Result<()> {
        self.service.cancel().await?;
        self.server.wait().await?;
        Ok(())
    }
}

impl Reply {
    fn of(result: CallToolResult) -> Self {
        let text = |block: ContentBlock| match block {
            ContentBlock::Text(text) => Some(text.text),
            _ => None,
        };
        let texts: Vec<String> = result.content.into_iter().filter_map(text).collect();
        Self { is_error: result.is_error.unwrap_or(false), text: texts.join("\n") }
    }
}

fn broken(error: impl std::fmt::Display) -> anyhow::Error {
    Failure::failed(format!("the connection broke: {error}"), "run `paddock doctor`")
}
