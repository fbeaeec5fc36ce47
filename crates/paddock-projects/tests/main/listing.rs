//! Which projects there are, and how large they are.

use paddock_projects::{measure, projects, unwatched};

use crate::world::{GROUNDS, Node, World, file, path, sample, tree};

#[test]
fn projects_are_found_by_what_they_hold() {
    let world = World::new();
    for ground in GROUNDS {
        let marks = [
            ("a-react", "package.json", r#"{"dependencies": {"react": "19"}}"#, "react"),
            ("b-node", "package.json", "{}", "node"),
            ("c-broken", "package.json", "{", "node"),
            ("d-static", "index.html", "<!doctype html>", "static"),
            ("e-rust", "Cargo.toml", "", "rust"),
            ("f-python", "pyproject.toml", "", "python"),
        ];
        for (name, mark, content, _) in marks {
            world.plant(&format!("{ground}/{name}"), &tree(&[(mark, file(content))]));
        }
        world.plant(&format!("{ground}/plain"), &tree(&[("notes.txt", file(""))]));
        world.plant(&format!("{ground}/plain/deeper"), &tree(&[("index.html", file(""))]));
        let found = projects(&world.person(), &world.policy).unwrap();
        let here: Vec<(String, String, bool)> = found
            .into_iter()
            .filter(|project| project.workspace == ground)
            .map(|project| (project.path, project.kind, project.has_index))
            .collect();
        let expected: Vec<(String, String, bool)> = marks
            .iter()
            .map(|(name, mark, _, kind)| (format!("{ground}/{name}"), (*kind).to_owned(), *mark == "index.html"))
            .collect();
        assert_eq!(here, expected);
    }
}

#[test]
fn a_workspace_can_be_a_project_itself_and_git_alone_does_not_make_it_one() {
    let world = World::new();
    std::fs::create_dir(world.disk(".git")).unwrap();
    std::fs::create_dir_all(world.disk("repo/.git")).unwrap();
    std::fs::write(world.dir.path().join("r/index.html"), "read-only").unwrap();
    let paths = |world: &World| -> Vec<String> {
        projects(&world.person(), &world.policy).unwrap().into_iter().map(|project| project.path).collect()
    };
    assert_eq!(paths(&world), ["/p/repo"]);
    world.plant("/v", &tree(&[("index.html", file("x"))]));
    assert_eq!(paths(&world), ["/p/repo", "/v"]);
}

#[test]
fn a_project_is_as_large_as_everything_that_is_shown_of_it() {
    let world = World::new();
    let mut content = sample();
    content.insert(".gitignore".to_owned(), file("built/\n"));
    content.insert("built".to_owned(), Node::Dir(0o755));
    content.insert("built/out".to_owned(), Node::File(0o644, vec![1; 1000]));
    let bytes: usize = content.values().map(|node| if let Node::File(_, bytes) = node { bytes.len() } else { 0 }).sum();
    let files = content.values().filter(|node| !matches!(node, Node::Dir(_))).count();
    for ground in GROUNDS {
        let at = format!("{ground}/project");
        world.plant(&at, &content);
        let size = measure(&world.person(), &path(&at), &mut unwatched).unwrap();
        assert_eq!((size.bytes, size.files), (bytes as u64, files as u64), "{ground}");
    }
    std::fs::write(world.disk("project/.env"), "hidden").unwrap();
    let size = measure(&world.person(), &path("/p/project"), &mut unwatched).unwrap();
    assert_eq!(size.bytes, bytes as u64);
}
