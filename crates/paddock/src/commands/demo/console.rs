//! `paddock demo --serve`: the console on the sample project, with the agent still connected.
//!
//! The agent has made a call that waits. It looks whether somebody has decided, and then makes exactly the same call again, as
//! agents are told to; whatever else happens in the browser is between the person and the console.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::client::Client;
use super::person::Person;
use super::scenes::WAITING;
use crate::cli::{Demo, Global, LogFormat, Serve};
use crate::commands::serve;
use crate::failure::Ended;
use crate::printer::Printer;

/// How often the agent looks whether its call was decided.
const LOOKS: Duration = Duration::from_millis(300);

const LEFT: &str = "
  Approvals   the agent wants to delete workspace/test.txt: approve, edit or reject it, and see what the agent is told
  Forks       idea: look at what it changes, and apply it
  Activity    every call above; the page of one that changed something has Undo
";

/// The agent, waiting in the background.
pub(crate) struct Waiting {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Waiting {
    /// Lets the agent wait for the decision about its call, on the runtime that its connection lives on.
    pub(crate) fn begin(
        runtime: tokio::runtime::Runtime,
        client: Client,
        person: Person,
        approval: String,
        printer: Printer,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let waited = runtime.block_on(wait(&client, &person, &approval, &told, &printer));
            if let Err(error) = waited {
                tracing::warn!(%error, "the demo's agent is gone");
            }
            // A server that was ended with everything else has nothing to be told.
            let _ = runtime.block_on(client.close());
        });
        Self { over, thread }
    }

    /// Ends it, and its server with it.
    pub(crate) fn end(self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = self.thread.join();
    }
}

async fn wait(
    client: &Client,
    person: &Person,
    approval: &str,
    over: &AtomicBool,
    printer: &Printer,
) -> anyhow::Result<()> {
    while !over.load(Ordering::SeqCst) {
        if person.is_decided(approval)? {
            let reply = client.call(&WAITING).await?;
            printer.line(format_args!("\nYou decided, and the agent made its call again:\n  {}", reply.text))?;
            break;
        }
        tokio::time::sleep(LOOKS).await;
    }
    Ok(())
}

/// Serves the console until it is ended.
pub(crate) fn serve(options: &Demo, global: &Global, printer: &Printer) -> anyhow::Result<Ended> {
    printer.text(LEFT)?;
    let options = Serve {
        dir: None,
        init: false,
        port: Some(options.port),
        bind: None,
        host: Vec::new(),
        open: options.open,
        json: false,
        log_format: LogFormat::Text,
    };
    serve::run(global, &options, printer)
}
