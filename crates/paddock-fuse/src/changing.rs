//! Names that change: directories, links, removals, renames. Each is one call.

use std::sync::{Arc, PoisonError};

use fuser::{Errno, FileAttr, RenameFlags};
use paddock_core::{Alter, Alteration, Expect, Kind, LogicalPath, Looks, Meta, OpKind};

use crate::errno::{self, Result};
use crate::held::{Based, Held, State};
use crate::nodes::{Node, lock};
use crate::served::How;
use crate::tree::{Tree, is};

/// The mode of a directory that a Store makes by itself.
const USUAL_DIR: u32 = 0o755;
/// The largest file that is copied where a Store cannot make two changes as one.
const COPIED: u64 = 64 << 20;

impl Tree {
    fn changes_nothing(&self) -> Result<()> {
        if self.how == How::ReadOnly { Err(Errno::EROFS) } else { Ok(()) }
    }

    fn change(&self, path: &LogicalPath, alterations: Vec<Alteration>) -> Result<()> {
        self.changes_nothing()?;
        self.acting.change(path, alterations).map(|_| ()).map_err(|refused| errno::of(&refused))
    }

    pub(crate) fn make_dir(&self, path: &LogicalPath, mode: u32) -> Result<FileAttr> {
        let mut alterations = vec![alteration(path, Alter::MakeDir, Expect::Absent)];
        let mode = mode & paddock_core::PLAIN_MODE;
        if mode != USUAL_DIR {
            let looks = Looks { mode: Some(mode), modified: None };
            alterations.push(alteration(path, Alter::Dress(looks), Expect::Any));
        }
        self.change(path, alterations)?;
        self.touch_parent(path);
        self.look_at(path)
    }

    pub(crate) fn make_link(&self, path: &LogicalPath, leads_to: &str) -> Result<FileAttr> {
        let how = Alter::Link { leads_to: leads_to.to_owned() };
        self.change(path, vec![alteration(path, how, Expect::Absent)])?;
        self.touch_parent(path);
        self.look_at(path)
    }

    /// A file that is made without being opened.
    pub(crate) fn make_file(&self, path: &LogicalPath, mode: u32) -> Result<FileAttr> {
        self.changes_nothing()?;
        let held = Held::new(&self.room, mode, Based::New { exclusive: true }, State::Begun)?;
        let expect = if self.is_write_only(path) { Expect::Any } else { Expect::Absent };
        self.change(path, vec![alteration(path, Alter::Take(held.staged()?), expect)])?;
        self.touch_parent(path);
        self.look_at(path)
    }

    pub(crate) fn unlink(&self, path: &LogicalPath) -> Result<()> {
        self.changes_nothing()?;
        let node = self.nodes.at(path);
        let mut content = node.as_ref().map(|node| node.content());
        if content.as_ref().is_some_and(|content| content.as_ref().is_some_and(Held::is_new)) {
            // It was never in the Store.
            self.judge(OpKind::Delete, path)?;
        } else {
            if let (Some(node), Some(content)) = (&node, &mut content) {
                self.keep_for_readers(node, content, path);
            }
            self.change(path, vec![alteration(path, Alter::Delete, Expect::Any)])?;
        }
        self.gone(path, node.as_deref());
        Ok(())
    }

