//! Each project finds its own place again, and never another's.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use paddock_state::{HomeSources, Origin, StateError, SystemRoot, WorkspaceHome, WorkspaceId};

fn system(at: &Path) -> SystemRoot {
    let sources = HomeSources { option: Some(at.join("home")), ..HomeSources::default() };
    SystemRoot::resolve(&sources, None).unwrap()
}

#[test]
fn a_project_finds_its_place_again() {
    let keep = tempfile::tempdir().unwrap();
    let system = system(keep.path());
    let origin = Origin::new("/a/b", "p");
    assert_eq!(WorkspaceHome::find(&system, &origin).unwrap(), None);
    assert!(!system.path().exists(), "looking makes nothing");
    let home = WorkspaceHome::claim(&system, &origin).unwrap();
    assert_eq!(home.id().as_str(), "a_b__p");
    assert_eq!(home.path(), system.workspaces_dir().join("a_b__p"));
    assert_eq!(fs::metadata(home.path()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(WorkspaceHome::claim(&system, &origin).unwrap(), home);
    assert_eq!(WorkspaceHome::find(&system, &origin).unwrap(), Some(home));
    assert_eq!(fs::read_dir(system.workspaces_dir()).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn two_projects_with_one_id_never_share_state() {
    let keep = tempfile::tempdir().unwrap();
    let system = system(keep.path());
    let (first, second) = (Origin::new("/a/b_c", "p"), Origin::new("/a_b/c", "p"));
    let mine = WorkspaceHome::claim(&system, &first).unwrap();
    let other = WorkspaceHome::claim(&system, &second).unwrap();
    assert_eq!(mine.id().as_str(), "a_b_c__p");
    assert_eq!(other.id(), &WorkspaceId::with_hash(&second));
    assert_eq!(WorkspaceHome::claim(&system, &first).unwrap(), mine);
    assert_eq!(WorkspaceHome::claim(&system, &second).unwrap(), other);
    // The first project is gone: the second keeps its own state instead of starting anew.
    fs::remove_dir_all(mine.path()).unwrap();
    assert_eq!(WorkspaceHome::claim(&system, &second).unwrap(), other);
}

#[test]
fn of_many_that_race_for_one_id_each_gets_its_own() {
    let keep = tempfile::tempdir().unwrap();
    let system = system(keep.path());
    let roots = ["/a/b/c", "/a_b/c", "/a/b_c", "/a_b_c"];
    let claims: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|n| {
                let (system, origin) = (&system, Origin::new(roots[n % 4], "p"));
                scope.spawn(move || (n % 4, WorkspaceHome::claim(system, &origin).unwrap()))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (one, home) in &claims {
        for (another, other) in &claims {
            assert_eq!(one == another, home == other, "{home:?} {other:?}");
        }
    }
    assert_eq!(fs::read_dir(system.workspaces_dir()).unwrap().count(), 4);
}

#[test]
fn who_looks_while_a_place_appears_sees_it_whole_or_not_at_all() {
    for _ in 0..200 {
        let keep = tempfile::tempdir().unwrap();
        let system = system(keep.path());
        let (mine, other) = (Origin::new("/a/b_c", "p"), Origin::new("/a_b/c", "p"));
        std::thread::scope(|scope| {
            let claiming = scope.spawn(|| WorkspaceHome::claim(&system, &mine).unwrap());
            while !claiming.is_finished() {
                assert_eq!(WorkspaceHome::find(&system, &other).unwrap(), None);
            }
        });
    }
}

#[test]
fn state_without_an_origin_is_nobodys() {
    let keep = tempfile::tempdir().unwrap();
    let system = system(keep.path());
    let origin = Origin::new("/a", "p");
    let place = system.workspaces_dir().join("a__p");
    fs::create_dir_all(&place).unwrap();
    fs::set_permissions(system.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    WorkspaceHome::claim(&system, &origin).expect("an empty directory is free");
    fs::remove_file(place.join("origin.json")).unwrap();
    fs::write(place.join("state.db"), "x").unwrap();
    let error = WorkspaceHome::claim(&system, &origin).unwrap_err();
    assert!(matches!(error, StateError::NoOrigin(_)), "{error}");
    assert!(error.hint().starts_with("restore its origin.json"), "{}", error.hint());
    for damaged in [&b"{"[..], b"\xff\xfe"] {
        fs::write(place.join("origin.json"), damaged).unwrap();
        let error = WorkspaceHome::claim(&system, &origin).unwrap_err();
        assert!(matches!(error, StateError::DamagedOrigin { .. }), "{error}");
    }
}

#[test]
fn state_of_a_newer_paddock_is_left_alone() {
    let keep = tempfile::tempdir().unwrap();
    let system = system(keep.path());
    let origin = Origin::new("/a", "p");
    let home = WorkspaceHome::claim(&system, &origin).unwrap();
    let newer = r#"{"layout": 2, "project": "/a"}"#;
    fs::write(home.origin_file(), newer).unwrap();
    for error in
        [WorkspaceHome::claim(&system, &origin).unwrap_err(), WorkspaceHome::find(&system, &origin).unwrap_err()]
    {
        assert!(matches!(error, StateError::NewerLayout { layout: 2, .. }), "{error}");
    }
    assert_eq!(fs::read_to_string(home.origin_file()).unwrap(), newer);
    assert_eq!(fs::read_dir(system.workspaces_dir()).unwrap().count(), 1, "nothing is begun beside it");
}

#[test]
fn even_the_hashed_id_is_checked() {
    let keep = tempfile::tempdir().unwrap();
    let system = system(keep.path());
    let (first, second) = (Origin::new("/a/b_c", "p"), Origin::new("/a_b/c", "p"));
    WorkspaceHome::claim(&system, &first).unwrap();
    let stolen = WorkspaceHome::claim(&system, &second).unwrap();
    fs::copy(system.workspaces_dir().join("a_b_c__p/origin.json"), stolen.origin_file()).unwrap();
    let error = WorkspaceHome::claim(&system, &second).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("\"{}\" already belongs to package \"p\" in \"/a/b_c\"", stolen.path().display())
    );
}
