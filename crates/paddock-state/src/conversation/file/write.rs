//! Writing a conversation: one event, the end of a turn, a whole new base.
//!
//! The order of the steps is the whole safety; the module's own page says why. A step that fails is taken back where that is certain;
//! where it is not, this writer writes nothing more, and whoever opens the conversation next looks at what is really there.

use std::path::Path;

use super::ahead::Ahead;
use super::layer::{Files, Lock, OneFile, Over};
use super::read::{self, Events, Folded as Item, Pending, Standing};
use super::{FOLDED, LEFT, Mark, Paths};
use crate::TurnId;
use crate::conversation::line::{self, Frame};
use crate::conversation::{
    Conversation, ConversationError, Folded, Message, MessageEvent, MissingMessage, Notice, OpenTurn, Result, Written,
};

/// How much of a new base is gathered before it is written.
const BLOCK: usize = 256 * 1024;

/// The writer of a conversation's files. `H` is whatever gives the right to write, held as long.
pub(crate) struct FileConversation<S: Files, H = ()> {
    files: S,
    paths: Paths,
    /// Whether the loss of power is survived too.
    synced: bool,
    base: S::File,
    events: S::File,
    /// How much of each file counts; the last line of the one, and how many the other has.
    base_len: u64,
    base_last: Option<Frame>,
    events_len: u64,
    events_lines: u64,
    open: Option<OpenTurn>,
    /// The last event there was.
    last_seq: u64,
    /// A write failed and could not be taken back.
    unsure: bool,
    notices: Vec<Notice>,
    /// Syncs the events while something else is done; from when that is first wanted.
    ahead: Option<Ahead>,
    _held: H,
}

impl<S: Files, H: Send> FileConversation<S, H> {
    /// Opens the conversation, and brings its files to where the last operation that was acknowledged left them.
    pub(crate) fn open(files: S, paths: Paths, synced: bool, held: H) -> Result<Self> {
        let events = read::present(files.open_to_write(&paths.events), &paths.events)?;
        let base = read::present(files.open_to_write(&paths.base), &paths.base)?;
        let mut opened = Self {
            files,
            synced,
            base,
            events,
            base_len: 0,
            base_last: None,
            events_len: 0,
            events_lines: 0,
            open: None,
            last_seq: 0,
            unsure: false,
            notices: Vec::new(),
            ahead: None,
            paths,
            _held: held,
        };
        opened.locked(Self::recover)?;
        Ok(opened)
    }

    /// Finishes what a crash cut off.
    fn recover(&mut self) -> Result<()> {
        let found = read::events(&self.events, &self.paths.events)?;
        (self.events_len, self.events_lines) = (found.len, found.lines);
        if let Some(flaw) = &found.torn {
            self.keep_dropped(found.len)?;
            self.events_changed(|events| events.truncate(found.len))?;
            self.notices.push(Notice::TornTail { file: self.paths.events.clone(), line: flaw.line });
        }
        let mut standing = read::standing(&self.base, &self.paths.base, &found)?;
        let is_folded = standing == Standing::Folded;
        if is_folded {
            standing = read::standing(&self.base, &self.paths.base, &Events::default())?;
        }
        if let Standing::Ends { at, last } = standing {
            (self.base_len, self.base_last) = (at, last);
            if self.base.len().map_err(|error| self.base_error(error))? > at {
                self.base_changed(|base| base.truncate(at))?;
            }
        }
        let marked = found.mark.map(|mark| mark.seq);
        match found.pending.filter(|_| !is_folded) {
            Some(pending) => {
                // Whoever wrote them may have ended before they lasted, and from here on they are relied on.
                self.events_changed(|_| Ok(()))?;
                self.last_seq = pending.last_seq;
                let events = pending.events.len() as u64;
                self.open = Some(OpenTurn { turn: pending.turn, events, last_seq: pending.last_seq });
            }
            None => {
                let last = self.base_last.as_ref().map(|last| last.seq);
                self.last_seq = last.unwrap_or(0);
                if is_folded || marked != last {
                    self.make_base_durable()?;
                    self.clear()?;
                }
            }
        }
        Ok(())
    }

