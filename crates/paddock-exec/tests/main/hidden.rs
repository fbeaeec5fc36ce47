//! Ways past hidden names: trees that are made so that what is hidden in them is not found. Each beside its honest twin.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_core::{
    AccessScope, Alter, HidePattern, Mount, NameRules, NoAudit, NoJournal, NotRun, Origin, Vfs, Workspace,
};
use paddock_exec::{Index, Runner, Shown};
use paddock_stores::PhysicalStore;
use paddock_stores::conformance::world::{Open, path_of};
use rustix::fs::{CWD, Mode, OFlags};

use crate::as_each_user;
use crate::main::harness::*;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Where names `.env` are in the Workspace.
fn where_env_is(yard: &Yard) -> Vec<PathBuf> {
    let is_env = |path: &Path, _| path.file_name().is_some_and(|name| name == ".env");
    Index::new(yard.path("w"), Box::new(is_env)).find().unwrap()
}

/// Each way in which the Workspace can be shown, with its hidden names masked.
fn in_each_way(yard: &Yard) -> [Shown; 3] {
    [yard.read_only(), yard.staged_anew(), yard.direct()].map(|shown| Shown { masks: where_env_is(yard), ..shown })
}

/// Goes down so many directories of this name, making each, and writes a file with this content into the last.
fn bury(top: &Path, name: &str, levels: usize, file: &str, content: &str) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut last: OwnedFd = rustix::fs::openat(CWD, top, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        let _ = rustix::fs::mkdirat(&last, name, Mode::from_raw_mode(0o755));
        last = rustix::fs::openat(&last, name, flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&last, file, flags, Mode::from_raw_mode(0o644)).unwrap();
    rustix::io::write(&file, content.as_bytes()).unwrap();
}

/// The Workspace `w` at `/project`, with `.env` hidden, and whoever runs commands in it.
struct Watched {
    runner: Runner,
    vfs: Vfs,
}

impl Watched {
    fn new(yard: &Yard, scope: AccessScope) -> Watched {
        let store = Arc::new(PhysicalStore::new(&yard.path("w")).unwrap());
        let territory = store.territory();
        let mount = Mount::new(store, Some(territory)).on_host(yard.path("w"));
        let hide = vec![HidePattern { text: ".env".to_owned(), origin: Origin::unknown() }];
        let names = NameRules::new(hide, &[], &[]).unwrap();
        let workspace = Workspace::new(path_of("/project"), scope, mount).with_names(names);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap();
        Watched { runner: Runner::new(yard.path("staged"), Arc::new(NoAudit)), vfs }
    }

    /// What a command prints, if it is run.
    fn sh(&self, direct: bool, text: &str) -> Result<String, NotRun> {
        self.run(direct, text).map(|(_, out)| out)
    }

    fn run(&self, direct: bool, text: &str) -> Result<(paddock_core::Ran, String), NotRun> {
        run_text(&self.runner, &self.vfs, "/project", text, direct)
    }
}

