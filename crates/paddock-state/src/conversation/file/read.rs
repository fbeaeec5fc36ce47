//! Reading a conversation that somebody else may be writing.
//!
//! Under the lock only the events are read and the base is opened: both short, however long the history. What is confirmed stays as
//! it is behind an open descriptor, so the long part of the reading needs no lock and no more memory than a line.

use std::path::{Path, PathBuf};

use super::layer::{Files, Lock, OneFile};
use super::lines::{Backwards, Flaw, FromEnd, Lines, Read, missing};
use super::{LEFT, Mark, Paths, is_folded_mark};
use crate::TurnId;
use crate::conversation::fold::{Fate, Folding};
use crate::conversation::line::Frame;
use crate::conversation::{ConversationError, Message, MessageEvent, MissingMessage, Notice, OpenTurn};

type Result<T> = std::result::Result<T, ConversationError>;

/// The events of a turn that is not over.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) turn: TurnId,
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
    pub(super) events: Vec<MessageEvent>,
}

/// What the events' file holds.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// How far the base goes. Nothing where no turn was folded yet, or by a Paddock of before.
    pub(super) mark: Option<Mark>,
    pub(super) pending: Option<Pending>,
    /// How many good lines there are.
    pub(super) lines: u64,
    /// How long the good part is.
    pub(super) len: u64,
    /// What stands behind it.
    pub(super) torn: Option<Flaw>,
}

/// How the base ends, seen from the events.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The base holds the events already, and they were not cleared yet, or that did not last.
    Folded,
    /// What is confirmed ends here, with that line. What follows was being added.
    Ends { at: u64, last: Option<Frame> },
}

/// A conversation as it was at one moment.
pub(crate) struct Snapshot<F> {
    base: F,
    base_path: PathBuf,
    /// How much of the base counts.
    base_len: u64,
    pending: Option<Pending>,
    notices: Vec<Notice>,
}

/// Takes the moment.
pub(crate) fn snapshot<S: Files>(files: &S, paths: &Paths) -> Result<Snapshot<S::File>> {
    let told = |path: &Path| {
        let path = path.to_owned();
        move |error| ConversationError::io(path, error)
    };
    let events_file = locked_events(files, paths)?;
    let read = events(&events_file, &paths.events);
    let base = present(files.open(&paths.base), &paths.base);
    let standing = match (&read, &base) {
        (Ok(read), Ok(base)) => Some(standing(base, &paths.base, read)),
        _ => None,
    };
    events_file.unlock().map_err(told(&paths.events))?;
    let (read, base) = (read?, base?);
    let notices =
        read.torn.iter().map(|flaw| Notice::TornTail { line: flaw.line, file: paths.events.clone() }).collect();
    let (base_len, pending) = match standing.transpose()? {
        Some(Standing::Ends { at, .. }) => (at, read.pending),
        Some(Standing::Folded) | None => (base.len().map_err(told(&paths.base))?, None),
    };
    Ok(Snapshot { base, base_path: paths.base.clone(), base_len, pending, notices })
}

/// The events, held still. A repair puts another file in their place: who had opened the one before would hold that one still.
fn locked_events<S: Files>(files: &S, paths: &Paths) -> Result<S::File> {
    let told = |error| ConversationError::io(&paths.events, error);
    loop {
        let events = present(files.open(&paths.events), &paths.events)?;
        events.lock(Lock::Shared).map_err(told)?;
        if files.is_at(&events, &paths.events).map_err(told)? {
            return Ok(events);
        }
    }
}

/// A file that every conversation has from its beginning on: where there is none, it was lost, and must not be made anew.
pub(super) fn present<F>(opened: std::io::Result<F>, path: &Path) -> Result<F> {
    opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ConversationError::MissingFile(path.to_owned()),
        _ => ConversationError::io(path, error),
    })
}

