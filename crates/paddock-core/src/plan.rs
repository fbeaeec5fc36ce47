//! An operation as asked, and the plan it becomes once it is judged.

use std::ops::Range;
use std::sync::Arc;

use crate::alter::Alteration;
use crate::change::{ChangeSet, Expect, Looks};
use crate::edit::Replacement;
use crate::found::FoundList;
use crate::glob::PathGlob;
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::scope::OpKind;
use crate::store::{Kind, Meta, Version};
use crate::vfs::below;

/// What a tool asks for, in logical paths.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Bytes of a file.
    Read {
        /// The file.
        path: LogicalPath,
        /// Which bytes.
        range: Range<u64>,
    },
    /// What is below a directory.
    List(Browse),
    /// Files below a directory whose path matches.
    Find {
        /// Where and how much.
        browse: Browse,
        /// Which.
        glob: PathGlob,
    },
    /// Lines of files that match.
    Search {
        /// A directory, or one file.
        path: LogicalPath,
        /// What to look for.
        search: Search,
    },
    /// The content of a file becomes this.
    Write {
        /// The file.
        path: LogicalPath,
        /// All of its content.
        content: Vec<u8>,
        /// What must be true before.
        expect: Expect,
    },
    /// Text is added to the end of a file.
    Append {
        /// The file.
        path: LogicalPath,
        /// What is added.
        content: Vec<u8>,
    },
    /// Text in a file is replaced.
    Edit {
        /// The file.
        path: LogicalPath,
        /// The replacements, all or nothing.
        edits: Vec<Replacement>,
        /// What must be true before.
        expect: Expect,
    },
    /// A directory is made.
    MakeDir {
        /// The directory.
        path: LogicalPath,
    },
    /// A file or directory moves.
    Move {
        /// From here.
        from: LogicalPath,
        /// To here, where nothing may be.
        to: LogicalPath,
    },
    /// A file or directory goes.
    Delete {
        /// What goes.
        path: LogicalPath,
        /// With everything below it.
        recursive: bool,
    },
    /// Several changes as one.
    Alter {
        /// The path that stands for all of them.
        path: LogicalPath,
        /// Each change, in the order in which they are made.
        alterations: Vec<Alteration>,
    },
    /// What a command did, as one. Judged as [`Operation::Alter`]; what git itself puts into a repository is let through
    /// where it cannot make anything run.
    Commit {
        /// The directory that the command ran in.
        path: LogicalPath,
        /// Each change, in the order in which they are made.
        alterations: Vec<Alteration>,
    },
    /// What a fork or an overlay holds, taken over by a person, as one. An agent wrote it, so what git itself puts into a
    /// repository is looked at as in [`Operation::Commit`].
    TakeOver {
        /// The path that stands for all of them.
        path: LogicalPath,
        /// Each change, in the order in which they are made.
        alterations: Vec<Alteration>,
    },
}

impl Operation {
    /// The kind of operation on the (first) path.
    pub fn kind(&self) -> OpKind {
        match self {
            Self::Read { .. } => OpKind::Read,
            Self::List(_) => OpKind::List,
            Self::Find { .. } => OpKind::Find,
            Self::Search { .. } => OpKind::Search,
            Self::Write { .. } => OpKind::Write,
            Self::Append { .. } => OpKind::Append,
            Self::Edit { .. } => OpKind::Edit,
            Self::MakeDir { .. } => OpKind::MakeDir,
            Self::Move { .. } => OpKind::MoveFrom,
            Self::Delete { .. } => OpKind::Delete,
            Self::Alter { alterations, .. } | Self::Commit { alterations, .. } | Self::TakeOver { alterations, .. } => {
                alterations.first().map_or(OpKind::Write, |first| first.how.op())
            }
        }
    }

    /// The (first) path.
    pub fn path(&self) -> &LogicalPath {
        match self {
            Self::List(browse) | Self::Find { browse, .. } => &browse.path,
            Self::Read { path, .. }
            | Self::Search { path, .. }
            | Self::Write { path, .. }
            | Self::Append { path, .. }
            | Self::Edit { path, .. }
            | Self::Alter { path, .. }
            | Self::Commit { path, .. }
            | Self::TakeOver { path, .. }
            | Self::MakeDir { path }
            | Self::Move { from: path, .. }
            | Self::Delete { path, .. } => path,
        }
    }
}

