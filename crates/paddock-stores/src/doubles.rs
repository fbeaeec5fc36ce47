//! Stores for tests: one that denies, one that fails at a chosen call, one that stalls, one that
//! panics, one that remembers what it was asked, one that cannot do everything, and one whose files others change.
//!
//! They show what the guard and the tool boundary do when a Store misbehaves, and that a denied
//! operation reaches none. No Workspace of a person is ever mounted on one of these.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use paddock_core::{
    Act, Applied, Call, ChangeSet, EntrySink, ErrorKind, Hit, LastName, Meta, OpKind, Place, Query, RelPath,
    RelPathBuf, Result, Sink, Store, StoreError, Walk,
};

/// The methods of a Store, for telling what was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// [`Store::resolve`].
    Resolve,
    /// [`Store::stat`].
    Stat,
    /// [`Store::read`].
    Read,
    /// [`Store::leads_to`].
    LeadsTo,
    /// [`Store::walk`].
    Walk,
    /// [`Store::search`].
    Search,
    /// [`Store::apply`].
    Apply,
}

/// A Store that is asked something before each of its operations, and may refuse it.
trait Watched: Send + Sync {
    /// The Store that answers when nothing is refused.
    fn inner(&self) -> Option<&dyn Store>;

    /// Before an operation: what it is, and on which paths.
    fn before(&self, call: &Call<'_>, method: Method, paths: &mut dyn Iterator<Item = &str>) -> Result<()>;

    /// Is this beyond it, whatever the other Store can?
    fn lacks(&self, _: OpKind) -> bool {
        false
    }

    fn pass(&self, call: &Call<'_>, method: Method, path: &str) -> Result<&dyn Store> {
        self.pass_all(call, method, &mut std::iter::once(path))
    }

    fn pass_all(&self, call: &Call<'_>, method: Method, paths: &mut dyn Iterator<Item = &str>) -> Result<&dyn Store> {
        self.before(call, method, paths)?;
        self.inner().ok_or_else(|| ErrorKind::HostRefuses.into())
    }
}

/// Every path that a set touches, the far ends of moves included.
fn touched(set: &ChangeSet) -> impl Iterator<Item = &str> {
    set.changes().iter().flat_map(|change| {
        let to = match change.act() {
            Act::Move { to } => Some(to.as_str()),
            _ => None,
        };
        std::iter::once(change.path().as_str()).chain(to)
    })
}

macro_rules! store_by_watching {
    ($double:ty $(, $other:ident: $($bound:tt)+)?) => {
        impl$(<$other: $($bound)+>)? Store for $double {
            fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
                self.pass(call, Method::Resolve, path.as_str())?.resolve(call, path, last)
            }

            fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
                self.pass(call, Method::Stat, at.rel().as_str())?.stat(call, at)
            }

            fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
                self.pass(call, Method::Read, at.rel().as_str())?.read(call, at, range, out)
            }

            fn leads_to(&self, call: &Call<'_>, at: &Place<'_>) -> Result<String> {
                self.pass(call, Method::LeadsTo, at.rel().as_str())?.leads_to(call, at)
            }

            fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
                self.pass(call, Method::Walk, at.rel().as_str())?.walk(call, at, walk, sink)
            }

            fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
                self.pass(call, Method::Search, at.rel().as_str())?.search(call, at, query, sink)
            }

            fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
                self.pass_all(call, Method::Apply, &mut touched(set))?.apply(call, set)
            }

            fn serves(&self, op: OpKind) -> bool {
                !self.lacks(op) && self.inner().is_none_or(|store| store.serves(op))
            }
        }
    };
}

/// Refuses everything, and counts.
#[derive(Debug, Default)]
pub struct Denying {
    calls: AtomicUsize,
}

impl Denying {
    /// One that was never called.
    pub fn new() -> Self {
        Self::default()
    }

    /// How often it was called.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Watched for Denying {
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    fn before(&self, _: &Call<'_>, _: Method, _: &mut dyn Iterator<Item = &str>) -> Result<()> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Err(ErrorKind::HostRefuses.into())
    }
}

