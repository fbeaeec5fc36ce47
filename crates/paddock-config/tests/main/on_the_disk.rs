//! What agents can bring about on the disk never keeps a policy that a person has changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use paddock_config::{Ports, Reloader};
use paddock_core::{AgentName, Call, CommandLine, CommandRunner, CommandSpec, NotRun, OutputSink, Ran};
use paddock_stores::conformance::world::{path_of, with_call};

use crate::support::{Project, may_read, may_write, ports, workspace};

fn text(prefix: &str, scope: &str, commands: &str) -> String {
    workspace(prefix, scope, ".") + "[commands]\n" + commands
}

#[test]
fn a_tool_that_an_agent_took_away_refuses_commands_and_nothing_else() {
    let project = Project::new();
    project.make(".venv");
    let tools = "tools = [\".venv\"]\n";
    project.write(&text("/p", "RW", tools));
    let reloader = project.reloader().unwrap();
    assert!(may_write(&reloader.current(), "/p/x"));
    fs::rename(project.root.join(".venv"), project.root.join("aside")).unwrap();
    project.write(&text("/p", "RO", tools));
    assert!(!may_write(&reloader.current(), "/p/x"), "what a person took away is gone");
    let told = reloader.notice().unwrap();
    assert!(told.contains("\".venv\" under tools is not there") && reloader.error().is_none(), "{told}");
    assert!(project.reloader().is_ok(), "and it starts");
    let checked = project.check(&text("/p", "RO", tools)).unwrap_err().to_string();
    assert!(checked.contains("\".venv\" under tools is not there"), "{checked}");
}

#[test]
fn a_name_of_the_system_at_the_top_refuses_commands_and_nothing_else() {
    let project = Project::new();
    project.write(&text("/", "RW", ""));
    let reloader = project.reloader().unwrap();
    assert!(may_write(&reloader.current(), "/usr/x"));
    project.make("usr");
    project.write(&text("/", "RO", ""));
    assert!(!may_write(&reloader.current(), "/x"));
    assert!(project.check(&text("/", "RO", "")).unwrap_err().to_string().contains("can show \"/usr\""));
}

#[test]
fn a_mount_that_cannot_be_had_gives_nothing_and_stays_a_boundary() {
    let project = Project::new();
    project.write(&workspace("/p", "RW", "."));
    let reloader = project.reloader().unwrap();
    assert!(may_write(&reloader.current(), "/p/docs/x"));
    // The agent was there first.
    fs::write(project.root.join("docs"), "no directory").unwrap();
    project.write(&[workspace("/p", "RO", "."), workspace("/p/docs", "RO", "docs")].concat());
    let policy = reloader.current();
    assert!(!may_write(&policy, "/p/x") && may_read(&policy, "/p/x"));
    assert!(!may_read(&policy, "/p/docs") && !may_read(&policy, "/p/docs/x"));
    assert!(reloader.notice().unwrap().contains("cannot be used"));
    fs::remove_file(project.root.join("docs")).unwrap();
    project.make("elsewhere");
    symlink("elsewhere", project.root.join("docs")).unwrap();
    project.write(&[workspace("/p", "RW", "."), workspace("/p/docs", "RO", "docs")].concat());
    let policy = reloader.current();
    assert!(may_write(&policy, "/p/x") && !may_read(&policy, "/p/docs/x"));
    assert!(reloader.notice().unwrap().contains("in a directory that agents write"));
}

#[test]
fn a_mount_that_is_there_again_gives_what_it_gave_without_a_word_in_the_file() {
    let project = Project::new();
    project.make("docs");
    let plain = workspace("/docs", "RO", "docs");
    project.write(&plain);
    let reloader = project.reloader().unwrap();
    fs::write(project.root.join("docs/x"), "x").unwrap();
    fs::rename(project.root.join("docs"), project.root.join("aside")).unwrap();
    project.write(&(plain + "hide = [\"*.key\"]\n"));
    assert!(!may_read(&reloader.current(), "/docs/x"));
    let generation = reloader.generation();
    assert_eq!(reloader.generation(), generation, "nothing has changed meanwhile");
    fs::rename(project.root.join("aside"), project.root.join("docs")).unwrap();
    assert!(may_read(&reloader.current(), "/docs/x"));
}

