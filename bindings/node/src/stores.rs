//! Stores as JavaScript holds them: opaque, and of use only in a Mount.

use std::sync::Arc;

use napi::Result;
use napi_derive::napi;
use paddock_config::ProgramStore;
use paddock_core::visible;
use paddock_stores::foreign::{ForeignStore, Keeper, Locks};
use paddock_stores::virtual_store::base::Namespace;

use crate::base::{BaseFunctions, BaseKeeper};
use crate::common::Common;
use crate::databases;
use crate::place::{host, told_with};
use crate::port::{PortFunctions, PortKeeper};

/// The locks of stores that say which they are.
static IDENTIFIED: Common<Locks> = Common::new();

/// What belongs to one JavaScript object that keeps files, however many Stores are made on it: its locks, and which it is.
#[napi]
pub struct StoreLocks {
    locks: Arc<Locks>,
}

#[napi]
impl StoreLocks {
    /// Those of an object that has none yet; with an identity, those of all objects that have the same.
    #[napi(constructor)]
    pub fn new(identity: Option<String>) -> Self {
        Self { locks: identity.map_or_else(Arc::default, |identity| IDENTIFIED.named(identity)) }
    }
}

/// A Store.
#[napi]
pub struct NativeStore {
    pub(crate) store: ProgramStore,
}

#[napi]
impl NativeStore {
    /// A directory of the host.
    #[napi(factory)]
    pub fn physical(root_dir: String) -> Result<Self> {
        let store = ProgramStore::directory(&root_dir, &host()?);
        store.map(|store| Self { store }).map_err(|error| told_with(&error, error.hint()))
    }

    /// A namespace of a database.
    #[napi(factory, js_name = "virtual")]
    pub fn of_namespace(url: Option<String>, namespace: Vec<String>) -> Result<Self> {
        has_a_label(&namespace)?;
        let (base, database) = databases::open(url.as_deref())?;
        Ok(Self { store: ProgramStore::Virtual { base, database, namespace: Namespace::new(namespace) } })
    }

    /// Copy-on-write: what is read comes from below, and what changes stays above.
    #[napi(factory)]
    pub fn overlay(lower: &NativeStore, upper: &NativeStore) -> Result<Self> {
        let store = lower.store.clone().under(&upper.store);
        store.map(|store| Self { store }).map_err(|error| told_with(&error, error.hint()))
    }

    /// Files that a JavaScript object keeps.
    #[napi(factory)]
    pub fn port(locks: &StoreLocks, port: PortFunctions) -> Self {
        Self::foreign(Arc::new(PortKeeper::new(port)), locks, &[])
    }

    /// Files in a namespace of a LangGraph BaseStore.
    #[napi(factory)]
    pub fn base(locks: &StoreLocks, namespace: Vec<String>, base: BaseFunctions) -> Result<Self> {
        can_be_namespace(&namespace)?;
        Ok(Self::foreign(Arc::new(BaseKeeper::new(base)), locks, &namespace))
    }
}

impl NativeStore {
    fn foreign(keeper: Arc<dyn Keeper>, locks: &StoreLocks, namespace: &[String]) -> Self {
        let store = ForeignStore::new(keeper, Arc::clone(&locks.locks), namespace);
        let territory = store.territory();
        Self { store: ProgramStore::Other { store: Arc::new(store), territory } }
    }
}

fn has_a_label(namespace: &[String]) -> Result<()> {
    if namespace.is_empty() {
        return Err(told_with("a namespace has at least one label", "use [\"workspaces\", agent]"));
    }
    Ok(())
}

/// LangGraph refuses such namespaces too, but only at the first write.
fn can_be_namespace(namespace: &[String]) -> Result<()> {
    has_a_label(namespace)?;
    let hint = "use labels such as [\"workspaces\", agent]";
    for label in namespace {
        let why = match label.as_str() {
            "" => "is empty",
            label if label.contains('.') => "holds a \".\"",
            _ => continue,
        };
        let message = format!("LangGraph takes no namespace with the label \"{}\": it {why}", visible(label));
        return Err(told_with(message, hint));
    }
    if namespace.first().is_some_and(|label| label == "langgraph") {
        return Err(told_with("LangGraph keeps the namespace \"langgraph\" for itself", hint));
    }
    Ok(())
}
