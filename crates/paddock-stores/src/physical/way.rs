//! The way of a path through the host: where it leads, and by which links.
//!
//! Both are found in one pass, name by name. Whoever refuses some of the links has then looked at those that were followed,
//! whatever stands there by now; and what was no link is never followed should it become one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

/// As many links as the kernel follows for one path.
const MOST_LINKS: usize = 40;

/// Where a path of the host leads.
#[derive(Debug, Default)]
pub struct Way {
    /// The path without any link in it, as far as it exists: the rest can be made later.
    pub end: PathBuf,
    /// The links that were followed, each in the directory that really holds it.
    pub links: Vec<PathBuf>,
    /// Why nothing can be at the end, nor be made there. What was found up to then is told all the same.
    pub obstacle: Option<io::Error>,
}

impl Way {
    /// The way to where something is or can be made.
    ///
    /// # Errors
    /// With the obstacle on it.
    pub fn to(path: &Path) -> io::Result<Self> {
        let mut way = Self::of(&std::path::absolute(path)?);
        match way.obstacle.take() {
            Some(obstacle) => Err(obstacle),
            None => Ok(way),
        }
    }

    /// Follows a path, which is absolute, to its end.
    pub fn of(path: &Path) -> Self {
        let mut way = Self::default();
        let mut ahead = steps(path);
        // How many steps are left when the last link has been followed.
        let mut behind = None;
        let mut exists = true;
        while let Some(step) = ahead.pop() {
            behind = behind.filter(|behind| ahead.len() >= *behind);
            let is_new = matches!(step, Step::Down(_)) && exists;
            match step {
                Step::Top => way.end = PathBuf::from("/"),
                Step::Up if exists => drop(way.end.pop()),
                Step::Up => way.stopped(Errno::NOENT.into()),
                Step::Down(name) => way.end.push(name),
            }
            if !is_new {
                continue;
            }
            match fs::read_link(&way.end) {
                Ok(_) if way.links.len() == MOST_LINKS => way.stopped(Errno::LOOP.into()),
                Ok(leads_to) => {
                    behind = behind.or(Some(ahead.len()));
                    ahead.extend(steps(&leads_to));
                    way.links.push(way.end.clone());
                    way.end.pop();
                }
                Err(error) if is(&error, Errno::INVAL) => {}
                Err(error) if is(&error, Errno::NOENT) => {
                    exists = false;
                    if behind.is_some() {
                        way.stopped(io::Error::new(error.kind(), "it is a link that leads nowhere"));
                    }
                }
                Err(error) => way.stopped(error),
            }
        }
        way
    }

    fn stopped(&mut self, why: io::Error) {
        self.obstacle.get_or_insert(why);
    }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    Errno::from_io_error(error) == Some(errno)
}

/// One step of a path.
enum Step {
    Top,
    Up,
    Down(OsString),
}

/// The steps of a path, the first of them last.
fn steps(path: &Path) -> Vec<Step> {
    let step = |part: Component<'_>| match part {
        Component::RootDir | Component::Prefix(_) => Some(Step::Top),
        Component::ParentDir => Some(Step::Up),
        Component::CurDir => None,
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory `real/in`, and links to it of every kind.
    fn ground() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/in")).unwrap();
        fs::write(top.join("real/file"), "").unwrap();
        symlink("real", top.join("relative")).unwrap();
        symlink(top.join("real/in"), top.join("absolute")).unwrap();
        symlink("absolute", top.join("twice")).unwrap();
        symlink("../relative/in", top.join("real/round")).unwrap();
        symlink("real/nowhere/deep", top.join("dangling")).unwrap();
        symlink("dangling", top.join("to-dangling")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        (dir, top)
    }

    #[test]
    fn a_path_leads_where_the_kernel_takes_it_and_every_link_is_told() {
        let (_dir, top) = ground();
        for (path, end, links) in [
            ("real/in", "real/in", &[][..]),
            ("./real/../real/in", "real/in", &[]),
            ("relative/in", "real/in", &["relative"]),
            ("absolute/../file", "real/file", &["absolute"]),
            ("twice", "real/in", &["twice", "absolute"]),
            ("relative/round", "real/in", &["relative", "real/round", "relative"]),
            ("real/new/deep", "real/new/deep", &[]),
            ("relative/new/deep", "real/new/deep", &["relative"]),
        ] {
            let way = Way::of(&top.join(path));
            assert_eq!(way.end, top.join(end), "{path}");
            assert_eq!(way.links, links.iter().map(|link| top.join(link)).collect::<Vec<_>>(), "{path}");
            assert!(way.obstacle.is_none(), "{path}: {way:?}");
            assert!(top.join(path).canonicalize().is_ok_and(|real| real == way.end) || !way.end.exists(), "{path}");
        }
    }

    #[test]
    fn why_nothing_can_be_at_its_end_is_told_with_what_was_followed() {
        let (_dir, top) = ground();
        for (path, why, links) in [
            ("loop", "symbolic link", 40),
            ("real/file/x", "Not a directory", 0),
            ("new/../real", "No such file", 0),
            ("relative/new/../in", "No such file", 1),
            // Nothing is made where such a link leads.
            ("dangling", "leads nowhere", 1),
            ("dangling/new", "leads nowhere", 1),
            ("to-dangling/new", "leads nowhere", 2),
        ] {
            let way = Way::of(&top.join(path));
            assert!(way.obstacle.as_ref().is_some_and(|found| found.to_string().contains(why)), "{path}: {way:?}");
            assert_eq!(way.links.len(), links, "{path}");
        }
        assert_eq!(Way::of(&top.join("dangling")).end, top.join("real/nowhere/deep"));
    }
}
