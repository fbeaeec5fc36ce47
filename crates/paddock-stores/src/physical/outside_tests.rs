//! What somebody outside saves at a certain moment of a change, told as stories: none of it is lost.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use paddock_core::{
    AccessScope, AppliedChange, Before, Call, CallId, ErrorKind, Expect, Journal, Mount, Operation, PartDone, Plan,
    Refused, Result, Vfs, Workspace,
};
use tempfile::TempDir;

use super::outside::{Step, while_at, without_no_replace};
use super::{KeptPlace, PhysicalStore, TEMP_PREFIX};
use crate::conformance::world::{Open, path_of, run, with_call};
use crate::could_not_run::could_not_run;

/// Wants everything kept, if anything, and remembers what was.
#[derive(Default)]
struct Told {
    keeps: bool,
    changes: Mutex<Vec<AppliedChange>>,
}

impl Journal for Told {
    fn keeps(&self) -> bool {
        self.keeps
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> Result<()> {
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> Result<()> {
        self.changes.lock().unwrap().extend(done.applied.changes.iter().cloned());
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// A Mount at `/w` with one file, whose history is on another file system.
struct Far {
    here: TempDir,
    there: TempDir,
    vfs: Vfs,
    told: Arc<Told>,
}

impl Far {
    /// Nothing where this machine has no other file system.
    fn new() -> Option<Self> {
        Self::that(true)
    }

    fn that(keeps: bool) -> Option<Self> {
        let here = TempDir::new().unwrap();
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        let other = TempDir::new_in("/dev/shm").ok().filter(|other| device(other.path()) != device(here.path()));
        let Some(there) = other else {
            could_not_run("/dev/shm is no other file system than that of temporary files");
            return None;
        };
        let place = KeptPlace::new(&there.path().join("history")).unwrap();
        let store = PhysicalStore::new(here.path()).unwrap().with_history(place);
        let told = Arc::new(Told { keeps, ..Told::default() });
        let workspace = Workspace::new(path_of("/w"), AccessScope::ReadWrite, Mount::new(Arc::new(store), None));
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::<Told>::clone(&told)).unwrap();
        fs::write(here.path().join("f"), "looked at").unwrap();
        Some(Self { here, there, vfs, told })
    }

    fn file(&self) -> PathBuf {
        self.here.path().join("f")
    }

    /// Opened by somebody who goes on writing to its end.
    fn held_open(&self) -> File {
        File::options().append(true).open(self.file()).unwrap()
    }

    fn delete(&self, step: Step, act: impl FnMut() + 'static) -> Result<Before, ErrorKind> {
        self.run(Operation::Delete { path: path_of("/w/f"), recursive: false }, step, act)
    }

    fn write(&self, step: Step, act: impl FnMut() + 'static) -> Result<Before, ErrorKind> {
        let write = Operation::Write { path: path_of("/w/f"), content: b"new".to_vec(), expect: Expect::Any };
        self.run(write, step, act)
    }

    fn run(&self, what: Operation, step: Step, act: impl FnMut() + 'static) -> Result<Before, ErrorKind> {
        match while_at(step, act, || with_call(|call| run(&self.vfs, call, what))) {
            Ok(_) => Ok(self.told.changes.lock().unwrap().pop().unwrap().before),
            Err(Refused::Store { source, .. }) => Err(source.kind().clone()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn kept(&self, before: &Result<Before, ErrorKind>) -> String {
        let Ok(Before::Kept(kept)) = before else { panic!("it should be kept, and is {before:?}") };
        fs::read_to_string(self.there.path().join("history").join(&kept.0)).unwrap()
    }

    /// What is in the Mount, by name; under temporary names in the end.
    fn held(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.here.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort_by_key(|path| path.file_name() != Some("f".as_ref()));
        names.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    fn history_len(&self) -> usize {
        fs::read_dir(self.there.path().join("history")).map_or(0, Iterator::count)
    }
}

/// Does it the first time only.
fn once(mut act: impl FnMut()) -> impl FnMut() {
    let mut first = true;
    move || {
        if std::mem::take(&mut first) {
            act();
        }
    }
}

/// As an editor saves: another file comes to the name.
fn save(file: PathBuf, content: &'static str) -> impl FnMut() {
    once(move || {
        let new = file.with_extension("new");
        fs::write(&new, content).unwrap();
        fs::rename(new, &file).unwrap();
    })
}

#[test]
fn what_is_saved_while_a_delete_copies_stays() {
    let Some(far) = Far::new() else { return };
    let before = far.delete(Step::Copying, save(far.file(), "theirs"));
    assert_eq!((far.kept(&before).as_str(), far.held()), ("looked at", vec!["theirs".to_owned()]));
}

#[test]
fn what_is_saved_before_a_delete_takes_hold_is_what_it_takes() {
    judges_anew_what_was_saved();
    without_no_replace(judges_anew_what_was_saved);
}

fn judges_anew_what_was_saved() {
    for keeps in [true, false] {
        let Some(far) = Far::that(keeps) else { return };
        let (file, mut save, seen) = (far.file(), save(far.file(), "theirs"), Arc::new(Mutex::new(Vec::new())));
        let judged = Arc::clone(&seen);
        let before = far.delete(Step::Judged, move || {
            judged.lock().unwrap().push(fs::read_to_string(&file).unwrap());
            save();
        });
        assert_eq!(*seen.lock().unwrap(), ["looked at", "theirs"], "it was judged anew");
        assert!(far.held().is_empty());
        if keeps {
            assert_eq!(far.kept(&before), "theirs");
        }
    }
}

#[test]
fn what_is_written_to_a_file_while_a_delete_copies_it_is_kept() {
    let Some(far) = Far::new() else { return };
    let mut held = far.held_open();
    let before = far.delete(Step::Copying, once(move || held.write_all(b", and theirs").unwrap()));
    assert_eq!(far.kept(&before), "looked at, and theirs");
    assert!(far.held().is_empty() && far.history_len() == 1);
}

#[test]
fn what_somebody_goes_on_writing_to_is_not_deleted() {
    let Some(far) = Far::new() else { return };
    let mut held = far.held_open();
    let before = far.delete(Step::Copying, move || held.write_all(b"+").unwrap());
    assert_eq!(before, Err(ErrorKind::Stale));
    assert!(far.held()[0].starts_with("looked at+"));
    assert!(far.file().exists() && far.history_len() == 0);
}

#[test]
fn what_is_written_to_a_file_while_it_is_replaced_is_kept() {
    let Some(far) = Far::new() else { return };
    let mut held = far.held_open();
    let before = far.write(Step::Copying, once(move || held.write_all(b", and theirs").unwrap()));
    assert_eq!((far.kept(&before).as_str(), far.held()), ("looked at, and theirs", vec!["new".to_owned()]));
}

#[test]
fn what_somebody_goes_on_writing_to_stays_beside_what_replaces_it() {
    let Some(far) = Far::new() else { return };
    let mut held = far.held_open();
    assert_eq!(far.write(Step::Copying, move || held.write_all(b"+").unwrap()), Ok(Before::Lost));
    assert_eq!((far.held()[0].as_str(), far.held()[1].trim_end_matches('+')), ("new", "looked at"));
    let names = fs::read_dir(far.here.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_str().unwrap().starts_with(TEMP_PREFIX)).count(), 1);
}

/// Whoever dies there leaves a part of a file, and an undo asks for the name that was promised.
#[test]
fn a_copy_has_no_name_that_is_believed_before_it_is_whole() {
    let Some(far) = Far::new() else { return };
    let (history, seen) = (far.there.path().join("history"), Arc::new(Mutex::new(Vec::new())));
    let found = Arc::clone(&seen);
    let before = far.delete(Step::Copying, move || {
        let names = fs::read_dir(&history).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        found.lock().unwrap().extend(names);
    });
    assert_eq!(far.kept(&before), "looked at");
    assert!(seen.lock().unwrap().iter().all(|name| CallId::parse(name).is_none()), "{seen:?}");
    assert!(!seen.lock().unwrap().is_empty() && far.history_len() == 1, "it gets its name in the end");
}
