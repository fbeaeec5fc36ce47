//! What a call would change, path by path, as whoever decides is shown it.
//!
//! Every path is counted, and named with what becomes of it, before any line is shown: what is much must not hide what is bad. What does
//! not fit is left out by whole paths, each with why. What there is room for is looked at before anything is read: however many paths a call
//! has and however much is in them, so much is read and no more.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use paddock_core::{
    Alter, Changed, Effect, EffectKind, ErrorKind, Fate, Kind, LogicalPath, PLAIN_MODE, Preview, Refused, Spot,
    TextKind, visible,
};

use super::Asking;
use super::lines::Lines;
use crate::contents::{Contents, brings_content};
use crate::person::Person;

/// The largest content that is shown line by line.
const LARGEST: usize = 256 * 1024;
/// The most lines of all paths, in bytes and in lines: empty ones take room too, wherever they are shown.
const LONGEST: usize = 512 * 1024;
const MOST_LINES: usize = 20_000;
/// The most content that is read and compared for one preview, in bytes: a person is not waited for, but the agent is.
const MOST_COMPARED: usize = 64 * 1024 * 1024;
/// The most paths that are named, and how long they may be together.
const MOST_PATHS: usize = 2000;
const LONGEST_NAMES: usize = 256 * 1024;
/// The most directories that are named in the place of paths.
const MOST_SPOTS: usize = 200;
/// The mode of a file that nobody gave another.
const PLAIN_FILE: u32 = 0o644;

pub(super) fn of(asking: &Asking<'_>) -> Preview {
    if asking.tool == "execute_command" && asking.holding.is_none() {
        return Preview::in_words("what it will do is not known before it runs");
    }
    let mut making = Making::of(asking);
    let once = once(asking.effects);
    once.iter().for_each(|effect| making.add(effect));
    making.done(&once)
}

/// Each path once: that something new, or something else, gets a mode is said with it.
fn once(effects: &[Effect]) -> Vec<&Effect> {
    let others = effects.iter().filter(|effect| effect.what != EffectKind::Dress);
    let others: HashSet<&LogicalPath> = others.map(|effect| &effect.path).collect();
    effects.iter().filter(|effect| effect.what != EffectKind::Dress || !others.contains(&effect.path)).collect()
}

/// A preview on its way.
struct Making<'a> {
    asking: &'a Asking<'a>,
    contents: Contents<'a>,
    preview: Preview,
    /// How much was read and made to be compared, in bytes.
    compared: usize,
    /// How much is shown, in bytes and in lines.
    shown: usize,
    lines: usize,
    names: usize,
}

/// Why the lines of a path are not there.
type Why = Cow<'static, str>;

const TOO_MUCH: Why = Cow::Borrowed("too much to be compared");
const CONTENT: Why = Cow::Borrowed("content not shown");

impl<'a> Making<'a> {
    fn of(asking: &'a Asking<'a>) -> Self {
        let person = Person::on(asking.policy, asking.audit);
        let contents = Contents::of(person, asking.tool, asking.given, asking.holding, LARGEST);
        let preview = Preview { whole: true, ..Preview::default() };
        Self { asking, contents, preview, compared: 0, shown: 0, lines: 0, names: 0 }
    }

    fn add(&mut self, effect: &Effect) {
        let path = visible(effect.path.as_str());
        self.names += path.len();
        let is_named = self.preview.paths.len() < MOST_PATHS && self.names <= LONGEST_NAMES;
        let changed = self.changed(effect, path, is_named);
        let totals = &mut self.preview.totals;
        *totals.fates.entry(changed.fate).or_default() += 1;
        totals.added += changed.added;
        totals.removed += changed.removed;
        if is_named {
            self.preview.paths.push(changed);
        }
    }

    fn done(mut self, effects: &[&Effect]) -> Preview {
        let every_one_is_named = self.preview.paths.len() == effects.len();
        if !every_one_is_named {
            self.preview.spots = spots(effects);
        }
        let is_shown = self.preview.paths.iter().all(|path| path.not_shown.is_none());
        self.preview.whole = every_one_is_named && is_shown;
        self.preview
    }

