//! Listing a directory in pages: only one page of it is in memory, however many names there are.
//!
//! What the Store lists comes in order, so a page goes on after its last name. Files that are created and not yet in
//! the Store are put in their place.

use std::collections::BTreeMap;

use fuser::{Errno, FileType, INodeNo};
use paddock_core::{Kind, LogicalPath};

use crate::errno::{self, Result};
use crate::nodes::lock;
use crate::tree::Tree;

/// How many entries are asked for at once.
const PAGE: usize = 1024;
/// The number of an entry whose inode nobody looked up.
const UNKNOWN: u64 = 0xffff_ffff;
/// `.` and `..` come first.
const DOTS: u64 = 2;

/// How far a directory is listed.
pub(crate) struct Cursor {
    dir: LogicalPath,
    ino: INodeNo,
    /// The number of the first entry of the page.
    first: u64,
    page: Vec<(String, Kind)>,
    more: bool,
    begun: bool,
}

/// One entry, with the place after it.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) path: Option<LogicalPath>,
    pub(crate) ino: INodeNo,
    pub(crate) kind: FileType,
    pub(crate) next: u64,
}

impl Cursor {
    pub(crate) fn new(ino: INodeNo, dir: LogicalPath) -> Self {
        Self { dir, ino, first: 0, page: Vec::new(), more: true, begun: false }
    }

    /// Gives entries from a place on, until they are enough.
    pub(crate) fn list(
        &mut self,
        tree: &Tree,
        offset: u64,
        mut enough: impl FnMut(Listed) -> Result<bool>,
    ) -> Result<()> {
        if offset == 0 {
            // A listing that starts again shows what is there now.
            *self = Self::new(self.ino, self.dir.clone());
        }
        for at in offset.. {
            let listed = if at < DOTS { Some(self.dot(at)) } else { self.entry(tree, at - DOTS)? };
            let Some(listed) = listed else { break };
            if enough(listed)? {
                break;
            }
        }
        Ok(())
    }

    fn dot(&self, at: u64) -> Listed {
        let name = if at == 0 { "." } else { ".." };
        Listed { name: name.to_owned(), path: None, ino: self.ino, kind: FileType::Directory, next: at + 1 }
    }

    fn entry(&mut self, tree: &Tree, number: u64) -> Result<Option<Listed>> {
        if number < self.first {
            *self = Self::new(self.ino, self.dir.clone());
        }
        while number >= self.first + self.page.len() as u64 {
            if !self.more {
                return Ok(None);
            }
            self.turn(tree)?;
        }
        let index = usize::try_from(number - self.first).map_err(|_| Errno::EINVAL)?;
        let Some((name, kind)) = self.page.get(index) else { return Ok(None) };
        let path = LogicalPath::parse(name, &self.dir).map_err(|e| errno::of_path(&e))?;
        let ino = tree.nodes.at(&path).map_or(UNKNOWN, |node| node.ino);
        let next = number + DOTS + 1;
        Ok(Some(Listed { name: name.clone(), path: Some(path), ino: INodeNo(ino), kind: shown(*kind), next }))
    }

    /// Gets the page after this one.
    fn turn(&mut self, tree: &Tree) -> Result<()> {
        let last = self.page.last().map(|(name, _)| name.clone()).filter(|_| self.begun);
        let after = last.as_ref().map(|name| LogicalPath::parse(name, &self.dir)).transpose();
        let after = after.map_err(|e| errno::of_path(&e))?;
        let entries = tree.acting.list(&self.dir, after, PAGE).map_err(|refused| errno::of(&refused))?;
        let plain = entries.found.iter().filter(|found| found.plain);
        let named = plain.filter_map(|found| Some((found.path.rsplit_once('/')?.1.to_owned(), found.kind)));
        let mut page: BTreeMap<String, Kind> = named.collect();
        let until = page.last_key_value().map(|(name, _)| name.clone()).filter(|_| entries.more);
        for name in tree.new_in(&self.dir) {
            let on_this_page =
                last.as_ref().is_none_or(|last| name > *last) && until.as_ref().is_none_or(|u| name <= *u);
            if on_this_page {
                page.entry(name).or_insert(Kind::File);
            }
        }
        self.first += self.page.len() as u64;
        self.page = page.into_iter().collect();
        (self.more, self.begun) = (entries.more, true);
        Ok(())
    }
}

impl Tree {
    /// Names in a directory that are being written and not in the Store yet.
    fn new_in(&self, dir: &LogicalPath) -> Vec<String> {
        let paths: Vec<LogicalPath> = lock(&self.being_made).values().filter_map(|node| node.path()).collect();
        let here = paths.iter().filter(|path| path.parent().as_ref() == Some(dir));
        here.filter_map(|path| path.name().map(str::to_owned)).collect()
    }
}

fn shown(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Dir => FileType::Directory,
        Kind::Link => FileType::Symlink,
        Kind::Special => FileType::Socket,
    }
}
