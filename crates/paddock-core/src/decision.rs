//! A decision is a value: what was asked, the rule that decided, and where a person wrote it.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::guarded::GuardedName;
use crate::names::HidePattern;
use crate::path::LogicalPath;
use crate::scope::{AccessScope, OpKind};
use crate::workspace::{Origin, Workspace};

/// The verdict on one operation on one path. Borrowed from the policy that gave it.
#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    pub(crate) op: OpKind,
    pub(crate) path: &'a LogicalPath,
    pub(crate) workspace: Option<&'a Workspace>,
    pub(crate) rule: Rule<'a>,
    pub(crate) allowed_in: &'a Arc<[LogicalPath]>,
}

/// The rule that decided.
#[derive(Debug, Clone, Copy)]
pub enum Rule<'a> {
    /// The scope allows it.
    ScopeAllows,
    /// It lies above every Workspace: only the way down to them is shown.
    Ancestor,
    /// No Workspace covers the path.
    NoWorkspace,
    /// The scope of the Workspace does not allow it.
    Scope,
    /// The Store behind the Workspace cannot do it.
    Unserved,
    /// A nested Workspace is in its place: its name differs from that one's only in how it is written.
    Shadowed,
    /// A pattern hides the path.
    Hidden(&'a HidePattern),
    /// The path would make a host run code.
    Guarded(&'static GuardedName),
    /// The path is one of Paddock's own files.
    Own,
    /// The path is a Workspace itself, or holds one.
    HoldsWorkspace,
}

impl<'a> Decision<'a> {
    /// Is it allowed?
    pub fn allowed(&self) -> bool {
        matches!(self.rule, Rule::ScopeAllows | Rule::Ancestor)
    }

    /// The rule that decided.
    pub fn rule(&self) -> Rule<'a> {
        self.rule
    }

    /// The Workspace that the path belongs to.
    pub fn workspace(&self) -> Option<&'a Workspace> {
        self.workspace
    }

    /// The Workspaces in which this operation is allowed.
    pub fn alternatives(&self) -> &'a [LogicalPath] {
        self.allowed_in
    }

    /// The explanation for a person: verdict, Workspace, rule with its origin, alternatives.
    pub fn explain(&self) -> String {
        let mut out = String::new();
        let verdict = if self.allowed() { "allowed" } else { "denied" };
        let _ = writeln!(out, "{} {}: {verdict}", self.op, self.path);
        match self.workspace {
            Some(w) => {
                let _ = writeln!(out, "  workspace: {} {} ({})", w.prefix, w.scope, w.origin);
            }
            None => out.push_str("  workspace: none covers this path\n"),
        }
        let _ = writeln!(out, "  rule: {}", self.reason());
        if !self.allowed() {
            let _ = writeln!(out, "  instead: {}", self.way_out());
        }
        out
    }

    /// The rule in words, with where it was written.
    pub fn reason(&self) -> String {
        let scope = self.workspace.map_or("", |w| w.scope.words());
        match self.rule {
            Rule::ScopeAllows => match (self.depends_on(), self.in_gits()) {
                (Some(row), _) => format!(
                    "{scope} allows {}, unless its directory is a git repository: then it is the guarded name {}",
                    self.op, row.name
                ),
                (None, Some(row)) => format!(
                    "{scope} allows {} to commands, whose changes of git's lists are read; it is guarded against file tools by {}",
                    self.op, row.name
                ),
                (None, None) => format!("{scope} allows {}", self.op),
            },
            Rule::Ancestor => "above every Workspace: only the way to them is shown".to_owned(),
            Rule::NoWorkspace => "deny by default: what no Workspace covers cannot be reached".to_owned(),
            Rule::Scope => format!("{scope} does not allow {}", self.op),
            Rule::Unserved => format!("the Store behind this Workspace cannot {}", self.op),
            Rule::Shadowed => {
                "written like a nested Workspace but for case or composition, which a file system may ignore".to_owned()
            }
            Rule::Hidden(p) => format!("hidden by the pattern \"{}\" ({})", p.text, p.origin),
            Rule::Guarded(g) => format!("guarded name {}: {}; list it under unguard to lift this", g.name, g.why),
            Rule::Own => "Paddock's own file: never changed by an agent, and nothing lifts this".to_owned(),
            Rule::HoldsWorkspace => "a Workspace itself, or a directory that holds one, stays where it is".to_owned(),
        }
    }

    /// What guards the path if there is a repository where it lies, which only a look can tell.
    fn depends_on(&self) -> Option<&'static GuardedName> {
        let workspace = self.workspace.filter(|_| self.op.changes())?;
        workspace.names.depends_on(self.path.below(&workspace.prefix)?)
    }

    /// What keeps file tools away from the path, and not git.
    fn in_gits(&self) -> Option<&'static GuardedName> {
        let workspace = self.workspace?;
        workspace.names.in_gits(self.op, self.path.below(&workspace.prefix)?)
    }

    fn way_out(&self) -> String {
        if matches!(self.rule, Rule::Own | Rule::HoldsWorkspace) {
            return "a person has to do it".to_owned();
        }
        match list_some(self.allowed_in) {
            Some(places) => format!("{} is allowed in {places}", self.op),
            None => format!("no Workspace of this agent allows {}", self.op),
        }
    }

    /// The rule as whoever was refused may know it: what is hidden looks like what nothing allows.
    pub fn deny_rule(&self) -> DenyRule {
        match self.rule {
            Rule::NoWorkspace | Rule::ScopeAllows | Rule::Ancestor => DenyRule::NoWorkspace,
            Rule::Scope => DenyRule::Scope,
            Rule::Unserved => DenyRule::Unserved,
            Rule::Hidden(_) | Rule::Shadowed => DenyRule::Hidden,
            Rule::Guarded(name) => DenyRule::Guarded(name),
            Rule::Own => DenyRule::Own,
            Rule::HoldsWorkspace => DenyRule::HoldsWorkspace,
        }
    }

    /// What a refused call is told, in values.
    pub fn denial(&self, asked: &LogicalPath) -> Denial {
        Denial {
            op: self.op,
            asked: asked.clone(),
            path: self.path.clone(),
            workspace: self.workspace.map(|w| (w.prefix.clone(), w.scope, w.origin.clone())),
            rule: self.deny_rule(),
            allowed_in: Arc::clone(self.allowed_in),
        }
    }
}

