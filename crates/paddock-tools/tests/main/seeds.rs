//! The capabilities of seed 003 and the failsafes of seed 001, by name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paddock_core::AgentPolicy;
use paddock_stores::MemoryStore;
use paddock_stores::doubles::{Denying, Panicking, Recording};
use paddock_tools::{Fixed, Handled, PolicySource, Toolbox, Verdict, WorkspacesMiddleware};
use serde_json::{Value, json};

use crate::middleware::{Request, ToolUse};
use crate::setup::{RO, RW, WO, agent, agent_at, call, hiding, holding, plant, policy, workspace};

#[test]
fn seed_003_capability_1_1_the_longest_prefix_decides() {
    let home = holding(&[("a.txt", b"home"), ("srcx/a.txt", b"beside")]);
    let agent = agent(vec![workspace("/home", RO, home), workspace("/home/src", RW, holding(&[]))]);
    agent.done("write_file", json!({"path": "/home/src/new.txt", "content": "x"}));
    assert_eq!(agent.done("read_file", json!({"path": "/home/src/new.txt"})), "x");
    assert_eq!(agent.done("read_file", json!({"path": "/home/a.txt"})), "home");
    for outside in ["/home/a.txt", "/home/srcx/a.txt", "/home/src_evil"] {
        let told = agent.refused("write_file", json!({"path": outside, "content": "x"}));
        assert!(told.contains("Only /home/src directory is writable."), "{told}");
    }
    assert_eq!(agent.done("read_file", json!({"path": "/home/srcx/a.txt"})), "beside");
}

#[test]
fn seed_003_capability_1_2_traversal_never_leaves_a_workspace() {
    let store = Arc::new(Recording::new(holding(&[("a.txt", b"inside")])));
    let agent = agent_at("/safe", vec![workspace("/safe", RW, Arc::clone(&store) as _)]);
    for (attempt, verdict) in [
        ("../../etc/passwd", Verdict::Denied),
        ("/safe/../../../etc/passwd", Verdict::Denied),
        ("/safe/missing/../../etc/passwd", Verdict::Denied),
        ("/safe_evil/a.txt", Verdict::Denied),
        ("a\0.txt", Verdict::Denied),
        ("..\\..\\etc\\passwd", Verdict::Denied),
    ] {
        for (tool, mut arguments) in [
            ("read_file", json!({})),
            ("write_file", json!({"content": "x"})),
            ("list_dir", json!({})),
            ("delete_file", json!({})),
        ] {
            arguments["path"] = attempt.into();
            assert_eq!(agent.call(tool, arguments).verdict, verdict, "{tool} {attempt:?}");
        }
    }
    assert_eq!(store.take(), [], "no Store was touched");
    assert_eq!(agent.done("read_file", json!({"path": "x/../a.txt"})), "inside");
}

#[test]
fn seed_003_capability_2_1_a_denied_operation_never_reaches_the_store() {
    let (ro, wo) = (Arc::new(Denying::new()), Arc::new(Denying::new()));
    let own = Arc::new(Denying::new());
    let agent = agent(vec![
        hiding(workspace("/ro", RO, Arc::clone(&ro) as _), &[".env"]),
        workspace("/wo", WO, Arc::clone(&wo) as _),
        hiding(workspace("/rw", RW, Arc::clone(&own) as _), &[".env"]),
    ]);
    let denied = [
        ("edit_file", json!({"path": "/ro/a", "old_string": "a", "new_string": "b"})),
        ("write_file", json!({"path": "/ro/a", "content": "x"})),
        ("append_file", json!({"path": "/ro/a", "content": "x"})),
        ("make_dir", json!({"path": "/ro/a"})),
        ("move_file", json!({"source": "/ro/a", "destination": "/rw/b"})),
        ("move_file", json!({"source": "/rw/a", "destination": "/ro/b"})),
        ("move_file", json!({"source": "/rw/a", "destination": "/wo/b"})),
        ("delete_file", json!({"path": "/ro/a", "recursive": true})),
        ("read_file", json!({"path": "/wo/a"})),
        ("list_dir", json!({"path": "/wo"})),
        ("find_files", json!({"path": "/wo", "glob": "*"})),
        ("search_files", json!({"path": "/wo", "pattern": "x"})),
        ("delete_file", json!({"path": "/wo/a"})),
        ("write_file", json!({"path": "/wo/a", "content": "x", "expected_version": format!("v{:032x}", 1)})),
        ("write_file", json!({"path": "/elsewhere/a", "content": "x"})),
        ("read_file", json!({"path": "/elsewhere/a"})),
        ("read_file", json!({"path": "/ro/.env"})),
        ("write_file", json!({"path": "/rw/.env", "content": "x"})),
        ("write_file", json!({"path": "/rw/.git/hooks/pre-commit", "content": "x"})),
        ("delete_file", json!({"path": "/rw", "recursive": true})),
    ];
    for (tool, arguments) in denied {
        let told = agent.refused(tool, arguments.clone());
        assert_eq!(
            (ro.calls(), wo.calls(), own.calls()),
            (0, 0, 0),
            "{tool} {arguments} reached a Store and was told {told}"
        );
    }
    // The control: what is allowed does reach it.
    agent.refused("read_file", json!({"path": "/ro/a"}));
    assert_eq!(ro.calls(), 1);
}