/// Copies a conversation that somebody may be writing, as it is at one moment, over what stands in `to`.
pub(crate) fn copy<S: Files>(files: &S, from: &Paths, to: &Paths) -> Result<()> {
    let told = |path: &Path| {
        let path = path.to_owned();
        move |error| ConversationError::io(path, error)
    };
    let events = locked_events(files, from)?;
    // What stands behind an open descriptor stays as it is; only the two together have to be of one moment.
    let taken = whole(&events).map_err(told(&from.events)).and_then(|events| {
        let base = present(files.open(&from.base), &from.base)?;
        let len = base.len().map_err(told(&from.base))?;
        Ok((events, base, len))
    });
    events.unlock().map_err(told(&from.events))?;
    let (events, base, len) = taken?;
    let copied = files.create(&to.base, true).and_then(|copy| pour(&base, len, &copy));
    copied.map_err(told(&to.base))?;
    let copied = files.create(&to.events, true).and_then(|copy| {
        copy.write_at(&events, 0)?;
        copy.sync()
    });
    copied.map_err(told(&to.events))
}

fn whole<F: OneFile>(file: &F) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

pub(super) fn pour<F: OneFile>(from: &F, len: u64, to: &F) -> std::io::Result<()> {
    const BLOCK: u64 = 256 * 1024;
    let (mut at, mut block) = (0, Vec::new());
    while at < len {
        block.resize(usize::try_from((len - at).min(BLOCK)).unwrap_or(usize::MAX), 0);
        let read = from.read_at(&mut block, at)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        to.write_at(&block[..read], at)?;
        at += read as u64;
    }
    to.sync()
}

/// What is confirmed, as far as `base_len`, and events after it that may be in no file yet.
pub(super) fn snapshot_of<S: Files>(
    files: &S,
    paths: &Paths,
    base_len: u64,
    pending: Pending,
) -> Result<Snapshot<S::File>> {
    let base = present(files.open(&paths.base), &paths.base)?;
    let base_path = paths.base.clone();
    Ok(Snapshot { base, base_path, base_len, pending: Some(pending), notices: Vec::new() })
}

/// All events of the file.
pub(super) fn events<F: OneFile>(file: &F, path: &Path) -> Result<Events> {
    let told = |error| ConversationError::io(path, error);
    let len = file.len().map_err(told)?;
    // No event is as short: they were being cleared.
    let mut lines = Lines::new(file, if len == LEFT { 0 } else { len });
    let mut found = Events::default();
    loop {
        found.len = lines.given();
        match lines.read().map_err(told)? {
            Read::Line(text, frame) => {
                found.take(text, &frame).map_err(|reason| damaged(path, frame.line, reason))?;
            }
            Read::Flaw(flaw) if flaw.is_torn => {
                found.torn = Some(flaw);
                return Ok(found);
            }
            // The mark comes to last with the event behind it, which says as well where the base ended.
            Read::Flaw(flaw) if flaw.line == 1 && flaw.has_hole => {}
            Read::Flaw(flaw) => return Err(damaged(path, flaw.line, flaw.reason)),
            Read::End => return Ok(found),
        }
        found.lines += 1;
    }
}

impl Events {
    /// Takes a line that is as it was written; says what else is wrong with it.
    fn take(&mut self, text: &str, frame: &Frame) -> std::result::Result<(), String> {
        if is_folded_mark(text) {
            self.mark = Some(Mark::read(text, frame)?);
            return Ok(());
        }
        let event = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let before = self.pending.as_ref().map(|pending| pending.last_seq).or(self.mark.as_ref().map(|mark| mark.seq));
        if let Some(before) = before.filter(|before| before + 1 != frame.seq) {
            return Err(format!("it holds event {} after event {before}", frame.seq));
        }
        let (first_seq, turn) = (frame.seq, frame.turn.clone());
        let new = || Pending { turn, first_seq, last_seq: first_seq, events: Vec::new() };
        let pending = self.pending.get_or_insert_with(new);
        if pending.turn != frame.turn {
            return Err(format!("it belongs to turn \"{}\" in the middle of turn \"{}\"", frame.turn, pending.turn));
        }
        pending.last_seq = frame.seq;
        pending.events.push(event);
        Ok(())
    }
}

