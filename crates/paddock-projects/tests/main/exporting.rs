//! What leaves in a Zip, and what does not.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;

use paddock_projects::export::{self, Export};
use paddock_projects::{FaultKind, ProjectError, WhyLeft, unwatched};

use crate::world::{GROUNDS, Node, World, file, path, sample, tree};

fn names(archive: &[u8]) -> Vec<String> {
    let zip = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    let mut names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_same_project_gives_the_same_bytes_on_every_store() {
    let world = World::new();
    let mut all = Vec::new();
    for ground in GROUNDS {
        let at = format!("{ground}/project");
        world.plant(&at, &sample());
        let (told, first) = world.zip(&at);
        assert_eq!((told.files, told.links, told.directories), (7, 2, 4), "{told:?}");
        assert!(told.left_out.is_empty(), "{told:?}");
        assert_eq!(first, world.zip(&at).1);
        all.push(first);
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn hidden_names_never_leave_neither_ignored_nor_by_a_link() {
    let world = World::new();
    let at = "/p/project";
    world.plant(at, &tree(&[("a", file("a")), ("way", Node::Link(".env".to_owned()))]));
    // A person put them there; no act through Paddock could.
    std::fs::write(world.disk("project/.env"), "secret").unwrap();
    std::fs::create_dir(world.disk("project/deep")).unwrap();
    std::fs::write(world.disk("project/deep/key.pem"), "secret").unwrap();
    for ignored in [false, true] {
        let (told, archive) = world.zip_with(at, Export { ignored });
        assert_eq!(names(&archive), ["a", "deep/"]);
        assert_eq!(told.left_out.paths.len(), 1);
        assert_eq!(told.left_out.paths[0].why, WhyLeft::LinkLeaves);
    }
}

#[test]
fn ignored_files_stay_unless_they_are_asked_for() {
    let world = World::new();
    for ground in GROUNDS {
        let at = format!("{ground}/project");
        let content = tree(&[
            (".gitignore", file("node_modules/\n*.log\n!keep.log\n/only-here\n")),
            ("keep.log", file("")),
            ("x.log", file("")),
            ("only-here", file("")),
            ("node_modules", Node::Dir(0o755)),
            ("node_modules/big", file("big")),
            ("sub", Node::Dir(0o755)),
            ("sub/.gitignore", file("!y.log\n")),
            ("sub/only-here", file("")),
            ("sub/x.log", file("")),
            ("sub/y.log", file("")),
        ]);
        world.plant(&at, &content);
        let (told, archive) = world.zip(&at);
        let expected = [".gitignore", "keep.log", "sub/", "sub/.gitignore", "sub/only-here", "sub/y.log"];
        assert_eq!(names(&archive), expected);
        assert_eq!(told.left_out.ignored, 4);
        let (told, archive) = world.zip_with(&at, Export { ignored: true });
        assert_eq!(names(&archive).len(), content.len());
        assert_eq!(told.left_out.ignored, 0);
    }
}

#[test]
fn rules_above_the_project_do_not_empty_it() {
    let world = World::new();
    world.plant("/p", &tree(&[(".gitignore", file("project/\n"))]));
    world.plant("/p/project", &tree(&[("a", file("a"))]));
    assert_eq!(names(&world.zip("/p/project").1), ["a"]);
}

#[test]
fn links_that_leave_specials_repositories_and_other_workspaces_are_told_and_stay() {
    let world = World::new();
    world.plant("/p/holds", &tree(&[("a", file("a"))]));
    std::fs::create_dir_all(world.disk("holds/.git/hooks")).unwrap();
    std::fs::create_dir_all(world.disk("holds/deep/down")).unwrap();
    std::fs::write(world.disk("holds/.git/config"), "[remote]").unwrap();
    std::fs::write(world.dir.path().join("nested/theirs"), "theirs").unwrap();
    for (name, leads_to) in [
        ("out", "../../etc/passwd"),
        ("abs", "/etc/passwd"),
        ("git", ".git/config"),
        ("in", "a"),
        // By its text it stays inside, and by where the other leads it does not.
        ("deep/down/top", "../.."),
        ("deep/down/way", "top/../../etc/passwd"),
    ] {
        symlink(leads_to, world.disk(&format!("holds/{name}"))).unwrap();
    }
    std::os::unix::net::UnixListener::bind(world.disk("holds/socket")).unwrap();
    std::fs::write(world.disk("holds/odd\u{202e}name"), "odd").unwrap();
    let (told, archive) = world.zip_with("/p/holds", Export { ignored: true });
    assert_eq!(names(&archive), ["a", "deep/", "deep/down/", "deep/down/top", "in"]);
    let mut why: Vec<(String, WhyLeft)> =
        told.left_out.paths.iter().map(|left| (left.path.clone(), left.why)).collect();
    why.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        (".git", WhyLeft::Repository),
        ("abs", WhyLeft::LinkLeaves),
        ("deep/down/way", WhyLeft::LinkLeaves),
        ("git", WhyLeft::LinkLeaves),
        ("nested", WhyLeft::OtherWorkspace),
        ("odd\\u{202e}name", WhyLeft::Unnameable),
        ("out", WhyLeft::LinkLeaves),
        ("socket", WhyLeft::Special),
    ];
    assert_eq!(why, expected.map(|(path, why)| (path.to_owned(), why)));
}

#[test]
fn a_file_with_another_name_elsewhere_stays_where_the_workspace_says_so() {
    let world = World::new();
    let at = |name: &str| world.dir.path().join("h").join(name);
    std::fs::write(at("plain"), "plain").unwrap();
    std::fs::write(world.dir.path().join("outside"), "outside").unwrap();
    std::fs::hard_link(world.dir.path().join("outside"), at("linked")).unwrap();
    let (told, archive) = world.zip("/h");
    assert_eq!(names(&archive), ["plain"]);
    assert_eq!(told.left_out.paths.len(), 1);
    assert_eq!(told.left_out.paths[0].why, WhyLeft::HardLinked);
}

/// A writer that counts, and notices how much arrives at once.
#[derive(Default)]
struct Gauge {
    bytes: u64,
    largest: usize,
}

impl std::io::Write for Gauge {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len() as u64;
        self.largest = self.largest.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_large_file_is_written_as_it_is_read() {
    let world = World::new();
    world.plant("/p/project", &tree(&[]));
    let big = std::fs::File::create(world.disk("project/big")).unwrap();
    big.set_len(64 << 20).unwrap();
    let mut seen = Vec::new();
    let mut gauge = Gauge::default();
    let mut watch = |progress: paddock_projects::Progress<'_>| {
        seen.push(progress.bytes);
        ControlFlow::Continue(())
    };
    let told = export::zip(&world.person(), &path("/p/project"), Export::default(), &mut gauge, &mut watch).unwrap();
    assert_eq!(told.bytes, 64 << 20);
    // In steps, and never more than a piece between two of them.
    assert!(seen.len() >= 64, "{}", seen.len());
    assert!(seen.windows(2).all(|pair| pair[1] - pair[0] <= 1 << 20));
    assert!(gauge.largest <= 1 << 20, "{}", gauge.largest);
}

#[test]
fn whoever_waits_can_stop_it_and_an_output_that_breaks_is_told() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let mut stop = |_: paddock_projects::Progress<'_>| ControlFlow::Break(());
    let stopped = export::zip(&world.person(), &path("/p/project"), Export::default(), &mut Vec::new(), &mut stop);
    assert!(matches!(stopped, Err(ProjectError::Stopped)), "{stopped:?}");
    struct Broken;
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let broken = export::zip(&world.person(), &path("/p/project"), Export::default(), &mut Broken, &mut unwatched);
    assert!(matches!(broken, Err(ProjectError::Output(_))), "{broken:?}");
    let _ = Broken.flush();
}

#[test]
fn what_is_not_there_or_no_directory_is_told_as_such() {
    let world = World::new();
    world.plant("/p", &tree(&[("file", file("x"))]));
    symlink("file", world.disk("link")).unwrap();
    let fails = |at: &str| {
        export::zip(&world.person(), &path(at), Export::default(), &mut Vec::new(), &mut unwatched).unwrap_err()
    };
    assert_eq!(fails("/p/nothing").kind(), FaultKind::NotFound);
    assert_eq!(fails("/elsewhere").kind(), FaultKind::NotFound);
    assert_eq!(fails("/p/file").kind(), FaultKind::Conflict);
    assert_eq!(fails("/p/link").kind(), FaultKind::Conflict);
    // What is hidden is not there.
    std::fs::create_dir(world.disk(".env")).unwrap();
    assert_eq!(fails("/p/.env").to_string(), fails("/p/nothing").to_string().replace("nothing", ".env"));
}
