//! What is coming in: checked name by name, kept aside, and put into the Workspace as one call.
//!
//! Contents wait in memory while they are few, then in files that have no name, so that nothing is left behind when the process
//! dies. They are never waited for by a Store: the call begins when all of them are there.

use std::io::{Read, Write as _};
use std::time::SystemTime;

use paddock_core::{
    Alter, Alteration, Expect, Kind, LogicalPath, Looks, Meta, OpKind, Operation, PLAIN_MODE, RelPathBuf, Staged,
    visible,
};
use paddock_tools::Person;

use super::{Import, Imported, Limits};
use crate::error::{ProjectError, Result};
use crate::host::{self, Scratch};
use crate::left_out::{LeftOut, WhyLeft};
use crate::names::{self, Stands, Taken};
use crate::progress::Meter;
use crate::source::Source;

/// A content up to this length waits in memory, as long as there is room.
const SMALL: u64 = 64 * 1024;
/// How much waits in memory before files are used.
const MEMORY: u64 = 64 * 1024 * 1024;
/// How much waits in memory where no more files can be opened.
const MEMORY_AT_MOST: u64 = 512 * 1024 * 1024;
/// How much of a larger content is read at once.
const PIECE: u64 = 1024 * 1024;
/// The largest text that a link holds.
const LONGEST_LINK: usize = 4096;
/// A directory that nobody says more about.
const PLAIN_DIR: u32 = 0o755;

/// Files that nobody says more about.
const PLAIN_FILES: [u32; 2] = [0o644, 0o755];

/// What is coming in.
pub(crate) struct Incoming<'a> {
    scratch: &'a Scratch,
    limits: Limits,
    taken: Taken,
    entries: Vec<(RelPathBuf, What)>,
    count: u64,
    bytes: u64,
    in_memory: u64,
    files_left: usize,
    left_out: LeftOut,
}

enum What {
    Dir { mode: u32 },
    File { content: Content, mode: u32 },
    Link { leads_to: String },
}

enum Content {
    Memory(Vec<u8>),
    Staged(Staged),
}

impl<'a> Incoming<'a> {
    pub(crate) fn new(scratch: &'a Scratch, limits: Limits) -> Self {
        Self {
            scratch,
            limits,
            taken: Taken::default(),
            entries: Vec::new(),
            count: 0,
            bytes: 0,
            in_memory: 0,
            files_left: host::open_files(),
            left_out: LeftOut::default(),
        }
    }

    pub(crate) fn left_out(&mut self) -> &mut LeftOut {
        &mut self.left_out
    }

    /// Refuses before it is read what says itself that it is too much.
    pub(crate) fn announce(&self, entries: u64, bytes: u64) -> Result<()> {
        if entries > self.limits.entries {
            return Err(ProjectError::TooMuch { what: "the number of its files", limit: self.limits.entries });
        }
        if bytes > self.limits.bytes {
            return Err(ProjectError::TooMuch { what: "its size in bytes", limit: self.limits.bytes });
        }
        Ok(())
    }

    fn accept(&mut self, name: &str, stands: Stands) -> Result<RelPathBuf> {
        let path = names::parse(name)?;
        self.taken.take(path.as_str(), stands)?;
        self.count += 1;
        self.announce(self.count, self.bytes)?;
        Ok(path)
    }

    /// A directory.
    pub(crate) fn dir(&mut self, name: &str, mode: Option<u32>) -> Result<()> {
        let path = self.accept(name, Stands::Dir)?;
        // Its owner can always go on working in it.
        let mode = mode.map_or(PLAIN_DIR, |mode| mode & PLAIN_MODE | 0o700);
        self.entries.push((path, What::Dir { mode }));
        Ok(())
    }

    /// A link that stays inside.
    pub(crate) fn link(&mut self, name: &str, leads_to: &str) -> Result<()> {
        let path = self.accept(name, Stands::Other)?;
        stays_inside(&path, leads_to)?;
        self.entries.push((path, What::Link { leads_to: leads_to.to_owned() }));
        Ok(())
    }

