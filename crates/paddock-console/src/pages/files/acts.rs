//! What the forms of the Files pages do. Each is one act of the desk, and one call of the history.

use paddock_core::Version;
use paddock_desk::{Failure, Result, files, history};
use serde::Deserialize;

use super::{At, address, spot_of};
use crate::pages::{Done, OfAgent, Visit};

/// A form.
#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(super) enum Form {
    /// A new directory in this one.
    MakeDir { name: String },
    /// To another path.
    Move { to: String },
    /// Away: what the person saw, where that was a file.
    Delete {
        #[serde(default)]
        version: Option<String>,
    },
    /// As it was.
    Restore { version: String },
}

pub(super) fn deed(visit: &Visit<At, OfAgent>, form: Form) -> Result<Done> {
    let spot = spot_of(visit)?;
    let agent = spot.agent.as_str().to_owned();
    let back = |path: &str, told: String| Ok(Done::Back { to: address(&agent, path), told });
    match form {
        Form::MakeDir { name } => {
            if name.is_empty() || name.contains('/') || matches!(name.as_str(), "." | "..") {
                return Err(Failure::misused("that is no name of a directory", "a name without slashes"));
            }
            let made = files::make_dir(&spot.at(&format!("{}/{name}", spot.path.as_str().trim_end_matches('/')))?)?;
            back(&made.path, "The directory is made.".to_owned())
        }
        Form::Move { to } => {
            let moved = files::move_to(&spot, &spot.at(&to)?)?;
            back(&moved.path, format!("Moved here from {}.", spot.path))
        }
        Form::Delete { version } => {
            let version = version.as_deref().map(|version| {
                Version::parse(version).ok_or_else(|| Failure::misused("that is no version", "load the page again"))
            });
            let deleted = files::delete(&spot, true, version.transpose()?)?;
            let above = spot.path.parent().map_or_else(|| "/".to_owned(), |above| above.to_string());
            back(&above, format!("{} is deleted. `paddock undo {}` brings it back.", spot.path, deleted.call))
        }
        Form::Restore { version } => {
            let restored = history::restore(&visit.shared.desk, &spot.agent, spot.path.as_str(), &version, false)?;
            back(&restored.path, "It is as it was.".to_owned())
        }
    }
}