#[test]
fn mounts_that_came_to_contradict_each_other_give_nothing() {
    let project = Project::new();
    project.make("a");
    project.make("b");
    let both = |scope| [workspace("/a", scope, "a"), workspace("/b", "RO", "b")].concat();
    project.write(&both("RW"));
    let reloader = project.reloader().unwrap();
    assert!(may_write(&reloader.current(), "/a/x"));
    fs::remove_dir(project.root.join("b")).unwrap();
    symlink("a", project.root.join("b")).unwrap();
    project.write(&(both("RW") + "hide = [\"*.key\"]\n"));
    assert!(!may_read(&reloader.current(), "/a/x"));
    assert!(reloader.error().is_some());
    fs::remove_file(project.root.join("b")).unwrap();
    project.make("b");
    assert!(may_write(&reloader.current(), "/a/x"), "a person put it right");
    assert!(reloader.error().is_none());
}

#[test]
fn a_search_service_that_is_taken_out_is_asked_no_more() {
    let project = Project::new();
    project.write("[web_search]\nurl = \"http://127.0.0.1:1\"\n");
    let reloader = project.reloader().unwrap();
    assert!(reloader.current().web_search.is_some());
    project.write("# no more\n");
    assert!(reloader.current().web_search.is_none());
    assert_eq!(reloader.generation(), 2, "the tools are others now");
    project.write("[web_search]\nurl = \"http://127.0.0.1:1\"\n");
    assert!(reloader.current().web_search.is_some());
    fs::remove_file(project.file()).unwrap();
    assert!(reloader.current().web_search.is_none());
}

/// Says that it was asked, and runs nothing.
struct Asked;

impl CommandRunner for Asked {
    fn denied_word(&self, _: CommandLine<'_>, _: &[String]) -> Option<String> {
        None
    }

    fn run(&self, _: &Call<'_>, _: &CommandSpec<'_>, _: OutputSink<'_>) -> Result<Ran, NotRun> {
        Err(NotRun::Word("asked".to_owned()))
    }
}

/// What an agent is told when it runs a command; nothing where that got to the runner.
fn refused(reloader: &Reloader) -> Option<String> {
    let policy = reloader.current();
    let commands = policy.commands.as_ref().unwrap();
    let spec = CommandSpec {
        command: CommandLine::Shell("true"),
        vfs: &policy.vfs,
        directory: &path_of("/p"),
        confined: false,
        spared: &[],
        settings: &commands.settings,
        time_limit: commands.settings.limits.time,
        cpu_limit: commands.settings.limits.cpu,
        input: None,
    };
    let ran = with_call(|call| commands.runner.run(call, &spec, &mut |_| std::ops::ControlFlow::Continue(())));
    match ran {
        Err(NotRun::Word(_)) => None,
        Err(NotRun::Cannot { why, .. }) => Some(why),
        Ok(_) => panic!("nothing runs here"),
    }
}

#[test]
fn what_commands_need_is_looked_at_before_each_of_them() {
    let project = Project::new();
    let venv = project.make(".venv");
    project.write(&text("/p", "RW", "tools = [\".venv\"]\n"));
    let ports: Ports = ports().with_runner(Arc::new(Asked));
    let reloader = Reloader::start(&project.file(), AgentName::main(), project.system_root(), ports).unwrap();
    assert_eq!(refused(&reloader), None);
    fs::remove_dir(&venv).unwrap();
    let why = refused(&reloader).unwrap();
    assert!(why.contains("under tools") && !why.contains(project.top.to_str().unwrap()), "{why}");
    // By a link an agent would choose what its commands read: anything of the host.
    for target in [project.top.join("home"), project.top.clone(), project.make("elsewhere")] {
        fs::create_dir_all(&target).unwrap();
        symlink(&target, &venv).unwrap();
        assert!(refused(&reloader).is_some(), "{}", target.display());
        fs::remove_file(&venv).unwrap();
    }
    fs::create_dir(&venv).unwrap();
    assert_eq!(refused(&reloader), None, "it is there again, and nobody has to load anything");
}
