//! What a Physical Store knows of its past and of its size, as the core asks for it.

use std::ops::Range;
use std::os::fd::AsFd;
use std::time::Duration;

use paddock_core::{Call, CallId, ErrorKind, Kept, Meta, Place, Result, Usage, Versioned};

use super::PhysicalStore;
use super::history::{Opened, name_for};
use super::host::{changed, look, meta_of, read_into, store_error};

/// The kernel's clock for files may go on between the two ends of one exchange.
const TICK: Duration = Duration::from_millis(10);

impl Versioned for PhysicalStore {
    fn recall(
        &self,
        call: &Call<'_>,
        _: &Place<'_>,
        kept: &Kept,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Meta> {
        call.tick(1)?;
        match self.history.as_ref().ok_or(ErrorKind::NotKept)?.open(kept)? {
            Opened::File(file, stat) => {
                self.hard_links.check(&stat)?;
                let meta = meta_of(&stat);
                let end = range.end.min(meta.len);
                read_into(file.as_fd(), range.start, end.saturating_sub(range.start), out)?;
                Ok(meta)
            }
            // As in a read of the present: a link has no content.
            Opened::Link(_) => Err(ErrorKind::Link.into()),
            Opened::Special { .. } => Err(ErrorKind::NotAFile.into()),
        }
    }

    fn kept_by(&self, call: &Call<'_>, at: &Place<'_>, cut_off: CallId) -> Result<Option<Kept>> {
        call.tick(1)?;
        let Some(history) = &self.history else { return Ok(None) };
        history.kept_as(&name_for(&self.host, cut_off, at.rel().as_str()))
    }

    /// The kept inode's own time of change is when it went from the path, or later, and nobody can set it. What stands at the path
    /// was there by then, unless somebody else put it there.
    fn is_newer(&self, call: &Call<'_>, at: &Place<'_>, kept: &Kept) -> Result<bool> {
        call.tick(1)?;
        let Some(history) = &self.history else { return Ok(false) };
        let went = rustix::fs::lstat(history.host().join(&kept.0)).map_err(store_error)?;
        let there = self.reading(|mount| look(mount, at.rel().as_str()).map_err(store_error))?;
        let latest = changed(&went).and_then(|went| went.checked_add(TICK));
        Ok(latest.zip(changed(&there)).is_none_or(|(latest, there)| there > latest))
    }

    fn release(&self, call: &Call<'_>, kept: &[Kept]) -> Result<()> {
        let Some(history) = &self.history else { return Ok(()) };
        for some in kept.chunks(64) {
            call.tick(some.len() as u64)?;
            history.release(some)?;
        }
        Ok(())
    }

    /// From the counter, which gets its baseline where it has none yet; a count, where there is no counter.
    fn usage(&self, call: &Call<'_>) -> Result<Usage> {
        crate::quota::count_first(self, call.deadline)?;
        match self.usage_counter().map(|counter| counter.current()).transpose()?.flatten() {
            Some(usage) => Ok(usage),
            None => self.count(call),
        }
    }
}
