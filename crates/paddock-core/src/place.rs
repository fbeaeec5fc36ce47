//! A Place: a path in a Mount that the guard has let through.

use crate::names::NameRules;
use crate::path::RelPath;
use crate::surroundings::Surroundings;

/// A path relative to a Mount, judged, together with what must not be seen below it.
///
/// Only the Vfs mints these, and a Store takes nothing else: there is no way to reach a Store with
/// the guard left out.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    rel: RelPath<'a>,
    veil: Option<Veil<'a>>,
}

/// What a Workspace keeps out of sight below a Place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Veil<'a> {
    pub(crate) names: &'a NameRules,
    /// Where other Workspaces are nested in this one.
    pub(crate) around: &'a Surroundings,
}

impl<'a> Place<'a> {
    pub(crate) fn veiled(rel: RelPath<'a>, veil: Veil<'a>) -> Self {
        Self { rel, veil: Some(veil) }
    }

    /// Shows everything below: for expanding a delete or a move, where a hidden path must be met
    /// so that the whole can be refused. What it shows never reaches an agent.
    pub(crate) fn bare(rel: RelPath<'a>) -> Self {
        Self { rel, veil: None }
    }

    /// The path relative to the Mount.
    pub fn rel(&self) -> RelPath<'a> {
        self.rel
    }

    /// Is nothing kept out of sight? Then even a Store's own temporary files are reported, since
    /// a directory that holds one cannot be removed without it.
    pub fn shows_everything(&self) -> bool {
        self.veil.is_none()
    }

    /// May this entry be seen, its directory being visible? Stores ask before they report an entry,
    /// open it, or go into it.
    pub fn shows(&self, entry: &str) -> bool {
        self.veil.is_none_or(|veil| veil.names.hides_entry(entry).is_none() && !veil.around.shadow_entry(entry))
    }
}
