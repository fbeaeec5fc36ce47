//! What is there is seen, as it is and in parts.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;

use paddock_core::{AccessScope, Vfs};
use paddock_fuse::{How, Others};
use paddock_stores::virtual_store::VirtualStore;
use rustix::io::Errno;

use crate::world::{Mounted, errno, hiding, names, one, vfs, workspace, write};

#[test]
fn files_and_directories_are_seen_as_they_are() {
    let vfs = one();
    write(&vfs, "/w/d/hello.txt", "hello\n");
    write(&vfs, "/w/top", "");
    let mounted = Mounted::read_only(vfs);
    assert_eq!(names(mounted.dir()), ["w"]);
    assert_eq!(names(&mounted.at("/w")), ["d", "top"]);
    assert_eq!(fs::read_to_string(mounted.at("/w/d/hello.txt")).unwrap(), "hello\n");
    let meta = fs::metadata(mounted.at("/w/d/hello.txt")).unwrap();
    assert!(meta.is_file() && meta.len() == 6 && meta.mode() & 0o777 == 0o644);
    assert!(fs::metadata(mounted.at("/w/d")).unwrap().is_dir());
    assert_eq!(errno(fs::read(mounted.at("/w/none"))), Some(Errno::NOENT.raw_os_error()));
    assert_eq!(errno(fs::write(mounted.at("/w/top"), "x")), Some(Errno::ROFS.raw_os_error()));
    assert_eq!(errno(fs::create_dir(mounted.at("/w/new"))), Some(Errno::ROFS.raw_os_error()));
}

#[test]
fn a_large_file_is_read_in_parts() {
    let vfs = one();
    let content: Vec<u8> = (0..3_000_001_u32).map(|n| (n % 251) as u8).collect();
    write(&vfs, "/w/large", &content);
    let mounted = Mounted::read_only(vfs);
    let mut file = fs::File::open(mounted.at("/w/large")).unwrap();
    let mut part = [0; 10];
    file.read_exact_at(&mut part, 2_999_990).unwrap();
    assert_eq!(part[..], content[2_999_990..3_000_000]);
    file.seek(SeekFrom::End(-1)).unwrap();
    let mut rest = Vec::new();
    file.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, content[3_000_000..]);
    assert!(fs::read(mounted.at("/w/large")).unwrap() == content);
}

fn for_a_command(vfs: Arc<Vfs>) -> Mounted {
    Mounted::new(vfs, How::Writable, |served| served.while_others(Others::ChangeNothing))
}

#[test]
fn a_small_file_comes_with_its_opening() {
    let vfs = one();
    write(&vfs, "/w/f", "first!");
    let mounted = for_a_command(vfs);
    let mut file = fs::File::open(mounted.at("/w/f")).unwrap();
    // Nobody is asked for it any more; that it changed is what this mount was promised not to happen.
    write(&mounted.vfs, "/w/f", "second");
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "first!");
}

#[test]
fn files_of_every_length_come_whole() {
    const PAGE: usize = 4096;
    const AHEAD: usize = 128 << 10;
    let lengths = [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 7, AHEAD - 1, AHEAD, AHEAD + 1, 2 * AHEAD];
    let content = |len: usize| (0..len).map(|n| (n % 251) as u8).collect::<Vec<u8>>();
    let vfs = one();
    for len in lengths {
        write(&vfs, &format!("/w/{len}"), content(len));
    }
    let mounted = for_a_command(vfs);
    for len in lengths {
        let at = mounted.at(&format!("/w/{len}"));
        assert!(fs::read(&at).unwrap() == content(len), "{len} bytes");
        assert_eq!(fs::metadata(&at).unwrap().len(), len as u64);
        // And what is written there afterwards is what is read.
        let file = fs::OpenOptions::new().read(true).write(true).open(&at).unwrap();
        file.write_all_at(b"!", len as u64 / 2).unwrap();
        let mut changed = content(len.max(1));
        changed[len / 2] = b'!';
        assert!(fs::read(&at).unwrap() == changed, "{len} bytes, changed");
    }
}

#[test]
fn a_directory_of_many_names_is_listed_whole() {
    let vfs = one();
    let expected: Vec<String> = (0..3000).map(|n| format!("file-{n:05}")).collect();
    for name in &expected {
        write(&vfs, &format!("/w/many/{name}"), name);
    }
    let mounted = Mounted::read_only(vfs);
    assert_eq!(names(&mounted.at("/w/many")), expected);
    assert_eq!(fs::read_to_string(mounted.at("/w/many/file-02999")).unwrap(), "file-02999");
}

#[test]
fn the_way_to_every_workspace_is_shown_and_hidden_names_are_not() {
    let stores: Vec<_> = (0..3).map(|_| Arc::new(VirtualStore::in_memory())).collect();
    let store = |n: usize| Arc::clone(&stores[n]) as Arc<dyn paddock_core::Store>;
    let seeding = vfs(vec![workspace("/s", AccessScope::ReadWrite, store(0))]);
    write(&seeding, "/s/secret/f", "s");
    write(&seeding, "/s/seen", "x");
    let vfs = vfs(vec![
        workspace("/a/b", AccessScope::ReadOnly, store(0)).with_names(hiding(&["secret"])),
        workspace("/a/b/deep/in", AccessScope::ReadWrite, store(1)),
        workspace("/drop", AccessScope::WriteOnly, store(2)),
    ]);
    let mounted = Mounted::read_only(vfs);
    assert_eq!(names(mounted.dir()), ["a", "drop"]);
    assert_eq!(names(&mounted.at("/a")), ["b"]);
    assert_eq!(names(&mounted.at("/a/b")), ["deep", "seen"]);
    assert_eq!(names(&mounted.at("/a/b/deep")), ["in"]);
    assert_eq!(names(&mounted.at("/a/b/deep/in")), Vec::<String>::new());
    assert_eq!(errno(fs::read(mounted.at("/a/b/secret/f"))), Some(Errno::NOENT.raw_os_error()));
    assert_eq!(errno(fs::metadata(mounted.at("/a/b/secret"))), Some(Errno::NOENT.raw_os_error()));
    assert!(fs::metadata(mounted.at("/drop")).unwrap().is_dir());
    assert_eq!(
        errno(fs::read_dir(mounted.at("/drop")).and_then(|mut all| all.next().unwrap())),
        Some(Errno::ACCESS.raw_os_error())
    );
}
