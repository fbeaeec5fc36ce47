//! What did not come along, and why: nothing is left out in silence.

use schemars::JsonSchema;
use serde::Serialize;

/// The most paths that are named; the others are counted.
const NAMED: usize = 100;

/// What did not come along.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Files and directories that a `.gitignore` names.
    pub ignored: u64,
    /// Everything else, by path.
    pub paths: Vec<LeftPath>,
    /// How many more there were than are named.
    pub more: u64,
}

/// One path that did not come along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftPath {
    /// The path below the project.
    pub path: String,
    /// Why it did not come along.
    pub why: WhyLeft,
}

/// Why something did not come along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyLeft {
    /// A link that leads out of the project, or to a name that is not shown.
    LinkLeaves,
    /// A FIFO, a device or a socket.
    Special,
    /// A name that cannot be written as a path.
    Unnameable,
    /// A repository's own files: its history and settings are not the project's content.
    Repository,
    /// Another Workspace begins there.
    OtherWorkspace,
    /// A file with several names, which the Workspace does not let be read.
    HardLinked,
    /// Another repository that is only named.
    Submodule,
    /// The Workspace does not let it be written.
    Denied,
    /// It was changed while it was read: what came along may be a mixture.
    ChangedMeanwhile,
}

impl WhyLeft {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::LinkLeaves => "a link that leads out of the project or to a name that is not shown",
            Self::Special => "no file: a FIFO, a device or a socket",
            Self::Unnameable => "a name that cannot be written as a path",
            Self::Repository => "a repository's own files",
            Self::OtherWorkspace => "another Workspace begins there",
            Self::HardLinked => "a file with several names, which the Workspace does not let be read",
            Self::Submodule => "another repository that is only named",
            Self::Denied => "the Workspace does not let it be written",
            Self::ChangedMeanwhile => "changed while it was read; what came along may be a mixture",
        }
    }
}

impl LeftOut {
    /// Did everything come along?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ignored == 0 && self.paths.is_empty()
    }

    pub(crate) fn add(&mut self, path: impl Into<String>, why: WhyLeft) {
        if self.paths.len() < NAMED {
            self.paths.push(LeftPath { path: path.into(), why });
        } else {
            self.more += 1;
        }
    }
}
