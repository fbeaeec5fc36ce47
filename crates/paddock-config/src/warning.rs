//! What a configuration may say and its author probably did not mean.
//!
//! A warning never refuses a file: each of these has its use. `paddock check` and `paddock doctor` tell them, so
//! that nobody finds out from an agent.

use std::fmt;

use paddock_core::{AccessScope, AgentName, visible};

use crate::config_file::{AgentSpec, ConfigFile};
use crate::host::Host;
use crate::nearest::nearest;
use crate::schema::{MountSpec, WorkspaceTable};
use crate::source::Position;

/// The most patterns that one warning names.
const MOST_NAMED: usize = 5;

/// Something that is valid and looks like a slip. Displays as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Whose Workspaces it is about.
    pub agent: AgentName,
    /// Where it was written.
    pub at: Position,
    slip: Slip,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slip {
    /// What the outer Workspace hides is visible in the one nested in it.
    HidesLess { inner: String, outer: String, missing: Vec<String> },
    /// No relative path can ever be allowed.
    BaseOutside { base: String, instead: String },
    /// All that a person has.
    WholeHome { prefix: String, written: String },
    /// A directory that the first write would make, beside one that is called nearly so.
    NotThere { prefix: String, written: String, near: String },
}

impl Warning {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match &self.slip {
            Slip::HidesLess { .. } => "add them to its hide, unless they are meant to be visible there".to_owned(),
            Slip::BaseOutside { instead, .. } => format!("start in a Workspace, such as base = \"{instead}\""),
            Slip::WholeHome { .. } => "mount the directory that the agent needs".to_owned(),
            Slip::NotThere { near, .. } => format!("write \"{}\", if that is meant", visible(near)),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slip {
            Slip::HidesLess { inner, outer, missing } => {
                let named: Vec<String> =
                    missing.iter().take(MOST_NAMED).map(|text| format!("\"{}\"", visible(text))).collect();
                write!(f, "the Workspace \"{inner}\" shows what \"{outer}\" around it hides: {}", named.join(", "))?;
                match missing.len().saturating_sub(MOST_NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Slip::BaseOutside { base, .. } => {
                write!(f, "base \"{base}\" lies outside every Workspace, so every relative path is denied")
            }
            Slip::WholeHome { prefix, written } => {
                write!(f, "the Workspace \"{prefix}\" shows all that is in \"{}\"", visible(written))
            }
            Slip::NotThere { prefix, written, .. } => write!(
                f,
                "the directory \"{}\" of the Workspace \"{prefix}\" is not there; the first write would make it",
                visible(written)
            ),
        }
    }
}

/// Every slip in a file, agent by agent, in the order of the file; with a host, also in what it says of that.
#[must_use]
pub fn warnings(file: &ConfigFile, host: Option<&Host>) -> Vec<Warning> {
    file.agents().into_iter().flat_map(|agent| of_agent(file, host, &agent)).collect()
}

fn of_agent(file: &ConfigFile, host: Option<&Host>, agent: &AgentName) -> Vec<Warning> {
    // Every agent of the file is in the file.
    let Ok(spec) = file.agent(agent) else { return Vec::new() };
    let warning = |(at, slip)| Warning { agent: agent.clone(), at, slip };
    let nested = spec.workspaces.iter().filter_map(|inner| hides_less(inner, spec.workspaces));
    let homes = spec.workspaces.iter().filter_map(whole_home);
    let absent = spec.workspaces.iter().filter_map(|table| not_there(table, host?));
    let all = base_outside(spec).into_iter().chain(nested).chain(homes).chain(absent);
    let mut found: Vec<Warning> = all.map(warning).collect();
    found.sort_by_key(|warning| warning.at);
    found
}

/// A base in no Workspace, and above none either: from above, relative paths still lead into them.
fn base_outside(spec: AgentSpec<'_>) -> Option<(Position, Slip)> {
    let base = spec.base?;
    let meets =
        |table: &WorkspaceTable| base.0.below(&table.prefix.0).is_some() || table.prefix.0.below(&base.0).is_some();
    let first = spec.workspaces.first()?;
    let slip = Slip::BaseOutside { base: base.0.to_string(), instead: first.prefix.0.to_string() };
    (!spec.workspaces.iter().any(meets)).then_some((base.at, slip))
}

/// A Mount of a person's home, or of the host's top.
fn whole_home(table: &WorkspaceTable) -> Option<(Position, Slip)> {
    let MountSpec::Physical { physical } = &table.mount.value else { return None };
    let is_whole = matches!(physical.trim_end_matches('/'), "" | "~");
    let slip = || Slip::WholeHome { prefix: table.prefix.0.to_string(), written: physical.value.clone() };
    is_whole.then(|| (table.mount.at, slip()))
}

/// A Mount that can be written and is not there, while something of nearly that name is.
fn not_there(table: &WorkspaceTable, host: &Host) -> Option<(Position, Slip)> {
    let MountSpec::Physical { physical } = &table.mount.value else { return None };
    let path = host.path_of(physical);
    if table.scope.0 == AccessScope::ReadOnly || path.exists() {
        return None;
    }
    let (above, name) = (path.parent()?, path.file_name()?.to_str()?);
    let entries = std::fs::read_dir(above).ok()?.flatten().filter(|entry| entry.path().is_dir());
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(name, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let before = physical.trim_end_matches('/').strip_suffix(name)?;
    let (prefix, written, near) = (table.prefix.0.to_string(), physical.value.clone(), format!("{before}{near}"));
    Some((table.mount.at, Slip::NotThere { prefix, written, near }))
}

fn hides_less(inner: &WorkspaceTable, all: &[WorkspaceTable]) -> Option<(Position, Slip)> {
    let around =
        |outer: &&WorkspaceTable| outer.prefix.0 != inner.prefix.0 && inner.prefix.0.below(&outer.prefix.0).is_some();
    // The nearest one: what lies further out is its own affair.
    let outer = all.iter().filter(around).max_by_key(|outer| outer.prefix.0.as_str().len())?;
    let missing: Vec<String> = patterns(outer)
        .filter(|pattern| holds_at_any_depth(pattern) && !patterns(inner).any(|own| own == *pattern))
        .collect();
    let slip =
        |missing| Slip::HidesLess { inner: inner.prefix.0.to_string(), outer: outer.prefix.0.to_string(), missing };
    (!missing.is_empty()).then(|| (inner.prefix.at, slip(missing)))
}

fn patterns(table: &WorkspaceTable) -> impl Iterator<Item = String> {
    table.hide.iter().flatten().flat_map(|pattern| pattern.each())
}

/// Does it mean the same in a Workspace further in? What is tied to one directory, or takes something back, does not.
fn holds_at_any_depth(pattern: &str) -> bool {
    let free = pattern.strip_prefix("**/").unwrap_or(pattern);
    !pattern.starts_with('!') && !free.trim_end_matches('/').contains('/')
}
