//! Projects from the command line: the list of them, new, export, import, push, publish.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::harness::World;

const CONFIG: &str = r#"
[[workspace]]
prefix = "/work"
scope = "READ_WRITE"
mount = { physical = "work" }
hide = [".env"]

[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
hide = [".env"]
"#;

fn world() -> World {
    let world = World::configured(CONFIG);
    world.write("work/readme.md", "# hello\n");
    world
}

fn done(world: &World, arguments: &[&str]) -> String {
    let ran = world.paddock(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran}");
    ran.stdout
}

fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with(".git") => {}
                true => open.push(path),
                false => {
                    let name = path.strip_prefix(root).unwrap().display().to_string();
                    found.insert(name, std::fs::read(path).unwrap());
                }
            }
        }
    }
    found
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_template_goes_home_and_comes_back_the_same_in_every_format() {
    let world = world();
    insta::assert_snapshot!(world.paddock(&["new", "--list"]), @"
    react     A React app with Vite: hot reload, and `npm run build` for static files
    vanilla   HTML, CSS and JavaScript without a build; can be published as it is
    node-api  A small JSON API on Node alone, with tests; no dependencies
    [exit 0]
    ");
    done(&world, &["new", "vanilla", "/work/site"]);
    let site = tree(&world.project().join("work/site"));
    assert!(site.contains_key("index.html") && site.contains_key(".gitignore"), "{:?}", site.keys());
    done(&world, &["export", "/work/site"]);
    done(&world, &["import", "site.zip", "/work/from-zip"]);
    assert_eq!(tree(&world.project().join("work/from-zip")), site);
    done(&world, &["export", "/work/site", "--format", "bundle"]);
    done(&world, &["import", "site.bundle", "/work/from-bundle"]);
    assert_eq!(tree(&world.project().join("work/from-bundle")), site);
    done(&world, &["export", "/work/site", "--format", "repository", "--output", "bare.git"]);
    git(&world.project(), &["clone", "--quiet", "bare.git", "cloned"]);
    assert_eq!(tree(&world.project().join("cloned")), site);
    done(&world, &["import", "bare.git", "/notes/site"]);
    done(&world, &["export", "/notes/site", "--output", "notes.zip"]);
    let bytes = |name: &str| std::fs::read(world.project().join(name)).unwrap();
    assert_eq!(bytes("notes.zip"), bytes("site.zip"));
    // One undo takes an import back.
    done(&world, &["undo"]);
    assert_eq!(world.paddock(&["export", "/notes/site", "--output", "x.zip"]).code, 1);
    assert!(!world.has("x.zip"), "no part of one is left");
}

/// How much is stored, project by project: as the API answers it, and without what is hidden.
#[test]
fn projects_are_listed_with_what_each_holds() {
    let world = world();
    insta::assert_snapshot!(world.paddock(&["projects"]), @"
    [stderr]
    there are no projects
    [exit 0]
    ");
    world.write("work/app/package.json", "{}");
    world.write("work/app/.env", "TOKEN=never-counted");
    world.write("work/site/index.html", "<p>".repeat(1000));
    let import = ["tool", "write_file", r#"{"path": "/notes/kept/index.html", "content": "12345"}"#];
    assert_eq!(world.paddock(&import).code, 0);
    insta::assert_snapshot!(world.paddock(&["projects"]), @"
    /notes/kept  static  5 B, 1 file
    /work/app    node    2 B, 1 file
    /work/site   static  2.9 KiB, 1 file
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["projects", "-n", "1", "--after", "/notes/kept"]), @"
    /work/app  node  2 B, 1 file
    [stderr]
    there are more: `paddock projects --after /work/app`
    [exit 0]
    ");
    let told = world.paddock(&["projects", "--json"]).json();
    assert_eq!(told["projects"][2]["size"], serde_json::json!({ "bytes": 3000, "files": 1 }), "{told}");
    assert_eq!(told["workspaces"].as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn hidden_names_and_ignored_files_stay_and_it_is_told() {
    let world = world();
    world.write("work/app/package.json", "{}");
    world.write("work/app/.gitignore", "dist/\n");
    world.write("work/app/dist/out.js", "1");
    world.write("work/app/.env", "TOKEN=never-shown");
    insta::assert_snapshot!(world.paddock(&["export", "/work/app"]), @"
    exported /work/app to app.zip: 2 files, 8 B
    [stderr]
    left out: 1 that .gitignore names
    [exit 0]
    ");
    let told = world.paddock(&["export", "/work/app", "-o", "all.zip", "--include-ignored", "--json"]).json();
    assert_eq!((&told["files"], &told["left_out"]["ignored"]), (&3.into(), &0.into()));
    insta::assert_snapshot!(world.paddock(&["export", "/work/app"]), @r#"
    [stderr]
    error: cannot write "app.zip": File exists (os error 17)
    hint: name another file with --output
    [exit 1]
    "#);
}

#[test]
fn a_push_goes_on_top_of_what_is_there() {
    let world = world();
    git(&world.project(), &["init", "--quiet", "--bare", "remote.git"]);
    done(&world, &["new", "node-api", "/work/api"]);
    let remote = world.project().join("remote.git").display().to_string();
    let push = ["export", "/work/api", "--push", &remote, "--branch", "topic"];
    assert!(done(&world, &push).contains("to topic of"), "pushed");
    assert!(done(&world, &push).contains("holds the same already"));
    done(&world, &["import", &remote, "/work/again", "--branch", "topic"]);
    assert_eq!(tree(&world.project().join("work/again")), tree(&world.project().join("work/api")));
    let unknown = world.paddock(&["export", "/work/api", "--push", "https://127.0.0.1:1/x", "--secret", "none"]);
    assert!(unknown.stderr.contains("there is no secret \"none\""), "{unknown}");
}

#[test]
fn a_place_that_is_not_empty_is_merged_into_only_when_asked() {
    let world = world();
    done(&world, &["new", "vanilla", "/work/site"]);
    done(&world, &["export", "/work/site"]);
    world.write("work/site/index.html", "changed");
    let refused = world.paddock(&["import", "site.zip", "/work/site"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert_eq!(world.read("work/site/index.html"), "changed");
    done(&world, &["import", "site.zip", "/work/site", "--merge"]);
    assert_ne!(world.read("work/site/index.html"), "changed");
    let near = world.paddock(&["new", "vanila", "/work/x"]);
    assert!(near.stderr.contains("did you mean \"vanilla\"?"), "{near}");
}

#[test]
fn what_is_published_and_may_not_be_meant_so_is_told() {
    let world = World::configured(&format!("{CONFIG}\n[serve]\nport = 1\n"));
    world.write("work/pages/a.html", "a\n");
    let bare = world.paddock(&["publish", "/work/pages"]);
    assert!(bare.stderr.contains("note: it has no index.html"), "{bare}");
    assert!(bare.stderr.contains("note: nobody serves now: start `paddock serve`"), "{bare}");
    assert!(!bare.stderr.contains("whole Workspace") && !bare.stderr.contains("T00:"), "{bare}");
    world.write("work/index.html", "a\n");
    let whole = world.paddock(&["publish", "/work", "--url", "https://example.com"]);
    assert!(
        whole.stderr.contains("note: /work is a whole Workspace") && whole.stderr.matches("note:").count() == 1,
        "{whole}"
    );
}

/// Moments as people read them: without the letters between date and time, in the zone of the machine.
#[test]
fn lists_tell_moments_as_people_read_them() {
    let world = world();
    done(&world, &["new", "vanilla", "/work/site"]);
    done(&world, &["publish", "/work/site"]);
    done(&world, &["token", "new", "ci", "--api", "--days", "2"]);
    for (list, word) in [("share", "until "), ("token", "(ends ")] {
        let told = done(&world, &[list, "list"]);
        let at = &told[told.find(word).unwrap() + word.len()..][..19];
        assert!(at.as_bytes()[10] == b' ' && at.ends_with(|c: char| c.is_ascii_digit()), "{told}");
    }
}

#[test]
fn a_project_where_the_agent_may_not_write_is_told_and_acts_have_their_own_names() {
    let world = World::configured(&CONFIG.replacen("READ_WRITE", "READ_ONLY", 1));
    world.write("work/readme.md", "# hello\n");
    let made = world.paddock(&["new", "vanilla", "/work/site"]);
    assert!(made.code == 0 && made.stderr.contains("note: the Workspace is READ_ONLY for agent main"), "{made}");
    done(&world, &["export", "/work/site", "--output", "site.zip"]);
    let taken = world.paddock(&["import", "site.zip", "/work/again"]);
    assert!(taken.code == 0 && taken.stderr.contains("note: the Workspace is READ_ONLY for agent main"), "{taken}");
    let fine = world.paddock(&["new", "vanilla", "/notes/site"]);
    assert!(fine.code == 0 && !fine.stderr.contains("note:"), "{fine}");
    let calls = world.paddock(&["log", "--json"]).json();
    let names: Vec<&str> = calls.as_array().unwrap().iter().map(|call| call["operation"].as_str().unwrap()).collect();
    assert_eq!(names, ["new", "import", "new"], "{calls}");
    assert!(done(&world, &["undo"]).contains("(new /notes/site,"));
}

#[test]
fn shares_are_made_listed_and_revoked() {
    let world = world();
    done(&world, &["new", "vanilla", "/work/site"]);
    let share = world.paddock(&["publish", "/work/site", "--days", "2", "--max-uses", "5", "--json"]).json();
    let id = share["id"].as_str().unwrap();
    assert_eq!(share["link"], format!("http://{id}.localhost:7433/"));
    assert_eq!((&share["state"], &share["max_uses"]), (&"open".into(), &5.into()));
    let elsewhere = done(&world, &["share", "list", "--url", "https://example.com"]);
    assert!(elsewhere.contains(&format!("https://{id}.example.com/")), "{elsewhere}");
    assert_eq!(world.paddock_reading(&["secret", "set", "word"], "a long password").code, 0);
    let with = world.paddock(&["publish", "/work/site", "--password-secret", "word", "--json"]);
    assert_eq!(with.json()["password"], true);
    assert!(!with.stdout.contains("a long password"));
    done(&world, &["share", "revoke", &id[..8]]);
    assert_eq!(world.paddock(&["share", "revoke", id]).code, 1);
    let listed = world.paddock(&["share", "list", "--json"]).json();
    let states: Vec<&str> = listed.as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert!(states.contains(&"revoked") && states.contains(&"open"), "{listed}");
    let nowhere = world.paddock(&["publish", "/work/nowhere"]);
    assert_eq!(nowhere.code, 1, "{nowhere}");
}
