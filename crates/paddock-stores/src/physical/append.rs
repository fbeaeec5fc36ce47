//! Adding to the end of a file that others add to at the same time.
//!
//! They hold no lock of ours. The host puts each write where the end is by then and says where that was, so that what is
//! ours is told from what is theirs. What is theirs is never cut off, and never taken for ours.

use std::os::fd::{AsFd, OwnedFd};

use paddock_core::{Before, ErrorKind, StoreError};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::apply::{Try, raced_link};
use super::host::{meta_of, open_file, read_into, store_error};
use super::replace::Spot;

/// Where what was added lies.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Added {
    start: u64,
    end: u64,
    /// Somebody wrote between two parts of it.
    is_apart: bool,
}

/// Writes everything at the end of a file that is open to append. What was written is told also where it was not everything.
pub(super) fn add(file: &OwnedFd, mut content: &[u8]) -> (Added, Result<(), StoreError>) {
    let mut added = Added::default();
    while !content.is_empty() {
        match added.write(file, content) {
            Ok(0) => return (added, Err(ErrorKind::Full.into())),
            Ok(n) => content = &content[n..],
            Err(Errno::INTR) => {}
            Err(e) => return (added, Err(store_error(e))),
        }
    }
    (added, Ok(()))
}

impl Added {
    fn write(&mut self, file: &OwnedFd, content: &[u8]) -> Result<usize, Errno> {
        let written = rustix::io::write(file, content)?;
        // After a write to the end that is where the file's own position is.
        let end = rustix::fs::tell(file).unwrap_or(0);
        let start = end.saturating_sub(written as u64);
        if self.end == 0 {
            self.start = start;
        }
        self.is_apart |= end == 0 || (self.end != 0 && self.end != start);
        self.end = end;
        Ok(written)
    }

    /// Is this the end of a file that has this stat?
    fn ends(&self, stat: &Stat) -> bool {
        !self.is_apart && meta_of(stat).len == self.end
    }

    /// Takes it away again. False where it stays, because somebody added to it: that is never cut off.
    pub(super) fn take_back(&self, file: &OwnedFd) -> bool {
        let is_end = || rustix::fs::fstat(file).is_ok_and(|now| self.ends(&now));
        *self == Self::default() || (is_end() && rustix::fs::ftruncate(file, self.start).is_ok())
    }

    /// What takes it away later, from a file that had this stat afterwards. Nothing where that would take along what
    /// somebody else added.
    pub(super) fn before(&self, after: &Stat) -> Before {
        if *self == Self::default() {
            return Before::Prefix(meta_of(after).len);
        }
        if self.ends(after) { Before::Prefix(self.start) } else { Before::Lost }
    }

    /// The stat of the file that somebody put in the place of the one it was added to, where that has it, too.
    pub(super) fn carried_over(&self, spot: Spot<'_>, content: &[u8]) -> Try<Stat> {
        let (file, stat) = match open_file(spot.dir, spot.name) {
            Err(e) if *e.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(raced_link)?,
        };
        let mut there = Vec::new();
        read_into(file.as_fd(), self.start, self.end - self.start, &mut there)?;
        Ok((!self.is_apart && there == content).then_some(stat))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::super::open_without_links;
    use super::*;

    /// A log with a first line.
    struct Log(TempDir);

    impl Log {
        fn new() -> Self {
            let log = Self(TempDir::new().unwrap());
            fs::write(log.path(), "first\n").unwrap();
            log
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("log")
        }

        fn open(&self) -> OwnedFd {
            fs::File::options().append(true).open(self.path()).unwrap().into()
        }

        fn others_add(&self) {
            fs::File::from(self.open()).write_all(b"theirs\n").unwrap();
        }

        fn text(&self) -> String {
            fs::read_to_string(self.path()).unwrap()
        }

        fn before(&self, added: Added) -> Before {
            added.before(&rustix::fs::stat(self.path()).unwrap())
        }
    }

    #[test]
    fn what_was_added_is_taken_back_and_nothing_else() {
        let log = Log::new();
        let file = log.open();
        // After the file was opened, which is no part of what was added.
        log.others_add();
        let (added, written) = add(&file, b"ours\n");
        written.unwrap();
        assert_eq!(log.before(added), Before::Prefix(13));
        assert!(added.take_back(&file));
        assert_eq!(log.text(), "first\ntheirs\n");
        assert_eq!(log.before(Added::default()), Before::Prefix(13));
        assert!(Added::default().take_back(&file));
        assert_eq!(log.text(), "first\ntheirs\n", "and where nothing was written, nothing is");
    }

    #[test]
    fn what_others_added_behind_it_is_not_cut_off() {
        let log = Log::new();
        let file = log.open();
        let (added, _) = add(&file, b"ours\n");
        log.others_add();
        assert_eq!(log.before(added), Before::Lost);
        assert!(!added.take_back(&file));
        assert_eq!(log.text(), "first\nours\ntheirs\n");
    }

    #[test]
    fn what_others_added_into_it_is_not_cut_off() {
        let log = Log::new();
        let file = log.open();
        let mut added = Added::default();
        added.write(&file, b"ou").unwrap();
        added.write(&file, b"r").unwrap();
        assert_eq!(log.before(added), Before::Prefix(6), "parts that lie together are one");
        log.others_add();
        added.write(&file, b"s\n").unwrap();
        assert_eq!(log.before(added), Before::Lost);
        assert!(!added.take_back(&file));
        assert_eq!(log.text(), "first\nourtheirs\ns\n");
    }

    /// Whoever writes a new file over a log may have read ours in the old one.
    #[test]
    fn a_copy_that_has_it_has_it_once() {
        let log = Log::new();
        let dir = open_without_links(&fs::canonicalize(log.0.path()).unwrap()).unwrap();
        let spot = Spot { dir: &dir, name: "log" };
        let (added, _) = add(&log.open(), b"ours\n");
        let has_it = || added.carried_over(spot, b"ours\n").unwrap().is_some();
        for (copy, has) in [("first\nours\nmore\n", true), ("first\n", false), ("first\nourselves\n", false)] {
            fs::write(log.path(), copy).unwrap();
            assert_eq!(has_it(), has, "{copy}");
        }
        fs::remove_file(log.path()).unwrap();
        assert!(!has_it());
    }
}
