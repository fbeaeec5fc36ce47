//! The arguments of each tool, as types. Schemas derive from them.
//!
//! `path` may also be called `file_path`, which other file servers taught agents to write; the
//! schema does not show it. Unknown arguments are refused, never ignored: an agent that misspells
//! `expected_version` must not overwrite what it meant to protect.

mod check;

use paddock_core::{Expect, Replacement, Version};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use check::{BadArguments, nearest, read};

/// The most content that one call may carry, in bytes.
pub(crate) const MAX_CONTENT: usize = 8 * 1024 * 1024;
/// The longest search pattern, in bytes.
pub(crate) const MAX_PATTERN: usize = 4096;
/// The most replacements in one edit.
const MAX_EDITS: usize = 1000;

/// What `read_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    /// The file to read.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// How many lines to skip. Default 0.
    pub(crate) offset: Option<u64>,
    /// How many lines to read. Default 2000.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<u64>,
}

/// What `list_dir` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDir {
    /// The directory to list.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// How many levels down. Default 1.
    #[schemars(range(min = 1))]
    pub(crate) depth: Option<u64>,
    /// The most entries to show. Default 1000.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<u64>,
    /// Go on after this path, as the answer before said.
    pub(crate) after: Option<String>,
}

/// What `find_files` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindFiles {
    /// The directory to look below.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// Which files: "*.rs" by name at any depth, "src/**/*.ts" by path below the directory.
    pub(crate) glob: String,
    /// Also what .gitignore leaves out. Default false.
    pub(crate) include_ignored: Option<bool>,
    /// The most files to show. Default 1000.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<u64>,
    /// Go on after this path, as the answer before said.
    pub(crate) after: Option<String>,
}

/// What `search_files` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFiles {
    /// The directory or file to search.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// A regular expression, matched line by line.
    pub(crate) pattern: String,
    /// Only in files that match: "*.rs" by name, "src/**" by path below the directory.
    pub(crate) glob: Option<String>,
    /// Lines to show around each match. Default 0.
    #[schemars(range(max = 100))]
    pub(crate) context: Option<u64>,
    /// Match without regard to case. Default false.
    pub(crate) ignore_case: Option<bool>,
    /// Also what .gitignore leaves out. Default false.
    pub(crate) include_ignored: Option<bool>,
    /// The most matching lines to show. Default 100.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<u64>,
    /// Go on after this, as the answer before said.
    pub(crate) after: Option<String>,
}

/// What `execute_command` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecuteCommand {
    /// The command, as a shell takes it.
    pub(crate) command: String,
    /// The read-write Workspace to run it in, or a directory inside of one to be confined to. Default: the first one.
    pub(crate) workspace: Option<String>,
    /// The most seconds it may take; never more than a person allows.
    #[schemars(range(min = 1))]
    pub(crate) timeout: Option<u64>,
}

/// What `web_search` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebSearch {
    /// What to search for.
    pub(crate) query: String,
    /// The most results to show. Default 10.
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<u64>,
}

/// What `write_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// The file to write. Missing directories above it are made.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// The whole content.
    pub(crate) content: String,
    /// Write only if the file still has this version, as read_file gave it.
    pub(crate) expected_version: Option<String>,
}

/// What `append_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppendFile {
    /// The file to add to. It is made where it is missing.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// What is added at the end.
    pub(crate) content: String,
}

/// What `edit_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    /// The file to edit.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// The exact text to replace. It must be there exactly once unless replace_all is true.
    pub(crate) old_string: Option<String>,
    /// The text to put in its place.
    pub(crate) new_string: Option<String>,
    /// Replace every occurrence. Default false.
    pub(crate) replace_all: Option<bool>,
    /// Several replacements in order, all or nothing, instead of old_string and new_string.
    pub(crate) edits: Option<Vec<OneEdit>>,
    /// Edit only if the file still has this version, as read_file gave it.
    pub(crate) expected_version: Option<String>,
}

// Not a doc comment: it would go into the schema.
// One of several replacements.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneEdit {
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

/// What `make_dir` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MakeDir {
    /// The directory to make, with those above it.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
}

/// What `move_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveFile {
    /// The file or directory to move.
    pub(crate) source: String,
    /// Its new path. Nothing may be there.
    pub(crate) destination: String,
}

/// What `delete_file` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteFile {
    /// The file or directory to delete.
    #[serde(alias = "file_path")]
    pub(crate) path: String,
    /// Delete a directory with everything in it. Default false.
    pub(crate) recursive: Option<bool>,
}

impl EditFile {
    /// The replacements, from whichever of the two forms was used. What is wrong with them by
    /// themselves is found here, so that no Store has to be asked.
    pub(crate) fn replacements(self) -> Result<Vec<Replacement>, BadArguments> {
        let edits = match (self.old_string, self.new_string, self.edits) {
            (Some(old), Some(new), None) => vec![Replacement { old, new, all: self.replace_all.unwrap_or(false) }],
            (None, None, Some(edits)) if self.replace_all.is_none() => edits.into_iter().map(Into::into).collect(),
            (Some(_), None, None) => return Err(BadArguments::Missing("new_string")),
            (None, Some(_), None) => return Err(BadArguments::Missing("old_string")),
            (None, None, None) => return Err(BadArguments::EitherForm),
            _ => return Err(BadArguments::BothForms),
        };
        check_edits(&edits)?;
        Ok(edits)
    }
}

impl From<OneEdit> for Replacement {
    fn from(edit: OneEdit) -> Self {
        Self { old: edit.old_string, new: edit.new_string, all: edit.replace_all.unwrap_or(false) }
    }
}

fn check_edits(edits: &[Replacement]) -> Result<(), BadArguments> {
    if edits.is_empty() {
        return Err(BadArguments::Bad { name: "edits", why: "holds no replacement".to_owned() });
    }
    if edits.len() > MAX_EDITS {
        let why = format!("holds {} replacements; one call takes at most {MAX_EDITS}", edits.len());
        return Err(BadArguments::Bad { name: "edits", why });
    }
    check_size("old_string and new_string", edits.iter().map(|edit| edit.old.len() + edit.new.len()).sum())?;
    for edit in edits {
        if edit.old.is_empty() {
            return Err(BadArguments::Bad { name: "old_string", why: "is empty: there is nothing to find".to_owned() });
        }
        if edit.old == edit.new {
            let why = "and new_string are the same: there is nothing to change".to_owned();
            return Err(BadArguments::Bad { name: "old_string", why });
        }
    }
    Ok(())
}

/// Refuses content that is more than one call may carry.
pub(crate) fn check_size(name: &'static str, bytes: usize) -> Result<(), BadArguments> {
    if bytes > MAX_CONTENT { Err(BadArguments::TooLarge { name, bytes }) } else { Ok(()) }
}

/// What must be true before a write, from an optional version.
pub(crate) fn expectation(version: Option<&str>) -> Result<Expect, BadArguments> {
    match version {
        None => Ok(Expect::Any),
        Some(text) => Version::parse(text).map(Expect::Is).ok_or_else(|| BadArguments::Bad {
            name: "expected_version",
            why: "is not a version: use the one that read_file gave".to_owned(),
        }),
    }
}

/// A count of at least one, at most `most`. More than that is cut down: every tool that takes a
/// limit says how to go on.
pub(crate) fn count(name: &'static str, given: Option<u64>, default: u64, most: u64) -> Result<u64, BadArguments> {
    match given.unwrap_or(default) {
        0 => Err(BadArguments::Bad { name, why: "has to be at least 1".to_owned() }),
        n => Ok(n.min(most)),
    }
}