as_each_user! {
    fn a_directory_that_cannot_be_looked_into_hides_what_is_hidden_in_it() {
        let text = "cat d/.env; cat e/.env; chmod 755 d; cat d/.env; cat e/open";
        for mode in [0o311, 0o100, 0o600, 0] {
            let yard = Yard::new();
            for name in ["w/d/.env", "w/e/.env"] {
                yard.write(name, "SECRET");
            }
            yard.write("w/e/open", "open");
            yard.write("w/d/open", "open");
            let close = || set_mode(&yard.path("w/d"), mode);
            close();
            for shown in in_each_way(&yard) {
                let ran = sh(vec![shown], text);
                assert_eq!(ran.out, "open", "{mode:o}: {ran:?}");
                close();
            }
            let [_, staged, _] = in_each_way(&yard);
            let open = sh_without(vec![staged], text, |on| on.masks = false);
            assert!(open.out.contains("SECRET"), "its owner gets in: {open:?}");
            // One that can be looked into shows everything else.
            set_mode(&yard.path("w/d"), 0o755);
            for shown in in_each_way(&yard) {
                assert_eq!(sh(vec![shown], "cat d/open e/open; cat d/.env").out, "openopen");
            }
        }
    }

    fn a_command_cannot_close_a_directory_to_read_what_is_hidden_in_it() {
        let yard = Yard::new();
        yard.write("w/conf/.env", "SECRET");
        yard.write("w/conf/open", "open");
        let watched = Watched::new(&yard, AccessScope::ReadWrite);
        assert_eq!(watched.sh(true, "cat conf/.env; chmod 311 conf").unwrap(), "");
        assert_eq!(watched.sh(true, "cat conf/.env; echo ran").unwrap(), "ran\n");
        assert_eq!(watched.sh(false, "cat conf/.env; chmod 755 conf; cat conf/.env; echo ran").unwrap(), "ran\n");
        set_mode(&yard.path("w/conf"), 0o755);
        assert_eq!(watched.sh(false, "cat conf/open; cat conf/.env").unwrap(), "open");
    }

    fn the_owner_of_a_directory_keeps_the_way_into_it() {
        let yard = Yard::new();
        yard.write("w/conf/open", "open");
        let watched = Watched::new(&yard, AccessScope::ReadWrite);
        let (ran, _) = watched.run(false, "mkdir -m 0 new; mkdir -m 755 plain; chmod 311 conf").unwrap();
        let modes: Vec<_> = ran.proposed.alterations.iter().filter_map(|made| match &made.how {
            Alter::Dress(looks) => Some((made.path.as_str(), looks.mode.unwrap())),
            _ => None,
        }).collect();
        assert_eq!(modes, [("/project/conf", 0o711), ("/project/new", 0o500)]);
    }

    fn a_tree_deeper_than_a_path_is_long_keeps_hidden_names_hidden() {
        let yard = Yard::new();
        yard.write("w/.env", "SECRET");
        yard.write("w/open", "open");
        let name = "n".repeat(200);
        bury(&yard.path("w"), &name, 2, "open", "deep");
        bury(&yard.path("w"), &name, 30, ".env", "SECRET");
        // Step by step a command comes deeper than any path leads.
        let text = format!("cat .env open {name}/{name}/open; i=0; while cd {name}; do i=$((i + 1)); done; cat .env; test $i -lt 30 && echo stopped");
        for (scope, direct) in [(AccessScope::ReadOnly, false), (AccessScope::ReadWrite, false), (AccessScope::ReadWrite, true)] {
            let watched = Watched::new(&yard, scope);
            assert_eq!(watched.sh(direct, &text).unwrap(), "opendeepstopped\n", "{scope:?} {direct}");
        }
    }

    fn a_deep_tree_and_few_descriptors_keep_hidden_names_hidden() {
        alone("hidden::a_deep_tree_and_few_descriptors_keep_hidden_names_hidden", || {
            use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
            let yard = Yard::new();
            yard.write("w/.env", "SECRET");
            bury(&yard.path("w"), "l", 200, "open", "deep");
            bury(&yard.path("w"), "l", 400, ".env", "SECRET");
            let maximum = getrlimit(Resource::Nofile).maximum;
            setrlimit(Resource::Nofile, Rlimit { current: Some(128), maximum }).unwrap();
            let text = format!("cat .env; cat {0}open; cat {0}{0}.env", "l/".repeat(200));
            for shown in in_each_way(&yard) {
                assert_eq!(sh(vec![shown], &text).out, "deep");
            }
        });
    }

    fn where_hidden_names_cannot_be_looked_for_no_command_runs() {
        let yard = Yard::new();
        yard.write("w/.env", "SECRET");
        yard.write("w/open", "open");
        for (scope, direct) in [(AccessScope::ReadOnly, false), (AccessScope::ReadWrite, false), (AccessScope::ReadWrite, true)] {
            set_mode(&yard.path("w"), 0o755);
            let watched = Watched::new(&yard, scope);
            assert_eq!(watched.sh(direct, "cat .env; cat open").unwrap(), "open");
            set_mode(&yard.path("w"), 0o311);
            match watched.sh(direct, "cat .env; cat open") {
                // To root nothing is closed.
                Ok(out) => assert!(rustix::process::geteuid().is_root() && out == "open", "{out}"),
                Err(NotRun::Cannot { why, .. }) => assert!(why.contains("cannot be looked for"), "{why}"),
                Err(other) => panic!("{other:?}"),
            }
        }
        set_mode(&yard.path("w"), 0o755);
    }
}
