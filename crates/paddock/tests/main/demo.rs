//! `paddock demo`: every verdict as expected, nothing left behind; and the console on it, where a person decides what waits.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::World;
use crate::server::Request;

#[test]
fn every_call_ends_as_it_must_and_nothing_is_left() {
    let world = World::empty();
    let before = entries(&world);
    let ran = world.paddock(&["demo"]);
    assert_eq!(ran.code, 0, "{ran}");
    for words in [
        "\"Lee el archivo src/App.tsx\"",
        "\"Lista archivos en memoria/\"",
        "\"Crea un nuevo proyecto en workspace/mi-app/\"",
        "\"Escribe un componente en workspace/mi-app/src/Button.tsx\"",
        "\"Modifica src/App.tsx\"",
        "\"Elimina backend-orchestrator/orchestrator.ts\"",
        "\"Escribe en package.json\"",
        "\"Modifica src/App.tsx y agrega un comentario\"",
        "con contenido 'Hola Mundo'\"",
        "\"Ejecuta ls en workspace/\"",
        "Test 4: \"Ejecuta rm -rf workspace/\"",
        "What a person decides",
        "paddock approvals approve",
        "Dangerous command \"rm\" is not allowed.",
        "Test 5: \"Ejecuta ls -la\"",
        "A fork: the agent changes a copy",
        "paddock fork /project idea",
        "+  return <h1>Hello</h1>;",
        "paddock apply idea",
        "writes /project/src/App.tsx",
        "paddock undo ",
        "restores /project/src/App.tsx",
        "24 of 24 calls ended as they must.",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(!ran.stdout.contains("sk-demo"), "{ran}");
    assert!(!ran.stdout.contains("[world]"), "no host path is shown: {ran}");
    assert_eq!(ran.stderr, "");
    assert_eq!(entries(&world), before);
}

#[test]
fn the_sample_project_can_be_kept() {
    let world = World::empty();
    let ran = world.paddock(&["demo", "--keep"]);
    assert_eq!(ran.code, 0, "{ran}");
    let kept = ran.stdout.split("kept in \"").nth(1).unwrap().split('"').next().unwrap();
    let kept = kept.replace("[world]", world.path().to_str().unwrap());
    let kept = Path::new(&kept);
    assert_eq!(std::fs::read_to_string(kept.join("workspace/test.txt")).unwrap(), "Hola Mundo");
    assert!(std::fs::read_to_string(kept.join("src/App.tsx")).unwrap().contains("Hola"));
    assert!(!kept.join("workspace/paddock.toml").exists());
}

/// Reads on until a line that holds these words, and gives everything up to it.
fn told_up_to(stdout: &mut BufReader<ChildStdout>, words: &str) -> String {
    let mut told = String::new();
    while !told.lines().last().is_some_and(|line| line.contains(words)) {
        assert_ne!(stdout.read_line(&mut told).unwrap(), 0, "\"{words}\" was not told: {told}");
    }
    told
}

fn sample_of(world: &World) -> PathBuf {
    let mut samples = std::fs::read_dir(world.path()).unwrap().map(|entry| entry.unwrap().path());
    samples.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("paddock-demo-")).unwrap()
}

#[test]
fn the_console_opens_on_it_and_the_agent_goes_on_when_a_person_has_decided() {
    let world = World::empty();
    let before = entries(&world);
    let mut demo = world.command(&["demo", "--serve"]);
    let mut demo = demo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(demo.stdout.take().unwrap());
    let told = told_up_to(&mut stdout, "Ctrl-C ends it.");
    for words in ["waits for a person", "Approvals   the agent wants to delete workspace/test.txt", "Forks       idea"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    let link = told.lines().find_map(|line| line.strip_prefix("Console")).unwrap().trim();
    let (host, target) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let signed_in = Request::new(host.parse().unwrap(), "GET", &format!("/{target}"));
    assert_eq!(signed_in.status, 303, "{link}");

    let sample = sample_of(&world);
    let (home, config) = (sample.join("system"), sample.join("mi-proyecto/paddock.toml"));
    let person = |arguments: &[&str]| {
        let places = ["--home", home.to_str().unwrap(), "--config", config.to_str().unwrap()];
        world.paddock(&[&places, arguments].concat())
    };
    assert!(person(&["fork", "--list"]).stdout.contains("1 path differs"));
    let deleted = sample.join("mi-proyecto/workspace/test.txt");
    assert!(deleted.exists(), "nothing is done before a person has decided");
    let approved = person(&["approvals", "approve", "ap-"]);
    assert_eq!(approved.code, 0, "{approved}");
    let again = told_up_to(&mut stdout, "Deleted");
    assert!(again.contains("the agent made its call again") && !deleted.exists(), "{again}");
    assert_eq!(person(&["undo"]).code, 0);
    assert_eq!(std::fs::read_to_string(deleted).unwrap(), "Hola Mundo");

    kill_process(Pid::from_child(&demo), Signal::TERM).unwrap();
    assert!(demo.wait().unwrap().success());
    assert_eq!(entries(&world), before, "the sample project is gone with its console");
}

fn entries(world: &World) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(world.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
