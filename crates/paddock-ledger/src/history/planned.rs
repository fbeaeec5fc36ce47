//! What a call is about to change: written with the call before its Store is asked, and forgotten when it has ended.
//!
//! A process that dies between a change and its row leaves this behind. It names every path that may have changed without a
//! row, and what was there when it was planned; it never says that a path *has* changed. Whether it did is
//! looked for when somebody wants it back, and what cannot be said is told and not guessed.

use paddock_core::{
    Act, Before, Call, CallId, Change, Effect, EffectKind, Kept, Kind, LogicalPath, Looks, PLAIN_MODE, Part, Refused,
    Version, Vfs, Workspace,
};
use paddock_db::DbError;
use serde::{Deserialize, Serialize};

use super::log::Window;
use super::mark::Mark;
use super::place::{Place, Spot, logical};
use super::row::{CallRow, CallState, ChangeRow, What, millis, read_looks, write_looks};
use super::undo::{Now, version_now};
use super::{History, HistoryError, Result};
use paddock_db::statements::Session;

/// A path that a call was about to change, and of which no row says that it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Where.
    pub spot: Spot,
    /// The Workspace's prefix at that time.
    pub prefix: String,
    /// What was to happen.
    pub what: What,
    /// The other end of a move, relative to the same Mount.
    pub to: Option<String>,
    /// The version that was there; nothing where none was, or none was asked for.
    pub version: Option<Version>,
    /// Was nothing there?
    pub is_new: bool,
    /// How what was there looked, where that is known.
    pub looks: Option<Looks>,
    /// Was it a directory?
    pub is_dir: bool,
    /// What it was to become, where that could be said.
    pub(crate) mark: Option<Mark>,
}

/// All of a part, as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptPart {
    territory: String,
    prefix: String,
    changes: Vec<KeptChange>,
}

#[derive(Serialize, Deserialize)]
struct KeptChange {
    path: String,
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    new: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    looks: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dir: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<Mark>,
}

/// What a part will change, as a text.
pub(crate) fn planned_text(part: &Part<'_>) -> String {
    let kept = |change: &Change| {
        let effect = part.effect(change);
        // What is replaced is kept, and comes back with its looks.
        let was =
            effect.and_then(|effect| effect.was).filter(|_| matches!(change.act(), Act::Delete | Act::Dress { .. }));
        KeptChange {
            path: change.path().as_str().to_owned(),
            what: What::of(change.act()).name().to_owned(),
            to: if let Act::Move { to } = change.act() { Some(to.as_str().to_owned()) } else { None },
            version: effect.and_then(|effect| effect.before).map(|version| version.to_string()),
            new: effect.is_some_and(is_new),
            looks: was.map(|was| write_looks(was.looks)),
            dir: was.is_some_and(|was| was.kind == Kind::Dir),
            mark: Mark::of(change, effect.is_some_and(is_new), was.map(|was| was.looks)),
        }
    };
    let all = KeptPart {
        territory: part.workspace.territory().map(ToString::to_string).unwrap_or_default(),
        prefix: part.workspace.prefix().as_str().to_owned(),
        changes: part.set.changes().iter().map(kept).collect(),
    };
    serde_json::to_string(&all).unwrap_or_default()
}

/// Was nothing there when it was planned, and something is to be?
fn is_new(effect: &Effect) -> bool {
    let makes = matches!(effect.what, EffectKind::Create | EffectKind::Replace | EffectKind::MakeDir);
    makes && effect.before.is_none()
}

/// What [`planned_text`] wrote. What cannot be read promises nothing.
fn read(text: &str) -> Vec<Planned> {
    let Ok(KeptPart { territory, prefix, changes }) = serde_json::from_str(text) else { return Vec::new() };
    let planned = |change: KeptChange| Planned {
        spot: Spot { territory: territory.clone(), path: change.path },
        prefix: prefix.clone(),
        what: What::parse(&change.what),
        to: change.to,
        version: change.version.as_deref().and_then(Version::parse),
        is_new: change.new,
        looks: change.looks.as_deref().and_then(read_looks),
        is_dir: change.dir,
        mark: change.mark,
    };
    changes.into_iter().map(planned).collect()
}

impl Planned {
    /// The path as it was called at that time.
    pub fn path_then(&self) -> String {
        super::row::logical_then(&self.prefix, &self.spot.path)
    }

    /// Does a row say what became of it?
    fn is_told(&self, rows: &[ChangeRow]) -> bool {
        rows.iter().any(|row| row.spot == self.spot && row.what == self.what && row.to == self.to)
    }

    /// The row that was never written. What it left has no version: nobody lived to tell it. Its time is the earliest that
    /// it can have been, so that what came later is seen.
    fn row(&self, of: &CallRow, before: Before) -> ChangeRow {
        ChangeRow {
            seq: i64::MAX,
            call: of.call,
            part: u64::MAX,
            index: 0,
            at: of.began,
            agent: of.agent.clone(),
            by: of.by.clone(),
            spot: self.spot.clone(),
            prefix: self.prefix.clone(),
            what: self.what,
            to: self.to.clone(),
            created: before == Before::Absent,
            before,
            version: None,
            met: self.version,
            parents: 0,
            bytes: 0,
            found: 0,
            op: of.op.clone(),
        }
    }
}