    pub(crate) fn remove_dir(&self, path: &LogicalPath) -> Result<()> {
        self.changes_nothing()?;
        let making: Vec<LogicalPath> = lock(&self.being_made).values().filter_map(|node| node.path()).collect();
        if making.iter().any(|inside| inside.below(path).is_some()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.change(path, vec![alteration(path, Alter::Delete, Expect::Any)])?;
        self.gone(path, None);
        Ok(())
    }

    fn gone(&self, path: &LogicalPath, node: Option<&Node>) {
        if let Some(node) = node {
            lock(&self.being_made).remove(&node.ino);
        }
        self.nodes.unlinked(path);
        self.touch_parent(path);
    }

    /// Gives something another name, in the place of what has it.
    pub(crate) fn rename(&self, from: &LogicalPath, to: &LogicalPath, flags: RenameFlags) -> Result<()> {
        self.changes_nothing()?;
        if flags.intersects(RenameFlags::RENAME_EXCHANGE | RenameFlags::RENAME_WHITEOUT) {
            return Err(Errno::EINVAL);
        }
        let (source, dest) = (self.settled(from)?, self.nodes.at(to));
        let there = self.what_is_replaced(to, dest.as_deref())?;
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && there.is_some() {
            return Err(Errno::EEXIST);
        }
        if from == to {
            return Ok(());
        }
        let workspace = |path| self.acting.workspace_of(path).map(paddock_core::Workspace::prefix);
        if workspace(from) != workspace(to) {
            return Err(Errno::EXDEV);
        }
        match (source.kind, there.as_ref().and_then(|there| there.stored.as_ref()).map(|meta| meta.kind)) {
            (Kind::Dir, Some(Kind::Dir)) | (_, None) => {}
            (Kind::Dir, Some(_)) => return Err(Errno::ENOTDIR),
            (_, Some(Kind::Dir)) => return Err(Errno::EISDIR),
            _ => {}
        }
        self.move_over(from, to, &source, there.and_then(|there| there.stored).as_ref(), dest.as_ref())
    }

    fn move_over(
        &self,
        from: &LogicalPath,
        to: &LogicalPath,
        source: &Meta,
        there: Option<&Meta>,
        dest: Option<&Arc<Node>>,
    ) -> Result<()> {
        // Whoever commits below a directory must know where it is.
        let _dirs_move =
            (source.kind == Kind::Dir).then(|| self.dirs_stay.write().unwrap_or_else(PoisonError::into_inner));
        let moving = self.nodes.at(from).filter(|node| node.kind == Kind::File);
        let moving = moving.as_ref();
        let mut locked: Vec<(u64, &Node)> = moving.into_iter().chain(dest).map(|node| (node.ino, &**node)).collect();
        locked.sort_by_key(|(ino, _)| *ino);
        locked.dedup_by_key(|(ino, _)| *ino);
        let mut contents: Vec<_> = locked.iter().map(|(ino, node)| (*ino, node.content())).collect();
        if let (Some(dest), Some(_)) = (dest, there)
            && let Some((_, content)) = contents.iter_mut().find(|(ino, _)| *ino == dest.ino)
        {
            self.keep_for_readers(dest, content, to);
        }
        self.change(from, self.steps(from, to, source, there)?)?;
        drop(contents);
        if let Some(dest) = dest {
            lock(&self.being_made).remove(&dest.ino);
        }
        self.nodes.moved(from, to);
        self.touch_parent(from);
        self.touch_parent(to);
        Ok(())
    }

    /// The changes that a rename comes to. Where a Store cannot make several as one, a file that is replaced is never
    /// gone in between: the new content arrives in its place first, and leaves its old name then.
    fn steps(
        &self,
        from: &LogicalPath,
        to: &LogicalPath,
        source: &Meta,
        there: Option<&Meta>,
    ) -> Result<Vec<Alteration>> {
        let moves = alteration(from, Alter::Move { to: to.clone() }, Expect::Any);
        if there.is_none() {
            return Ok(vec![moves]);
        }
        let whole = self.acting.workspace_of(from).is_some_and(paddock_core::Workspace::is_atomic);
        let arrives = match source.kind {
            Kind::File if !whole && source.len <= COPIED => {
                let mut held = self.taken_in(from, u64::MAX)?;
                held.modified = source.modified.unwrap_or(held.modified);
                Alter::Take(held.staged()?)
            }
            Kind::Link if !whole => {
                Alter::Link { leads_to: self.acting.leads_to(from).map_err(|refused| errno::of(&refused))? }
            }
            _ => return Ok(vec![alteration(to, Alter::Delete, Expect::Any), moves]),
        };
        Ok(vec![alteration(to, arrives, Expect::Any), alteration(from, Alter::Delete, Expect::Any)])
    }

    /// What is to be renamed, as the Store has it: what is being written arrives first.
    fn settled(&self, path: &LogicalPath) -> Result<Meta> {
        if let Some(node) = self.nodes.at(path)
            && let Some(held) = node.content().as_mut().filter(|held| held.is_ahead())
        {
            self.commit(&node, held)?;
        }
        self.acting.facts(path).map_err(|refused| errno::of(&refused))
    }

    /// What has the name already.
    fn what_is_replaced(&self, path: &LogicalPath, node: Option<&Node>) -> Result<Option<Replaced>> {
        if node.is_some_and(|node| node.content().as_ref().is_some_and(Held::is_new)) {
            return Ok(Some(Replaced { stored: None }));
        }
        match self.acting.facts(path).map_err(|refused| errno::of(&refused)) {
            Ok(meta) => Ok(Some(Replaced { stored: Some(meta) })),
            Err(e) if is(e, Errno::ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// What a rename replaces; nothing where it is only being made.
struct Replaced {
    stored: Option<Meta>,
}

fn alteration(path: &LogicalPath, how: Alter, expect: Expect) -> Alteration {
    Alteration { path: path.clone(), how, expect }
}