    fn changed(&mut self, effect: &Effect, path: String, is_named: bool) -> Changed {
        let was = effect.was.as_ref().map(|was| was.kind);
        let mut changed = Changed {
            path,
            fate: fate(effect.what),
            is_directory: effect.what == EffectKind::MakeDir || was == Some(Kind::Dir),
            leads_to: None,
            mode: self.mode(effect),
            added: 0,
            removed: 0,
            hunks: Vec::new(),
            not_shown: None,
        };
        match effect.what {
            EffectKind::MoveAway if changed.is_directory => {
                self.leave_out("all that is in the directory moves along", &mut changed);
            }
            EffectKind::MakeDir | EffectKind::MoveAway | EffectKind::MoveHere | EffectKind::Dress => {}
            EffectKind::Delete => self.goes(effect, is_named, &mut changed),
            EffectKind::Create | EffectKind::Replace | EffectKind::Append | EffectKind::Deliver => {
                self.comes(effect, is_named, &mut changed);
            }
        }
        changed
    }

    /// What goes, with its lines where it is a text.
    fn goes(&mut self, effect: &Effect, is_named: bool, changed: &mut Changed) {
        if changed.is_directory {
            return;
        }
        match self.gone(effect, is_named) {
            Ok(old) => self.compare(&old, &[], changed),
            // Of what a recursive delete expanded to, the plan did not say what it was. What it holds is listed beside it.
            Err(Unread::Directory) => changed.is_directory = true,
            Err(Unread::Left(why)) => self.leave_out(why, changed),
            Err(Unread::Unreadable) => self.leave_out("a link, or not readable", changed),
        }
    }

    /// What goes, as far as there is room for it.
    fn gone(&mut self, effect: &Effect, is_named: bool) -> Result<Vec<u8>, Unread> {
        let Err(why) = self.room(is_named) else { return self.read(effect) };
        if is_named {
            // What it is can be told without reading it.
            self.contents.look(effect).map_err(unreadable)?;
        }
        Err(Unread::Left(why))
    }

    /// What comes, or changes.
    fn comes(&mut self, effect: &Effect, is_named: bool, changed: &mut Changed) {
        if let Some(Alter::Link { leads_to }) = self.contents.altered(effect) {
            changed.leads_to = Some(visible(&self.asking.redactor.text(leads_to)));
            return;
        }
        match self.both(effect, is_named) {
            Ok((old, new)) => self.compare(&old, &new, changed),
            Err(why) => self.leave_out(why, changed),
        }
    }

    /// What is there now, as far as it is shown, and what would be.
    fn both(&mut self, effect: &Effect, is_named: bool) -> Result<(Vec<u8>, Vec<u8>), Why> {
        let old = if effect.what == EffectKind::Create {
            Vec::new()
        } else {
            self.room(is_named)?;
            let unseen = (effect.what == EffectKind::Deliver).then(Vec::new);
            self.read(effect).ok().or(unseen).ok_or(CONTENT)?
        };
        // What would be there is at hand, whether its path is named or not.
        self.room(true)?;
        let new = self.contents.after(effect, &old).ok_or(CONTENT)?;
        self.compared += new.len();
        Ok((old, new))
    }

    /// Is there room for what one more path holds? Of a path that is not named nothing is read.
    fn room(&self, is_named: bool) -> Result<(), Why> {
        if is_named && self.compared + LARGEST < MOST_COMPARED { Ok(()) } else { Err(TOO_MUCH) }
    }

    /// What is there now. It counts however long it is.
    fn read(&mut self, effect: &Effect) -> Result<Vec<u8>, Unread> {
        let old = self.contents.before(effect).map_err(unreadable)?;
        self.compared += old.len();
        Ok(old)
    }

    /// Counts the lines of two contents, and shows them where they fit.
    fn compare(&mut self, old: &[u8], new: &[u8], changed: &mut Changed) {
        if old.len() > LARGEST || new.len() > LARGEST {
            return self.leave_out(format!("more than {LARGEST} bytes"), changed);
        }
        if [old, new].iter().any(|bytes| TextKind::of(bytes) == TextKind::Binary) {
            return self.leave_out(format!("no text: {} bytes", new.len().max(old.len())), changed);
        }
        // What is read as text with something missing could change there unseen.
        let [old_text, new_text] = [old, new].map(|bytes| TextKind::of(bytes).decode_faithfully(bytes));
        let (Some(old_text), Some(new_text)) = (old_text, new_text) else {
            return self.leave_out("bytes that are no plain text", changed);
        };
        // Before they are compared: a value can have several lines.
        let (old_shown, new_shown) = (self.asking.redactor.text(&old_text), self.asking.redactor.text(&new_text));
        if old_text != new_text && old_shown == new_shown {
            return self.leave_out("only what looks the same without the values of secrets", changed);
        }
        let lines = Lines::between(&old_shown, &new_shown);
        (changed.added, changed.removed) = (lines.added, lines.removed);
        if self.shown + lines.bytes() > LONGEST || self.lines + lines.count() > MOST_LINES {
            changed.not_shown = Some("too much to be shown beside the others".to_owned());
            return;
        }
        self.shown += lines.bytes();
        self.lines += lines.count();
        changed.hunks = lines.hunks;
    }