    /// Before anything relies on a base that somebody else wrote, who may have ended before it lasted.
    fn make_base_durable(&mut self) -> Result<()> {
        if !self.synced {
            return Ok(());
        }
        let lasts = self.base.sync().and_then(|()| self.files.sync_directory(&self.paths.directory));
        lasts.map_err(|error| self.base_error(error))
    }

    /// Keeps aside what is dropped from the end of the events: it may be more than a crash left.
    fn keep_dropped(&mut self, from: u64) -> Result<()> {
        let told = |error| ConversationError::io(&self.paths.dropped, error);
        let len = self.events.len().map_err(|error| self.events_error(error))?;
        let mut bytes = vec![0; usize::try_from(len - from).unwrap_or(usize::MAX)];
        self.events.read_at(&mut bytes, from).map_err(|error| self.events_error(error))?;
        bytes.push(b'\n');
        let kept = self.files.create(&self.paths.dropped, false).map_err(told)?;
        kept.write_at(&bytes, kept.len().map_err(told)?).map_err(told)?;
        if !self.synced {
            return Ok(());
        }
        kept.sync().map_err(told)?;
        // It may be new: its name has to last too before the bytes go from where they were.
        self.files.sync_directory(&self.paths.directory).map_err(told)
    }

    /// Does something while no reader looks.
    fn locked<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.events.lock(Lock::Exclusive).map_err(|error| self.events_error(error))?;
        let done = work(self);
        self.events.unlock().map_err(|error| self.events_error(error))?;
        done
    }

    fn events_error(&self, error: std::io::Error) -> ConversationError {
        ConversationError::io(&self.paths.events, error)
    }

    fn base_error(&self, error: std::io::Error) -> ConversationError {
        ConversationError::io(&self.paths.base, error)
    }

    /// Changes the events' file, lastingly.
    fn events_changed(&mut self, change: impl FnOnce(&S::File) -> std::io::Result<()>) -> Result<()> {
        let changed = change(&self.events).and_then(|()| if self.synced { self.events.sync() } else { Ok(()) });
        changed.map_err(|error| self.events_error(error))
    }

    fn base_changed(&mut self, change: impl FnOnce(&S::File) -> std::io::Result<()>) -> Result<()> {
        let changed = change(&self.base).and_then(|()| if self.synced { self.base.sync() } else { Ok(()) });
        changed.map_err(|error| self.base_error(error))
    }

    /// Puts in the place of the events how far the base goes. Only for what comes after the base lasts. It is not synced: events that come
    /// back are known to be folded, and the next one is synced together with this.
    fn clear(&mut self) -> Result<()> {
        // Until the events are gone this writer would fold them a second time; whoever opens anew sees that they are folded.
        self.unsure = true;
        let mark = self.base_last.as_ref().map_or_else(String::new, |last| Mark::of(last).sealed());
        // Not written over the events: a part of a line with the rest of another would be damage.
        let cleared = self.events.truncate(LEFT).and_then(|()| self.events.write_at(mark.as_bytes(), 0));
        cleared.map_err(|error| self.events_error(error))?;
        self.unsure = false;
        (self.events_len, self.events_lines) = (mark.len() as u64, u64::from(!mark.is_empty()));
        self.open = None;
        Ok(())
    }

    fn is_usable(&mut self, turn: &TurnId) -> Result<()> {
        self.settle()?;
        if self.unsure {
            return Err(ConversationError::Unsure(self.paths.directory.clone()));
        }
        match &self.open {
            Some(open) if open.turn != *turn => {
                Err(ConversationError::TurnOpen { open: open.turn.clone(), asked: turn.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Writes an event at the end, and syncs it where `lasts`.
    fn write_event(&mut self, turn: &TurnId, object: &str, lasts: bool) -> Result<u64> {
        let (seq, at) = (self.last_seq + 1, self.events_len);
        let (line, events) = (self.events_lines + 1, self.open.as_ref().map_or(0, |open| open.events) + 1);
        let text = line::seal(object, &Frame { seq, turn: turn.clone(), line });
        let written = self.events.write_at(text.as_bytes(), at);
        if let Err(error) = written.and_then(|()| if lasts { self.events.sync() } else { Ok(()) }) {
            // Half a line would be met by the next one; a line that may or may not last must not be there at all.
            self.unsure = self.events_changed(|events| events.truncate(at)).is_err();
            return Err(self.events_error(error));
        }
        (self.events_len, self.events_lines) = (at + text.len() as u64, line);
        self.last_seq = seq;
        self.open = Some(OpenTurn { turn: turn.clone(), events, last_seq: seq });
        Ok(seq)
    }

    /// Has the events synced by another thread.
    fn sync_ahead(&mut self) -> Result<()> {
        let begun = match &mut self.ahead {
            Some(ahead) => ahead.begin(),
            None => self.files.open(&self.paths.events).and_then(Ahead::of).and_then(|mut ahead| {
                ahead.begin()?;
                self.ahead = Some(ahead);
                Ok(())
            }),
        };
        // Where that cannot be had, it is done here.
        begun.or_else(|_| self.events.sync()).map_err(|error| {
            self.unsure = true;
            self.events_error(error)
        })
    }

    fn pending(&self) -> Result<Option<Pending>> {
        Ok(read::events(&self.events, &self.paths.events)?.pending)
    }

    /// Adds the turn's messages behind what is confirmed.
    fn add(&mut self, pending: &Pending) -> Result<()> {
        let (mut text, mut last) = (String::new(), self.base_last.clone());
        for (index, event) in pending.events.iter().enumerate() {
            let MessageEvent::Append { message } = event else { continue };
            let line = last.map_or(0, |last| last.line) + 1;
            let frame = Frame { seq: pending.first_seq + index as u64, turn: pending.turn.clone(), line };
            text.push_str(&line::seal(&written(message)?, &frame));
            last = Some(frame);
        }
        let at = self.base_len;
        if let Err(error) = self.base_changed(|base| base.write_at(text.as_bytes(), at)) {
            self.unsure = self.base_changed(|base| base.truncate(at)).is_err();
            return Err(error);
        }
        (self.base_len, self.base_last) = (at + text.len() as u64, last);
        Ok(())
    }

    /// Writes the base anew with the turn in it, and puts it in the place of the old one.
    fn rewrite(&mut self, pending: Pending) -> Result<Vec<MissingMessage>> {
        let (turn, last_seq) = (pending.turn.clone(), pending.last_seq);
        let snapshot = read::snapshot_of(&self.files, &self.paths, self.base_len, pending)?;
        let mut new = NewBase::create(&self.files, &self.paths.new_base)?;
        let missing = snapshot.fold(&mut |item, frame| match item {
            Item::Kept(text) => new.add(&line::unsealed(text), frame.seq, frame.turn),
            Item::New(message) => new.add(&written(message)?, frame.seq, frame.turn),
        })?;
        new.add(FOLDED, last_seq + 1, turn)?;
        let (base, len, last) = new.finish(self.synced)?;
        self.locked(|own| {
            own.put_in_place()?;
            (own.base, own.base_len, own.base_last) = (base, len, last);
            own.last_seq = last_seq + 1;
            own.clear()
        })?;
        Ok(missing)
    }

    fn put_in_place(&mut self) -> Result<()> {
        // Until all of it is done it is not known which of the two bases is there, or would be after a loss of power.
        self.unsure = true;
        let renamed = self.files.rename(&self.paths.new_base, &self.paths.base, Over::Replaced);
        renamed.map_err(|error| self.base_error(error))?;
        if self.synced {
            let lasts = self.files.sync_directory(&self.paths.directory);
            lasts.map_err(|error| self.base_error(error))?;
        }
        self.unsure = false;
        Ok(())
    }
}

impl<S: Files, H: Send> Conversation for FileConversation<S, H> {
    fn open_turn(&self) -> Option<&OpenTurn> {
        self.open.as_ref()
    }

    fn last_seq(&self) -> u64 {
        self.last_seq
    }

    fn append_event(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64> {
        self.is_usable(turn)?;
        let object = written(event)?;
        self.locked(|own| own.write_event(turn, &object, own.synced))
    }

    fn append_event_ahead(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64> {
        self.is_usable(turn)?;
        let object = written(event)?;
        let seq = self.locked(|own| own.write_event(turn, &object, false))?;
        if self.synced {
            self.sync_ahead()?;
        }
        Ok(seq)
    }

    fn settle(&mut self) -> Result<()> {
        let settled = self.ahead.as_mut().map_or(Ok(()), Ahead::wait);
        settled.map_err(|error| {
            self.unsure = true;
            self.events_error(error)
        })
    }

    fn fold(&mut self, turn: &TurnId) -> Result<Folded> {
        self.is_usable(turn)?;
        let Some(pending) = self.pending()? else {
            return Ok(Folded { written: Written::Nothing, missing: Vec::new() });
        };
        if pending.events.iter().all(MessageEvent::is_append) {
            self.locked(|own| {
                own.add(&pending)?;
                own.clear()
            })?;
            return Ok(Folded { written: Written::Appended, missing: Vec::new() });
        }
        let missing = self.rewrite(pending)?;
        Ok(Folded { written: Written::Rewritten, missing })
    }

    fn write_base(&mut self, turn: &TurnId, messages: &[Message]) -> Result<Folded> {
        self.is_usable(turn)?;
        if let Some(open) = &self.open {
            return Err(ConversationError::TurnOpen { open: open.turn.clone(), asked: turn.clone() });
        }
        let append = |message: &Message| MessageEvent::Append { message: message.clone() };
        if let Some(new) = self.added_by(messages)? {
            for message in new {
                self.append_event(turn, &append(message))?;
            }
            return self.fold(turn);
        }
        let events: Vec<_> = std::iter::once(MessageEvent::Truncate).chain(messages.iter().map(append)).collect();
        let first_seq = self.last_seq + 1;
        let last_seq = self.last_seq + events.len() as u64;
        let missing = self.rewrite(Pending { turn: turn.clone(), first_seq, last_seq, events })?;
        Ok(Folded { written: Written::Rewritten, missing })
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

impl<S: Files, H: Send> FileConversation<S, H> {
    /// What `messages` add to what is confirmed, if they begin with exactly that.
    fn added_by<'m>(&self, messages: &'m [Message]) -> Result<Option<&'m [Message]>> {
        let mut rest = Some(messages);
        read::snapshot(&self.files, &self.paths)?.messages(&mut |confirmed| {
            let same = rest.and_then(<[Message]>::split_first).filter(|(first, _)| **first == confirmed);
            rest = same.map(|(_, rest)| rest);
        })?;
        Ok(rest)
    }
}

/// A base that is being written beside the old one.
pub(super) struct NewBase<F> {
    file: F,
    path: std::path::PathBuf,
    text: String,
    len: u64,
    last: Option<Frame>,
}

impl<F: OneFile> NewBase<F> {
    pub(super) fn create<S: Files<File = F>>(files: &S, path: &Path) -> Result<Self> {
        let file = files.create(path, true).map_err(|error| ConversationError::io(path, error))?;
        Ok(Self { file, path: path.to_owned(), text: String::new(), len: 0, last: None })
    }

    pub(super) fn add(&mut self, object: &str, seq: u64, turn: TurnId) -> Result<()> {
        let frame = Frame { seq, turn, line: self.last.as_ref().map_or(0, |last| last.line) + 1 };
        self.text.push_str(&line::seal(object, &frame));
        self.last = Some(frame);
        if self.text.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.write_at(self.text.as_bytes(), self.len);
        written.map_err(|error| ConversationError::io(&self.path, error))?;
        self.len += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }

    /// All of it is in the file now, and lasts if that is wanted: how long it is, and its last line.
    pub(super) fn finish(mut self, synced: bool) -> Result<(F, u64, Option<Frame>)> {
        self.flush()?;
        if synced {
            self.file.sync().map_err(|error| ConversationError::io(&self.path, error))?;
        }
        Ok((self.file, self.len, self.last))
    }
}

/// Writes the base of a conversation that did not exist: one turn of these messages.
pub(crate) fn write_first_base<S: Files>(
    files: &S,
    paths: &Paths,
    turn: &TurnId,
    messages: &mut dyn Iterator<Item = Result<Message>>,
) -> Result<u64> {
    let mut new = NewBase::create(files, &paths.base)?;
    let mut seq = 0;
    for message in messages {
        seq += 1;
        new.add(&written(&message?)?, seq, turn.clone())?;
    }
    new.finish(true)?;
    Ok(seq)
}

/// As JSON.
fn written<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| ConversationError::io("", error.into()))
}
