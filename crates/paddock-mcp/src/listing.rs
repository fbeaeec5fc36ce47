//! The tool list as clients get it, made once per generation of the policy.

use std::sync::{Arc, Mutex, PoisonError};

use paddock_tools::{ToolSpec, Toolbox};
use rmcp::model::{Tool, ToolAnnotations};

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

    /// May this tool run without a hop to another thread?
    pub(crate) fn is_quick(&self, name: &str) -> bool {
        self.quick.contains(&name)
    }
}

/// Keeps the listing of the newest generation that was asked for.
#[derive(Debug)]
pub(crate) struct Listings(Mutex<Arc<Listing>>);

impl Listings {
    pub(crate) fn new(toolbox: &Toolbox) -> Self {
        Self(Mutex::new(Arc::new(Listing::of(toolbox, toolbox.generation()))))
    }

    /// The listing that holds now.
    pub(crate) fn now(&self, toolbox: &Toolbox) -> Arc<Listing> {
        let generation = toolbox.generation();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.generation != generation {
            *kept = Arc::new(Listing::of(toolbox, generation));
        }
        Arc::clone(&kept)
    }

    /// The newest listing that was asked for. Which tools are quick never changes, so this will do for calls.
    pub(crate) fn last(&self) -> Arc<Listing> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
