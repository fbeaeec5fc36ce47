//! Removing chunks that no row names, on any database that speaks SQL.
//!
//! A chunk is put in before the commit that names it, so one that nobody names may still be waited for: only old ones are
//! looked at. That alone would not be safe, since a commit may come late, or name an old chunk again. So:
//!
//! - Whoever commits a list of chunks holds the *gate* open and looks, inside, whether they are all there.
//! - Whoever removes chunks closes the gate for each small group, and then looks through the lists that came since
//!   the bodies were gone through.
//!
//! A list that came before the removal is seen by it; one that comes after it finds the chunk gone and is refused.
//! Nothing here holds all chunks in memory, and no step keeps others waiting for long.

use std::collections::HashSet;

use paddock_core::{Call, Result};

/// Old chunks that are looked at together; for each such round the lists are gone through once.
const ROUND: usize = 1 << 18;
/// Lists read at a time.
const LISTS: usize = 16;
/// Chunks removed with the gate closed.
const GROUP: usize = 64;

/// What came of removing a group.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// How many are gone.
    pub(super) count: u64,
    /// The number of the last body there was.
    pub(super) mark: u64,
    /// Chunks that are named by bodies which came since the mark before.
    pub(super) named: HashSet<u64>,
}

/// A database, as the sweep needs it.
pub(super) trait Sweepable {
    /// Chunks after this one that are old enough, in order.
    fn old_chunks(&self, after: u64, limit: usize) -> Result<Vec<u64>>;

    /// A number that no body made from now on has, while every one that has it or a lower one can be seen.
    fn mark(&self) -> Result<u64>;

    /// The chunked bodies after `after` and up to `mark`, in order, with what they name.
    fn lists(&self, after: u64, mark: u64, limit: usize) -> Result<Vec<(u64, Vec<u64>)>>;

    /// Returns when nothing that was seen so far can be lost any more.
    fn settle(&self) -> Result<()>;

    /// With the gate closed: removes those of a group that no body after `mark` names.
    fn remove(&self, group: &[u64], mark: u64) -> Result<Removed>;
}

/// Removes every old chunk that nobody names. Answers how many.
pub(super) fn sweep(call: &Call<'_>, database: &dyn Sweepable) -> Result<u64> {
    let (mut removed, mut after) = (0, 0);
    loop {
        call.tick(1)?;
        let old = database.old_chunks(after, ROUND)?;
        let Some(last) = old.last() else { return Ok(removed) };
        after = *last;
        removed += sweep_round(call, database, old)?;
    }
}

fn sweep_round(call: &Call<'_>, database: &dyn Sweepable, old: Vec<u64>) -> Result<u64> {
    let mut mark = database.mark()?;
    let mut unnamed: HashSet<u64> = old.iter().copied().collect();
    let mut after = 0;
    loop {
        call.tick(1)?;
        let lists = database.lists(after, mark, LISTS)?;
        let Some((last, _)) = lists.last() else { break };
        after = *last;
        for id in lists.iter().flat_map(|(_, ids)| ids) {
            unnamed.remove(id);
        }
    }
    database.settle()?;
    let mut doomed = old;
    let mut removed = 0;
    while let Some(group) = next_group(&mut doomed, &unnamed) {
        call.tick(1)?;
        let done = database.remove(&group, mark)?;
        mark = done.mark;
        removed += done.count;
        for id in &done.named {
            unnamed.remove(id);
        }
    }
    Ok(removed)
}

/// Takes the next chunks out of the end that are still unnamed.
fn next_group(doomed: &mut Vec<u64>, unnamed: &HashSet<u64>) -> Option<Vec<u64>> {
    let mut group = Vec::with_capacity(GROUP);
    while group.len() < GROUP
        && let Some(id) = doomed.pop()
    {
        if unnamed.contains(&id) {
            group.push(id);
        }
    }
    (!group.is_empty()).then_some(group)
}
