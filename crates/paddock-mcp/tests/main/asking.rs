//! Calls that wait for a person: parked at once, and decided by the client's own prompt only where it is entrusted with it.

use std::sync::{Arc, Mutex};

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Call, Gate, LogicalPath, Mount, NoJournal, Passed, Permit, Plan, Question,
    Refused, Request, RiskRules, Terms, Vfs, Workspace,
};
use serde_json::{Value, json};

use crate::harness::{Changing, Raw, context, store};

/// Parks what is above low, under one id, until it is answered.
#[derive(Default)]
struct Desk {
    waits: Mutex<Option<(String, String)>>,
    answered: Mutex<Option<(String, bool)>>,
}

impl Gate for Desk {
    fn pass(&self, _: &Call<'_>, request: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        if request.risk <= paddock_core::Risk::Low {
            return Ok(Passed::Now(permit.grant()));
        }
        match &*self.answered.lock().unwrap() {
            Some((_, true)) => return Ok(Passed::Now(permit.grant())),
            Some((by, false)) => {
                return Err(Refused::NotApproved { name: "rejected", why: format!("{by} rejected this call") });
            }
            None => {}
        }
        *self.waits.lock().unwrap() = Some((request.tool.to_owned(), request.asked.arguments()));
        Ok(Passed::Parked("ap-1".to_owned()))
    }

    fn question(&self, _: &AgentName, id: &str, tool: &str, arguments: &str) -> Option<Question> {
        let waits = self.waits.lock().unwrap().clone()?;
        let is_this = id == "ap-1" && waits == (tool.to_owned(), arguments.to_owned());
        let text = "what it would change".to_owned();
        is_this.then(|| Question { id: id.to_owned(), path: "/w/a.txt".to_owned(), text })
    }

    fn answered(&self, _: &str, by: &str, agrees: bool) -> Result<(), Refused> {
        *self.answered.lock().unwrap() = Some((by.to_owned(), agrees));
        Ok(())
    }
}

fn served(entrusted: &[&str]) -> (Arc<Changing>, Arc<Desk>) {
    let prefix = LogicalPath::parse("/w", &LogicalPath::top()).unwrap();
    let workspace = Workspace::new(prefix.clone(), AccessScope::ReadWrite, Mount::new(store(), None));
    let desk = Arc::new(Desk::default());
    let vfs = Vfs::new(vec![workspace], Arc::<Desk>::clone(&desk), Arc::new(NoJournal)).unwrap();
    let entrusted = entrusted.iter().map(|name| (*name).to_owned()).collect();
    let terms = Terms { entrusted, ..Terms::default() };
    let policy = AgentPolicy::new(AgentName::main(), prefix, vfs).asking(terms, RiskRules::default());
    (Changing::of(policy), desk)
}

fn overwrite() -> Value {
    json!({"name": "write_file", "arguments": {"path": "a.txt", "content": "new"}})
}

/// A client of the older kind that can ask its person.
async fn greeted(source: Arc<Changing>, able: Value) -> Raw {
    let mut raw = Raw::connect(source);
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": able, "clientInfo": client});
    raw.ask("initialize", params).await;
    raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    raw
}

fn call(params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params})
}

fn assert_parked(answer: &Value) {
    let result = &answer["result"];
    assert_eq!(result["structuredContent"], json!({"error": "parked", "approval": "ap-1"}), "{answer}");
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("`paddock approvals show ap-1`"), "{text}");
}

#[tokio::test]
async fn a_parked_call_is_answered_at_once_with_what_a_person_has_to_do() {
    for (entrusted, able) in [(&["raw"][..], json!({})), (&[], json!({"elicitation": {}})), (&["other"], able())] {
        let (source, desk) = served(entrusted);
        let mut raw = greeted(source, able).await;
        assert_parked(&raw.ask("tools/call", overwrite()).await);
        assert_eq!(*desk.answered.lock().unwrap(), None);
    }
}

fn able() -> Value {
    json!({"elicitation": {}})
}

/// What an older client is answered whose person answered so.
async fn answered(answer: Value) -> (Value, Option<(String, bool)>) {
    let (source, desk) = served(&["raw"]);
    let mut raw = greeted(source, able()).await;
    raw.send(&call(&overwrite())).await;
    let asked = raw.receive().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["message"], "what it would change");
    assert_eq!(asked["params"]["requestedSchema"]["required"], json!(["approve"]));
    raw.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
    let done = raw.receive().await;
    let decided = desk.answered.lock().unwrap().clone();
    (done, decided)
}

#[tokio::test]
async fn an_entrusted_client_of_the_older_kind_is_asked_while_the_call_waits() {
    let (done, decided) = answered(json!({"action": "accept", "content": {"approve": true}})).await;
    assert_eq!(done["result"]["isError"], Value::Null, "{done}");
    assert_eq!(decided, Some(("client raw".to_owned(), true)));
}

#[tokio::test]
async fn what_is_declined_is_rejected() {
    for answer in [json!({"action": "decline"}), json!({"action": "accept", "content": {"approve": false}})] {
        let (done, decided) = answered(answer).await;
        let text = done["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("client raw rejected this call"), "{done}");
        assert_eq!(decided, Some(("client raw".to_owned(), false)));
    }
}

#[tokio::test]
async fn a_prompt_that_is_closed_decides_nothing() {
    let (done, decided) = answered(json!({"action": "cancel"})).await;
    assert_parked(&done);
    assert_eq!(decided, None);
}

fn modern(able: &Value) -> Value {
    let mut meta = context();
    meta["io.modelcontextprotocol/clientCapabilities"] = able.clone();
    meta
}

#[tokio::test]
async fn an_entrusted_client_of_the_newer_kind_gets_the_question_as_the_answer() {
    let (source, desk) = served(&["raw"]);
    let mut raw = Raw::connect(source);
    let mut params = overwrite();
    params["_meta"] = modern(&able());
    let asked = raw.ask("tools/call", params.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(asked["result"]["requestState"], "ap-1");
    let question = &asked["result"]["inputRequests"]["approval"];
    assert_eq!(question["params"]["message"], "what it would change", "{asked}");

    // An answer decides the call that it was asked about, and no other.
    let accepted = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let mut other = params.clone();
    other["arguments"]["content"] = "something else".into();
    (other["inputResponses"], other["requestState"]) = (accepted.clone(), "ap-1".into());
    raw.ask("tools/call", other).await;
    assert_eq!(*desk.answered.lock().unwrap(), None);
    raw.ask("tools/call", params.clone()).await;
    for state in [Value::Null, "ap-2".into()] {
        let mut forged = params.clone();
        (forged["inputResponses"], forged["requestState"]) = (accepted.clone(), state);
        assert_parked(&raw.ask("tools/call", forged).await);
        assert_eq!(*desk.answered.lock().unwrap(), None);
    }

    (params["inputResponses"], params["requestState"]) = (accepted, "ap-1".into());
    let done = raw.ask("tools/call", params).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(done["result"]["isError"], Value::Null, "{done}");
    assert_eq!(*desk.answered.lock().unwrap(), Some(("client raw".to_owned(), true)));
}

#[tokio::test]
async fn an_answer_of_a_client_that_is_not_entrusted_decides_nothing() {
    let (source, desk) = served(&["other"]);
    let mut raw = Raw::connect(source);
    let mut params = overwrite();
    params["_meta"] = modern(&able());
    assert_parked(&raw.ask("tools/call", params.clone()).await);
    params["inputResponses"] = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    params["requestState"] = "ap-1".into();
    assert_parked(&raw.ask("tools/call", params).await);
    assert_eq!(*desk.answered.lock().unwrap(), None);
}