/// What became of a path that a call which was cut off may have changed.
enum Fate {
    /// It is as it was.
    Untouched,
    /// It changed, and this was there.
    Changed(Before),
    /// It changed, and this is there now: a file that moved, or looks otherwise.
    Left(Before, Version),
    /// It cannot be said.
    Unknown,
}

impl History {
    /// The paths that a call which has not ended may have changed without a row that says so: it runs, or it was cut off.
    pub fn planned(&self, call: CallId) -> Result<Vec<Planned>> {
        self.read(|session| self.planned_in(session, call))
    }

    pub(crate) fn planned_in(&self, session: &mut dyn Session, call: CallId) -> Result<Vec<Planned>, DbError> {
        let sql = "SELECT planned FROM history_call WHERE home = ?1 AND call = ?2 AND planned IS NOT NULL";
        let found = session.query(sql, &[self.home.as_str().into(), call.to_string().into()])?;
        let Some(planned) = found.first().map(|row| read(row[0].text())) else { return Ok(Vec::new()) };
        let rows = self.changes_in(session, call)?;
        Ok(planned.into_iter().filter(|planned| !planned.is_told(&rows)).collect())
    }

    /// The rows that a call which was cut off could not write any more, by what is there today.
    pub(crate) fn unwritten(&self, vfs: &Vfs, call: &Call<'_>, cut_off: &CallRow) -> Result<Vec<ChangeRow>> {
        if cut_off.state != CallState::Open {
            return Ok(Vec::new());
        }
        let planned = self.planned(cut_off.call)?;
        let (mut rows, mut unknown) = (Vec::new(), Vec::new());
        for one in &planned {
            match self.fate(vfs, call, cut_off, one, &planned)? {
                Fate::Untouched => {}
                Fate::Changed(before) => rows.push(one.row(cut_off, before)),
                Fate::Left(before, version) => {
                    rows.push(ChangeRow { version: Some(version), ..one.row(cut_off, before) });
                }
                Fate::Unknown => unknown.push(one.path_then()),
            }
        }
        if unknown.is_empty() { Ok(rows) } else { Err(HistoryError::CutOff { call: cut_off.call, paths: unknown }) }
    }

    fn fate(&self, vfs: &Vfs, call: &Call<'_>, of: &CallRow, one: &Planned, all: &[Planned]) -> Result<Fate> {
        let place = one.spot.place();
        let Some((path, workspace)) = logical(vfs, &place, &one.spot.territory) else { return Ok(Fate::Unknown) };
        let now = version_now(vfs, call, &path)?;
        let fate = self.fate_if_nobody_came(vfs, call, (of, one, all), (&path, now))?;
        if let (Fate::Changed(Before::Kept(kept)), Now::There(version)) = (&fate, now)
            && vfs.recall(call, &path, kept, &(0..0)).is_ok_and(|(_, meta)| meta.version == version)
        {
            // It was given its second name, and never went.
            return Ok(Fate::Untouched);
        }
        // What others did there since must not be taken for the call's.
        let is_changed = matches!(fate, Fate::Changed(_) | Fate::Left(..));
        let is_others = || {
            let there = matches!(now, Now::There(_)) && !is_its_doing(vfs, call, (&path, workspace), (one, all));
            Ok::<_, HistoryError>(
                there || is_newer(vfs, call, &path, (now, &fate))? || self.is_touched_since(&place, of)?,
            )
        };
        Ok(if is_changed && is_others()? { Fate::Unknown } else { fate })
    }

    /// What became of a path if nobody else was there since.
    fn fate_if_nobody_came(
        &self,
        vfs: &Vfs,
        call: &Call<'_>,
        (of, one, all): (&CallRow, &Planned, &[Planned]),
        (path, now): (&LogicalPath, Now),
    ) -> Result<Fate> {
        Ok(match (one.what, one.version, now) {
            (What::MakeDir, ..) => fate_of_directory(vfs, call, one, path),
            (What::Dress, ..) => fate_of_looks(vfs, call, one, path)?,
            (What::Move, ..) => self.fate_of_move(vfs, call, one, now)?,
            (_, Some(was), Now::There(version)) if was == version => Fate::Untouched,
            (What::Delete, _, Now::There(_)) => Fate::Untouched,
            (What::Delete, ..) => match kept_of(vfs, call, path, of.call)? {
                Some(kept) => Fate::Changed(Before::Kept(kept)),
                None if one.is_dir || all.iter().any(|other| is_below(&other.spot.place(), &one.spot.place())) => {
                    Fate::Changed(Before::Dir(Looks { modified: None, ..one.looks.unwrap_or_default() }))
                }
                None => Fate::Unknown,
            },
            (_, None, Now::Nothing) if one.is_new => Fate::Untouched,
            (_, _, Now::There(_)) => match kept_of(vfs, call, path, of.call)? {
                Some(kept) => Fate::Changed(Before::Kept(kept)),
                None if one.is_new => Fate::Changed(Before::Absent),
                None => Fate::Unknown,
            },
            (_, _, Now::Nothing | Now::Blocked) => Fate::Unknown,
        })
    }