#[test]
fn seed_003_capability_2_2_tools_follow_the_aggregate_scopes() {
    let looks = ["read_file", "list_dir", "find_files", "search_files"];
    let delivers = ["write_file", "append_file", "edit_file"];
    let rearranges = ["make_dir", "move_file", "delete_file"];
    let of = |scopes: &[paddock_core::AccessScope]| {
        let spaces = scopes.iter().enumerate().map(|(i, scope)| workspace(&format!("/{i}"), *scope, holding(&[])));
        agent(spaces.collect())
    };
    assert_eq!(of(&[RO, RO]).tool_names(), looks);
    assert_eq!(of(&[WO]).tool_names(), delivers);
    assert_eq!(of(&[RO, WO]).tool_names(), [&looks[..], &delivers[..]].concat());
    assert_eq!(of(&[RW]).tool_names(), [&looks[..], &delivers[..], &rearranges[..]].concat());

    // A tool that is not provided is refused as such even when it is called.
    let reader = of(&[RO]);
    for tool in delivers.into_iter().chain(rearranges) {
        let answer = reader.call(tool, json!({"path": "/0/a", "content": "x"}));
        assert_eq!(answer.verdict, Verdict::Denied);
        assert_eq!(
            answer.text(),
            format!("❌ ERROR: The tool \"{tool}\" is not provided. No Workspace of yours allows what it does.")
        );
    }
}

