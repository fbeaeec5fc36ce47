//! Tells somebody that a call waits: by a program, or by an address that is sent a few words.
//!
//! Neither gets more than tool, path, id, agent and risk: what a call holds is for whoever decides. No shell reads the words, and
//! nothing waits long for either. Whoever cannot be told is no reason to stop a call: it waits where it can be listed.

#![allow(
    clippy::disallowed_methods,
    reason = "starts the program that a person named in the configuration, never one of an agent"
)]

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use paddock_core::{Notify, Waiting, visible};
use serde_json::json;

use crate::tools::web_search;

/// As long as a program may take.
const PROGRAM: Duration = Duration::from_secs(10);
/// As long as an address may take to answer.
const ADDRESS: Duration = Duration::from_secs(5);
/// How often is looked whether a program has ended.
const LOOKS: Duration = Duration::from_millis(50);

/// Tells of a call that begins to wait, where the configuration says whom.
pub fn notify(waiting: &Waiting<'_>, to: Option<&Notify>) {
    match to {
        None => {}
        Some(Notify::Command(words)) => start(words, waiting),
        Some(Notify::Webhook(url)) => send(url, waiting),
    }
}

fn start(words: &[String], waiting: &Waiting<'_>) {
    let Some((program, arguments)) = words.split_first() else { return };
    let mut command = Command::new(program);
    command.args(arguments).args([waiting.tool, &visible(waiting.path), waiting.id]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C at the terminal is not meant for it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return tracing::warn!(program, %error, "nobody was told of a call that waits"),
    };
    let wait = move || {
        let until = Instant::now() + PROGRAM;
        while Instant::now() < until {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOKS);
        }
        let _ = child.kill();
        let _ = child.wait();
    };
    let _ = thread::Builder::new().name("paddock-notify".to_owned()).spawn(wait);
}

fn send(url: &str, waiting: &Waiting<'_>) {
    let Waiting { id, agent, tool, path, risk } = waiting;
    let body = json!({ "id": id, "agent": agent, "tool": tool, "path": path, "risk": risk.name() }).to_string();
    let (url, (done, sent)) = (url.to_owned(), mpsc::channel());
    let post = move || {
        let request = web_search::agent(&url, ADDRESS).post(&url).content_type("application/json");
        // The address may hold a secret, so it is not told.
        if let Err(error) = request.send(body) {
            tracing::warn!(%error, "nobody was told of a call that waits");
        }
        let _ = done.send(());
    };
    if thread::Builder::new().name("paddock-notify".to_owned()).spawn(post).is_ok() {
        // A process that ends now would take it along.
        let _ = sent.recv_timeout(ADDRESS);
    }
}
