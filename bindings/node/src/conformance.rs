//! The conformance suite of Stores, driven from JavaScript on Stores that JavaScript made. Only in builds for tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use napi::Result;
use napi::bindgen_prelude::{ClassInstance, spawn_blocking};
use napi_derive::napi;
use paddock_core::Store;
use paddock_stores::conformance::{Capabilities, Fixture, Fresh, suite};

use crate::place::told;
use crate::stores::NativeStore;

/// The names of all cases.
#[napi]
pub fn conformance_cases() -> Vec<String> {
    suite().iter().map(|case| case.name.to_owned()).collect()
}

/// Runs one case on fresh, empty Stores; it takes as many as it needs. Throws what does not hold.
#[napi]
pub fn run_conformance_case(
    name: String,
    stores: Vec<ClassInstance<'_, NativeStore>>,
    atomic_sets: bool,
) -> Result<RunningCase> {
    let case = suite().into_iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| told(format!("there is no case \"{name}\"")))?;
    let stores = stores.iter().map(|store| store.store.store()).collect();
    Ok(RunningCase { run: case.run, stores: Arc::new(Mutex::new(stores)), atomic_sets })
}

/// A case that is about to run.
#[napi]
pub struct RunningCase {
    run: fn(&Fixture),
    stores: Arc<Mutex<Vec<Arc<dyn Store>>>>,
    atomic_sets: bool,
}

#[napi]
impl RunningCase {
    /// Runs it.
    #[napi]
    pub async fn ended(&self) -> Result<()> {
        let (run, stores, atomic_sets) = (self.run, Arc::clone(&self.stores), self.atomic_sets);
        let ran = spawn_blocking(move || {
            let can = Capabilities { links: false, modes: false, atomic_sets };
            let fixture =
                Fixture::new(can, move || Box::new(Given(stores.lock().unwrap().pop().expect("one more Store"))));
            catch_unwind(AssertUnwindSafe(|| run(&fixture))).map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
            })
        });
        ran.await.map_err(told)?.map_err(told)
    }
}

struct Given(Arc<dyn Store>);

impl Fresh for Given {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0)
    }
}