/// Where what is confirmed ends, given the events after it. Reads from the end, no further than the turn that was being added.
pub(super) fn standing<F: OneFile>(base: &F, path: &Path, events: &Events) -> Result<Standing> {
    let told = |error| ConversationError::io(path, error);
    let mut lines = Backwards::new(base).map_err(told)?;
    let last = lines.read().map_err(told)?;
    let Some(pending) = &events.pending else { return at_rest(base, path, last, events.mark.as_ref()) };
    if let Some((text, frame)) = last.as_ref().and_then(FromEnd::opened)
        && is_folded_mark(text)
        && frame.seq >= pending.last_seq
    {
        return Ok(Standing::Folded);
    }
    let mut added = Added::none_of(pending);
    let mut line = last;
    while let Some(found) = line {
        match found.opened() {
            Some((_, frame)) if frame.seq < pending.first_seq => return added.behind(path, found.ends, Some(frame)),
            opened => added.meet(opened.map(|(_, frame)| frame)),
        }
        line = lines.read().map_err(told)?;
    }
    added.behind(path, 0, None)
}

/// Where the base ends while no turn is open: its last line must be whole, and none that was confirmed may be missing behind it.
fn at_rest<F: OneFile>(base: &F, path: &Path, last: Option<FromEnd>, mark: Option<&Mark>) -> Result<Standing> {
    let (at, last) = match last {
        None => (0, None),
        Some(last) => match last.opened() {
            Some((_, frame)) => (last.ends, Some(frame)),
            // Which line it is, is told by reading all.
            None => return Err(first_flaw(base, path)),
        },
    };
    let (lines, seq) = last.as_ref().map_or((0, 0), |last| (last.line, last.seq));
    match mark {
        // It may go further than that: who put a new base in place may have ended before saying so.
        Some(mark) if seq < mark.seq => {
            let reason =
                missing(lines + 1, mark.lines + 1).unwrap_or_else(|| format!("event {} is not there", mark.seq));
            Err(damaged(path, lines + 1, reason))
        }
        _ => Ok(Standing::Ends { at, last }),
    }
}

/// How much of a turn stands in the base, met from the end.
struct Added<'p> {
    pending: &'p Pending,
    /// The event whose line comes next; nothing once another line was met.
    wanted: Option<u64>,
}

impl<'p> Added<'p> {
    fn none_of(pending: &'p Pending) -> Self {
        let is_added = pending.events.iter().all(MessageEvent::is_append);
        Self { pending, wanted: is_added.then_some(pending.last_seq) }
    }

    /// A line that is not of an earlier turn; nothing where it is not as it was written.
    fn meet(&mut self, frame: Option<Frame>) {
        let is_wanted = |frame: &Frame| Some(frame.seq) == self.wanted && frame.turn == self.pending.turn;
        self.wanted = frame.filter(is_wanted).map(|frame| frame.seq - 1);
    }

    /// What that comes to, when behind it there is the last line of earlier turns.
    fn behind(&self, path: &Path, at: u64, last: Option<Frame>) -> Result<Standing> {
        let (lines, seq) = last.as_ref().map_or((0, 0), |last| (last.line, last.seq));
        if seq + 1 != self.pending.first_seq {
            return Err(lost(path, lines, self.pending));
        }
        let is_whole = self.wanted == Some(seq);
        Ok(if is_whole { Standing::Folded } else { Standing::Ends { at, last } })
    }
}

/// What was confirmed before the turn is no longer all there: it ends after `lines` lines.
fn lost(path: &Path, lines: u64, pending: &Pending) -> ConversationError {
    let reason = format!("event {}, which comes before turn \"{}\", is not there", pending.first_seq - 1, pending.turn);
    damaged(path, lines + 1, reason)
}

/// The first line of a base that is not what was written.
fn first_flaw<F: OneFile>(base: &F, path: &Path) -> ConversationError {
    let found = base.len().and_then(|len| {
        let mut lines = Lines::new(base, len);
        loop {
            match lines.read()? {
                Read::Line(..) => {}
                Read::Flaw(flaw) => return Ok((flaw.line, flaw.reason)),
                Read::End => return Ok((0, "its end changed while it was read".to_owned())),
            }
        }
    });
    match found {
        Ok((line, reason)) => damaged(path, line, reason),
        Err(error) => ConversationError::io(path, error),
    }
}

pub(super) fn damaged(path: &Path, line: u64, reason: String) -> ConversationError {
    ConversationError::Damaged { path: path.to_owned(), line, reason }
}

