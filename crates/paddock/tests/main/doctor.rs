//! `paddock doctor`.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::World;

#[test]
fn a_healthy_project() {
    let world = World::seed();
    let told = world.paddock(&["doctor"]).to_string();
    // What the kernel of this machine has for commands is another matter.
    let (commands, rest): (Vec<&str>, Vec<&str>) = told.lines().partition(|line| line.contains(" commands: "));
    insta::assert_snapshot!(rest.join("\n"), @"
    ✓ kernel: opens paths without ever leaving a directory (openat2)
    ✓ System Root: [world]/home/.paddock is made when something is first kept
    ✓ configuration: [world]/project/paddock.toml has no problems
    ✓ Workspace /project: [world]/project can be read
    ✓ Workspace /project/workspace: [world]/project/workspace can be read and written
    [exit 0]
    ");
    assert!(commands.iter().any(|line| line.contains("user namespaces")), "{told}");
}

#[test]
fn nothing_yet() {
    let world = World::empty();
    insta::assert_snapshot!(world.paddock(&["doctor"]), @"
    ✓ kernel: opens paths without ever leaving a directory (openat2)
    ✓ System Root: [world]/home/.paddock is made when something is first kept
    ⚠ configuration: there is no paddock.toml here or above: no tools, no access
        → run `paddock init` in the project's directory
    [exit 0]
    ");
}

#[test]
fn a_broken_configuration() {
    let world = World::configured("nmae = \"x\"\n");
    insta::assert_snapshot!(world.paddock(&["doctor"]), @r#"
    ✓ kernel: opens paths without ever leaving a directory (openat2)
    ✓ System Root: [world]/home/.paddock is made when something is first kept
    ✗ configuration: unknown key "nmae" at the top of the file
         --> paddock.toml:1:1
          |
        1 | nmae = "x"
          | ^^^^
        → did you mean "name"?
    [exit 1]
    "#);
}

#[test]
fn a_missing_directory_and_leftovers() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/a\"\nscope = \"RO\"\nmount = { physical = \"gone\" }\n\
         [[workspace]]\nprefix = \"/b\"\nscope = \"RW\"\nmount = { physical = \"b\" }\n",
    );
    world.write("b/deep/.paddock-tmp-1-2-3", "half");
    insta::assert_snapshot!(world.paddock(&["doctor"]), @r#"
    ✓ kernel: opens paths without ever leaving a directory (openat2)
    ✓ System Root: [world]/home/.paddock is made when something is first kept
    ✗ configuration: the directory "gone" behind "/a" does not exist
         --> paddock.toml:4:9
          |
        4 | mount = { physical = "gone" }
          |         ^^^^^^^^^^^^^^^^^^^^^
        → create it, or correct the path; it is relative to the directory of paddock.toml
    ✗ Workspace /a: [world]/project/gone is not a directory
        → make it, or change its mount in paddock.toml
    ✓ Workspace /b: [world]/project/b can be read and written
    ⚠ temporary files: 1 file left by writes that were cut off, such as [world]/project/b/deep/.paddock-tmp-1-2-3
        → once no agent is working here, move back a directory with "-move-" in its name, and remove the files
    [exit 1]
    "#);
}

#[test]
fn an_unsafe_system_root() {
    let world = World::seed();
    let home = world.home().join(".paddock");
    std::fs::create_dir(&home).unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = world.paddock(&["doctor"]);
    assert!(ran.stdout.contains("⚠ System Root") && ran.stdout.contains("chmod 700"), "{ran}");
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o777)).unwrap();
    insta::assert_snapshot!(world.paddock(&["doctor"]), @r#"
    ✓ kernel: opens paths without ever leaving a directory (openat2)
    ✗ Project Root and System Root: the System Root "[world]/home/.paddock" is writable by others (mode 777)
        → run: chmod 700 "[world]/home/.paddock"
    [exit 1]
    "#);
    assert_eq!(world.paddock(&["map"]).code, 2);
}

#[test]
fn for_programs() {
    let world = World::seed();
    let rows = world.paddock(&["doctor", "--json"]).json();
    let statuses: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert!(statuses.contains(&"ok"), "{rows}");
    let rows = World::empty().paddock(&["doctor", "--json"]).json();
    assert!(rows.to_string().contains("\"warning\""), "{rows}");
}

#[test]
fn what_is_kept_is_looked_at() {
    let world = World::seed();
    let write = r#"{"path": "workspace/a.txt", "content": "a"}"#;
    assert_eq!(world.paddock(&["tool", "write_file", write]).code, 0);
    let ran = world.paddock(&["doctor"]);
    let whole = ran.stdout.lines().find(|line| line.starts_with("✓ database state.db: ")).unwrap();
    assert!(whole.ends_with("state.db is whole") && ran.stdout.contains("\n✓ audit: 2 rows, as they were written\n"));
    // A process that was killed in the middle of a call, long ago.
    let place = std::fs::read_dir(world.home().join(".paddock/workspaces")).unwrap().next().unwrap().unwrap().path();
    let database = rusqlite::Connection::open(place.join("state.db")).unwrap();
    assert_eq!(database.execute("UPDATE history_call SET state = 0, deadline = 1", ()).unwrap(), 1);
    drop(database);
    let ran = world.paddock(&["doctor"]);
    let found = "⚠ calls: 1 call never ended, the last one write /project/workspace/a.txt at ";
    assert!(ran.stdout.contains(found) && ran.stdout.contains("    → look at what it did; `paddock undo "), "{ran}");
    assert_eq!(ran.code, 0);
}

/// Whoever may write anywhere still cannot there, as on a disk that is mounted read-only.
#[test]
fn a_system_root_that_cannot_be_written_is_told() {
    let world = World::seed();
    let doctor = world.paddock(&["--home", "/proc", "doctor"]);
    assert!(doctor.stdout.contains("✗ System Root: /proc cannot be written: ") && doctor.code == 1, "{doctor}");
    assert!(!world.paddock(&["doctor"]).stdout.contains("cannot be written"));
}
