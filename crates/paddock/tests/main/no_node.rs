//! The program is built by cargo alone: nothing of it is made by Node, or by any other program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn manifest(directory: &Path) -> toml::Table {
    fs::read_to_string(directory.join("Cargo.toml")).unwrap().parse().unwrap()
}

/// The crates of this repository that a build of the program needs, as directories.
fn built_with_the_program() -> BTreeSet<PathBuf> {
    let top = top();
    let workspace = manifest(&top);
    let ours = workspace["workspace"]["dependencies"].as_table().unwrap();
    let place = |name: &str| ours.get(name)?.get("path")?.as_str().map(|path| top.join(path));
    let mut waiting = vec![top.join("crates/paddock")];
    let mut found = BTreeSet::new();
    while let Some(directory) = waiting.pop() {
        let table = manifest(&directory);
        if found.insert(directory) {
            let needed =
                ["dependencies", "build-dependencies"].into_iter().filter_map(|kind| table.get(kind)?.as_table());
            waiting.extend(needed.flat_map(toml::Table::keys).filter_map(|name| place(name)));
        }
    }
    found
}

#[test]
fn no_crate_of_the_program_runs_more_than_the_compiler_when_it_is_built() {
    let crates = built_with_the_program();
    assert!(crates.len() > 10, "the crates are not found: {crates:?}");
    let program = top().join("crates/paddock");
    for directory in &crates {
        let package = manifest(directory);
        assert!(package["package"].get("build").is_none(), "{} names a build script", directory.display());
        let has_one = directory.join("build.rs").exists();
        assert!(!has_one || *directory == program, "{} has a build script", directory.display());
    }
    // Its own asks the linker what it understands, with an empty program.
    let script = fs::read_to_string(program.join("build.rs")).unwrap();
    let runs: Vec<&str> = script.split("Command::new(").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(runs, ["rustc", "&program"]);
    assert!(!crates.contains(&top().join("bindings/node")), "the addon is no part of the program");
}

/// What is put into the program is written by people, and in the repository as it is.
#[test]
fn what_is_put_into_the_program_lies_in_the_repository_ready_made() {
    let assets = top().join("crates/paddock-console/assets");
    let names: Vec<String> =
        fs::read_dir(&assets).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(
        names.iter().any(|name| name.ends_with(".js")) && names.iter().any(|name| name.ends_with(".css")),
        "{names:?}"
    );
    for forbidden in ["package.json", "node_modules", "tsconfig.json"] {
        assert!(!names.iter().any(|name| name == forbidden), "{forbidden} is in {}", assets.display());
    }
    for name in names.iter().filter(|name| name.ends_with(".js")) {
        let text = fs::read_to_string(assets.join(name)).unwrap();
        let longest = text.lines().map(str::len).max().unwrap_or(0);
        assert!(longest < 1000, "{name} was made by a program: a line has {longest} characters");
        assert!(!text.contains("sourceMappingURL") && !text.contains("require("), "{name} was made by a program");
    }
    for directory in built_with_the_program() {
        for (path, text) in sources(&directory.join("src")) {
            assert!(!text.contains("OUT_DIR"), "{} takes in what a build makes", path.display());
        }
    }
}

fn sources(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![read(path)] }).collect()
}
