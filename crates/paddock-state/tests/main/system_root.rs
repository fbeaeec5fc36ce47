//! Where the System Root is found, and when it is refused.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use paddock_state::{HomeError, HomeSources, SystemRoot};

fn at(path: &Path) -> HomeSources {
    HomeSources { option: Some(path.to_owned()), ..HomeSources::default() }
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().canonicalize().unwrap();
    (directory, real)
}

#[test]
fn the_option_beats_the_variable_beats_the_home_directory() {
    let (_keep, here) = temporary();
    let mut sources = HomeSources {
        option: Some(here.join("option")),
        variable: Some(here.join("variable").into()),
        home: Some(here.clone()),
    };
    let path = |sources: &HomeSources| SystemRoot::resolve(sources, None).unwrap().path().to_owned();
    assert_eq!(path(&sources), here.join("option"));
    sources.option = None;
    assert_eq!(path(&sources), here.join("variable"));
    sources.variable = Some("".into());
    assert_eq!(path(&sources), here.join(".paddock"));
    sources.home = None;
    let error = SystemRoot::resolve(&sources, None).unwrap_err();
    assert_eq!(error.to_string(), "there is no home directory to keep the System Root in");
    assert_eq!(error.hint(), "set HOME, or name a directory with --home or PADDOCK_HOME");
}

#[test]
fn it_is_made_only_when_needed_and_private() {
    let (_keep, here) = temporary();
    let system = SystemRoot::resolve(&at(&here.join("a/b")), None).unwrap();
    assert!(!here.join("a").exists());
    system.ensure().unwrap();
    assert_eq!(fs::metadata(here.join("a/b")).unwrap().mode() & 0o777, 0o700);
    system.ensure().unwrap();
}

#[test]
fn it_is_refused_inside_the_project() {
    let (_keep, here) = temporary();
    let project = here.join("project");
    fs::create_dir(&project).unwrap();
    for inside in ["project", "project/.paddock", "project/not/yet"] {
        let error = SystemRoot::resolve(&at(&here.join(inside)), Some(&project)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the System Root \"{}\" lies inside the Project Root \"{}\"",
                here.join(inside).display(),
                project.display()
            )
        );
        assert_eq!(
            error.hint(),
            "name another directory with --home or PADDOCK_HOME, one that is outside the Project Root"
        );
    }
    for outside in ["projectx", "other/project"] {
        SystemRoot::resolve(&at(&here.join(outside)), Some(&project)).unwrap();
    }
}

#[test]
fn a_link_into_the_project_is_seen_through() {
    let (_keep, here) = temporary();
    let project = here.join("project");
    fs::create_dir_all(project.join("deep")).unwrap();
    symlink(project.join("deep"), here.join("link")).unwrap();
    symlink(&project, here.join("alias")).unwrap();
    let inside = |home: &str, project: &Path| {
        let result = SystemRoot::resolve(&at(&here.join(home)), Some(project));
        matches!(result, Err(HomeError::InsideProject { .. }))
    };
    assert!(inside("link", &project));
    assert!(inside("link/new", &project));
    assert!(inside("project/x", &here.join("alias")));
    assert!(!inside("elsewhere", &here.join("alias")));
}

#[test]
fn a_dangling_link_is_refused() {
    let (_keep, here) = temporary();
    symlink(here.join("nowhere"), here.join("link")).unwrap();
    for name in ["link", "link/below"] {
        let error = SystemRoot::resolve(&at(&here.join(name)), None).unwrap_err();
        assert!(matches!(error, HomeError::Io { .. }), "{error}");
    }
}

#[test]
fn going_up_from_what_is_missing_is_refused() {
    let (_keep, here) = temporary();
    let error = SystemRoot::resolve(&at(&here.join("missing/../home")), None).unwrap_err();
    assert!(matches!(error, HomeError::Unresolvable(_)), "{error}");
}

#[test]
fn one_that_others_can_write_is_refused() {
    let (_keep, here) = temporary();
    let home = here.join("home");
    fs::create_dir(&home).unwrap();
    for (mode, safe) in [(0o700, true), (0o755, true), (0o770, false), (0o702, false)] {
        fs::set_permissions(&home, Permissions::from_mode(mode)).unwrap();
        let result = SystemRoot::resolve(&at(&home), None);
        assert_eq!(result.is_ok(), safe, "{mode:o}");
        if let Err(error) = result {
            assert_eq!(
                error.to_string(),
                format!("the System Root \"{}\" is writable by others (mode {mode:03o})", home.display())
            );
            assert_eq!(error.hint(), format!("run: chmod 700 \"{}\"", home.display()));
        }
    }
}

#[test]
fn one_that_became_unsafe_is_refused_before_use() {
    let (_keep, here) = temporary();
    let home = here.join("home");
    let system = SystemRoot::resolve(&at(&home), None).unwrap();
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(system.ensure(), Err(HomeError::WritableByOthers { mode: 0o777, .. })));
    fs::remove_dir(&home).unwrap();
    fs::create_dir(here.join("elsewhere")).unwrap();
    symlink(here.join("elsewhere"), &home).unwrap();
    assert!(matches!(system.ensure(), Err(HomeError::NotADirectory(_))));
}

#[test]
fn a_file_in_its_place_is_refused() {
    let (_keep, here) = temporary();
    fs::write(here.join("home"), "x").unwrap();
    let error = SystemRoot::resolve(&at(&here.join("home")), None).unwrap_err();
    assert!(matches!(error, HomeError::NotADirectory(_)), "{error}");
}

#[test]
fn another_users_directory_is_refused() {
    // `/` and `/proc` belong to root; where the tests run as root, a directory is given away instead.
    let (_keep, here) = temporary();
    let root = rustix::process::geteuid().is_root();
    let (home, owner) = if root { (here.join("given"), 12345) } else { (PathBuf::from("/proc"), 0) };
    if root {
        fs::create_dir(&home).unwrap();
        std::os::unix::fs::chown(&home, Some(owner), None).unwrap();
    }
    let error = SystemRoot::resolve(&at(&home), None).unwrap_err();
    assert!(matches!(error, HomeError::NotOurs { owner: found, .. } if found == owner), "{error}");
}
