//! Repair: what can be kept of a conversation with damaged lines, and putting it in place of the damaged files.
//!
//! Looking changes nothing. Repairing first copies both files aside, so that nothing is lost whatever it decides; then it writes all
//! lines that are as they were written, in their order: a new base first, then new events, each beside the old file and renamed over
//! it. A crash between the two leaves the new base with the old events, which either are damaged still, and repairing them comes to the
//! same, or are what the new ones say. A file that is missing has lost every line. It must never invent or complete a message.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::layer::{Files, OneFile, Over};
use super::lines::{Lines, Read, missing};
use super::read::pour;
use super::write::NewBase;
use super::{FOLDED, Mark, Paths, is_folded_mark};
use crate::conversation::line::{self, Frame};
use crate::conversation::{ConversationError, Message, MessageEvent, Result};
use crate::{Timestamp, TurnId};

/// What repairing keeps and what not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// How many confirmed messages are kept.
    pub messages: u64,
    /// How many events of the open turn are kept.
    pub events: u64,
    /// Each line that cannot be kept.
    pub lost: Vec<LostLine>,
    /// Where the files as they were found are kept; nothing when nothing was changed.
    pub kept_aside: Option<PathBuf>,
}

/// A line that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLine {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
    /// The id of the message, where it can still be read. Its text may be damaged.
    pub id: Option<String>,
}

/// The good lines of a file.
#[derive(Default)]
struct Sound {
    lines: Vec<(String, Frame)>,
    /// Whether the file ends with one of them, as far as can be seen in it.
    ends_well: bool,
    /// Which line would come next.
    next: u64,
    /// Of the events: how far the base went.
    mark: Option<Mark>,
}

impl Sound {
    /// The last event that the base held before these, and its turn.
    fn confirmed(&self) -> Option<(u64, TurnId)> {
        let mark = self.mark.as_ref().map(|mark| (mark.seq, mark.turn.clone()));
        mark.or_else(|| self.lines.first().map(|(_, first)| (first.seq - 1, first.turn.clone())))
    }
}

/// Looks at both files; puts what is sound in their place where `apply`. The caller holds the lease.
pub(crate) fn repair<S: Files>(files: &S, paths: &Paths, apply: bool) -> Result<Repaired> {
    let mut told = Repaired::default();
    let events = sound_events(files, &paths.events, &mut told)?;
    let base = sound_base(files, &paths.base, &events, &mut told)?;
    told.messages = base.lines.iter().filter(|(text, _)| !is_folded_mark(text)).count() as u64;
    let holds_events = base.lines.last().is_some_and(|(text, frame)| holds(text, frame, &events));
    told.events = if holds_events { 0 } else { events.lines.len() as u64 };
    if apply && !told.lost.is_empty() {
        told.kept_aside = Some(keep_aside(files, paths)?);
        let last = write_base(files, paths, base, &events)?;
        let kept = if holds_events { Vec::new() } else { events.lines };
        write_events(files, paths, kept, last.as_ref())?;
    }
    Ok(told)
}

/// Whether a base that ends with this line holds the events.
fn holds(text: &str, frame: &Frame, events: &Sound) -> bool {
    is_folded_mark(text) && events.lines.last().is_some_and(|(_, last)| frame.seq >= last.seq)
}

/// What is wrong with a line that is as it was written, given the one before it.
type Judge<'j> = &'j mut dyn FnMut(&str, &Frame, Option<&Frame>) -> std::result::Result<(), String>;

/// Reads every line; `judge` says what else can be wrong with one that is as it was written.
fn sound_lines<S: Files>(files: &S, path: &Path, told: &mut Repaired, judge: Judge<'_>) -> Result<Sound> {
    let io = |error| ConversationError::io(path, error);
    let file = match files.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let reason = "the file is missing, with all that was in it".to_owned();
            told.lost.push(LostLine { file: path.to_owned(), line: 1, reason, id: None });
            // Nothing of it is missed a second time.
            return Ok(Sound { next: u64::MAX, ..Sound::default() });
        }
        opened => opened.map_err(io)?,
    };
    let len = file.len().map_err(io)?;
    let mut lines = Lines::new(&file, len);
    lines.tolerant = true;
    // Which line of the file it is; `next` is the one that was written there.
    let (mut sound, mut at) = (Sound { ends_well: true, next: 1, ..Sound::default() }, 0);
    loop {
        at += 1;
        let (reason, text) = match lines.read().map_err(io)? {
            Read::End => return Ok(sound),
            Read::Flaw(flaw) => (flaw.reason, String::new()),
            Read::Line(text, frame) => match judge(text, &frame, sound.lines.last().map(|(_, frame)| frame)) {
                Ok(()) => {
                    told.lost.extend(not_there(path, sound.next, frame.line));
                    (sound.next, sound.ends_well) = (frame.line + 1, true);
                    sound.lines.push((text.to_owned(), frame));
                    continue;
                }
                Err(reason) => (reason, text.to_owned()),
            },
        };
        (sound.next, sound.ends_well) = (sound.next + 1, false);
        let id = serde_json::from_str::<Message>(&text).ok().map(|message| message.id().to_owned());
        told.lost.push(LostLine { file: path.to_owned(), line: at, reason, id });
    }
}

/// What was written between two lines and is nowhere in the file.
fn not_there(path: &Path, wanted: u64, found: u64) -> Option<LostLine> {
    let reason = missing(wanted, found)?;
    Some(LostLine { file: path.to_owned(), line: wanted, reason, id: None })
}

