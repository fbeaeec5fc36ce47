//! Asking a JavaScript function from a thread of ours, and waiting for its answer no longer than the call lasts.
//!
//! Whatever JavaScript does, throw, reject, never answer or answer something else, becomes an error of the Store. What it
//! says in it is for the program's log and never for the agent: it may name places of the host.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{FnArgs, FromNapiValue, JsValuesTupleIntoVec, Promise, spawn};
use napi::threadsafe_function::ThreadsafeFunction;
use napi::{Error, Status};
use paddock_core::{Call, ErrorKind, Result, StoreError};

/// A JavaScript function that answers a promise. It does not keep the process alive by itself, and an exception in it is an
/// answer and not the end of the process.
pub(crate) type JsFunction<A, R> = ThreadsafeFunction<FnArgs<A>, Promise<R>, FnArgs<A>, Status, false, true>;

/// One that several calls share.
pub(crate) type Shared<A, R> = Arc<JsFunction<A, R>>;

/// How long is waited before it is looked whether the call was cancelled.
const GLANCE: Duration = Duration::from_millis(20);

/// Asks, and waits for the answer.
pub(crate) fn ask<A, R>(call: &Call<'_>, function: &Shared<A, R>, arguments: A) -> Result<R>
where
    A: Send + 'static,
    FnArgs<A>: JsValuesTupleIntoVec,
    R: FromNapiValue + Send + 'static,
{
    call.tick(1)?;
    let (answered, answer) = mpsc::sync_channel(1);
    let function = Arc::clone(function);
    spawn(async move {
        let given = match function.call_async_catch(FnArgs::from(arguments)).await {
            Ok(promise) => promise.await,
            Err(error) => Err(error),
        };
        // Nobody waits any more where the call is over.
        let _ = answered.send(given.map_err(|error| failed(&error)));
    });
    loop {
        let left = call.deadline.saturating_duration_since(Instant::now());
        match answer.recv_timeout(left.min(GLANCE)) {
            Ok(given) => return given,
            Err(RecvTimeoutError::Timeout) => call.tick(0)?,
            Err(RecvTimeoutError::Disconnected) => return Err(wrong("it was forgotten before it answered")),
        }
    }
}

/// An answer that no Store may give.
pub(crate) fn wrong(what: impl Into<String>) -> StoreError {
    StoreError::caused_by(ErrorKind::Io, io::Error::other(what.into()))
}

fn failed(error: &Error) -> StoreError {
    wrong(error.reason.clone())
}