#[test]
fn seed_003_capability_2_3_the_map_details_workspaces_and_scopes() {
    let agent = agent_at(
        "/project",
        vec![
            workspace("/project", RO, holding(&[])),
            workspace("/project/workspace", RW, holding(&[])),
            workspace("/drop", WO, holding(&[])),
        ],
    );
    insta::assert_snapshot!(agent.toolbox.filesystem_map(), @r"
    Filesystem Map: the Workspaces you perceive. Nothing else exists for you.
    - /drop: write-only (write, append, edit; nothing comes back)
    - /project: read-only (read, list, find, search)
    - /project/workspace: read-write (read, list, find, search, write, append, edit, make, move, delete)
    A path belongs to the Workspace with the longest prefix of it. Relative paths start at /project.
    ");
}

#[test]
fn seed_003_failsafe_default_an_empty_configuration_has_zero_access() {
    let agent = agent(vec![]);
    assert!(agent.tool_names().is_empty());
    insta::assert_snapshot!(agent.toolbox.filesystem_map(), @"Filesystem Map: empty. No Workspace is configured, so there is no access to any file. A person can begin with `paddock init` in the directory of the project.");
    for tool in paddock_tools::catalogue::names() {
        let answer = agent.call(tool, json!({"path": "/a"}));
        assert_eq!(answer.verdict, Verdict::Denied, "{tool}");
        assert!(answer.text().contains("`paddock init`"), "{}", answer.text());
    }
}

#[test]
fn seed_003_failsafe_default_a_path_without_a_workspace_is_denied() {
    let agent = agent(vec![workspace("/project/workspace", RW, holding(&[]))]);
    assert_eq!(
        agent.refused("write_file", json!({"path": "/etc/passwd", "content": "x"})),
        "❌ ERROR: Can only write to /project/workspace. Attempted: /etc/passwd"
    );
    assert_eq!(
        agent.refused("read_file", json!({"path": "/etc/passwd"})),
        "❌ ERROR: Can only read from /project/workspace. Attempted: /etc/passwd"
    );
}

#[test]
fn seed_001_failsafe_1_paths_are_coerced_strictly() {
    let agent = agent_at("/project", vec![workspace("/project", RW, holding(&[("src/a", b"found")]))]);
    for same in ["src/a", "/project/src/a", "./src//x/../a/", "/project/./src/a", "../project/src/a"] {
        assert_eq!(agent.done("read_file", json!({"path": same})), "found", "{same}");
    }
    let told = agent.refused("read_file", json!({"path": "../../project/src/a"}));
    assert_eq!(
        told,
        "❌ ERROR: The path is refused: path \"../../project/src/a\" leads above \"/\"; write the path from \"/\", \
         without climbing above it. Nothing exists above it."
    );
}

/// A policy that someone changes between two turns.
struct Changing {
    now: Mutex<Arc<AgentPolicy>>,
    generation: AtomicU64,
}

impl PolicySource for Changing {
    fn redactor(&self) -> paddock_state::Redactor {
        paddock_state::Redactor::none()
    }

    fn current(&self) -> Arc<AgentPolicy> {
        Arc::clone(&self.now.lock().unwrap())
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn notice(&self) -> Option<String> {
        None
    }
}

#[test]
fn seed_001_failsafe_2_the_map_is_made_anew_every_turn_and_never_kept() {
    let before = policy(vec![workspace("/old", RO, holding(&[("a", b"a")]))], "/");
    let source = Arc::new(Changing { now: Mutex::new(Arc::new(before)), generation: AtomicU64::new(1) });
    let middleware = WorkspacesMiddleware::new(Toolbox::new(Arc::clone(&source) as _));
    let kept = Request { system: "Be brief.".to_owned(), tools: vec!["theirs".to_owned()] };
    let turn = || middleware.wrap_model_call(&kept, |request| request);

    let first = turn();
    assert!(first.system.starts_with("Be brief.\n\nFilesystem Map"), "{}", first.system);
    assert!(first.system.contains("- /old: read-only") && !first.system.contains("/new"));
    assert!(!first.tools.contains(&"write_file".to_owned()));

    let after = policy(vec![workspace("/new", RW, holding(&[]))], "/");
    *source.now.lock().unwrap() = Arc::new(after);
    source.generation.store(2, Ordering::SeqCst);
    let second = turn();
    assert!(second.system.contains("- /new: read-write") && !second.system.contains("/old"));
    assert!(second.tools.contains(&"write_file".to_owned()));
    assert_eq!(kept.system, "Be brief.", "the caller's own request stays as it was");
    assert_eq!(kept.tools, ["theirs"]);

    // The policy of this turn also decides the calls of this turn.
    let toolbox = Toolbox::new(source);
    assert_eq!(toolbox.generation(), 2);
    assert_eq!(call(&toolbox, "read_file", json!({"path": "/old/a"})).verdict, Verdict::Denied);
}

#[test]
fn seed_001_failsafe_3_whatever_a_store_throws_becomes_a_message() {
    let policy = policy(
        vec![
            workspace("/fails", RW, Arc::new(Denying::new())),
            workspace("/panics", RW, Arc::new(Panicking)),
            workspace("/works", RW, Arc::new(MemoryStore::new())),
        ],
        "/",
    );
    let middleware = WorkspacesMiddleware::new(Toolbox::new(Arc::new(Fixed(Arc::new(policy)))));
    let answer = |name: &str, arguments: Value| {
        let call = ToolUse { name: name.to_owned(), arguments };
        match middleware.wrap_tool_call(call, |_| unreachable!("ours is never passed on")) {
            Handled::Here(answer) => answer,
            Handled::There(()) => unreachable!(),
        }
    };
    for (tool, more) in [
        ("read_file", json!({})),
        ("list_dir", json!({})),
        ("find_files", json!({"glob": "*"})),
        ("search_files", json!({"pattern": "x"})),
        ("write_file", json!({"content": "x"})),
        ("append_file", json!({"content": "x"})),
        ("edit_file", json!({"old_string": "a", "new_string": "b"})),
        ("make_dir", json!({})),
        ("delete_file", json!({})),
    ] {
        for place in ["/fails/a", "/panics/a"] {
            let mut arguments = more.clone();
            arguments["path"] = place.into();
            let answer = answer(tool, arguments);
            assert_eq!(answer.verdict, Verdict::Failed, "{tool} {place}");
            assert!(answer.text().starts_with("❌ ERROR: "), "{}", answer.text());
        }
    }
    // The process lives, and so do the other Workspaces.
    assert_eq!(answer("write_file", json!({"path": "/works/a", "content": "x"})).verdict, Verdict::Done);
}

/// Seed 000's own words, for the part of it that is a matter of files.
#[test]
fn seed_000_the_protected_workspace() {
    let project = holding(&[("src/App.tsx", b"app"), ("package.json", b"{}"), ("memoria/a.md", b"m")]);
    let free = holding(&[]);
    let agent = agent_at(
        "/project",
        vec![workspace("/project", RO, project), workspace("/project/workspace", RW, Arc::clone(&free) as _)],
    );
    assert_eq!(agent.done("read_file", json!({"path": "package.json"})), "{}");
    assert_eq!(agent.done("list_dir", json!({"path": "memoria/"})), "a.md");
    assert_eq!(
        agent.refused("write_file", json!({"path": "src/App.tsx", "content": "// x"})),
        "❌ ERROR: Cannot write to protected path \"/project/src/App.tsx\". Only /project/workspace directory is writable."
    );
    let edit = json!({"path": "src/App.tsx", "old_string": "app", "new_string": "x"});
    assert!(agent.refused("edit_file", edit).contains("Cannot write to protected path"));
    assert!(
        agent
            .done("write_file", json!({"path": "workspace/test.txt", "content": "Hola Mundo"}))
            .starts_with("File written successfully")
    );
    plant(&free, "other.txt", b"by a person");
    assert_eq!(agent.done("read_file", json!({"path": "workspace/test.txt"})), "Hola Mundo");
}
