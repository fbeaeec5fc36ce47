//! Files that are written: created, opened, changed, closed. Each close one call.
//!
//! What is written stays in memory until the file is closed or synced, and then arrives in its Store whole, as one
//! change. A file that was created or emptied and not written yet waits for its last close: shells close a copy of the
//! descriptor first, and an empty version in between would be nobody's. Whoever uses the file system sees it meanwhile.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileHandle, FopenFlags, INodeNo};
use paddock_core::{
    AccessScope, Alter, Alteration, ErrorKind, Expect, Kind, LogicalPath, Looks, OpKind, Outcome, Refused, Rule,
    StoreError, Version,
};

use crate::acting::Author;
use crate::errno::{self, Result};
use crate::handles::{Handle, OpenFile};
use crate::held::{Based, Held, State, now};
use crate::nodes::{Node, lock};
use crate::notices::Notice;
use crate::served::{How, Others};
use crate::tree::{Tree, is};

/// How much is copied at once when a file is taken into memory.
const PIECE: u64 = 1 << 20;
/// The largest file that the kernel is given whole when it is opened: what it would read ahead at first.
const AHEAD: u64 = 128 << 10;
/// How often a file that changes while it is taken into memory is tried again.
const TRIES: usize = 4;

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) appends: bool,
    pub(crate) empties: bool,
    pub(crate) exclusive: bool,
}

/// What a program wants to be so besides the content.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) mode: Option<u32>,
    pub(crate) owner: (Option<u32>, Option<u32>),
    pub(crate) len: Option<u64>,
    pub(crate) modified: Option<SystemTime>,
}

impl Tree {
    /// Opens a file that is there.
    pub(crate) fn open(&self, ino: INodeNo, opening: Opening) -> Result<(FileHandle, FopenFlags)> {
        if self.how == How::ReadOnly {
            // The kernel then opens everything by itself, and keeps what it has read.
            return Err(if opening.writes { Errno::EROFS } else { Errno::ENOSYS });
        }
        let node = self.node(ino)?;
        let mut content = node.content();
        if let Some(path) = node.path().filter(|_| !content.as_ref().is_some_and(|held| held.is_new() || held.one_way))
        {
            if opening.reads {
                self.judge(OpKind::Read, &path)?;
            }
            if opening.writes {
                self.may_write(&path)?;
            }
            if opening.writes && self.is_write_only(&path) {
                // The kernel found it while an earlier one was being closed: it goes on as if it were made anew.
                *content = Some(self.one_way(0o644, opening)?);
            } else if opening.empties {
                let mode = self.seen(&path)?.mode.unwrap_or(0o644);
                *content = Some(Held::new(&self.room, mode, Based::Whole, State::Begun)?);
            } else if opening.reads && content.is_none() {
                self.give_ahead(&node, &path);
            }
        } else if opening.empties
            && let Some(held) = content.as_mut()
        {
            held.set_len(0)?;
        }
        // Before the content is let go: whoever opens it next must see that it is open.
        let fh = self.opened(Arc::clone(&node), opening, opening.empties);
        drop(content);
        Ok((fh, flags(opening)))
    }

    /// Gives the kernel a small file whole before it asks for it: one question less for each file that is read.
    ///
    /// Only of a file that nobody has open, while its content is locked: then no page of it waits for an answer of ours.
    /// And only where nobody else changes things: the kernel keeps what it is given.
    fn give_ahead(&self, node: &Node, path: &LogicalPath) {
        if self.others != Others::ChangeNothing || node.is_open() {
            return;
        }
        let Some((len, version)) = node.to_be_given().filter(|(len, _)| (1..=AHEAD).contains(len)) else { return };
        let Ok((bytes, meta)) = self.acting.read(path, 0..len) else { return };
        if (meta.len, meta.version) != (len, version) || bytes.len() as u64 != len {
            return;
        }
        let notices = lock(&self.notices).clone();
        if let Some(notices) = notices {
            notices.give(node.ino, &bytes);
        }
    }