    fn fate_of_move(&self, vfs: &Vfs, call: &Call<'_>, one: &Planned, from: Now) -> Result<Fate> {
        let to = one.to.as_deref().map(|to| Place::new(&one.spot.territory, to));
        let Some((path, _)) = to.and_then(|to| logical(vfs, &to, &one.spot.territory)) else {
            return Ok(Fate::Unknown);
        };
        Ok(match (from, version_now(vfs, call, &path)?) {
            (Now::There(_), Now::Nothing) => Fate::Untouched,
            // What a directory holds is looked at, and has no version.
            (Now::Nothing, Now::There(_)) if is_directory(vfs, call, &path) => Fate::Changed(Before::Absent),
            (Now::Nothing, Now::There(version)) => Fate::Left(Before::Absent, version),
            _ => Fate::Unknown,
        })
    }

    /// Did another call change the place, or something in it, after this one began?
    fn is_touched_since(&self, place: &Place, of: &CallRow) -> Result<bool> {
        let rows = self.read(|session| self.touching(session, place, &Window::default()))?;
        let began = millis(of.began);
        Ok(rows.iter().any(|row| row.call != of.call && millis(row.at) >= began))
    }
}

/// Is what is there what one of the call's changes was to leave? Where none of them could say what that is, nothing speaks
/// against it.
fn is_its_doing(vfs: &Vfs, call: &Call<'_>, at: (&LogicalPath, &Workspace), of: (&Planned, &[Planned])) -> bool {
    let (one, all) = of;
    let fits = |planned: &Planned| planned.mark.as_ref().is_none_or(|mark| mark.fits(vfs, call, at));
    let mut contents = all.iter().filter(|other| other.spot == one.spot && other.what.is_about_content()).peekable();
    if one.what.is_about_content() || contents.peek().is_some() { contents.any(fits) } else { fits(one) }
}

/// Where the Store has kept what went, that tells when: what is there can be no later.
fn is_newer(vfs: &Vfs, call: &Call<'_>, path: &LogicalPath, seen: (Now, &Fate)) -> Result<bool> {
    match seen {
        (Now::There(_), Fate::Changed(Before::Kept(kept))) => Ok(vfs.is_newer(call, path, kept)?),
        _ => Ok(false),
    }
}

/// A directory that is there, and empty: what somebody has put into it since keeps it where it is.
fn fate_of_directory(vfs: &Vfs, call: &Call<'_>, one: &Planned, path: &LogicalPath) -> Fate {
    let is_made = one.is_new && is_directory(vfs, call, path);
    let is_empty = || vfs.all_at(call, path).is_ok_and(|all| all.len() == 1);
    if is_made && is_empty() { Fate::Changed(Before::Absent) } else { Fate::Untouched }
}

/// What was made by the same call has a row already, which takes it away whatever it looks like.
fn fate_of_looks(vfs: &Vfs, call: &Call<'_>, one: &Planned, path: &LogicalPath) -> Result<Fate> {
    let Some(was) = one.looks else { return Ok(Fate::Untouched) };
    let now = vfs.facts(call, path)?;
    let mode = |mode: Option<u32>| mode.map(|mode| mode & PLAIN_MODE);
    let is_dir = now.kind == Kind::Dir;
    // A directory's time is that of what it holds.
    let same = mode(now.mode) == mode(was.mode) && (is_dir || now.modified == was.modified);
    let before = Before::Looks(Looks { mode: mode(was.mode), modified: was.modified.filter(|_| !is_dir) });
    Ok(match (same, is_dir) {
        (true, _) => Fate::Untouched,
        (false, true) => Fate::Changed(before),
        (false, false) => Fate::Left(before, now.version),
    })
}

/// What the call kept of the path. A path that may not be looked at any more has nothing to tell.
fn kept_of(vfs: &Vfs, call: &Call<'_>, path: &LogicalPath, of: CallId) -> Result<Option<Kept>> {
    match vfs.kept_by(call, path, of) {
        Err(Refused::Denied(_)) => Ok(None),
        other => Ok(other?),
    }
}

/// Asked of something that is there: only then a directory can be made that is no other.
fn is_directory(vfs: &Vfs, call: &Call<'_>, path: &LogicalPath) -> bool {
    vfs.facts(call, path).is_ok_and(|meta| meta.kind == Kind::Dir)
}

fn is_below(place: &Place, above: &Place) -> bool {
    place != above && place.is_within(above)
}
