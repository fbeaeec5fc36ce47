//! What others change is seen: versions decide, not luck.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use paddock_core::Operation;
use paddock_fuse::{How, Others};
use rustix::io::Errno;

use crate::world::{Mounted, act, errno, names, one, path, read, soon, write};

fn changed_files_are_read_anew(mounted: &Mounted) {
    write(&mounted.vfs, "/w/f", "first!");
    let open = File::open(mounted.at("/w/f")).unwrap();
    assert_eq!(fs::read_to_string(mounted.at("/w/f")).unwrap(), "first!");
    // The same length, and most likely the same millisecond.
    for n in 0..50 {
        let content = format!("next{n:02}");
        write(&mounted.vfs, "/w/f", &content);
        assert_eq!(fs::read_to_string(mounted.at("/w/f")).unwrap(), content);
        let mut seen = [0; 6];
        open.read_exact_at(&mut seen, 0).unwrap();
        assert_eq!(seen, content.as_bytes(), "who has it open sees it too");
    }
    write(&mounted.vfs, "/w/f", "longer than before");
    assert_eq!(fs::read_to_string(mounted.at("/w/f")).unwrap(), "longer than before");
    write(&mounted.vfs, "/w/g", "x");
    assert_eq!(names(&mounted.at("/w")), ["f", "g"]);
    act(&mounted.vfs, Operation::Delete { path: path("/w/f"), recursive: false }).unwrap();
    assert_eq!(names(&mounted.at("/w")), ["g"]);
    assert_eq!(errno(fs::read(mounted.at("/w/f"))), Some(Errno::NOENT.raw_os_error()));
    // Who has it open may have what was there for a moment, and is told then.
    let told = || errno(open.read_exact_at(&mut [0; 1], 0)) == Some(Errno::NOENT.raw_os_error());
    assert!(soon(told));
    act(&mounted.vfs, Operation::MakeDir { path: path("/w/f") }).unwrap();
    assert!(fs::metadata(mounted.at("/w/f")).unwrap().is_dir(), "a directory took its place");
}

#[test]
fn a_changed_file_is_read_anew() {
    changed_files_are_read_anew(&Mounted::read_only(one()));
}

#[test]
fn a_changed_file_is_read_anew_where_it_may_be_written_too() {
    changed_files_are_read_anew(&Mounted::writable(one()));
}

#[test]
fn what_nobody_else_changes_is_remembered_until_it_is_told_otherwise() {
    let vfs = one();
    write(&vfs, "/w/f", "first!");
    let mounted = Mounted::new(vfs, How::Writable, |served| served.while_others(Others::ChangeNothing));
    assert_eq!(fs::read_to_string(mounted.at("/w/f")).unwrap(), "first!");
    assert_eq!(errno(fs::read(mounted.at("/w/new"))), Some(Errno::NOENT.raw_os_error()));
    assert_eq!(names(&mounted.at("/w")), ["f"]);
    write(&mounted.vfs, "/w/f", "second");
    assert_eq!(fs::read_to_string(mounted.at("/w/f")).unwrap(), "first!", "it is not asked for again");
    mounted.session().changed(&path("/w/f"));
    assert!(soon(|| fs::read_to_string(mounted.at("/w/f")).unwrap() == "second"));
    write(&mounted.vfs, "/w/new", "x");
    mounted.session().changed(&path("/w/new"));
    assert!(soon(|| fs::read_to_string(mounted.at("/w/new")).is_ok_and(|now| now == "x")));
    // What happens through the file system itself is always known.
    fs::write(mounted.at("/w/mine"), "mine").unwrap();
    assert_eq!(read(&mounted.vfs, "/w/mine").as_deref(), Some("mine"));
    assert_eq!(names(&mounted.at("/w")), ["f", "mine", "new"]);
    fs::remove_file(mounted.at("/w/mine")).unwrap();
    assert_eq!(names(&mounted.at("/w")), ["f", "new"]);
    fs::rename(mounted.at("/w/new"), mounted.at("/w/renamed")).unwrap();
    assert_eq!(names(&mounted.at("/w")), ["f", "renamed"]);
    assert_eq!(fs::read_to_string(mounted.at("/w/renamed")).unwrap(), "x");
}
