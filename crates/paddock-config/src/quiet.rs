//! Reading a file that may be being written right now.
//!
//! The first half of a valid configuration is often valid too, and the boundary that a nested Workspace is
//! may be in the other half. So a file is read only after it has been quiet for a moment, and what was read
//! counts only if nothing changed meanwhile. A file that does not come to rest is not read at all.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use crate::fault::Fault;

/// How long nothing may have changed before a file counts as written, and how often that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    quiet: Duration,
    rounds: usize,
}

impl Patience {
    /// At a start nobody has access yet, and a person waits for it.
    pub(crate) const START: Self = Self { quiet: Duration::from_millis(50), rounds: 10 };
    /// A change of a running policy: whoever writes it may pause between two halves, and an old policy that
    /// holds a moment longer is better than half of a new one.
    pub(crate) const CHANGE: Self = Self { quiet: Duration::from_secs(1), rounds: 5 };
}

/// The largest configuration that is read.
const LARGEST: u64 = 16 << 20;
const NOT_A_FILE: &str = "it is not a file";

/// One state of a file, told apart from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    Missing,
    There { device: u64, inode: u64, len: u64, modified: (i64, i64), changed: (i64, i64) },
}

/// What a file turned out to hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is no file, or nothing in it.
    Nothing,
    Text(String),
}

/// The state of the file now.
pub(crate) fn stamp(path: &Path) -> io::Result<Stamp> {
    Ok(OnDisk(path).look()?.map_or(Stamp::Missing, |seen| seen.stamp))
}

/// Reads the file once it has been quiet, or says why not.
pub(crate) fn read(path: &Path, patience: Patience) -> Result<(Stamp, Content), Fault> {
    read_from(&mut OnDisk(path), patience)
}

fn read_from(disk: &mut impl Disk, patience: Patience) -> Result<(Stamp, Content), Fault> {
    let failed = |error: io::Error| Fault::Unreadable(error.to_string());
    let mut seen = disk.look().map_err(failed)?;
    for _ in 0..patience.rounds {
        let Some(before) = seen else {
            return Ok((Stamp::Missing, Content::Nothing));
        };
        before.refuse_unreadable()?;
        if before.len == 0 {
            // At once: an emptied file has taken everything away, and waiting would prolong the old access.
            return Ok((before.stamp, Content::Nothing));
        }
        disk.wait(patience.quiet.saturating_sub(before.age));
        let bytes = disk.read();
        seen = disk.look().map_err(failed)?;
        if seen.as_ref().is_some_and(|after| after.stamp == before.stamp) {
            let text = String::from_utf8(bytes.map_err(failed)?).map_err(|_| Fault::NotText)?;
            return Ok((before.stamp, Content::Text(text)));
        }
    }
    Err(Fault::StillWritten)
}

/// What is known about a file without reading it.
#[derive(Debug, Clone, Copy)]
struct Seen {
    stamp: Stamp,
    len: u64,
    is_file: bool,
    /// How long ago it last changed in any way.
    age: Duration,
}