/// Where to go through, and how much to bring back.
#[derive(Debug, Clone)]
pub struct Browse {
    /// The directory to start at.
    pub path: LogicalPath,
    /// How many levels below it; nothing for all.
    pub depth: Option<u32>,
    /// Leave out what `.gitignore` and `.ignore` files name, and `.git` itself.
    pub skip_ignored: bool,
    /// Only what comes after this path in tree order.
    pub after: Option<LogicalPath>,
    /// The most entries to bring back.
    pub limit: usize,
}

/// What to look for in contents.
#[derive(Debug, Clone)]
pub struct Search {
    /// A regular expression, matched line by line.
    pub pattern: String,
    /// Match without regard to case.
    pub ignore_case: bool,
    /// Only files whose path below the start matches.
    pub glob: Option<PathGlob>,
    /// Lines shown before and after each match.
    pub context: u32,
    /// The most matching lines to bring back.
    pub limit: usize,
    /// Leave out what `.gitignore` and `.ignore` files name, and `.git` itself.
    pub skip_ignored: bool,
    /// Only files that come after this path in tree order.
    pub after: Option<LogicalPath>,
}

/// What a plan will do to one path, for whoever has to judge the risk or is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The path, with every link resolved.
    pub path: LogicalPath,
    /// What happens to it.
    pub what: EffectKind,
    /// The version there when it was planned; never told for write-only places.
    pub before: Option<Version>,
    /// How many bytes were there; never told for write-only places.
    pub len: Option<u64>,
    /// What else is known of that, where somebody may have to bring it back without a row of its change.
    pub was: Option<Was>,
}

/// What was at a path when its change was planned, beside its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Was {
    /// What it was.
    pub kind: Kind,
    /// Its mode and time.
    pub looks: Looks,
}

impl Was {
    pub(crate) fn of(meta: &Meta) -> Self {
        Self { kind: meta.kind, looks: Looks { mode: meta.mode, modified: meta.modified } }
    }
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// It is made.
    Create,
    /// Its content is replaced.
    Replace,
    /// Something is added to it.
    Append,
    /// It is delivered to a write-only place: what was there is not known.
    Deliver,
    /// It is made as a directory.
    MakeDir,
    /// It goes elsewhere.
    MoveAway,
    /// It comes from elsewhere.
    MoveHere,
    /// It is removed.
    Delete,
    /// Its mode or time changes, its content stays.
    Dress,
}

/// An operation that was judged and may run once a Gate has let it pass.
#[derive(Debug)]
pub struct Plan {
    pub(crate) id: u64,
    pub(crate) vfs: u64,
    pub(crate) kind: OpKind,
    pub(crate) asked: LogicalPath,
    pub(crate) work: Work,
    pub(crate) effects: Vec<Effect>,
    pub(crate) lost: Vec<LogicalPath>,
    /// Is it what a command did?
    pub(crate) is_command: bool,
    /// What is remembered of it where calls are listed.
    pub(crate) note: String,
    /// Does nobody mean it who takes back the last call?
    pub(crate) is_aside: bool,
    /// The person whose own act it is.
    pub(crate) by: Option<Arc<str>>,
    /// What the act is called that it is the whole of.
    pub(crate) act: Option<Arc<str>>,
}

impl Plan {
    /// The kind of operation.
    pub fn kind(&self) -> OpKind {
        self.kind
    }

    /// What it is called where calls are listed.
    pub fn verb(&self) -> &str {
        match &self.act {
            Some(act) => act,
            None if self.is_command => "command",
            None => self.kind.verb(),
        }
    }

    /// The same by the name of a person's act: what takes a fork over is no "delete", whatever its first change is.
    #[must_use]
    pub fn called(mut self, act: &str) -> Self {
        self.act = Some(act.into());
        self
    }

    /// The path as it was asked for.
    pub fn path(&self) -> &LogicalPath {
        &self.asked
    }

    /// The same with a note for where calls are listed: of a command, its text and how it ended.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        note.clone_into(&mut self.note);
        self
    }

    /// The same as one that happened by the way: recorded, and not meant by who takes back the last call.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.is_aside = true;
        self
    }

    /// What is remembered of it where calls are listed.
    pub fn note(&self) -> Option<&str> {
        Some(self.note.as_str()).filter(|note| !note.is_empty())
    }

    /// The person whose own act it is; nothing for what an agent does.
    pub fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// Did it happen by the way?
    pub fn is_aside(&self) -> bool {
        self.is_aside
    }

    /// What will change, path by path; empty for what only looks.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// How many paths it touches, with everything that a directory takes along.
    pub fn paths(&self) -> usize {
        self.work.paths()
    }

    /// What it touches besides its effects: all that a directory takes along, at both ends.
    pub fn along(&self) -> impl Iterator<Item = LogicalPath> + '_ {
        self.work.along()
    }

    /// The paths of which nobody will have what they hold now, as far as that can be told before: with any, running the
    /// plan cannot be undone.
    pub fn lost(&self) -> &[LogicalPath] {
        &self.lost
    }
}