/// A message of the conversation as it is after the events.
pub(super) enum Folded<'a> {
    /// Confirmed, as its line says.
    Kept(&'a str),
    /// From an event.
    New(&'a Message),
}

impl<F: OneFile> Snapshot<F> {
    /// The turn that is not over.
    pub(crate) fn open_turn(&self) -> Option<OpenTurn> {
        let pending = self.pending.as_ref()?;
        Some(OpenTurn { turn: pending.turn.clone(), events: pending.events.len() as u64, last_seq: pending.last_seq })
    }

    /// Gives out every message in order, and then what was noticed.
    pub(crate) fn messages(mut self, each: &mut dyn FnMut(Message)) -> Result<Vec<Notice>> {
        let mut notices = std::mem::take(&mut self.notices);
        let missing = self.fold(&mut |folded, frame| {
            each(match folded {
                Folded::New(message) => message.clone(),
                Folded::Kept(text) => self.parsed(text, frame.line)?,
            });
            Ok(())
        })?;
        notices.extend(missing.into_iter().map(Notice::MissingMessage));
        Ok(notices)
    }

    /// Gives out every confirmed message in order, and then the events after them and what was noticed.
    pub(crate) fn apart(mut self, each: &mut dyn FnMut(Message)) -> Result<(Vec<MessageEvent>, Vec<Notice>)> {
        let events = self.pending.take().map_or_else(Vec::new, |pending| pending.events);
        Ok((events, self.messages(each)?))
    }

    /// Folds the events over what is confirmed. A message that replaces another keeps that one's frame.
    pub(super) fn fold(&self, each: &mut dyn FnMut(Folded<'_>, Frame) -> Result<()>) -> Result<Vec<MissingMessage>> {
        let pending = self.pending.as_ref();
        let events = pending.map_or(&[][..], |pending| &pending.events);
        let mut folding = Folding::of(self.wanted(events)?, events);
        let mut lines = 0;
        if !folding.is_emptied() {
            self.confirmed(&mut |text, frame| {
                lines = frame.line;
                match folding.fate(frame.line) {
                    Fate::Removed => Ok(()),
                    Fate::Replaced(message) => each(Folded::New(&message), frame),
                    Fate::Kept => each(Folded::Kept(text), frame),
                }
            })?;
        }
        let (new, missing) = folding.rest();
        if let Some(pending) = pending {
            for (index, message) in new {
                lines += 1;
                let frame = Frame { seq: pending.first_seq + index as u64, turn: pending.turn.clone(), line: lines };
                each(Folded::New(&message), frame)?;
            }
        }
        Ok(missing)
    }

    /// The confirmed messages that events look for, by the lines they are on.
    fn wanted(&self, events: &[MessageEvent]) -> Result<Vec<(u64, String)>> {
        let wanted = Folding::wanted(events);
        let mut found = Vec::new();
        if !wanted.is_empty() {
            self.confirmed(&mut |text, frame| {
                let WithId { id } = self.parsed(text, frame.line)?;
                if wanted.contains(id.as_ref()) {
                    found.push((frame.line, id.into_owned()));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Every confirmed line that holds a message.
    fn confirmed(&self, each: &mut dyn FnMut(&str, Frame) -> Result<()>) -> Result<()> {
        let told = |error| ConversationError::io(&self.base_path, error);
        let mut lines = Lines::new(&self.base, self.base_len);
        loop {
            match lines.read().map_err(told)? {
                Read::End => return Ok(()),
                Read::Flaw(flaw) => return Err(damaged(&self.base_path, flaw.line, flaw.reason)),
                Read::Line(text, _) if is_folded_mark(text) => {}
                Read::Line(text, frame) => each(text, frame)?,
            }
        }
    }

    fn parsed<'t, T: serde::Deserialize<'t>>(&self, text: &'t str, line: u64) -> Result<T> {
        serde_json::from_str(text).map_err(|error| damaged(&self.base_path, line, error.to_string()))
    }
}

/// As much of a message as it takes to recognise it.
#[derive(serde::Deserialize)]
struct WithId<'a> {
    #[serde(borrow)]
    id: std::borrow::Cow<'a, str>,
}
