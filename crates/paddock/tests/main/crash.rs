//! kill -9 at random moments, under a load of every kind of change, on a Physical and a Virtual Workspace.
//!
//! An agent works through `paddock mcp`; everything it was answered is also done to a plain model. The server is killed
//! at a moment of chance, and a new one is asked what is there. It has to be the model, or the model with the one
//! call that was under way; never a part of that call, and never less than what was answered. The audit has to verify
//! each time, and to know every call that was answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Raw, call};
use crate::harness::World;

const CONFIG: &str = "[[workspace]]\nprefix = \"/p\"\nscope = \"RW\"\nmount = { physical = \"p\" }\n\
                      [[workspace]]\nprefix = \"/v\"\nscope = \"RW\"\nmount = { virtual = \"v\" }\n";

/// How often the server is killed.
fn kills() -> usize {
    std::env::var("PADDOCK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(50)
}

/// Numbers by chance, from a seed that is told when something fails.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// What files there are, and what is in them.
type Model = BTreeMap<String, String>;

/// A call, and what it makes of the model.
struct Step {
    tool: &'static str,
    arguments: Value,
    after: Model,
}

fn path(chance: &mut Chance) -> String {
    format!("/{}/d{}/f{}", ["p", "v"][chance.below(2) as usize], chance.below(2), chance.below(4))
}

fn step(chance: &mut Chance, model: &Model, n: usize) -> Step {
    let path = path(chance);
    let mut after = model.clone();
    let there = model.get(&path).cloned();
    match (chance.below(5), there) {
        (0, Some(_)) => {
            after.remove(&path);
            Step { tool: "delete_file", arguments: json!({"path": path}), after }
        }
        (1, Some(text)) => {
            let added = format!("+{n}");
            after.insert(path.clone(), text + &added);
            Step { tool: "append_file", arguments: json!({"path": path, "content": added}), after }
        }
        (2, Some(text)) => {
            let (old, new) = (text.chars().take(6).collect::<String>(), format!("e{n:05}"));
            after.insert(path.clone(), text.replace(&old, &new));
            Step {
                tool: "edit_file",
                arguments: json!({"path": path, "edits": [{"old_string": old, "new_string": new, "replace_all": true}]}),
                after,
            }
        }
        (3, Some(text)) => {
            let to = format!("{path}-m{n}");
            after.remove(&path);
            after.insert(to.clone(), text);
            Step { tool: "move_file", arguments: json!({"source": path, "destination": to}), after }
        }
        _ => {
            // Some are larger than a chunk, so that contents go in before their commit.
            let word = format!("w{n:05}");
            let text = if chance.below(8) == 0 { format!("{}\n", word.repeat(16)).repeat(1000) } else { word };
            after.insert(path.clone(), text.clone());
            Step { tool: "write_file", arguments: json!({"path": path, "content": text}), after }
        }
    }
}

/// Everything that the Workspaces hold, as a new server shows it.
fn seen(world: &World) -> Model {
    let mut raw = Raw::greeted(world, &["mcp"]);
    let mut found = Model::new();
    let mut id = 100;
    for workspace in ["/p", "/v"] {
        id += 1;
        raw.send(&call(id, "find_files", &json!({"path": workspace, "glob": "**"})));
        let answer = raw.receive();
        let listed = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        for line in listed.lines().filter(|line| line.starts_with('/')) {
            id += 1;
            raw.send(&call(id, "read_file", &json!({"path": line})));
            let answer = raw.receive();
            assert_ne!(answer["result"]["isError"], json!(true), "{line}: {answer}");
            found.insert(line.to_owned(), answer["result"]["content"][0]["text"].as_str().unwrap().to_owned());
        }
    }
    raw.end();
    found
}

fn cut(model: &Model) -> BTreeMap<&str, (usize, &str)> {
    model.iter().map(|(path, text)| (path.as_str(), (text.len(), &text[..text.len().min(40)]))).collect()
}

#[test]
fn what_was_answered_survives_kill_9_and_nothing_is_half_there() {
    let seed = std::process::id().into();
    let mut chance = Chance(seed);
    let world = World::configured(CONFIG).unasked();
    let mut model = Model::new();
    let mut answered = 0;
    for round in 0..kills() {
        let mut raw = Raw::greeted(&world, &["mcp"]);
        let until = Instant::now() + Duration::from_millis(5 + chance.below(60));
        let mut under_way = model.clone();
        let mut n = 0;
        while Instant::now() < until {
            n += 1;
            let step = step(&mut chance, &model, round * 1000 + n);
            raw.send(&call(i64::try_from(n).unwrap(), step.tool, &step.arguments));
            under_way = step.after;
            if Instant::now() >= until {
                break;
            }
            let answer = raw.receive();
            assert_ne!(answer["result"]["isError"], json!(true), "round {round}, seed {seed}: {} {answer}", step.tool);
            model.clone_from(&under_way);
            answered += 1;
        }
        std::thread::sleep(Duration::from_micros(chance.below(1500)));
        raw.kill();
        // Before anybody else has opened it.
        let verified = world.paddock(&["audit", "verify"]);
        assert_eq!(verified.code, 0, "round {round}, seed {seed}: {verified}");
        let found = seen(&world);
        assert!(
            found == model || found == under_way,
            "round {round}, seed {seed}: found {:?}\nanswered {:?}\nunder way {:?}",
            cut(&found),
            cut(&model),
            cut(&under_way)
        );
        model = found;
    }
    let done = world.paddock(&["audit", "query", "--outcome", "done", "--limit", "1000000", "--json"]);
    let rows: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| Value::Array(Vec::new()));
    let known = rows.as_array().map_or_else(|| done.stdout.lines().count(), Vec::len);
    assert!(known >= answered, "{answered} calls were answered and the audit knows {known}");
}