/// What running a plan means.
#[derive(Debug)]
pub(crate) enum Work {
    /// In the Workspace that was judged; what is below its prefix starts at this byte of the path.
    Read {
        workspace: usize,
        rel_from: usize,
        range: Range<u64>,
    },
    Browse {
        browse: Box<Browse>,
        glob: Option<Box<PathGlob>>,
    },
    Search(Box<Search>),
    /// One set for one Workspace.
    Change {
        workspace: usize,
        set: ChangeSet,
    },
    /// Several changes and moves of directories, one after the other.
    Parts(Vec<Work>),
    /// A directory within one Workspace: from one path to another.
    MoveDir {
        workspace: usize,
        from: (LogicalPath, RelPathBuf),
        to: (LogicalPath, RelPathBuf),
        /// What goes along, by its path before.
        along: Vec<RelPathBuf>,
    },
    /// From one Store to another: copied, then removed where it came from.
    Carry {
        from: usize,
        to: usize,
        /// The first step is of what was asked for, and these are its two ends.
        ends: (LogicalPath, LogicalPath),
        steps: Vec<CarryStep>,
    },
    /// Into a write-only Workspace; nothing comes back, not even that there was nothing to do.
    Deliver {
        workspace: usize,
        set: Option<ChangeSet>,
    },
}

impl Work {
    fn paths(&self) -> usize {
        match self {
            Self::Read { .. } | Self::Browse { .. } | Self::Search(_) => 0,
            Self::Change { set, .. } => set.changes().len(),
            Self::Parts(parts) => parts.iter().map(Self::paths).sum(),
            Self::MoveDir { along, .. } => along.len() + 1,
            Self::Carry { steps, .. } => steps.len(),
            Self::Deliver { .. } => 1,
        }
    }

    fn along(&self) -> Box<dyn Iterator<Item = LogicalPath> + '_> {
        let at_both = |inside: RelPath<'_>, from: &LogicalPath, to: &LogicalPath| [from.join(inside), to.join(inside)];
        match self {
            Self::Parts(parts) => Box::new(parts.iter().flat_map(Self::along)),
            Self::MoveDir { from, to, along, .. } => Box::new(
                along.iter().flat_map(move |rel| at_both(below(rel.as_rel(), from.1.as_rel()), &from.0, &to.0)),
            ),
            Self::Carry { ends, steps, .. } => {
                let dir = steps.first().map_or(RelPath::HERE, |first| first.from.as_rel());
                let inside = steps.iter().skip(1).map(move |step| below(step.from.as_rel(), dir));
                Box::new(inside.flat_map(move |inside| at_both(inside, &ends.0, &ends.1)))
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// One path that goes from one Store to another.
#[derive(Debug)]
pub(crate) struct CarryStep {
    pub(crate) from: RelPathBuf,
    pub(crate) to: RelPathBuf,
    pub(crate) kind: Kind,
    pub(crate) mode: Option<u32>,
}

/// What a plan brought back.
#[derive(Debug)]
pub enum Outcome {
    /// Bytes, and facts about the file they are from.
    Read {
        /// The bytes of the range.
        bytes: Vec<u8>,
        /// Facts about the file.
        meta: Meta,
    },
    /// Entries of a listing or a find.
    Entries(Entries),
    /// Lines of a search.
    Hits(Hits),
    /// What became of each change, in the order of [`Plan::effects`] for a single path.
    Changed {
        /// The version now there, for a single file.
        version: Option<Version>,
        /// Was it new?
        created: bool,
        /// How many replacements an edit made.
        replacements: usize,
        /// How many paths changed.
        paths: usize,
    },
    /// Delivered to a write-only Workspace, whatever that meant there.
    Accepted,
}

/// Entries in tree order.
#[derive(Debug, Default)]
pub struct Entries {
    /// What was found.
    pub found: FoundList,
    /// Is there more after the last one?
    pub more: bool,
    /// Workspaces that could not be looked into.
    pub unreachable: Vec<LogicalPath>,
}

/// Lines in tree order.
#[derive(Debug, Default)]
pub struct Hits {
    /// What was found; paths are logical.
    pub found: Vec<crate::store::Hit>,
    /// Are there more matches than were asked for?
    pub more: bool,
    /// Workspaces that could not be searched.
    pub unreachable: Vec<LogicalPath>,
}
