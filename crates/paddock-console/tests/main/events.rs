//! The stream of events: nothing lost, nothing twice, whoever was away.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::Served;

/// Somebody who listens.
struct Listener {
    from: BufReader<TcpStream>,
    /// The id of the last event.
    last: Option<String>,
}

impl Listener {
    fn new(served: &Served, after: Option<&str>) -> Self {
        let last = after.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let mut from = BufReader::new(served.get("/api/v1/events").lines(&last).open());
        let mut line = String::new();
        // The greeting comes when it is listened for sure.
        while !line.starts_with(": here") && !line.starts_with("event: reset") {
            line.clear();
            assert!(from.read_line(&mut line).unwrap() > 0, "the stream ended");
        }
        Self { from, last: after.map(str::to_owned) }
    }

    /// The next event that is not somebody coming in.
    fn next(&mut self) -> Value {
        loop {
            let told = self.any();
            if !told["tool"].as_str().is_some_and(|tool| matches!(tool, "login" | "sign in")) {
                return told;
            }
        }
    }

    fn any(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Some(id) = line.trim_end().strip_prefix("id: ") {
                self.last = Some(id.to_owned());
            }
            if let Some(data) = line.trim_end().strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The paths of so many events.
    fn paths(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next()["path"].as_str().unwrap().to_owned()).collect()
    }
}

fn write(served: &Served, name: &str) -> String {
    let path = format!("/project/workspace/{name}");
    let answer = served.tool("main", "write_file", json!({ "path": path, "content": "x" }));
    assert!(answer.contains("written"), "{answer}");
    path
}

#[test]
fn every_call_is_told_denied_ones_too() {
    let served = Served::start();
    let mut listener = Listener::new(&served, None);
    let path = write(&served, "a.txt");
    let told = listener.next();
    assert_eq!((told["path"].as_str(), told["outcome"].as_str()), (Some(path.as_str()), Some("done")));
    assert_eq!(told["topics"], json!(["files", "activity", "overview"]));
    served.tool("main", "write_file", json!({ "path": "/project/no.txt", "content": "x" }));
    assert_eq!(listener.next()["outcome"], "denied");
}

#[test]
fn whoever_was_away_goes_on_where_they_were() {
    let served = Served::start();
    let mut first = Listener::new(&served, None);
    let early: Vec<String> = (0..5).map(|n| write(&served, &format!("early-{n}"))).collect();
    assert_eq!(first.paths(5), early);
    let last = first.last.clone().unwrap();
    drop(first);
    let missed: Vec<String> = (0..7).map(|n| write(&served, &format!("missed-{n}"))).collect();
    let mut again = Listener::new(&served, Some(&last));
    let later = write(&served, "later");
    let mut wanted = missed;
    wanted.push(later);
    assert_eq!(again.paths(8), wanted, "each once, in order");
    // From the middle of what was missed, too.
    let middle = again.last.clone().unwrap();
    let more: Vec<String> = (0..3).map(|n| write(&served, &format!("more-{n}"))).collect();
    assert_eq!(Listener::new(&served, Some(&middle)).paths(3), more);
}

#[test]
fn another_process_is_heard_and_a_new_server_goes_on() {
    let served = Served::start();
    let mut listener = Listener::new(&served, None);
    let here = write(&served, "here");
    assert_eq!(listener.paths(1), [here]);
    let last = listener.last.clone().unwrap();
    // Another desk on the same project is another chain of the audit, as another process is.
    let other = served.again();
    let there = write(&other, "there");
    assert_eq!(listener.paths(1), std::slice::from_ref(&there));
    // And its own stream knows the marks of the first.
    assert_eq!(Listener::new(&other, Some(&last)).paths(1), [there]);
}

#[test]
fn a_mark_that_is_none_means_looking_anew() {
    let served = Served::start();
    for bad in ["x", "1_2", "99999999999999999999999"] {
        let mut listener = Listener::new(&served, Some(bad));
        let path = write(&served, "a.txt");
        // What follows the word "reset" is empty data.
        let mut told = listener.next();
        while told["path"].is_null() {
            told = listener.next();
        }
        assert_eq!(told["path"], path.as_str());
    }
}
