//! The lease of an instance, for writers on several machines.
//!
//! No machine sees whether a process on another one lives. So a lease ends by itself after a while, unless its holder renews it; and since a
//! holder may only have slept, each taking counts the fence up, and a write is kept only with the fence it was begun under. The clock is
//! the server's alone. A lease that ran out and that nobody took is still its holder's.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use paddock_db::{DbError, PgTransaction, Postgres};

use crate::conversation::{ConversationError, Result};
use crate::{InstanceKey, Timestamp};

/// How long it is tried to give a lease back; after that it runs out.
const RETURNING: Duration = Duration::from_secs(2);
/// How often a lease is renewed while it lasts.
const RENEWALS: u32 = 3;

const RENEW: &str = "UPDATE instance_instance SET held_until = clock_timestamp() + $3::bigint * interval '1 millisecond' \
    WHERE id = $1 AND fence = $2 AND holder IS NOT NULL";
const RELEASE: &str =
    "UPDATE instance_instance SET holder = NULL, held_until = NULL WHERE id = $1 AND fence = $2 AND holder IS NOT NULL";
const TAKE: &str = "UPDATE instance_instance \
    SET fence = fence + 1, holder = $2, held_until = clock_timestamp() + $3::bigint * interval '1 millisecond' \
    WHERE id = $1 AND (holder IS NULL OR held_until < clock_timestamp()) RETURNING fence";
const HOLDER: &str = "SELECT holder FROM instance_instance WHERE id = $1 AND held_until >= clock_timestamp()";

/// Which taking of which lease: what every write is checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fence {
    pub(super) instance: i64,
    pub(super) number: i64,
    /// How long the lease lasts, in milliseconds.
    pub(super) lasts: i64,
}

/// A lease that is held, and renewed, until dropped.
#[derive(Debug)]
pub(super) struct Lease {
    db: Postgres,
    fence: Fence,
    /// Gone with this, it lets the renewing end.
    _renewing: Sender<()>,
}

impl Lease {
    /// Takes care of a lease that was just taken.
    pub(super) fn keep(db: &Postgres, fence: Fence) -> Result<Self> {
        let (renewing, ended) = channel();
        let (renewer, pause) = (db.clone(), time(fence) / RENEWALS);
        let renew = move || {
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // A renewal that fails is tried again; one that is too late is told to whoever writes next.
                let _ = renewer.write(Instant::now() + time(fence), |tx| tx.execute(RENEW, &params(&fence)));
            }
        };
        let spawned = std::thread::Builder::new().name("paddock-lease".to_owned()).spawn(renew);
        let lease = Self { db: db.clone(), fence, _renewing: renewing };
        spawned.map(|_| lease).map_err(|error| ConversationError::io(db.name(), error))
    }

    pub(super) fn fence(&self) -> Fence {
        self.fence
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Fence { instance, number, .. } = self.fence;
        let _ = self.db.write(Instant::now() + RETURNING, |tx| tx.execute(RELEASE, &[&instance, &number]));
    }
}

fn time(fence: Fence) -> Duration {
    Duration::from_millis(fence.lasts.unsigned_abs())
}

fn params(fence: &Fence) -> [&(dyn paddock_db::pg_types::ToSql + Sync); 3] {
    [&fence.instance, &fence.number, &fence.lasts]
}

/// Takes the lease for this process, or says who has it.
pub(super) fn take(tx: &mut PgTransaction<'_>, instance: i64, key: &InstanceKey, lasts: Duration) -> Result<Fence> {
    // Asked without waiting: a holder may be in the middle of a long write.
    is_free(tx, instance, key)?;
    let lasts = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
    match tx.query_opt(TAKE, &[&instance, &myself(), &lasts])? {
        Some(row) => Ok(Fence { instance, number: row.get(0), lasts }),
        None => match holder(tx, instance)? {
            Some(holder) => Err(ConversationError::Held { key: key.clone(), holder }),
            None => Err(ConversationError::NoInstance(key.clone())),
        },
    }
}

/// An error that says who holds the lease, if somebody does.
pub(super) fn is_free(tx: &mut PgTransaction<'_>, instance: i64, key: &InstanceKey) -> Result<()> {
    match holder(tx, instance)? {
        Some(holder) => Err(ConversationError::Held { key: key.clone(), holder }),
        None => Ok(()),
    }
}

/// Who has the lease now.
pub(super) fn holder(tx: &mut PgTransaction<'_>, instance: i64) -> Result<Option<String>, DbError> {
    Ok(tx.query_opt(HOLDER, &[&instance])?.and_then(|row| row.get(0)))
}

/// This process in words.
fn myself() -> String {
    let program = std::env::args().next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().replace('\0', "");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("process {} ({program}) on {host}, since {}", std::process::id(), Timestamp::now())
}
