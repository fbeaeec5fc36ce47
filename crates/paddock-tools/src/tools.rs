//! What each tool does with its arguments and how it shows the outcome. Nothing here decides
//! whether it may.

pub(crate) mod browse;
pub(crate) mod change;
pub(crate) mod command;
pub(crate) mod lines;
pub(crate) mod media;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod web_search;

use paddock_core::{LogicalPath, list_some};

/// What one answer shows at the most, in bytes of text. More is paged.
pub(crate) const PAGE: usize = 256 * 1024;

/// Tells which Workspaces could not be looked into.
fn mention_unreachable(unreachable: &[LogicalPath], out: &mut String) {
    if let Some(places) = list_some(unreachable) {
        out.push_str("could not look into: ");
        out.push_str(&places);
        out.push('\n');
    }
}