fn sound_events<S: Files>(files: &S, path: &Path, told: &mut Repaired) -> Result<Sound> {
    let mut mark = None;
    let mut sound = sound_lines(files, path, told, &mut |text, frame, before| {
        if is_folded_mark(text) {
            mark = Some(Mark::read(text, frame)?);
            return Ok(());
        }
        serde_json::from_str::<MessageEvent>(text).map_err(|error| error.to_string())?;
        // The mark is of the turn before.
        let is_first = before.is_none_or(|before| before.line == 1 && mark.is_some());
        match before {
            Some(before) if before.turn != frame.turn && !is_first => {
                Err(format!("it belongs to turn \"{}\"", frame.turn))
            }
            Some(before) if before.seq >= frame.seq => Err(format!("it holds event {} again", frame.seq)),
            _ => Ok(()),
        }
    })?;
    sound.lines.retain(|(text, _)| !is_folded_mark(text));
    sound.mark = mark;
    Ok(sound)
}

fn sound_base<S: Files>(files: &S, path: &Path, events: &Sound, told: &mut Repaired) -> Result<Sound> {
    let mut base = sound_lines(files, path, told, &mut |text, frame, before| {
        if !is_folded_mark(text) {
            serde_json::from_str::<Message>(text).map_err(|error| error.to_string())?;
        }
        match before {
            Some(before) if before.seq >= frame.seq => Err(format!("it holds event {} again", frame.seq)),
            _ => Ok(()),
        }
    })?;
    if base.lines.last().is_some_and(|(text, frame)| holds(text, frame, events)) {
        return Ok(base);
    }
    // What was being added when the events were still there is in the events.
    if let Some((_, first)) = events.lines.first() {
        base.lines.retain(|(_, frame)| frame.seq < first.seq);
    }
    told.lost.extend(cut_off(path, &base, events));
    Ok(base)
}

/// What is gone from the end of the base, as the events know it.
fn cut_off(path: &Path, base: &Sound, events: &Sound) -> Option<LostLine> {
    let (line, seq) = base.lines.last().map_or((0, 0), |(_, frame)| (frame.line, frame.seq));
    let (confirmed, turn) = events.confirmed().filter(|(confirmed, _)| seq < *confirmed)?;
    if let Some(mark) = &events.mark {
        return not_there(path, base.next, mark.lines + 1);
    }
    let reason = format!("event {confirmed}, which comes before turn \"{turn}\", is not there");
    base.ends_well.then(|| LostLine { file: path.to_owned(), line: line + 1, reason, id: None })
}

/// Copies the files as they are. What is left out of the new ones is nowhere else, so the copies last before anything is replaced.
fn keep_aside<S: Files>(files: &S, paths: &Paths) -> Result<PathBuf> {
    let aside = new_aside(files, paths)?;
    let io = |error| ConversationError::io(&aside, error);
    for path in [&paths.base, &paths.events] {
        let copy = aside.join(path.file_name().unwrap_or_default());
        match copied(files, path, &copy) {
            // One that is missing is kept nowhere.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => copied.map_err(io)?,
        }
    }
    files.sync_directory(&aside).map_err(io)?;
    files.sync_directory(&paths.directory).map_err(io)?;
    Ok(aside)
}

/// A directory that no repair before has used.
fn new_aside<S: Files>(files: &S, paths: &Paths) -> Result<PathBuf> {
    let name = format!("damaged-{}", Timestamp::now()).replace(':', "-");
    let mut aside = paths.directory.join(&name);
    for number in 2.. {
        match files.make_directory(&aside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(ConversationError::io(aside, error)),
            Ok(()) => break,
        }
        aside = paths.directory.join(format!("{name}-{number}"));
    }
    Ok(aside)
}

fn copied<S: Files>(files: &S, from: &Path, to: &Path) -> std::io::Result<()> {
    let from = files.open(from)?;
    pour(&from, from.len()?, &files.create(to, true)?)
}

/// Writes the base anew and gives its last line.
fn write_base<S: Files>(files: &S, paths: &Paths, base: Sound, events: &Sound) -> Result<Option<Frame>> {
    let mut new = NewBase::create(files, &paths.new_base)?;
    let mut last = (0, None);
    for (text, frame) in base.lines {
        last = (frame.seq, Some(frame.turn.clone()));
        new.add(&line::unsealed(&text), frame.seq, frame.turn)?;
    }
    // Where the last lines are lost, the numbers go on from where they were.
    if let Some((confirmed, turn)) = events.confirmed().filter(|(confirmed, _)| last.0 < *confirmed) {
        new.add(FOLDED, confirmed, last.1.unwrap_or(turn))?;
    }
    let (_, _, last) = new.finish(true)?;
    put_in_place(files, paths, &paths.new_base, &paths.base)?;
    Ok(last)
}

/// Writes the events anew, numbered without gaps, behind a base that ends with this line.
fn write_events<S: Files>(files: &S, paths: &Paths, events: Vec<(String, Frame)>, last: Option<&Frame>) -> Result<()> {
    let io = |error| ConversationError::io(&paths.events, error);
    let mut text = last.map_or_else(String::new, |last| Mark::of(last).sealed());
    let (after, lines) = last.map_or((0, 0), |last| (last.seq, 1));
    for ((object, frame), count) in events.into_iter().zip(1..) {
        let frame = Frame { seq: after + count, turn: frame.turn, line: lines + count };
        text.push_str(&line::seal(&line::unsealed(&object), &frame));
    }
    let file = files.create(&paths.new_events, true).map_err(io)?;
    file.write_at(text.as_bytes(), 0).and_then(|()| file.sync()).map_err(io)?;
    put_in_place(files, paths, &paths.new_events, &paths.events)
}

fn put_in_place<S: Files>(files: &S, paths: &Paths, new: &Path, old: &Path) -> Result<()> {
    let placed = files.rename(new, old, Over::Replaced).and_then(|()| files.sync_directory(&paths.directory));
    placed.map_err(|error| ConversationError::io(old, error))
}