    /// A file, read to its end. All bytes so far may not be more than `ceiling`, beside the limits.
    pub(crate) fn file(
        &mut self,
        name: &str,
        mode: Option<u32>,
        content: &mut Pieces<'_, '_>,
        ceiling: u64,
    ) -> Result<()> {
        let path = self.accept(name, Stands::Other)?;
        content.meter.at(name)?;
        let mode = mode.map_or(0o644, |mode| mode & PLAIN_MODE | 0o400);
        let kept = self.keep(name, content, mode, ceiling)?;
        content.meter.files += 1;
        self.entries.push((path, What::File { content: kept, mode }));
        Ok(())
    }

    fn keep(&mut self, name: &str, from: &mut Pieces<'_, '_>, mode: u32, ceiling: u64) -> Result<Content> {
        let mut piece = self.next(name, from, SMALL, ceiling)?;
        let is_small = (piece.len() as u64) < SMALL;
        if is_small && (self.in_memory < MEMORY || self.files_left == 0) {
            self.remember(piece.len())?;
            return Ok(Content::Memory(piece));
        }
        if self.files_left == 0 {
            return self.keep_in_memory(name, from, piece, ceiling).map(Content::Memory);
        }
        self.files_left -= 1;
        let mut file = self.scratch.file()?;
        let mut len = 0;
        while !piece.is_empty() {
            file.write_all(&piece).map_err(ProjectError::Scratch)?;
            len += piece.len() as u64;
            piece = self.next(name, from, PIECE, ceiling)?;
        }
        Ok(Content::Staged(Staged::new(file, len, mode, SystemTime::now())))
    }

    fn keep_in_memory(
        &mut self,
        name: &str,
        from: &mut Pieces<'_, '_>,
        first: Vec<u8>,
        ceiling: u64,
    ) -> Result<Vec<u8>> {
        self.remember(first.len())?;
        let mut all = first;
        loop {
            let piece = self.next(name, from, PIECE, ceiling)?;
            if piece.is_empty() {
                return Ok(all);
            }
            self.remember(piece.len())?;
            all.extend_from_slice(&piece);
        }
    }

    /// The next piece of a content, counted.
    fn next(&mut self, name: &str, from: &mut Pieces<'_, '_>, most: u64, ceiling: u64) -> Result<Vec<u8>> {
        let mut piece = Vec::new();
        let unreadable =
            |error| ProjectError::Damaged { what: "a whole", why: format!("\"{}\": {error}", visible(name)) };
        from.content.take(most).read_to_end(&mut piece).map_err(unreadable)?;
        self.bytes += piece.len() as u64;
        self.announce(self.count, self.bytes)?;
        if self.bytes > ceiling {
            let what = "how many times its content is larger than the archive";
            return Err(ProjectError::TooMuch { what, limit: self.limits.ratio });
        }
        from.meter.advance(name, piece.len())?;
        Ok(piece)
    }

    fn remember(&mut self, bytes: usize) -> Result<()> {
        self.in_memory += bytes as u64;
        if self.in_memory > MEMORY_AT_MOST {
            return Err(ProjectError::TooMuch { what: "what has to wait in memory, in bytes,", limit: MEMORY_AT_MOST });
        }
        Ok(())
    }

    /// Takes away the one directory that everything is in, where there is one.
    pub(crate) fn unwrap(&mut self) -> Result<()> {
        let first = |path: &RelPathBuf| path.as_rel().names().next().map(str::to_owned);
        let Some(outer) = self.entries.first().and_then(|(path, _)| first(path)) else { return Ok(()) };
        let holds_all = self.entries.iter().all(|(path, what)| {
            first(path).as_ref() == Some(&outer) && (path.as_str() != outer || matches!(what, What::Dir { .. }))
        });
        if !holds_all {
            return Ok(());
        }
        let mut entries = Vec::with_capacity(self.entries.len());
        for (path, what) in self.entries.drain(..).filter(|(path, _)| path.as_str() != outer) {
            let path = names::parse(path.as_str().get(outer.len() + 1..).unwrap_or_default())?;
            if let What::Link { leads_to } = &what {
                stays_inside(&path, leads_to)?;
            }
            entries.push((path, what));
        }
        self.entries = entries;
        Ok(())
    }

