//! Serves what the protocol's conformance suite wants to find on a server and Paddock does not have, over the transport that Paddock is served
//! over: `cargo xtask test --only clients` starts it.
//!
//! It prints its address. Loopback only, for anybody: the suite sends no token. Never for anything but tests.

#![allow(clippy::print_stdout, reason = "whoever starts this reads the address")]

mod fixtures;
mod given;
mod rounds;

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use paddock_core::{AgentName, AgentPolicy, LogicalPath, NoJournal, Vfs};
use paddock_mcp::http::{Agent, HttpOptions, HttpService};
use paddock_tools::{Fixed, RecordingGate};
use rmcp::ServerHandler;
use tokio::net::TcpListener;

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(16 << 20).build()?;
    let agent = Agent::new("anybody", Arc::new(nothing()?));
    let handler = Arc::new(fixtures::Fixtures::default());
    let service = HttpService::serving(options(), move |_, _| Arc::clone(&handler));
    runtime.block_on(serve(agent, service))
}

fn options() -> HttpOptions {
    // The suite sends these to see that a page of this machine is let in.
    let origins = ["http://localhost:*", "http://127.0.0.1:*"].map(str::to_owned).to_vec();
    HttpOptions { allowed_origins: origins, ..HttpOptions::default() }
}

async fn serve<H: ServerHandler + Clone>(agent: Agent, service: HttpService<H>) -> Result<(), Failed> {
    let router = Router::new().route_service("/mcp", service).layer(from_fn_with_state(agent, identify));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}

async fn identify(State(agent): State<Agent>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(agent);
    next.run(request).await
}

/// The fixtures ask nobody what they may do.
fn nothing() -> Result<Fixed, Failed> {
    let vfs = Vfs::new(Vec::new(), Arc::new(RecordingGate::new()), Arc::new(NoJournal))?;
    Ok(Fixed(Arc::new(AgentPolicy::new(AgentName::main(), LogicalPath::top(), vfs))))
}