impl Seen {
    fn refuse_unreadable(&self) -> Result<(), Fault> {
        if !self.is_file {
            return Err(Fault::Unreadable(NOT_A_FILE.to_owned()));
        }
        if self.len > LARGEST {
            return Err(Fault::Unreadable(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        Ok(())
    }
}

/// What reading needs of the host, so that a test can write in between.
trait Disk {
    fn look(&mut self) -> io::Result<Option<Seen>>;
    fn read(&mut self) -> io::Result<Vec<u8>>;
    fn wait(&mut self, time: Duration);
}

struct OnDisk<'p>(&'p Path);

impl Disk for OnDisk<'_> {
    fn look(&mut self) -> io::Result<Option<Seen>> {
        match fs::metadata(self.0) {
            Ok(found) => Ok(Some(Seen::of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        // What was looked at may have been swapped for a pipe since: opening one must not wait for a writer,
        // and only the descriptor tells what was really opened.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = fs::File::options().read(true).custom_flags(flags).open(self.0)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other(NOT_A_FILE));
        }
        // One more than it has, so that its end is seen by the second read.
        let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(LARGEST)).unwrap_or(0) + 1);
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn wait(&mut self, time: Duration) {
        if !time.is_zero() {
            std::thread::sleep(time);
        }
    }
}

impl Seen {
    fn of(found: &Metadata) -> Self {
        let stamp = Stamp::There {
            device: found.dev(),
            inode: found.ino(),
            len: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        };
        Self { stamp, len: found.len(), is_file: found.is_file(), age: age(found) }
    }
}

/// The time of the inode's change counts too: a copy may bring an old modification time along. A time in
/// the future counts as now.
fn age(found: &Metadata) -> Duration {
    let since =
        |seconds: i64, nanos: i64| Duration::new(seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
    let modified = since(found.mtime(), found.mtime_nsec());
    let changed = since(found.ctime(), found.ctime_nsec());
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    now.saturating_sub(modified.max(changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that somebody writes while it is waited for: one state per wait, the last one stays.
    struct Written {
        states: Vec<(&'static str, Duration)>,
        now: usize,
        waited: Vec<Duration>,
    }

    const FRESH: Duration = Duration::ZERO;
    const OLD: Duration = Duration::from_secs(9);

    fn written(states: &[(&'static str, Duration)]) -> Written {
        Written { states: states.to_vec(), now: 0, waited: Vec::new() }
    }

    impl Disk for Written {
        fn look(&mut self) -> io::Result<Option<Seen>> {
            let (text, age) = self.states[self.now];
            let (len, inode) = (text.len() as u64, self.now as u64);
            let stamp = Stamp::There { device: 0, inode, len, modified: (0, 0), changed: (0, 0) };
            Ok((text != "gone").then_some(Seen { stamp, len, is_file: text != "pipe", age }))
        }

        fn read(&mut self) -> io::Result<Vec<u8>> {
            match self.states[self.now].0 {
                "gone" => Err(io::ErrorKind::NotFound.into()),
                text => Ok(text.as_bytes().to_vec()),
            }
        }

        fn wait(&mut self, time: Duration) {
            self.waited.push(time);
            self.now = (self.now + 1).min(self.states.len() - 1);
        }
    }

    fn text(disk: &mut Written) -> Result<String, Fault> {
        text_after(disk, Patience::START)
    }

    fn text_after(disk: &mut Written, patience: Patience) -> Result<String, Fault> {
        read_from(disk, patience).map(|(_, content)| match content {
            Content::Nothing => "nothing".to_owned(),
            Content::Text(text) => text,
        })
    }

    #[test]
    fn a_file_at_rest_is_read_at_once() {
        let mut disk = written(&[("whole", OLD)]);
        assert_eq!(text(&mut disk), Ok("whole".to_owned()));
        assert_eq!(disk.waited, [Duration::ZERO]);
    }

    #[test]
    fn a_half_written_file_is_never_what_counts() {
        let mut disk = written(&[("ha", FRESH), ("half", FRESH), ("whole", Duration::from_millis(20))]);
        assert_eq!(text(&mut disk), Ok("whole".to_owned()));
        assert_eq!(disk.waited, [50, 50, 30].map(Duration::from_millis));
    }

    #[test]
    fn a_change_waits_for_a_writer_that_pauses() {
        let paused = Duration::from_millis(300);
        let mut disk = written(&[("half", paused), ("whole", FRESH)]);
        assert_eq!(text_after(&mut disk, Patience::CHANGE), Ok("whole".to_owned()));
        assert_eq!(disk.waited, [700, 1000].map(Duration::from_millis));
        let mut rested = written(&[("whole", OLD)]);
        assert_eq!(text_after(&mut rested, Patience::CHANGE), Ok("whole".to_owned()));
        assert_eq!(rested.waited, [Duration::ZERO]);
    }

    #[test]
    fn an_empty_or_missing_file_counts_at_once() {
        for (state, patience) in
            ["", "gone"].into_iter().flat_map(|state| [(state, Patience::START), (state, Patience::CHANGE)])
        {
            let mut disk = written(&[(state, FRESH)]);
            assert_eq!(text_after(&mut disk, patience), Ok("nothing".to_owned()));
            assert_eq!(disk.waited, []);
        }
        let mut deleted = written(&[("whole", FRESH), ("gone", FRESH)]);
        assert_eq!(text(&mut deleted), Ok("nothing".to_owned()));
    }

    #[test]
    fn a_file_that_never_rests_is_not_read() {
        for patience in [Patience::START, Patience::CHANGE] {
            let mut disk = written(&[("busy", FRESH); 50]);
            assert_eq!(text_after(&mut disk, patience), Err(Fault::StillWritten));
            assert_eq!(disk.waited.len(), patience.rounds);
            assert!(disk.waited.iter().sum::<Duration>() <= Duration::from_secs(5));
        }
    }

    #[test]
    fn what_is_not_a_file_is_not_opened() {
        let mut disk = written(&[("pipe", OLD)]);
        assert_eq!(text(&mut disk), Err(Fault::Unreadable("it is not a file".to_owned())));
        assert_eq!(disk.waited, []);
    }

    #[test]
    fn a_pipe_put_in_place_of_the_file_is_refused_and_not_waited_for() {
        let keep = tempfile::tempdir().unwrap();
        let path = keep.path().join("f");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(OnDisk(&path).read().unwrap_err().to_string(), NOT_A_FILE);
        let mut swapped = written(&[("whole", FRESH), ("pipe", FRESH)]);
        assert_eq!(text(&mut swapped), Err(Fault::Unreadable(NOT_A_FILE.to_owned())));
    }

    #[test]
    fn an_old_modification_time_does_not_hide_a_fresh_copy() {
        let keep = tempfile::tempdir().unwrap();
        let path = keep.path().join("f");
        fs::write(&path, "x").unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(age(&fs::metadata(&path).unwrap()) < Duration::from_secs(3600));
        file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
        assert_eq!(age(&fs::metadata(&path).unwrap()), Duration::ZERO);
    }
}
