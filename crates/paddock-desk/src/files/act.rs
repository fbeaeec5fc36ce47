//! Changing: what a person puts, moves, makes and takes away. Each act is one call, and `paddock undo` takes it back.

use paddock_core::{Alter, Alteration, Expect, Kind, Looks, Operation, Outcome, PLAIN_MODE, Version};
use paddock_tools::Acted;
use schemars::JsonSchema;
use serde::Serialize;

use super::look::{Facts, facts};
use super::{Receiving, Spot, refused};
use crate::failure::{Failure, FailureKind, Result};
use crate::project::count_first;

/// The mode of a file that is new.
pub(crate) const NEW: u32 = 0o644;

/// What an act has changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Changed {
    /// The path.
    pub path: String,
    /// The call; `paddock undo` takes it.
    pub call: String,
    /// Is it new?
    pub created: bool,
    /// Of a file: stands for exactly this content.
    pub version: Option<String>,
    /// How many paths changed.
    pub paths: usize,
}

impl Changed {
    fn of(spot: &Spot, acted: &Acted) -> Self {
        let (version, created, paths) = match &acted.outcome {
            Outcome::Changed { version, created, paths, .. } => (version.map(|it| it.to_string()), *created, *paths),
            _ => (None, false, 1),
        };
        Self { path: spot.path.to_string(), call: acted.call.to_string(), created, version, paths }
    }
}

/// Puts what has arrived at the path, as the call `upload`.
///
/// # Errors
/// When it is denied, does not fit, or something else is there than was expected.
pub fn put(spot: &Spot, received: Receiving, expect: Expect) -> Result<Changed> {
    count_first()?;
    let person = spot.person();
    let (taking, is_new) = taking(spot, received, expect)?;
    let operation = Operation::Alter { path: spot.path.clone(), alterations: vec![taking] };
    let acted = person.act("upload", &person.call(), operation).map_err(|error| refused(&error))?;
    let mut changed = Changed::of(spot, &acted);
    changed.created = is_new;
    changed.version = changed.version.or_else(|| super::stat(spot).ok()?.version);
    Ok(changed)
}

/// The change that puts what has arrived at the path, and whether it is new there.
pub(crate) fn taking(spot: &Spot, received: Receiving, expect: Expect) -> Result<(Alteration, bool)> {
    let there = replaced(spot)?;
    let mode = there.as_ref().and_then(|there| there.meta.as_ref()?.mode).unwrap_or(NEW);
    let how = Alter::Take(received.staged(mode));
    Ok((Alteration { path: spot.path.clone(), how, expect }, there.is_none()))
}

/// The changes that put a content at the path that fits into memory, with this mode where it is known.
pub(crate) fn writing(spot: &Spot, content: Vec<u8>, mode: Option<u32>, expect: Expect) -> Result<Vec<Alteration>> {
    let had = replaced(spot)?.and_then(|there| there.meta?.mode).map(|mode| mode & PLAIN_MODE);
    let path = || spot.path.clone();
    let mut changes = vec![Alteration { path: path(), how: Alter::Write { content, mode }, expect }];
    // What is replaced keeps its mode.
    if had.is_some() && mode.is_some() && had != mode {
        let how = Alter::Dress(Looks { mode, modified: None });
        changes.push(Alteration { path: path(), how, expect: Expect::Any });
    }
    Ok(changes)
}

/// What is there where a file is to be put; nothing where that is new.
fn replaced(spot: &Spot) -> Result<Option<Facts>> {
    match facts(spot, &spot.person()) {
        Ok(there) if there.kind == Kind::Dir => Err(in_the_way(spot, "a directory")),
        // It would go, and what it leads to stay as it is.
        Ok(there) if there.is_link => Err(in_the_way(spot, "reached through a link")),
        Ok(there) => Ok(Some(there)),
        Err(failure) if failure.kind() == FailureKind::Missing => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The change that takes a file away, as long as it has this version.
pub(crate) fn leaving(spot: &Spot, expect: Option<Version>) -> Alteration {
    let expect = expect.map_or(Expect::Any, Expect::Is);
    Alteration { path: spot.path.clone(), how: Alter::Delete, expect }
}

fn in_the_way(spot: &Spot, what: &str) -> Failure {
    let text = format!("{} is {what}", spot.path);
    Failure::of(FailureKind::Conflict, text, "choose another name, or take it away first")
}

/// Takes a file away, or a directory with everything in it, as the call `delete`.
///
/// # Errors
/// When it is denied, not there, not empty, or something else is there than was expected.
pub fn delete(spot: &Spot, recursive: bool, expect: Option<Version>) -> Result<Changed> {
    let path = spot.path.clone();
    let operation = match expect {
        Some(_) => Operation::Alter { path, alterations: vec![leaving(spot, expect)] },
        None => Operation::Delete { path, recursive },
    };
    let person = spot.person();
    let acted = person.act("delete", &person.call(), operation).map_err(|error| refused(&error))?;
    Ok(Changed::of(spot, &acted))
}

/// Makes a directory, with those above it, as the call `make_dir`.
///
/// # Errors
/// When it is denied, or something is there already.
pub fn make_dir(spot: &Spot) -> Result<Changed> {
    count_first()?;
    let person = spot.person();
    if facts(spot, &person).is_ok() {
        let text = format!("{} is there already", spot.path);
        return Err(Failure::of(FailureKind::Conflict, text, "choose another name"));
    }
    let operation = Operation::MakeDir { path: spot.path.clone() };
    let acted = person.act("make_dir", &person.call(), operation).map_err(|error| refused(&error))?;
    Ok(Changed::of(spot, &acted))
}

/// Moves a file or directory to where nothing is yet, as the call `move`.
///
/// # Errors
/// When it is denied at either end, not there, or something is at the other end.
pub fn move_to(spot: &Spot, to: &Spot) -> Result<Changed> {
    count_first()?;
    let person = spot.person();
    let operation = Operation::Move { from: spot.path.clone(), to: to.path.clone() };
    let acted = person.act("move", &person.call(), operation).map_err(|error| refused(&error))?;
    Ok(Changed::of(to, &acted))
}
