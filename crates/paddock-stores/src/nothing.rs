//! A Store that gives nothing: for a Workspace whose Mount cannot be had now.
//!
//! Such a Workspace stays where it is all the same, since it is a boundary inside another one. It serves no operation, so that
//! each is refused before it gets here, and it must never answer anything but an error.

use std::ops::Range;

use paddock_core::{
    Applied, Call, ChangeSet, EntrySink, ErrorKind, Hit, LastName, Meta, OpKind, Place, Query, RelPath, RelPathBuf,
    Result, Sink, Store, Walk,
};

/// Gives nothing and takes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingStore;

impl Store for NothingStore {
    fn resolve(&self, _: &Call<'_>, _: RelPath<'_>, _: LastName) -> Result<RelPathBuf> {
        Err(ErrorKind::HostRefuses.into())
    }

    fn stat(&self, _: &Call<'_>, _: &Place<'_>) -> Result<Meta> {
        Err(ErrorKind::HostRefuses.into())
    }

    fn read(&self, _: &Call<'_>, _: &Place<'_>, _: Range<u64>, _: &mut Vec<u8>) -> Result<Meta> {
        Err(ErrorKind::HostRefuses.into())
    }

    fn walk(&self, _: &Call<'_>, _: &Place<'_>, _: &Walk<'_>, _: EntrySink<'_>) -> Result<()> {
        Err(ErrorKind::HostRefuses.into())
    }

    fn search(&self, _: &Call<'_>, _: &Place<'_>, _: &Query, _: Sink<'_, Hit>) -> Result<()> {
        Err(ErrorKind::HostRefuses.into())
    }

    fn apply(&self, _: &Call<'_>, _: &ChangeSet) -> Result<Applied> {
        Err(ErrorKind::HostRefuses.into())
    }

    fn serves(&self, _: OpKind) -> bool {
        false
    }
}
