//! The connection: lines in, messages out, with every bound in one place.
//!
//! rmcp drives it. It adds what rmcp's own stream lacks: a message that is too long or broken is answered
//! rather than dropped, requests are read only as fast as their bytes and their answers fit in memory, and a
//! stray notification before the first request does not end the connection.

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, GetExtensions as _, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::lines::{Lines, Next};
use crate::message::{self, Incoming};
use crate::outbox::Outbox;

/// The longest message that is taken: a file of 8 MiB and what JSON adds to it. rmcp's own limit, beyond which
/// it would say nothing, is 16 MiB.
pub(crate) const LONGEST_MESSAGE: usize = 12 * 1024 * 1024;
/// Calls of so many bytes may be under way at once; one more waits in the client's own buffer.
const UNDER_WAY: usize = 64 * 1024 * 1024;
/// What a call counts for at least, so that there is a bound on their number too.
const LEAST_WEIGHT: usize = 16 * 1024;

/// A connection over any two streams of bytes.
#[derive(Debug)]
pub(crate) struct Connection<R, W> {
    lines: Lines<R>,
    outbox: Arc<Outbox<W>>,
    /// A message that waits until there is room for it.
    held: Option<(ClientJsonRpcMessage, u32)>,
    room: Arc<Semaphore>,
    /// The client has said which era it speaks.
    begun: bool,
    /// The last line was no JSON, and that was answered.
    puzzled: bool,
    /// Told once, when nothing more will come.
    ended: watch::Sender<bool>,
}

/// Room taken by a request, given back when its handler is done.
#[derive(Debug, Clone)]
struct Load(#[expect(dead_code, reason = "held for its drop")] Arc<OwnedSemaphorePermit>);

impl<R, W> Connection<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(crate) fn new(reader: R, writer: W, ended: watch::Sender<bool>) -> Self {
        Self {
            lines: Lines::new(reader, LONGEST_MESSAGE),
            outbox: Arc::new(Outbox::new(writer)),
            held: None,
            room: Arc::new(Semaphore::new(UNDER_WAY)),
            begun: false,
            puzzled: false,
            ended,
        }
    }

    /// The next message, read but not yet weighed; nothing at the end.
    async fn read(&mut self) -> io::Result<Option<(ClientJsonRpcMessage, u32)>> {
        loop {
            self.outbox.not_behind().await;
            match self.lines.next().await? {
                Next::End => return Ok(None),
                Next::TooLong(id) => self.answer(id, too_long()),
                Next::Line(line) => {
                    let weight = weight(line.len());
                    let incoming = message::read(self.lines.bytes(line));
                    let was_puzzled = std::mem::replace(&mut self.puzzled, matches!(incoming, Incoming::NoMessage(_)));
                    match incoming {
                        // Once: somebody who answers our answers with more of it would never end.
                        Incoming::NoMessage(error) if !was_puzzled => self.answer(None, error),
                        Incoming::Message(message) if self.is_welcome(&message) => return Ok(Some((*message, weight))),
                        Incoming::Message(_) | Incoming::NoMessage(_) | Incoming::Nothing => {}
                        Incoming::Refused(id, error) => self.answer(Some(id), error),
                    }
                }
            }
        }
    }

    /// Answers without the service. On a task of its own: this future may be dropped at any await, and a line
    /// half written could not be taken back.
    fn answer(&self, id: Option<RequestId>, error: ErrorData) {
        let post = Arc::clone(&self.outbox).post(ServerJsonRpcMessage::error(error, id));
        tokio::spawn(async move {
            if let Err(error) = post.await {
                tracing::debug!(%error, "an answer could not be sent");
            }
        });
    }

    /// Before a client has begun, rmcp takes anything but a request as a reason to hang up.
    fn is_welcome(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            self.begun |= begins(&request.request);
            return true;
        }
        self.begun
    }
}

/// Does this request settle which era the client speaks?
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}

fn weight(length: usize) -> u32 {
    u32::try_from(length.max(LEAST_WEIGHT)).unwrap_or(u32::MAX)
}

fn too_long() -> ErrorData {
    let message = format!(
        "the message is over the limit of {} MiB; write large files in parts with append_file",
        LONGEST_MESSAGE / (1024 * 1024)
    );
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

impl<R, W> Transport<RoleServer> for Connection<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        Arc::clone(&self.outbox).post(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.held.is_none() {
            self.held = self.read().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "standard input cannot be read");
                None
            });
        }
        let Some((_, weight)) = self.held.as_ref().filter(|(message, _)| is_call(message)) else {
            if self.held.is_none() {
                self.ended.send_replace(true);
            }
            return self.held.take().map(|(message, _)| message);
        };
        let permit = Arc::clone(&self.room).acquire_many_owned(*weight).await.ok()?;
        let (mut message, _) = self.held.take()?;
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(Load(Arc::new(permit)));
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.outbox.close().await;
        Ok(())
    }
}