    /// Puts everything into the Workspace, as one call under this name.
    pub(crate) fn settle(
        mut self,
        person: &Person<'_>,
        command: &str,
        path: &LogicalPath,
        import: Import,
    ) -> Result<Imported> {
        let there = Source::at(person, path)?;
        let is_new = is_new(&there, path, import)?;
        self.refuse_denied(person, path, import.leave_out_denied)?;
        let mut arrival = Arrival::new(&there, path, &self);
        if is_new && !there.is_whole_workspace() {
            arrival.add("", Alter::MakeDir, Expect::Any);
        }
        let looks_there = import.merge && !is_new;
        for (path, what) in self.entries {
            let meta = if looks_there { there.stat(path.as_str())? } else { None };
            arrival.entry(path.as_str(), what, meta.as_ref())?;
        }
        arrival.make(person, command)
    }

    /// What the Workspace does not let be written: all of it is told at once.
    fn refuse_denied(&mut self, person: &Person<'_>, place: &LogicalPath, leave_out: bool) -> Result<()> {
        let is_denied = |path: &RelPathBuf, what: &What| {
            let op = if matches!(what, What::Dir { .. }) { OpKind::MakeDir } else { OpKind::Write };
            !person.vfs().judge(op, &place.join(path.as_rel())).allowed()
        };
        let (denied, allowed): (Vec<_>, Vec<_>) =
            self.entries.drain(..).partition(|(path, what)| is_denied(path, what));
        self.entries = allowed;
        if !leave_out && !denied.is_empty() {
            let paths = denied.iter().map(|(path, _)| place.join(path.as_rel())).collect();
            return Err(ProjectError::Denied { paths });
        }
        for (path, _) in denied {
            self.left_out.add(path.as_str(), WhyLeft::Denied);
        }
        Ok(())
    }
}

/// Is nothing there yet? What is there and cannot be added to is refused.
pub(super) fn is_new(there: &Source<'_>, path: &LogicalPath, import: Import) -> Result<bool> {
    match there.stat("")?.map(|meta| meta.kind) {
        None => Ok(true),
        Some(Kind::Dir) if import.merge || there.is_empty()? => Ok(false),
        Some(Kind::Dir) => Err(ProjectError::NotEmpty { path: path.clone() }),
        Some(_) => Err(ProjectError::InTheWay { path: path.clone(), is: "no directory" }),
    }
}

/// A content that is read piece by piece while somebody watches.
pub(crate) struct Pieces<'r, 'w> {
    pub(crate) content: &'r mut dyn Read,
    pub(crate) meter: &'r mut Meter<'w>,
}

fn stays_inside(path: &RelPathBuf, leads_to: &str) -> Result<()> {
    let dir = path.as_rel().split_last().map_or("", |(dir, _)| dir.as_str());
    if leads_to.len() > LONGEST_LINK || names::link_leads(dir, leads_to).is_none() {
        return Err(ProjectError::LinkLeaves { name: path.as_str().to_owned() });
    }
    Ok(())
}

/// What the call will change.
struct Arrival<'a> {
    source: &'a Source<'a>,
    alterations: Vec<Alteration>,
    /// Directories that look different from what they are made as; done last, since one may not let itself be written to.
    dressed: Vec<Alteration>,
    told: Imported,
}

impl<'a> Arrival<'a> {
    fn new(source: &'a Source<'a>, path: &LogicalPath, incoming: &Incoming<'_>) -> Self {
        let told = Imported {
            path: path.as_str().to_owned(),
            call: String::new(),
            files: 0,
            links: 0,
            directories: 0,
            bytes: 0,
            replaced: 0,
            left_out: incoming.left_out.clone(),
        };
        Self { source, alterations: Vec::new(), dressed: Vec::new(), told }
    }

