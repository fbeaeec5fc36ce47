//! Features whose keys are accepted already and that are not built yet.
//!
//! The whole schema exists from the start, so that a file written for a later version is understood by this
//! one. What has no effect yet is said by `paddock check`, never passed over.

use std::fmt;

use serde::Serialize;

use crate::source::Position;

/// Something that keys of the schema speak about and that this version does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// The console and the HTTP API.
    Servers,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Servers => "the console and its server",
        })
    }
}

/// A key in a file that has no effect yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotBuilt {
    /// The path of the key: `workspace[0].quota`.
    pub key: String,
    /// Where it is.
    pub at: Position,
    /// What it needs.
    pub feature: Feature,
}

impl fmt::Display for NotBuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" has no effect yet: {} are not built", self.key, self.feature)
    }
}
