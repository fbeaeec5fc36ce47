//! Ten processes that go on with one run at once: one of them does, and what a person agreed to happens once.

use std::process::{Output, Stdio};

use paddock_db::postgres_testing::Database;
use serde_json::{Value, json};

use super::{answer, begin, call, script};
use crate::harness::World;

const PROCESSES: usize = 10;

/// Each append is one line more: what happened twice is seen. A person is asked about the first.
const CONFIG: &str = r#"
[[workspace]]
prefix = "/w"
scope = "READ_WRITE"
mount = { physical = "w" }
[[approvals.rule]]
tool = "append_file"
path = "/w/asked.txt"
risk = "high"
"#;

fn ten_resume(config: &str) {
    let world = World::configured(config);
    let append = |path: &str| call("append_file", &json!({ "path": path, "content": "once\n" }));
    let plan = answer("- [ ] append");
    let model = script(&world, &[plan, append("/w/asked.txt"), append("/w/free.txt"), answer("appended")]);
    let frozen = begin(&world, "t", &model, &[]);
    assert_eq!(frozen.code, 3, "{frozen}");
    let id = frozen.json()["approval"].as_str().unwrap().to_owned();
    assert_eq!(world.paddock(&["approvals", "approve", &id]).code, 0);

    let resume = |_| {
        let mut command = world.command(&["resume", "t", "--no-wait", "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(resume).collect();
    let ended = children.into_iter().map(|child| child.wait_with_output().unwrap());
    let (done, others): (Vec<Output>, Vec<Output>) = ended.partition(|output| output.status.success());
    assert_eq!((world.read("w/asked.txt"), world.read("w/free.txt")), ("once\n".to_owned(), "once\n".to_owned()));
    let [done] = done.as_slice() else { panic!("{} of them went on: {done:?}", done.len()) };
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["status"], &told["answer"]), (&json!("done"), &json!("appended")));
    // The others came while it worked, or too late.
    for other in others {
        let told = String::from_utf8_lossy(&other.stderr);
        let is_refused = told.contains("instance \"t\" is held by") || told.contains("there is nothing to resume");
        assert!(other.status.code() == Some(1) && is_refused && told.contains("hint:"), "{other:?}");
    }
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    assert!(world.paddock(&["threads", "replay", "t"]).stdout.contains("each comes to the same again"));
}

#[test]
fn of_ten_processes_that_resume_one_run_one_does() {
    ten_resume(CONFIG);
}

#[test]
fn of_ten_processes_that_resume_one_run_one_does_on_postgresql() {
    let database = Database::fresh();
    ten_resume(&format!("{CONFIG}\n[state]\nurl = \"{}\"\n", database.url()));
}
