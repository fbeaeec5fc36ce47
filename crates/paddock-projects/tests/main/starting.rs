//! Projects that start from a template.

use std::process::Command;

use paddock_projects::{FaultKind, ProjectError, TemplateSource, Templates, projects, unwatched};

use crate::could_not_run::could_not_run;
use crate::world::{GROUNDS, Node, Tree, World, file, path, tree};

fn create(
    world: &World,
    templates: &Templates,
    name: &str,
    at: &str,
) -> Result<paddock_projects::Created, ProjectError> {
    templates.create(&world.person(), name, &path(at), &world.scratch, &mut unwatched)
}

#[test]
fn every_template_makes_a_project_and_one_undo_takes_it_back() {
    let world = World::new();
    let templates = Templates::default();
    for ground in GROUNDS {
        for template in templates.list().unwrap() {
            let at = format!("{ground}/My {}", template.name);
            let made = create(&world, &templates, &template.name, &at).unwrap();
            let content = world.tree(&at);
            assert_eq!(made.files, content.values().filter(|node| matches!(node, Node::File(..))).count() as u64);
            assert!(content.contains_key(".gitignore") && content.contains_key("README.md"), "{content:?}");
            assert!(!content.keys().any(|name| name.ends_with("_gitignore")));
            if let Some(Node::File(_, manifest)) = content.get("package.json") {
                let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap();
                assert_eq!(manifest["name"], format!("my-{}", template.name));
            }
            assert_eq!(world.heard().last().unwrap(), &("new".to_owned(), "done".to_owned()));
            let found = projects(&world.person(), &world.policy).unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            world.undo(&made.call);
            assert_eq!(world.tree(ground), Tree::new());
        }
    }
}

#[test]
fn a_place_that_is_not_empty_is_left_alone() {
    let world = World::new();
    for ground in GROUNDS {
        let at = format!("{ground}/mine");
        world.plant(&at, &tree(&[("mine", file("mine"))]));
        let error = create(&world, &Templates::default(), "vanilla", &at).unwrap_err();
        assert_eq!(error.kind(), FaultKind::Conflict, "{error}");
        assert_eq!(world.tree(&at), tree(&[("mine", file("mine"))]));
        let error = create(&world, &Templates::default(), "vanilla", &format!("{at}/mine")).unwrap_err();
        assert_eq!(error.kind(), FaultKind::Conflict, "{error}");
    }
}

#[test]
fn an_unknown_template_is_told_with_the_nearest() {
    let world = World::new();
    let error = create(&world, &Templates::default(), "vanila", "/p/new").unwrap_err();
    assert_eq!(error.to_string(), "no template is called \"vanila\"");
    assert_eq!(error.hint(), "did you mean \"vanilla\"?");
    let error = create(&world, &Templates::default(), "zzzzzz", "/p/new").unwrap_err();
    assert_eq!(error.hint(), "there are: react, vanilla, node-api");
    assert_eq!(world.tree("/p"), Tree::new());
}

#[test]
fn templates_of_packages_stand_beside_those_of_the_program() {
    let world = World::new();
    let packages = world.dir.path().join("packages");
    let put = |name: &str, content: &str| {
        let file = packages.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    };
    put("shop@1.9.0/package.json", r#"{"name": "old"}"#);
    put("shop@1.10.0/package.json", r#"{"name": "old", "description": "a small shop"}"#);
    put("shop@1.10.0/src/_gitignore", "x\n");
    put("shop@1.10.0/.git/config", "not ours");
    put("many@2/template-one/a", "one");
    put("many@2/template-two/a", "two");
    std::os::unix::fs::symlink("package.json", packages.join("shop@1.10.0/link")).unwrap();
    let templates = Templates::with_packages(&packages);
    let listed = templates.list().unwrap();
    let names: Vec<&str> = listed.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["react", "vanilla", "node-api", "many@2/one", "many@2/two", "shop@1.10.0", "shop@1.9.0"]);
    let shop = listed.iter().find(|template| template.name == "shop@1.10.0").unwrap();
    assert_eq!(shop.description, "a small shop");
    assert_eq!(shop.source, TemplateSource::Package("shop@1.10.0".to_owned()));
    // Without a version it is the newest.
    for (name, at) in [("shop@1.10.0", "/p/one"), ("shop", "/v/one")] {
        create(&world, &templates, name, at).unwrap();
        let made = world.tree(at);
        assert_eq!(made["package.json"], file(r#"{"name": "one", "description": "a small shop"}"#));
        assert_eq!(made["src/.gitignore"], file("x\n"));
        assert_eq!(made["link"], Node::Link("package.json".to_owned()));
        assert!(!made.keys().any(|name| name.contains(".git/")));
    }
    create(&world, &templates, "many@2/two", "/p/two").unwrap();
    assert_eq!(world.tree("/p/two")["a"], file("two"));
    // A link that leaves makes none of it.
    std::os::unix::fs::symlink("/etc/passwd", packages.join("shop@1.10.0/out")).unwrap();
    create(&world, &templates, "shop", "/p/three").unwrap_err();
    assert_eq!(world.tree("/p/three"), Tree::new());
}

#[test]
fn the_api_passes_its_own_tests() {
    if Command::new("node").arg("--version").output().is_err() {
        // Not every machine has Node; the templates do not need it to be made.
        return could_not_run("there is no node");
    }
    let world = World::new();
    create(&world, &Templates::default(), "node-api", "/p/api").unwrap();
    let out = Command::new("node").arg("--test").current_dir(world.disk("api")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn the_page_needs_nothing_that_is_not_beside_it() {
    let world = World::new();
    create(&world, &Templates::default(), "vanilla", "/v/page").unwrap();
    let made = world.tree("/v/page");
    let Node::File(_, page) = &made["index.html"] else { panic!("no page") };
    let page = String::from_utf8(page.clone()).unwrap();
    let named: Vec<&str> = page
        .split(['"'])
        .zip(page.split(['"']).skip(1))
        .filter(|(before, _)| before.ends_with("href=") || before.ends_with("src="))
        .map(|(_, name)| name)
        .collect();
    assert_eq!(named, ["style.css", "main.js"]);
    assert!(named.iter().all(|name| made.contains_key(*name)));
}
