//! Asking a JavaScript function from a thread of ours, and waiting for its answer no longer than the call lasts.
//!
//! Whatever JavaScript does, throw, reject, never answer or answer something else, becomes an error of the Store. What it
//! says in it is for the program's log and never for the agent: it may name places of the host.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use napi::Status;
use napi::bindgen_prelude::{FnArgs, FromNapiValue, JsValuesTupleIntoVec, Promise};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use paddock_core::{Call, ErrorKind, Result, StoreError};

/// A JavaScript function that answers a promise. It does not keep the process alive by itself, and an exception in it is an
/// answer and not the end of the process.
pub(crate) type JsFunction<A, R> = ThreadsafeFunction<FnArgs<A>, Promise<R>, FnArgs<A>, Status, false, true>;

/// One that several calls share.
pub(crate) type Shared<A, R> = Arc<JsFunction<A, R>>;

/// A JavaScript function that is only told something.
pub(crate) type Telling = ThreadsafeFunction<FnArgs<(String,)>, (), FnArgs<(String,)>, Status, false, true>;

/// How long is waited before it is looked whether the call was cancelled.
const GLANCE: Duration = Duration::from_millis(20);

/// Asks, and waits for the answer.
pub(crate) fn ask<A, R>(call: &Call<'_>, function: &Shared<A, R>, arguments: A) -> Result<R>
where
    A: 'static,
    FnArgs<A>: JsValuesTupleIntoVec,
    R: FromNapiValue + 'static,
{
    call.tick(1)?;
    let asked = pin!(async { function.call_async_catch(FnArgs::from(arguments)).await?.await });
    wait(call, asked)?.map_err(|error| wrong(error.reason.clone()))
}

/// Tells, and waits for nothing.
pub(crate) fn tell(function: &Telling, text: String) {
    // One whose environment is gone has nobody left to read it.
    let _: Status = function.call(FnArgs::from((text,)), ThreadsafeFunctionCallMode::NonBlocking);
}

/// Waits on this thread, which nobody else needs: no runtime has to be there, also while a worker ends.
fn wait<F: Future>(call: &Call<'_>, mut future: Pin<&mut F>) -> Result<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut context) {
            return Ok(answer);
        }
        call.tick(0)?;
        thread::park_timeout(call.deadline.saturating_duration_since(Instant::now()).min(GLANCE));
    }
}

/// Goes on where a thread waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An answer that no Store may give.
pub(crate) fn wrong(what: impl Into<String>) -> StoreError {
    StoreError::caused_by(ErrorKind::Io, io::Error::other(what.into()))
}
