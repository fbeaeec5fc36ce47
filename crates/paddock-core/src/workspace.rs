//! A Workspace: a logical directory, one Access Scope, the Mount behind it, and its name rules.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::change::Quota;
use crate::names::NameRules;
use crate::path::LogicalPath;
use crate::scope::{AccessScope, OpKind};
use crate::store::Store;

/// Where a person wrote a rule, for explanations: `paddock.toml:7`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    file: Arc<str>,
    line: u32,
}

impl Origin {
    /// A line of a file, counted from 1.
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// Not written in a file: a library caller made the rule.
    pub fn unknown() -> Self {
        Self::new("", 0)
    }

    /// A rule given on the command line.
    pub fn command_line() -> Self {
        Self::new("command line", 0)
    }

    /// The line, or 0 where there is none.
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.file, self.line) {
            ("", _) => f.write_str("(set by the program)"),
            (file, 0) => f.write_str(file),
            (file, line) => write!(f, "{file}:{line}"),
        }
    }
}

/// The place that a Mount reaches, for finding two Mounts of one place.
///
/// Two territories overlap when their realm is the same and one path begins with the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Territory {
    realm: String,
    names: Vec<String>,
}

impl Territory {
    /// A place inside a realm: the host's disk, or one namespace of a database.
    pub fn new(realm: impl Into<String>, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { realm: realm.into(), names: names.into_iter().map(Into::into).collect() }
    }

    /// The realm: the host's disk, or one namespace of a database.
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// Is one of them the other, or in it?
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.names, &other.names);
        self.realm == other.realm && (ours.starts_with(theirs) || theirs.starts_with(ours))
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// This place and each one that contains it, innermost first.
    pub(crate) fn and_above(&self) -> impl Iterator<Item = (&str, &[String])> {
        (0..=self.names.len()).rev().map(|n| (self.realm.as_str(), &self.names[..n]))
    }

    pub(crate) fn key(&self) -> (&str, &[String]) {
        (&self.realm, &self.names)
    }
}

impl fmt::Display for Territory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:/{}", self.realm, self.names.join("/"))
    }
}

/// What backs a Workspace: the Store, and the place it reaches.
#[derive(Clone)]
pub struct Mount {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) territory: Option<Territory>,
    host: Option<PathBuf>,
}

impl Mount {
    /// A Mount on this Store. Without a territory it is taken to share nothing with any other.
    pub fn new(store: Arc<dyn Store>, territory: Option<Territory>) -> Self {
        Self { store, territory, host: None }
    }

    /// The same Mount, known to be a directory of the host.
    #[must_use]
    pub fn on_host(mut self, directory: impl Into<PathBuf>) -> Self {
        self.host = Some(directory.into());
        self
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("territory", &self.territory).finish_non_exhaustive()
    }
}

/// A logical directory that an agent perceives, paired with one Access Scope.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) prefix: LogicalPath,
    pub(crate) scope: AccessScope,
    pub(crate) mount: Mount,
    pub(crate) names: NameRules,
    pub(crate) origin: Origin,
    pub(crate) quota: Quota,
    pub(crate) aside: bool,
}

impl Workspace {
    /// A Workspace with no hidden names and every guarded name guarded.
    pub fn new(prefix: LogicalPath, scope: AccessScope, mount: Mount) -> Self {
        let (names, origin, quota) = (NameRules::default(), Origin::unknown(), Quota::default());
        Self { prefix, scope, mount, names, origin, quota, aside: false }
    }

    /// With these name rules.
    #[must_use]
    pub fn with_names(mut self, names: NameRules) -> Self {
        self.names = names;
        self
    }

    /// With the place where a person wrote it.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// With bounds on what it may hold.
    #[must_use]
    pub fn with_quota(mut self, quota: Quota) -> Self {
        self.quota = quota;
        self
    }

    /// One that holds Paddock's own answers: named when there is something in it, and in no list of places before.
    #[must_use]
    pub fn set_aside(mut self) -> Self {
        self.aside = true;
        self
    }

    /// Is it left out where Workspaces are listed?
    pub fn is_aside(&self) -> bool {
        self.aside
    }

    /// The most it may hold.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Does its scope allow it, and can its Store do it at all?
    pub fn allows(&self, op: OpKind) -> bool {
        self.scope.allows(op) && self.mount.store.serves(op)
    }

    /// Are several changes made as a whole or not at all here?
    pub fn is_atomic(&self) -> bool {
        self.mount.store.is_atomic()
    }

    /// The host directory behind it, where it is one. For showing it to a command; no agent may learn it.
    pub fn host_directory(&self) -> Option<&Path> {
        self.mount.host.as_deref()
    }

    /// The place behind it, where that is known.
    pub fn territory(&self) -> Option<&Territory> {
        self.mount.territory.as_ref()
    }

    /// The logical directory.
    pub fn prefix(&self) -> &LogicalPath {
        &self.prefix
    }

    /// The Access Scope.
    pub fn scope(&self) -> AccessScope {
        self.scope
    }

    /// Where a person wrote it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The name rules.
    pub fn names(&self) -> &NameRules {
        &self.names
    }
}
