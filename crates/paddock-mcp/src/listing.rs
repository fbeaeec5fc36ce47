//! The tool list as clients get it, made once per generation of the policy.

use std::sync::{Arc, Mutex, PoisonError};

use paddock_tools::{ToolSpec, Toolbox};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

/// The tools of one generation.
#[derive(Debug)]
pub(crate) struct Listing {
    generation: u64,
    tools: Vec<Tool>,
    quick: Vec<&'static str>,
}

impl Listing {
    fn of(toolbox: &Toolbox, generation: u64) -> Self {
        let specs = toolbox.tools();
        let quick = specs.iter().filter(|spec| spec.quick).map(|spec| spec.name).collect();
        Self { generation, tools: specs.into_iter().map(tool).collect(), quick }
    }

    /// The tools, schemas shared.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
    }

    /// May this call run without a hop to another thread? Not one with an offset, which has to look at all that
    /// it passes over.
    pub(crate) fn is_quick(&self, name: &str, arguments: &Map<String, Value>) -> bool {
        self.quick.contains(&name) && arguments.get("offset").is_none_or(|offset| *offset == 0)
    }
}

/// Keeps the listing of the newest generation that was asked for. Nothing is made before it is: a client that
/// only greets should not wait for schemas.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<Option<Arc<Listing>>>);

impl Listings {
    /// The listing that holds now.
    pub(crate) fn now(&self, toolbox: &Toolbox) -> Arc<Listing> {
        let generation = toolbox.generation();
        self.kept(|kept| kept.generation == generation, || Listing::of(toolbox, generation))
    }

    /// The newest listing that was asked for. Which tools are quick never changes, so this will do for calls.
    pub(crate) fn last(&self, toolbox: &Toolbox) -> Arc<Listing> {
        self.kept(|_| true, || Listing::of(toolbox, toolbox.generation()))
    }

    fn kept(&self, will_do: impl Fn(&Listing) -> bool, make: impl FnOnce() -> Listing) -> Arc<Listing> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(listing) if will_do(listing) => Arc::clone(listing),
            _ => Arc::clone(kept.insert(Arc::new(make()))),
        }
    }
}

fn tool(spec: ToolSpec) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(spec.hints.read_only)
        .destructive(spec.hints.destructive)
        .idempotent(spec.hints.idempotent)
        .open_world(spec.hints.open_world);
    Tool::new(spec.name, spec.description, spec.input_schema).with_title(spec.title).with_annotations(annotations)
}
