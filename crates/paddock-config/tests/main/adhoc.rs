//! Directories on the command line instead of a file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use paddock_config::{AdhocDir, AdhocError, adhoc};
use paddock_core::AccessScope::{ReadOnly, ReadWrite, WriteOnly};
use paddock_core::AgentPolicy;

use crate::support::{Project, may_read, may_write, ports};

fn serve(project: &Project, dirs: &[&str]) -> Result<AgentPolicy, AdhocError> {
    let dirs: Vec<AdhocDir> = dirs
        .iter()
        .map(|dir| {
            let mut dir = AdhocDir::parse(dir);
            dir.path = project.root.join(dir.path);
            dir
        })
        .collect();
    adhoc(&dirs, &project.host(), &ports())
}

#[test]
fn the_scope_follows_the_directory() {
    for (argument, path, scope) in [
        ("docs", "docs", ReadWrite),
        ("docs:ro", "docs", ReadOnly),
        ("/a/b:wo", "/a/b", WriteOnly),
        ("c:rw", "c", ReadWrite),
        ("odd:name", "odd:name", ReadWrite),
        ("odd:ro:rw", "odd:ro", ReadWrite),
    ] {
        assert_eq!(AdhocDir::parse(argument), AdhocDir { path: PathBuf::from(path), scope }, "{argument}");
    }
}

#[test]
fn each_directory_is_seen_under_its_last_name() {
    let project = Project::new();
    for directory in ["src", "deep/docs", "drop"] {
        project.make(directory);
    }
    let policy = serve(&project, &["src", "deep/docs/../docs:ro", "drop:wo"]).unwrap();
    assert_eq!(policy.base.as_str(), "/");
    assert!(may_write(&policy, "/src/x") && may_read(&policy, "/src/x"));
    assert!(!may_write(&policy, "/docs/x") && may_read(&policy, "/docs/x"));
    assert!(may_write(&policy, "/drop/x") && !may_read(&policy, "/drop/x"));
    assert!(!may_read(&policy, "/src/.env") && !may_read(&policy, "/src/a/server.pem"));
    assert!(!may_read(&policy, "/deep/x"));
    assert!(!may_write(&policy, "/src/paddock.toml"), "the policy of a later start");
    assert!(may_write(&policy, "/src/a/other.toml"));
    let line = policy.vfs.judge(paddock_core::OpKind::Write, &policy.path("/docs/x").unwrap()).explain();
    assert!(line.contains("(command line)"), "{line}");
}

#[test]
fn the_text_behind_a_configuration_in_or_above_a_directory_is_paddocks_own() {
    let project = Project::new();
    for directory in ["up/pp/conf", "up/qq/conf", "up/pp/safe"] {
        project.make(directory);
    }
    for file in ["up/pp/conf/real.toml", "up/qq/conf/real.toml", "up/qq/conf/above.toml"] {
        fs::write(project.root.join(file), "").unwrap();
    }
    let link = |to: &str, at: &str| symlink(to, project.root.join(at)).unwrap();
    link("way/real.toml", "up/pp/paddock.toml");
    link("conf", "up/pp/way");
    link("qq/conf/above.toml", "up/paddock.toml");
    let policy = serve(&project, &["up/pp", "up/qq"]).unwrap();
    for own in ["/pp/conf/real.toml", "/pp/way", "/pp/paddock.toml", "/qq/conf/above.toml"] {
        assert!(!may_write(&policy, own), "{own}");
    }
    for other in ["/pp/conf/other.toml", "/qq/conf/real.toml", "/pp/x"] {
        assert!(may_write(&policy, other), "{other}");
    }
}

#[test]
fn one_directory_alone_is_where_relative_paths_start() {
    let project = Project::new();
    project.make("src");
    let policy = serve(&project, &["src"]).unwrap();
    assert_eq!(policy.base.as_str(), "/src");
    assert!(may_write(&policy, "main.rs"));
}

#[test]
fn directories_that_cannot_be_served() {
    let project = Project::new();
    for directory in ["a/same", "b/same", "over/in", "one\nline"] {
        project.make(directory);
    }
    fs::write(project.root.join("file"), "").unwrap();
    for (dirs, message, hint) in [
        (
            &["a/same", "b/same:ro"][..],
            "\"TOP/project/a/same\" and \"TOP/project/b/same\" would both be \"/same\"",
            "give them different prefixes in a paddock.toml; `paddock init` writes one",
        ),
        (&[], "no directory was named", "name a directory, as in `paddock mcp ~/notes:ro`, or run `paddock init`"),
        (
            &["gone"],
            "the directory \"TOP/project/gone\" behind \"/gone\" does not exist",
            "create it, or correct the path",
        ),
        (
            &["file"],
            "the directory \"TOP/project/file\" behind \"/file\" cannot be used: it is not a directory",
            "correct the path, or make it a directory that you may open",
        ),
        (&["/"], "\"/\" has no last name to be seen under", "name a directory below it"),
        (
            &["one\nline"],
            "path \"one\\u{a}line\" holds a control character, which no name may hold",
            "use \"/\" between names and plain characters in them",
        ),
        (
            &[".."],
            "the mount \"TOP\" contains the System Root \"TOP/home\"",
            "mount a smaller directory, or keep the System Root elsewhere with --home or PADDOCK_HOME",
        ),
        (
            &["over", "over/in:ro"],
            "Workspaces \"/over\" (command line) and \"/in\" (command line) reach the same place with scopes that disagree: \
             it is READ_WRITE as \"/over/in\" and READ_ONLY as \"/in\"",
            "name each place once, or give both the same Access Scope",
        ),
    ] {
        let error = serve(&project, dirs).unwrap_err();
        assert_eq!(project.without_place(&error), message);
        assert_eq!(error.hint(), hint);
    }
    serve(&project, &["over", "over/in"]).unwrap();
}

/// A link in a directory that the agent writes may be the agent's own.
#[test]
fn a_directory_behind_a_link_that_the_agent_could_have_put_there_is_refused() {
    let project = Project::new();
    project.make("work");
    project.make("secret");
    symlink(project.root.join("secret"), project.root.join("work/notes")).unwrap();
    let refused = serve(&project, &["work", "work/notes:ro"]).unwrap_err().to_string();
    assert!(refused.contains("in a directory that agents write"), "{refused}");
    assert!(serve(&project, &["work:ro", "work/notes:ro"]).is_ok());
}