/// Only calls are weighed: a subscription may stay for as long as its client.
fn is_call(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CallToolRequest(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

    struct Client {
        to: WriteHalf<DuplexStream>,
        from: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    }

    impl Client {
        async fn send(&mut self, line: &str) {
            self.to.write_all(line.as_bytes()).await.unwrap();
            self.to.write_all(b"\n").await.unwrap();
        }

        async fn answer(&mut self) -> Value {
            serde_json::from_str(&self.from.next_line().await.unwrap().unwrap()).unwrap()
        }
    }

    type Server = Connection<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

    fn connected() -> (Server, Client, watch::Receiver<bool>) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (ended, is_ended) = watch::channel(false);
        let (read, write) = tokio::io::split(ours);
        let (from, to) = tokio::io::split(theirs);
        let client = Client { to, from: BufReader::new(from).lines() };
        (Connection::new(read, write, ended), client, is_ended)
    }

    fn call(id: u32, content: &str) -> String {
        let params = json!({"name": "write_file", "arguments": {"content": content}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    }

    #[tokio::test]
    async fn a_message_over_the_limit_is_answered_and_the_next_one_read() {
        let (mut server, mut client, _) = connected();
        let sending = tokio::spawn(async move {
            client.send(&call(41, &"x".repeat(LONGEST_MESSAGE))).await;
            client.send(&call(42, "small")).await;
            client
        });
        let Some(JsonRpcMessage::Request(request)) = server.receive().await else { panic!("no request") };
        assert_eq!(request.id, RequestId::Number(42));
        let answer = sending.await.unwrap().answer().await;
        assert_eq!(answer["id"], 41);
        assert_eq!(answer["error"]["code"], -32600);
        assert!(answer["error"]["message"].as_str().unwrap().contains("limit of 12 MiB"), "{answer}");
    }

    #[tokio::test]
    async fn a_long_message_without_an_id_is_answered_without_one() {
        let (mut server, mut client, _) = connected();
        let sending = tokio::spawn(async move {
            client.send(&"x".repeat(LONGEST_MESSAGE + 1)).await;
            client.send(&call(1, "")).await;
            client
        });
        assert!(server.receive().await.is_some());
        let answer = sending.await.unwrap().answer().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));
    }

    #[tokio::test]
    async fn a_line_that_is_no_json_is_answered_once_in_a_row() {
        let (mut server, mut client, _) = connected();
        let sending = tokio::spawn(async move {
            client.send("hello").await;
            client.send("is anybody there?").await;
            client.send(&call(1, "")).await;
            client.send("hello").await;
            client.send(&call(2, "")).await;
            client
        });
        assert!(server.receive().await.is_some() && server.receive().await.is_some());
        drop(server);
        let mut client = sending.await.unwrap();
        let mut answers = Vec::new();
        while let Some(line) = client.from.next_line().await.unwrap() {
            answers.push(serde_json::from_str::<Value>(&line).unwrap());
        }
        let told: Vec<_> = answers.iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
        assert_eq!(told, [(&Value::Null, &json!(-32700)); 2], "{answers:?}");
    }

    #[tokio::test]
    async fn before_the_first_request_notifications_are_passed_over() {
        let (mut server, mut client, _) = connected();
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        client.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
        let info =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": info}).to_string()).await;
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        for expected in [true, true, false] {
            let message = server.receive().await.unwrap();
            assert_eq!(matches!(message, JsonRpcMessage::Request(_)), expected, "{message:?}");
        }
    }

    #[tokio::test]
    async fn calls_are_read_only_as_fast_as_they_fit() {
        let (mut server, mut client, _) = connected();
        let content = "x".repeat(8 * 1024 * 1024);
        let sending = tokio::spawn(async move {
            for id in 0..9 {
                client.send(&call(id, &content)).await;
            }
            client
        });
        let mut taken = Vec::new();
        loop {
            let next = tokio::time::timeout(std::time::Duration::from_millis(300), server.receive());
            match next.await {
                Ok(message) => taken.push(message.unwrap()),
                Err(_) => break,
            }
        }
        assert_eq!(taken.len(), 7, "8 calls of a little over 8 MiB do not fit in 64 MiB");
        taken.clear();
        assert!(server.receive().await.is_some(), "there is room again, and nothing was lost while waiting");
        assert!(server.receive().await.is_some());
        sending.await.unwrap();
    }

    #[tokio::test]
    async fn the_end_is_told() {
        let (mut server, client, is_ended) = connected();
        drop(client);
        assert!(server.receive().await.is_none());
        assert!(*is_ended.borrow());
    }
}
