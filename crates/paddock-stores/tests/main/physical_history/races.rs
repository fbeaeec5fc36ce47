//! A directory or a file swapped for something else while changes are made that keep what they replace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use paddock_core::{Alter, Expect};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{Pasture, delete, kept, write};

const SECRET: &str = "SECRET-OF-THE-HOST";

fn attempts() -> usize {
    std::env::var("PADDOCK_RACE_ATTEMPTS").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

/// Acts again and again while two names are exchanged, whatever comes of it.
fn under_swap(a: PathBuf, b: PathBuf, mut act: impl FnMut(usize) -> bool) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stopped = &stop;
        let swapper = scope.spawn(move || {
            let mut swaps = 0_u64;
            while !stopped.load(Ordering::Relaxed) {
                swaps += u64::from(renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).is_ok());
            }
            swaps
        });
        for n in 0..attempts() {
            act(n);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 0, "the swapper swapped");
    });
}

/// Nothing of the host's came into what is kept, and no directory did.
fn assert_nothing_foreign_is_kept(pasture: &Pasture) {
    for entry in fs::read_dir(pasture.dir.path().join("system/history")).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        assert!(!meta.is_dir(), "a directory was taken along");
        assert!(meta.is_symlink() || !fs::read_to_string(&path).unwrap().contains(SECRET), "a secret was taken along");
    }
}

#[test]
fn a_directory_swapped_for_a_link_to_elsewhere() {
    let pasture = Pasture::new();
    let outside = pasture.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), SECRET).unwrap();
    pasture.write("/w/d/f", "inside 0");
    let first = kept(&pasture.write("/w/d/f", "inside 1"));
    symlink(&outside, pasture.host("swap")).unwrap();
    under_swap(pasture.host("d"), pasture.host("swap"), |n| match n % 3 {
        0 => pasture.run(delete("/w/d/f")).is_ok(),
        1 => pasture.restore("/w/d/f", &first).is_ok(),
        _ => pasture.run(write("/w/d/f", &format!("inside {n}"))).is_ok(),
    });
    assert_nothing_foreign_is_kept(&pasture);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_file_swapped_for_a_directory_with_everything_in_it() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "inside 0");
    let first = kept(&pasture.write("/w/f", "inside 1"));
    fs::create_dir(pasture.host("full")).unwrap();
    fs::write(pasture.host("full/inner"), SECRET).unwrap();
    under_swap(pasture.host("f"), pasture.host("full"), |n| match n % 3 {
        0 => pasture.alter("/w/f", Alter::Delete, Expect::Any).is_ok(),
        1 => pasture.restore("/w/f", &first).is_ok(),
        _ => pasture.run(write("/w/f", &format!("inside {n}"))).is_ok(),
    });
    // The honest twin: on a busy machine it may have come between no two swaps.
    if pasture.host("f").is_dir() {
        fs::rename(pasture.host("f"), pasture.host("aside")).unwrap();
    }
    pasture.run(write("/w/f", "honest")).unwrap();
    assert_nothing_foreign_is_kept(&pasture);
    // Under its own name or, where the swapper was faster twice, under a temporary one that `paddock doctor` tells of.
    let state = pasture.state();
    let inner: Vec<_> = state.iter().filter(|(path, _)| path.ends_with("/inner")).collect();
    assert!(inner.len() == 1 && inner[0].1.ends_with(SECRET), "it is still there: {state:?}");
}