    fn add(&mut self, path: &str, how: Alter, expect: Expect) {
        self.alterations.push(Alteration { path: self.source.logical(path), how, expect });
    }

    fn entry(&mut self, path: &str, what: What, there: Option<&Meta>) -> Result<()> {
        let kind = there.map(|meta| meta.kind);
        let expect = there.map_or(Expect::Absent, |meta| Expect::Is(meta.version));
        let in_the_way = |is| Err(ProjectError::InTheWay { path: self.source.logical(path), is });
        match (&what, kind) {
            (What::Dir { .. }, None | Some(Kind::Dir)) | (_, None | Some(Kind::File | Kind::Link)) => {}
            (_, Some(Kind::Dir)) => return in_the_way("a directory"),
            (_, Some(_)) => return in_the_way("no directory"),
        }
        if matches!((&what, kind), (What::Dir { .. }, Some(Kind::File | Kind::Link))) {
            return in_the_way("no directory");
        }
        self.told.replaced += u64::from(matches!(kind, Some(Kind::File | Kind::Link)));
        match what {
            What::Dir { mode } => self.dir(path, mode, kind.is_none()),
            What::Link { leads_to } => {
                self.told.links += 1;
                self.add(path, Alter::Link { leads_to }, expect);
            }
            What::File { content, mode } => {
                self.told.files += 1;
                self.told.bytes += content.len();
                self.file(path, content, mode, kind, expect)?;
            }
        }
        Ok(())
    }

    fn dir(&mut self, path: &str, mode: u32, is_new: bool) {
        self.told.directories += 1;
        self.add(path, Alter::MakeDir, Expect::Any);
        if is_new && mode != PLAIN_DIR {
            let looks = Looks { mode: Some(mode), modified: None };
            let path = self.source.logical(path);
            self.dressed.push(Alteration { path, how: Alter::Dress(looks), expect: Expect::Any });
        }
    }

    fn file(&mut self, path: &str, content: Content, mode: u32, there: Option<Kind>, expect: Expect) -> Result<()> {
        match (content, there) {
            (Content::Memory(content), None) => {
                self.add(path, Alter::Write { content, mode: Some(mode) }, expect);
                // The host takes bits off a new file that its user does not want; what is not plain is meant.
                if !PLAIN_FILES.contains(&mode) {
                    self.add(path, Alter::Dress(Looks { mode: Some(mode), modified: None }), Expect::Any);
                }
            }
            // What replaces something arrives whole: as content it would keep the mode of what was there, or be written through a link.
            (Content::Memory(content), Some(_)) => {
                let file = host::memory_file(&content).map_err(ProjectError::Scratch)?;
                let staged = Staged::new(file, content.len() as u64, mode, SystemTime::now());
                self.add(path, Alter::Take(staged), expect);
            }
            (Content::Staged(staged), _) => self.add(path, Alter::Take(staged), expect),
        }
        Ok(())
    }

    /// Makes everything, or takes back what was made.
    fn make(mut self, person: &Person<'_>, command: &str) -> Result<Imported> {
        self.alterations.extend(self.dressed.drain(..).rev());
        if self.alterations.is_empty() {
            return Err(ProjectError::Damaged { what: "a project", why: "it holds nothing".to_owned() });
        }
        let call = person.call();
        let operation = Operation::Alter { path: self.source.logical(""), alterations: self.alterations };
        match person.act(command, &call, operation) {
            Ok(acted) => {
                self.told.call = acted.call.to_string();
                Ok(self.told)
            }
            Err(refused) => match person.take_back(call.id) {
                Ok(true) => Err(ProjectError::Refused(refused)),
                _ => Err(ProjectError::HalfWay { call: call.id.to_string(), source: refused }),
            },
        }
    }
}

impl Content {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Staged(staged) => staged.len(),
        }
    }
}