    /// Creates a file. It is in the Store once it is closed.
    pub(crate) fn create(
        &self,
        path: &LogicalPath,
        mode: u32,
        opening: Opening,
    ) -> Result<(FileAttr, FileHandle, FopenFlags)> {
        if self.how == How::ReadOnly {
            return Err(Errno::EROFS);
        }
        let mut held = Held::new(&self.room, mode, Based::New { exclusive: opening.exclusive }, State::Begun)?;
        self.acting.plan(path, Alter::Take(held.staged()?)).map_err(|refused| errno::of(&refused))?;
        if self.is_write_only(path) {
            held = self.one_way(mode, opening)?;
        } else if opening.exclusive && self.others == Others::MayChange && self.acting.facts(path).is_ok() {
            // Somebody else was faster.
            return Err(Errno::EEXIST);
        }
        let node = self.nodes.looked_up(path, Kind::File);
        let fh = {
            // It is open before the content is let go: the last close of an earlier one, which the kernel tells late, would
            // take it away.
            let mut content = node.content();
            *content = Some(held);
            lock(&self.being_made).insert(node.ino, Arc::clone(&node));
            self.opened(Arc::clone(&node), opening, true)
        };
        self.touch_parent(path);
        match self.attributes(&node) {
            Ok(attributes) => Ok((attributes, fh, flags(opening))),
            Err(errno) => {
                let _ = self.release(fh);
                Err(errno)
            }
        }
    }

    /// What goes to a write-only Workspace, whatever is there.
    fn one_way(&self, mode: u32, opening: Opening) -> Result<Held> {
        let mut held = Held::new(&self.room, mode, Based::New { exclusive: false }, State::Begun)?;
        (held.one_way, held.appends) = (true, opening.appends);
        Ok(held)
    }

    fn opened(&self, node: Arc<Node>, opening: Opening, begins: bool) -> FileHandle {
        node.opens.fetch_add(1, Ordering::SeqCst);
        let Opening { writes, appends, .. } = opening;
        self.handles.open(Handle::File(OpenFile { node, writes, appends, begins }))
    }

    /// May what is at a path be written? What a command may do to a guarded name depends on the content; as far as that
    /// is not known yet, on there being any.
    pub(crate) fn may_write(&self, path: &LogicalPath) -> Result<()> {
        let decision = self.acting.judge(OpKind::Write, path);
        if self.how == How::Writable
            && self.acting.author == Author::Command
            && matches!(decision.rule(), Rule::Guarded(_))
        {
            let empty = Alter::Write { content: Vec::new(), mode: None };
            return self.acting.plan(path, empty).map_err(|refused| errno::of(&refused));
        }
        self.judge(OpKind::Write, path)
    }

    pub(crate) fn is_write_only(&self, path: &LogicalPath) -> bool {
        self.acting.workspace_of(path).is_some_and(|workspace| workspace.scope() == AccessScope::WriteOnly)
    }

    /// Writes into an open file.
    pub(crate) fn write(&self, fh: FileHandle, offset: u64, data: &[u8], from_cache: bool) -> Result<u32> {
        let handle = self.handles.get(fh)?;
        let Handle::File(OpenFile { node, writes: true, appends, .. }) = &*handle else { return Err(Errno::EBADF) };
        let mut content = node.content();
        let held = self.hold(node, &mut content, u64::MAX)?;
        // What a mapping left in the cache knows its place.
        let offset = if *appends && !from_cache { held.len() } else { offset };
        held.write(offset, data)?;
        u32::try_from(data.len()).map_err(|_| Errno::EFBIG)
    }

    /// Space for what will be written.
    pub(crate) fn allocate(&self, fh: FileHandle, end: u64) -> Result<()> {
        let handle = self.handles.get(fh)?;
        let Handle::File(OpenFile { node, writes: true, .. }) = &*handle else { return Err(Errno::EBADF) };
        let mut content = node.content();
        let held = self.hold(node, &mut content, u64::MAX)?;
        if end > held.len() { held.set_len(end) } else { Ok(()) }
    }