store_by_watching!(Denying);

/// Fails at its n-th call, counted from 1, and passes every other on.
pub struct FailsAt {
    inner: Arc<dyn Store>,
    at: usize,
    calls: AtomicUsize,
}

impl FailsAt {
    /// In front of a Store.
    pub fn new(inner: Arc<dyn Store>, at: usize) -> Self {
        Self { inner, at, calls: AtomicUsize::new(0) }
    }

    /// Has the call that fails been made?
    pub fn has_failed(&self) -> bool {
        self.calls.load(Ordering::SeqCst) >= self.at
    }
}

impl Watched for FailsAt {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.inner)
    }

    fn before(&self, _: &Call<'_>, _: Method, _: &mut dyn Iterator<Item = &str>) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            let source = std::io::Error::other("this call was chosen to fail");
            return Err(StoreError::caused_by(ErrorKind::Io, source));
        }
        Ok(())
    }
}

store_by_watching!(FailsAt);

/// Answers nothing until the call is cancelled or out of time.
#[derive(Debug, Default)]
pub struct Stalling;

impl Watched for Stalling {
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    fn before(&self, call: &Call<'_>, _: Method, _: &mut dyn Iterator<Item = &str>) -> Result<()> {
        loop {
            call.tick(0)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

store_by_watching!(Stalling);

/// Panics whatever it is asked.
#[derive(Debug, Default)]
pub struct Panicking;

impl Watched for Panicking {
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    fn before(&self, _: &Call<'_>, method: Method, _: &mut dyn Iterator<Item = &str>) -> Result<()> {
        panic!("this Store panics at {method:?}, as it is meant to");
    }
}

store_by_watching!(Panicking);

/// Remembers what was called on which paths, and passes it on.
pub struct Recording {
    inner: Arc<dyn Store>,
    calls: Mutex<Vec<(Method, String)>>,
}

impl Recording {
    /// In front of a Store.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, calls: Mutex::new(Vec::new()) }
    }

    /// What was called since the last time this was asked: one row for each path, in order.
    pub fn take(&self) -> Vec<(Method, String)> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Watched for Recording {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.inner)
    }

    fn before(&self, _: &Call<'_>, method: Method, paths: &mut dyn Iterator<Item = &str>) -> Result<()> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.extend(paths.map(|path| (method, path.to_owned())));
        Ok(())
    }
}

store_by_watching!(Recording);

/// Cannot do some things at all, and passes everything on: only the guard keeps those from it.
pub struct Lacking {
    inner: Arc<dyn Store>,
    lacks: Vec<OpKind>,
}

impl Lacking {
    /// In front of a Store, without these.
    pub fn new(inner: Arc<dyn Store>, lacks: &[OpKind]) -> Self {
        Self { inner, lacks: lacks.to_vec() }
    }
}

impl Watched for Lacking {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.inner)
    }

    fn before(&self, _: &Call<'_>, _: Method, _: &mut dyn Iterator<Item = &str>) -> Result<()> {
        Ok(())
    }

    fn lacks(&self, op: OpKind) -> bool {
        self.lacks.contains(&op)
    }
}

store_by_watching!(Lacking);

/// Lets somebody else act before each operation, and passes it on.
pub struct Shared<F> {
    inner: Arc<dyn Store>,
    others: F,
}

impl<F: Fn(Method, &str) + Send + Sync> Shared<F> {
    /// In front of a Store; `others` hears which path is next, and of what is done to it.
    pub fn new(inner: Arc<dyn Store>, others: F) -> Self {
        Self { inner, others }
    }
}

impl<F: Fn(Method, &str) + Send + Sync> Watched for Shared<F> {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.inner)
    }

    fn before(&self, _: &Call<'_>, method: Method, paths: &mut dyn Iterator<Item = &str>) -> Result<()> {
        paths.for_each(|path| (self.others)(method, path));
        Ok(())
    }
}

store_by_watching!(Shared<F>, F: Fn(Method, &str) + Send + Sync);
