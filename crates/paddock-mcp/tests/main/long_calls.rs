//! Calls that take long: progress, cancellation, and what goes on beside them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paddock_core::{
    AccessScope, Applied, Call, ChangeSet, Entry, ErrorKind, Hit, LastName, Meta, Place, Query, RelPath, RelPathBuf,
    Result, Sink, Store, Walk,
};
use paddock_stores::MemoryStore;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ProgressToken};
use rmcp::service::{ClientLifecycleMode, PeerRequestOptions};
use serde_json::json;

use crate::harness::{Changing, Client, Raw, modern, policy, soon, store};

/// A Store whose searches look at one thing after the other until they are stopped.
pub(crate) struct Endless {
    inner: Arc<MemoryStore>,
    pub(crate) running: AtomicUsize,
    pub(crate) stopped: AtomicUsize,
}

impl Endless {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { inner: store(), running: AtomicUsize::new(0), stopped: AtomicUsize::new(0) })
    }

    pub(crate) async fn until(counter: &AtomicUsize, n: usize) {
        soon(async {
            while counter.load(Ordering::SeqCst) < n {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

impl Store for Endless {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        self.inner.resolve(call, path, last)
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        self.inner.stat(call, at)
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: std::ops::Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        self.inner.read(call, at, range, out)
    }

    fn walk(
        &self,
        call: &Call<'_>,
        at: &Place<'_>,
        walk: &Walk<'_>,
        sink: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.walk(call, at, walk, sink)
    }

    fn search(&self, call: &Call<'_>, _: &Place<'_>, _: &Query, _: Sink<'_, Hit>) -> Result<()> {
        self.running.fetch_add(1, Ordering::SeqCst);
        loop {
            if let Err(stopped) = call.tick(1) {
                assert_eq!(*stopped.kind(), ErrorKind::Cancelled);
                self.stopped.fetch_add(1, Ordering::SeqCst);
                return Err(stopped);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        self.inner.apply(call, set)
    }
}

fn search() -> ClientRequest {
    let arguments = json!({"path": "/w", "pattern": "x"}).as_object().unwrap().clone();
    ClientRequest::CallToolRequest(CallToolRequest::new(
        CallToolRequestParams::new("search_files").with_arguments(arguments),
    ))
}

#[tokio::test]
async fn progress_is_told_and_grows_until_the_call_is_given_up() {
    for lifecycle in [ClientLifecycleMode::Initialize, modern()] {
        let store = Endless::new();
        let source = Changing::of(policy(AccessScope::ReadOnly, store.clone()));
        let mut client = Client::connect(source, lifecycle).await;
        let call = client.service.send_cancellable_request(search(), PeerRequestOptions::no_options()).await.unwrap();
        let token: ProgressToken = call.progress_token.clone();
        let mut told = 0.0;
        for _ in 0..3 {
            let progress = soon(client.progress.recv()).await.unwrap();
            assert_eq!(progress.progress_token, token);
            assert!(progress.progress > told, "{progress:?}");
            told = progress.progress;
        }
        // Short calls are answered meanwhile.
        let read = json!({"path": "a.txt"}).as_object().unwrap().clone();
        let read = CallToolRequestParams::new("read_file").with_arguments(read);
        assert!(!soon(client.service.call_tool(read)).await.unwrap().is_error.unwrap_or(false));

        call.cancel(None).await.unwrap();
        Endless::until(&store.stopped, 1).await;
        client.close().await;
    }
}

#[tokio::test]
async fn a_call_without_a_token_is_not_told_about() {
    let store = Endless::new();
    let source = Changing::of(policy(AccessScope::ReadOnly, store.clone()));
    let (mut raw, _) = Raw::greeted(source, "2025-11-25").await;
    let params = json!({"name": "search_files", "arguments": {"path": "/w", "pattern": "x"}});
    raw.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})).await;
    Endless::until(&store.running, 1).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})).await;
    Endless::until(&store.stopped, 1).await;
    let answer = raw.ask("ping", serde_json::Value::Null).await;
    assert_eq!(answer["result"], json!({}), "neither progress nor an answer to what was given up came first");
}

#[tokio::test]
async fn when_the_client_goes_away_its_calls_stop() {
    let store = Endless::new();
    let source = Changing::of(policy(AccessScope::ReadOnly, store.clone()));
    let (stream, server) = crate::harness::served(source);
    let mut raw = crate::harness::Raw::over(stream);
    raw.greet("2025-11-25").await;
    let params = json!({"name": "search_files", "arguments": {"path": "/w", "pattern": "x"}});
    raw.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})).await;
    Endless::until(&store.running, 1).await;
    drop(raw);
    soon(server).await.unwrap();
    Endless::until(&store.stopped, 1).await;
}
