//! `paddock demo`: every verdict as expected, nothing left behind.

use crate::harness::World;

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
        "20 of 20 calls ended as they must.",
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
    let kept = std::path::Path::new(&kept);
    assert_eq!(std::fs::read_to_string(kept.join("workspace/test.txt")).unwrap(), "Hola Mundo");
    assert!(std::fs::read_to_string(kept.join("src/App.tsx")).unwrap().contains("Hola"));
    assert!(!kept.join("workspace/paddock.toml").exists());
}

fn entries(world: &World) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(world.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