    /// The content of a file in memory, taken from the Store where that has another one; not more than is needed.
    fn hold<'c>(&self, node: &Node, content: &'c mut Option<Held>, needed: u64) -> Result<&'c mut Held> {
        let Some(path) = node.path() else { return content.as_mut().ok_or(Errno::ESTALE) };
        let is_current = match content.as_ref() {
            Some(Held { state: State::Kept, based: Based::On(version), .. }) => {
                self.acting.facts(&path).is_ok_and(|meta| meta.version == *version)
            }
            Some(held) => held.is_shown(),
            None => false,
        };
        if !is_current {
            *content = None;
            *content = Some(self.taken_in(&path, needed)?);
        }
        content.as_mut().ok_or(Errno::EIO)
    }

    /// A file of a Store in memory, all of one version.
    pub(crate) fn taken_in(&self, path: &LogicalPath, needed: u64) -> Result<Held> {
        'again: for _ in 0..TRIES {
            let meta = self.acting.facts(path).map_err(|refused| errno::of(&refused))?;
            if meta.kind != Kind::File {
                return Err(Errno::ESTALE);
            }
            let mut held = Held::new(&self.room, meta.mode.unwrap_or(0o644), Based::On(meta.version), State::Kept)?;
            let end = meta.len.min(needed);
            let mut at = 0;
            while at < end {
                let (bytes, now) =
                    self.acting.read(path, at..end.min(at + PIECE)).map_err(|refused| errno::of(&refused))?;
                if now.version != meta.version || bytes.is_empty() {
                    continue 'again;
                }
                held.fill(at, &bytes)?;
                at += bytes.len() as u64;
            }
            held.modified = meta.modified.unwrap_or(self.since);
            return Ok(held);
        }
        Err(Errno::ESTALE)
    }

    /// A descriptor is closed: what was written through it arrives. Another one may still be open.
    pub(crate) fn flush(&self, fh: FileHandle) -> Result<()> {
        let handle = self.handles.get(fh)?;
        let Handle::File(OpenFile { node, writes: true, .. }) = &*handle else { return Ok(()) };
        self.commit_node(node, |state| matches!(state, State::Written | State::Refused(_)))
    }

    /// What was written has to be in the Store now.
    pub(crate) fn sync(&self, fh: FileHandle) -> Result<()> {
        let handle = self.handles.get(fh)?;
        let Handle::File(OpenFile { node, .. }) = &*handle else { return Ok(()) };
        self.commit_node(node, |state| !matches!(state, State::Kept))
    }

    /// The last descriptor of an open is closed.
    pub(crate) fn release(&self, fh: FileHandle) -> Result<()> {
        let handle = self.handles.close(fh);
        let Some(Handle::File(OpenFile { node, writes, begins, .. })) = handle.as_deref() else { return Ok(()) };
        let done = if *writes || *begins {
            self.commit_node(node, |state| matches!(state, State::Begun | State::Written))
        } else {
            Ok(())
        };
        if node.opens.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.let_go(node);
        }
        done
    }

    /// Nobody has the file open any more: the Store alone has it.
    fn let_go(&self, node: &Node) {
        let mut content = node.content();
        if node.is_open() {
            return;
        }
        let lost = content.take().filter(Held::is_ahead);
        lock(&self.being_made).remove(&node.ino);
        let (Some(held), Some(path)) = (lost, node.path()) else { return };
        tracing::warn!(path = path.as_str(), "what was written could not be kept");
        if held.is_new() && self.nodes.at(&path).is_some_and(|there| there.ino == node.ino) {
            self.nodes.unlinked(&path);
        }
        self.forget_name(&path);
        self.notice(Notice::Content(node.ino));
    }

    fn commit_node(&self, node: &Node, wants: impl Fn(&State) -> bool) -> Result<()> {
        let _dirs_stay = self.dirs_stay.read().unwrap_or_else(PoisonError::into_inner);
        let mut content = node.content();
        match content.as_mut().filter(|held| wants(&held.state)) {
            Some(held) => self.commit(node, held),
            None => Ok(()),
        }
    }

    /// What is in memory arrives in the Store, as one call.
    pub(crate) fn commit(&self, node: &Node, held: &mut Held) -> Result<()> {
        if let State::Refused(why) = held.state {
            return Err(why);
        }
        let Some(path) = node.path() else {
            held.state = State::Kept;
            return Ok(());
        };
        match self.deliver(&path, held) {
            Ok(version) => {
                held.based = version.map_or(Based::Whole, Based::On);
                held.state = State::Kept;
                lock(&self.being_made).remove(&node.ino);
                if held.appends { held.is_added() } else { Ok(()) }
            }
            Err(refused) => {
                let why = match (errno::of(&refused), held.based) {
                    (e, Based::New { .. } | Based::On(_)) if is(e, Errno::EEXIST) || is(e, Errno::ENOENT) => {
                        Errno::ESTALE
                    }
                    (e, _) => e,
                };
                held.state = State::Refused(why);
                Err(why)
            }
        }
    }

    fn deliver(&self, path: &LogicalPath, held: &Held) -> std::result::Result<Option<Version>, Refused> {
        let broken = |why: Errno| Refused::Store {
            path: path.clone(),
            source: StoreError::caused_by(ErrorKind::Io, std::io::Error::from_raw_os_error(why.code())),
        };
        let outcome = if held.appends {
            let content = held.read(0, usize::try_from(held.len()).unwrap_or(usize::MAX)).map_err(broken)?;
            self.acting.append(path, content)?
        } else {
            let how = Alter::Take(held.staged().map_err(broken)?);
            self.acting.change(path, vec![Alteration { path: path.clone(), how, expect: held.expect() }])?
        };
        Ok(match outcome {
            Outcome::Changed { version, .. } => {
                version.or_else(|| self.acting.facts(path).ok().map(|meta| meta.version))
            }
            _ => None,
        })
    }

    /// Changes mode, length or time.
    pub(crate) fn set(&self, ino: INodeNo, fh: Option<FileHandle>, wanted: Wanted) -> Result<FileAttr> {
        let node = self.node(ino)?;
        let (uid, gid) = wanted.owner;
        if uid.is_some_and(|uid| uid != self.owner.0) || gid.is_some_and(|gid| gid != self.owner.1) {
            return Err(Errno::EPERM);
        }
        if self.how == How::ReadOnly {
            return Err(Errno::EROFS);
        }
        if let Some(len) = wanted.len {
            self.set_len(&node, fh, len)?;
        }
        if wanted.mode.is_some() || wanted.modified.is_some() {
            self.dress(&node, wanted)?;
        }
        self.attributes(&node)
    }

    fn set_len(&self, node: &Arc<Node>, fh: Option<FileHandle>, len: u64) -> Result<()> {
        if node.kind != Kind::File {
            return Err(Errno::EISDIR);
        }
        {
            let mut content = node.content();
            if let Some(path) = node.path().filter(|_| !content.as_ref().is_some_and(Held::is_shown)) {
                self.may_write(&path)?;
            }
            let held = self.hold(node, &mut content, len)?;
            held.set_len(len)?;
        }
        // With nobody who will close it, it is a call by itself.
        let will_be_closed = fh.is_some_and(|fh| {
            self.handles.get(fh).is_ok_and(|h| matches!(&*h, Handle::File(OpenFile { writes: true, .. })))
        });
        if will_be_closed {
            return Ok(());
        }
        let done = self.commit_node(node, |state| !matches!(state, State::Kept));
        if !node.is_open() {
            self.let_go(node);
        }
        done
    }

    fn dress(&self, node: &Node, wanted: Wanted) -> Result<()> {
        if node.kind == Kind::Link {
            // No Store keeps these of a link. What copies one sets its time all the same, and nobody goes by it.
            return self.judge(OpKind::Write, &node.path().ok_or(Errno::ESTALE)?);
        }
        let mut content = node.content();
        let mode = wanted.mode.map(|mode| mode & paddock_core::PLAIN_MODE);
        if let Some(held) = content.as_mut().filter(|held| held.is_shown() || node.path().is_none()) {
            // It arrives with the content.
            held.mode = mode.unwrap_or(held.mode);
            held.modified = wanted.modified.unwrap_or(held.modified);
            return Ok(());
        }
        let path = node.path().ok_or(Errno::ESTALE)?;
        let how = Alter::Dress(Looks { mode, modified: wanted.modified });
        let alteration = Alteration { path: path.clone(), how, expect: Expect::Any };
        self.acting.change(&path, vec![alteration]).map_err(|refused| errno::of(&refused))?;
        if let Some(held) = content.as_mut() {
            held.mode = mode.unwrap_or(held.mode);
            held.modified = wanted.modified.unwrap_or(held.modified);
        }
        Ok(())
    }

    /// Everything that was written and not closed arrives; serving is over.
    pub(crate) fn finish(&self) {
        for node in self.nodes.all().into_iter().chain(self.handles.nodes()) {
            if node.content().as_ref().is_some_and(|held| matches!(held.state, State::Begun | State::Written)) {
                let _ = self.commit_node(&node, |state| matches!(state, State::Begun | State::Written));
            }
        }
        *lock(&self.notices) = None;
    }

    /// A name in a directory changed through here.
    pub(crate) fn touch_parent(&self, path: &LogicalPath) {
        if let Some(dir) = path.parent().and_then(|dir| self.nodes.at(&dir)) {
            dir.touch(now());
        }
    }

    /// Has the kernel ask again for a name, and for the names in its directory.
    pub(crate) fn forget_name(&self, path: &LogicalPath) {
        if let (Some(dir), Some(name)) = (path.parent().and_then(|dir| self.nodes.at(&dir)), path.name()) {
            self.notice(Notice::Name(dir.ino, name.into()));
            self.notice(Notice::Content(dir.ino));
        }
    }

    /// A file that somebody has open is about to lose its name: they keep its content.
    pub(crate) fn keep_for_readers(&self, node: &Node, content: &mut Option<Held>, path: &LogicalPath) {
        if !node.is_open() || content.as_ref().is_some_and(Held::is_shown) {
            return;
        }
        match self.taken_in(path, u64::MAX) {
            Ok(held) => *content = Some(held),
            Err(why) => tracing::warn!(path = path.as_str(), ?why, "who has it open cannot keep it"),
        }
    }
}

fn flags(opening: Opening) -> FopenFlags {
    // What is read stays good: the kernel drops it when length or time change.
    let keep = FopenFlags::FOPEN_KEEP_CACHE;
    if opening.writes { keep } else { keep | FopenFlags::FOPEN_NOFLUSH }
}
