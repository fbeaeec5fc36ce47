//! The tool list as clients get it, made once per generation of the policy.

use std::sync::{Arc, Mutex, PoisonError};

use paddock_tools::{ToolSpec, Toolbox};
use rmcp::model::{Tool, ToolAnnotations};

/// The tools of one generation.
#[derive(Debug)]
pub(crate) struct Listing {
    generation: u64,
    tools: Vec<Tool>,
}

impl Listing {
    fn of(toolbox: &Toolbox, generation: u64) -> Self {
        Self { generation, tools: toolbox.tools().into_iter().map(tool).collect() }
    }

    /// The tools, schemas shared.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
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
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(listing) if listing.generation == generation => Arc::clone(listing),
            _ => Arc::clone(kept.insert(Arc::new(Listing::of(toolbox, generation)))),
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
