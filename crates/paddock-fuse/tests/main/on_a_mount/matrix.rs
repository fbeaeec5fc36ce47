//! Scope by operation: the verdict is that of the file tools, whatever the program.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use paddock_core::{
    AccessScope, AgentName, Alter, Alteration, Browse, Call, CallId, Cancel, Expect, GUARDED, NameRules, Operation,
    Refused, Store, Vfs,
};
use paddock_stores::virtual_store::VirtualStore;

use crate::world::{Mounted, hiding, path, vfs, workspace, write};

/// A place of one kind: a file that is there, one that is not, a directory, and where the file would move.
struct Ground {
    kind: &'static str,
    file: &'static str,
    new: &'static str,
    dir: &'static str,
    to: &'static str,
}

const GROUNDS: &[Ground] = &[
    Ground { kind: "RO", file: "/ro/f", new: "/ro/new", dir: "/ro/d", to: "/ro/moved" },
    Ground { kind: "RW", file: "/rw/f", new: "/rw/new", dir: "/rw/d", to: "/rw/moved" },
    Ground { kind: "WO", file: "/wo/f", new: "/wo/new", dir: "/wo/d", to: "/wo/moved" },
    Ground { kind: "hidden", file: "/rw/secret", new: "/rw/d/secret", dir: "/rw/secrets", to: "/rw/moved" },
    Ground { kind: "guarded", file: "/rw/.envrc", new: "/rw/d/.envrc", dir: "/rw/.git/hooks", to: "/rw/moved" },
    Ground { kind: "none", file: "/none/f", new: "/none/new", dir: "/none/d", to: "/none/moved" },
];

/// One operation: what a file tool would plan, and what a program does.
struct Act {
    name: &'static str,
    tool: fn(&Ground) -> Operation,
    program: fn(&Mounted, &Ground) -> std::io::Result<()>,
}

const ACTS: &[Act] = &[
    Act {
        name: "read",
        tool: |ground| Operation::Read { path: path(ground.file), range: 0..10 },
        program: |mounted, ground| fs::read(mounted.at(ground.file)).map(|_| ()),
    },
    Act {
        name: "list",
        tool: |ground| {
            let (path, after) = (path(ground.dir), None);
            Operation::List(Browse { path, depth: Some(1), skip_ignored: false, after, limit: 10 })
        },
        program: |mounted, ground| fs::read_dir(mounted.at(ground.dir))?.try_for_each(|entry| entry.map(|_| ())),
    },
    Act {
        name: "write",
        tool: |ground| Operation::Write { path: path(ground.file), content: b"x".to_vec(), expect: Expect::Any },
        program: |mounted, ground| written(&mounted.at(ground.file), OpenOptions::new().create(true).truncate(true)),
    },
    Act {
        name: "append",
        tool: |ground| Operation::Append { path: path(ground.file), content: b"x".to_vec() },
        program: |mounted, ground| written(&mounted.at(ground.file), OpenOptions::new().create(true).append(true)),
    },
    Act {
        name: "create",
        tool: |ground| Operation::Write { path: path(ground.new), content: b"x".to_vec(), expect: Expect::Any },
        program: |mounted, ground| written(&mounted.at(ground.new), OpenOptions::new().create(true)),
    },
    Act {
        name: "delete",
        tool: |ground| Operation::Delete { path: path(ground.file), recursive: false },
        program: |mounted, ground| fs::remove_file(mounted.at(ground.file)),
    },
    Act {
        name: "rename",
        tool: |ground| Operation::Move { from: path(ground.file), to: path(ground.to) },
        program: |mounted, ground| fs::rename(mounted.at(ground.file), mounted.at(ground.to)),
    },
    Act {
        name: "rename to",
        tool: |ground| Operation::Move { from: path("/rw/plain"), to: path(ground.new) },
        program: |mounted, ground| fs::rename(mounted.at("/rw/plain"), mounted.at(ground.new)),
    },
    Act {
        name: "make_dir",
        tool: |ground| Operation::MakeDir { path: path(ground.new) },
        program: |mounted, ground| fs::create_dir(mounted.at(ground.new)),
    },
    Act {
        name: "link",
        tool: |ground| {
            let how = Alter::Link { leads_to: "plain".to_owned() };
            let alterations = vec![Alteration { path: path(ground.new), how, expect: Expect::Absent }];
            Operation::Commit { path: path(ground.new), alterations }
        },
        program: |mounted, ground| symlink("plain", mounted.at(ground.new)),
    },
];

fn written(at: &std::path::Path, options: &mut OpenOptions) -> std::io::Result<()> {
    let mut file: File = options.write(true).open(at)?;
    file.write_all(b"x")?;
    file.sync_all()
}

/// Workspaces of every scope, each with everything in it.
fn ground() -> Arc<Vfs> {
    let unguard: Vec<String> = GUARDED.iter().map(|row| row.name.to_owned()).collect();
    let spaces = [("ro", AccessScope::ReadOnly), ("rw", AccessScope::ReadWrite), ("wo", AccessScope::WriteOnly)];
    let mut workspaces = Vec::new();
    for (name, scope) in spaces {
        let store: Arc<dyn Store> = Arc::new(VirtualStore::in_memory());
        let names = NameRules::new(Vec::new(), &unguard, &[]).unwrap();
        let behind = workspace("/s", AccessScope::ReadWrite, Arc::clone(&store)).with_names(names);
        let behind = vfs(vec![behind]);
        for file in ["f", "plain", "d/f", "secret", "secrets/f", ".envrc", ".git/hooks/pre-commit"] {
            write(&behind, &format!("/s/{file}"), "content");
        }
        workspaces.push(workspace(&format!("/{name}"), scope, store).with_names(hiding(&["secret", "secrets"])));
    }
    vfs(workspaces)
}

fn verdict(vfs: &Vfs, operation: Operation) -> Result<(), Refused> {
    let (agent, cancel) = (AgentName::main(), Cancel::default());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
    vfs.plan(&call, operation).map(|_| ())
}

#[test]
fn programs_may_what_the_file_tools_may() {
    let mut table = Vec::new();
    for ground_of in GROUNDS {
        for act in ACTS {
            // Each on a ground of its own: what one does must not matter for the next.
            let vfs = ground();
            let tool = verdict(&vfs, (act.tool)(ground_of));
            let mounted = Mounted::writable(vfs);
            let program = (act.program)(&mounted, ground_of);
            table.push((ground_of.kind, act.name, tool, program));
        }
    }
    let differ: Vec<_> = table.iter().filter(|(_, _, tool, program)| tool.is_ok() != program.is_ok()).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    let allowed: Vec<String> =
        table.iter().filter(|(_, _, tool, _)| tool.is_ok()).map(|(kind, act, _, _)| format!("{kind} {act}")).collect();
    let expected = [
        "RO read",
        "RO list",
        "RW read",
        "RW list",
        "RW write",
        "RW append",
        "RW create",
        "RW delete",
        "RW rename",
        "RW rename to",
        "RW make_dir",
        "RW link",
        "WO write",
        "WO append",
        "WO create",
        "guarded read",
        "guarded list",
    ];
    assert_eq!(allowed, expected);
}
