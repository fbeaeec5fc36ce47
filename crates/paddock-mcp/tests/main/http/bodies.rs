//! Messages that are not what they should be: headers that disagree, too long, too slow, broken.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::AccessScope;
use paddock_mcp::http::HttpOptions;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::site::{Reply, Site, call, tool};
use crate::harness::{Changing, policy, soon, store};

const LIMIT: usize = 64 * 1024;

async fn site(options: HttpOptions) -> Site {
    Site::open(options, &[("ann", Changing::of(policy(AccessScope::ReadWrite, store())))]).await
}

async fn small() -> Site {
    site(HttpOptions { body_limit: LIMIT, ..HttpOptions::default() }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_say_something_else_than_the_body_are_refused() {
    let site = small().await;
    let read = || site.modern("ann", "tools/call", tool("read_file", json!({"path": "a.txt"})));
    let wrong = [
        read().with("Mcp-Method", "tools/list"),
        read().with("Mcp-Method", ""),
        read().with("Mcp-Name", "list_dir"),
        read().with("Mcp-Name", ""),
        read().with("MCP-Protocol-Version", "2025-11-25"),
    ];
    for asking in wrong {
        let mut reply = asking.send().await;
        let answer = reply.message().await;
        assert_eq!((reply.status, &answer["error"]["code"]), (400, &json!(-32020)), "{answer}");
        assert_eq!(answer["id"], 7);
    }
    assert_eq!(read().send().await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_over_the_limit_is_answered_in_words() {
    let site = small().await;
    let content = "x".repeat(LIMIT);
    let asking = site.modern("ann", "tools/call", tool("write_file", json!({"path": "b", "content": content})));
    let mut reply = asking.send().await;
    let answer = reply.message().await;
    assert_eq!((reply.status, &answer["id"]), (413, &json!(7)), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("over the limit of 65536 bytes") && message.contains("append_file"), "{message}");

    // Without a length it is the same.
    let body = call(9, "write_file", json!({"path": "b", "content": "x".repeat(LIMIT)})).to_string();
    let mut stream = site
        .modern("ann", "tools/call", tool("write_file", json!({})))
        .with("Content-Length", "")
        .with("Transfer-Encoding", "chunked")
        .begin()
        .await;
    stream.write_all(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes()).await.unwrap();
    let mut reply = Reply::of(stream).await;
    assert_eq!((reply.status, &reply.message().await["id"]), (413, &json!(9)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_end_is_not_read_to_its_end() {
    let site = small().await;
    let asking = site.modern("ann", "tools/list", json!({})).with("Content-Length", "1000000000000");
    let mut stream = asking.begin().await;
    let endless = vec![b'x'; LIMIT];
    // It ends by the server closing, or by its answer.
    soon(async {
        for _ in 0..8 {
            if stream.write_all(&endless).await.is_err() {
                return;
            }
        }
    })
    .await;
    assert_eq!(Reply::of(stream).await.status, 413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_the_usual_limit_is_taken_whole() {
    let site = site(HttpOptions::default()).await;
    let content = "x".repeat(5 * 1024 * 1024);
    let write = tool("write_file", json!({"path": "b", "content": content}));
    let answer = site.modern("ann", "tools/call", write).send().await.message().await;
    assert_eq!(answer["result"]["structuredContent"]["bytes"], json!(5 * 1024 * 1024), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_is_refused_in_words() {
    let site = small().await;
    let asking = || site.modern("ann", "tools/list", json!({}));
    for (body, code) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{"[..], -32700),
        (b"{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"x\"}", -32600),
        (b"", -32700),
        (b"[]", -32700),
        (b"hello", -32700),
        (b"\xff\xfe", -32700),
    ] {
        let mut reply = asking().bytes(body).send().await;
        let answer = reply.message().await;
        assert_eq!((reply.status, &answer["error"]["code"]), (400, &json!(code)), "{answer}");
    }
    assert_eq!(asking().with("Content-Type", "text/plain").send().await.status, 415);
    assert_eq!(asking().with("Accept", "text/html").send().await.status, 406);
    let put = site.request("PUT", "ann").json(&json!({})).send().await;
    assert_eq!(put.status, 405);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_that_is_gone_is_unknown_and_one_that_is_there_wants_its_parameters() {
    let site = small().await;
    for (method, status, code) in [("initialize", 404, -32601), ("ping", 404, -32601), ("tools/call", 200, -32602)] {
        let mut reply = site.modern("ann", method, json!({"name": 5})).with("Mcp-Name", "").send().await;
        let answer = reply.message().await;
        assert_eq!((reply.status, &answer["error"]["code"]), (status, &json!(code)), "{method}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_too_slowly_is_given_up_and_holds_up_nobody() {
    let site = Arc::new(
        site(HttpOptions {
            body_time: Duration::from_millis(400),
            // All the room there is, so that what is not given back is missed.
            room: LIMIT,
            room_in_all: LIMIT,
            body_limit: LIMIT,
            ..HttpOptions::default()
        })
        .await,
    );
    let large = site.modern("ann", "tools/list", json!({})).with("Content-Length", &LIMIT.to_string());
    let slow = large.begin().await;
    let read = site.modern("ann", "tools/call", tool("read_file", json!({"path": "a.txt"})));
    assert_eq!(read.send().await.status, 200, "others go on meanwhile");
    let mut reply = Reply::of(slow).await;
    assert_eq!(reply.status, 408);
    assert!(reply.message().await["error"]["message"].as_str().unwrap().contains("did not come in"));
    let content = "x".repeat(LIMIT / 2);
    let write = site.modern("ann", "tools/call", tool("write_file", json!({"path": "b", "content": content})));
    assert_eq!(write.send().await.status, 200, "its room was given back");
}