/// A denied [`Decision`], owned, to travel as an error.
#[derive(Debug, Clone)]
pub struct Denial {
    /// What was asked.
    pub op: OpKind,
    /// The path as it was asked for.
    pub asked: LogicalPath,
    /// The path that was judged: where a link led, or what a directory holds.
    pub path: LogicalPath,
    /// The Workspace it belongs to, its scope and where it was written.
    pub workspace: Option<(LogicalPath, AccessScope, Origin)>,
    /// The rule that denied it.
    pub rule: DenyRule,
    /// The Workspaces in which this operation is allowed.
    pub allowed_in: Arc<[LogicalPath]>,
}

/// The rules that deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenyRule {
    /// No Workspace covers the path.
    NoWorkspace,
    /// The scope does not allow it.
    Scope,
    /// The Store cannot do it.
    Unserved,
    /// The path is hidden.
    Hidden,
    /// The path is guarded.
    Guarded(&'static GuardedName),
    /// The path is Paddock's own.
    Own,
    /// The path is, or holds, a Workspace.
    HoldsWorkspace,
}

/// The first few of many, for a message.
pub fn list_some(paths: &[LogicalPath]) -> Option<String> {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = paths.iter().take(SHOWN).map(LogicalPath::as_str).collect();
    match paths.len() {
        0 => None,
        n if n > SHOWN => Some(format!("{} and {} more", shown.join(", "), n - SHOWN)),
        _ => Some(shown.join(", ")),
    }
}