    /// Says why no lines are shown, and that nobody counted them.
    fn leave_out(&mut self, why: impl Into<Why>, changed: &mut Changed) {
        self.preview.totals.uncounted += 1;
        changed.not_shown = Some(why.into().into_owned());
    }

    /// What becomes of the mode of a path, where that is worth a look.
    fn mode(&self, effect: &Effect) -> Option<String> {
        let was = effect.was.as_ref().filter(|was| was.kind != Kind::Link).and_then(|was| was.looks.mode);
        let now = match self.contents.made_of(effect, |how| brings_content(how) || matches!(how, Alter::Dress(_)))? {
            Alter::Dress(looks) => looks.mode,
            Alter::Take(staged) => Some(staged.mode()),
            // One that is there keeps its mode.
            Alter::Write { mode, .. } => mode.filter(|_| effect.what == EffectKind::Create),
            _ => None,
        };
        mode_changes(effect.what, was, now?)
    }
}

/// Why nothing of a path was read.
enum Unread {
    /// There is nothing to read in it.
    Directory,
    /// It was left out.
    Left(Why),
    /// It cannot be read.
    Unreadable,
}

fn unreadable(refused: Refused) -> Unread {
    match refused {
        Refused::Store { source, .. } if *source.kind() == ErrorKind::IsADirectory => Unread::Directory,
        _ => Unread::Unreadable,
    }
}

fn fate(what: EffectKind) -> Fate {
    match what {
        EffectKind::Create | EffectKind::MakeDir => Fate::New,
        EffectKind::Replace | EffectKind::Append => Fate::Changed,
        EffectKind::Deliver => Fate::Delivered,
        EffectKind::MoveAway => Fate::MovedAway,
        EffectKind::MoveHere => Fate::MovedHere,
        EffectKind::Delete => Fate::Deleted,
        EffectKind::Dress => Fate::Dressed,
    }
}

/// How many paths lie in which directory, of those right below the one that holds all of them.
fn spots(effects: &[&Effect]) -> Vec<Spot> {
    let top = common(effects);
    let mut found: BTreeMap<String, BTreeMap<Fate, u64>> = BTreeMap::new();
    for effect in effects {
        let directory = spot_of(effect, &top);
        let directory =
            if found.len() < MOST_SPOTS || found.contains_key(&directory) { directory } else { top.clone() };
        *found.entry(directory).or_default().entry(fate(effect.what)).or_default() += 1;
    }
    found.into_iter().map(|(directory, fates)| Spot { directory: visible(&directory), fates }).collect()
}

/// The deepest directory that holds all of them, with a `/` at its end.
fn common(effects: &[&Effect]) -> String {
    let Some(first) = effects.first() else { return "/".to_owned() };
    let mut top = first.path.as_str();
    while let Some(cut) = top.rfind('/') {
        top = &top[..cut];
        let holds = |effect: &&Effect| effect.path.as_str().strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
        if effects.iter().all(holds) {
            break;
        }
    }
    format!("{top}/")
}

/// `/w/a/` for `/w/a/b` and all below it, where `/w/` holds all paths; `/w/` for what lies right in it.
fn spot_of(effect: &Effect, top: &str) -> String {
    let rest = effect.path.as_str().strip_prefix(top).unwrap_or_default();
    match rest.split_once('/') {
        Some((name, _)) => format!("{top}{name}/"),
        None => top.to_owned(),
    }
}

/// A mode in words, where it is not what anybody would expect. What had none before is new, was a link, or is in a Store that
/// keeps none.
fn mode_changes(what: EffectKind, was: Option<u32>, now: u32) -> Option<String> {
    match (was.map(|was| was & PLAIN_MODE), now & PLAIN_MODE) {
        (Some(was), now) => (was != now).then(|| format!("mode {was:03o} → {now:03o}")),
        (None, PLAIN_FILE) if what != EffectKind::Dress => None,
        (None, now) if what == EffectKind::Create => Some(format!("new file mode 100{now:03o}")),
        (None, now) => Some(format!("mode {now:03o}")),
    }
}
