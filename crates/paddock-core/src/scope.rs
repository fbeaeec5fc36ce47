//! Access Scopes and the kinds of operation they allow: one table.

use std::fmt;
use std::str::FromStr;

/// What an agent may do in a Workspace. Immutable, exactly one of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessScope {
    /// Reading, listing, finding, searching.
    ReadOnly,
    /// Everything.
    ReadWrite,
    /// Writing, appending, editing; nothing comes back.
    WriteOnly,
}

impl AccessScope {
    /// Every scope, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::ReadWrite, Self::WriteOnly];

    /// May this kind of operation happen under this scope?
    pub fn allows(self, op: OpKind) -> bool {
        match self {
            Self::ReadWrite => true,
            Self::ReadOnly => op.class() == OpClass::Look,
            Self::WriteOnly => op.class() == OpClass::Deliver,
        }
    }

    /// The name in full, as configuration and seeds write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "READ_ONLY",
            Self::ReadWrite => "READ_WRITE",
            Self::WriteOnly => "WRITE_ONLY",
        }
    }

    /// The two-letter name.
    pub fn short(self) -> &'static str {
        match self {
            Self::ReadOnly => "RO",
            Self::ReadWrite => "RW",
            Self::WriteOnly => "WO",
        }
    }

    /// The name in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::WriteOnly => "write-only",
        }
    }
}

impl fmt::Display for AccessScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AccessScope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Self::ALL
            .into_iter()
            .find(|scope| [scope.name(), scope.short(), scope.words()].contains(&text))
            .ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// A text that names no Access Scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an Access Scope: use READ_ONLY, READ_WRITE or WRITE_ONLY")]
pub struct UnknownScope(pub String);

/// What a single path is asked to undergo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Read a file's content or its facts.
    Read,
    /// List a directory.
    List,
    /// Find files by name below a directory.
    Find,
    /// Search contents below a directory.
    Search,
    /// Create or replace a file.
    Write,
    /// Add to the end of a file.
    Append,
    /// Replace text inside a file.
    Edit,
    /// Create a directory.
    MakeDir,
    /// The path that a move takes away.
    MoveFrom,
    /// The path that a move makes.
    MoveTo,
    /// Remove.
    Delete,
}

/// The three rows of the scope table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpClass {
    /// Something comes back to the agent.
    Look,
    /// Content goes in and nothing has to come back.
    Deliver,
    /// The tree itself changes, and the answer tells what was there.
    Rearrange,
}

impl OpKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::List,
        Self::Find,
        Self::Search,
        Self::Write,
        Self::Append,
        Self::Edit,
        Self::MakeDir,
        Self::MoveFrom,
        Self::MoveTo,
        Self::Delete,
    ];

    fn class(self) -> OpClass {
        match self {
            Self::Read | Self::List | Self::Find | Self::Search => OpClass::Look,
            Self::Write | Self::Append | Self::Edit => OpClass::Deliver,
            Self::MakeDir | Self::MoveFrom | Self::MoveTo | Self::Delete => OpClass::Rearrange,
        }
    }

    /// Does it change anything?
    pub fn changes(self) -> bool {
        self.class() != OpClass::Look
    }

    /// Does it go through directories, so that it may start above every Workspace?
    pub fn browses(self) -> bool {
        matches!(self, Self::List | Self::Find | Self::Search)
    }

    /// The word for messages and for `paddock why`.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Find => "find",
            Self::Search => "search",
            Self::Write => "write",
            Self::Append => "append",
            Self::Edit => "edit",
            Self::MakeDir => "make_dir",
            Self::MoveFrom => "move",
            Self::MoveTo => "move_to",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_table_of_the_design() {
        for op in OpKind::ALL {
            let reads = matches!(op, OpKind::Read | OpKind::List | OpKind::Search | OpKind::Find);
            let delivers = matches!(op, OpKind::Write | OpKind::Append | OpKind::Edit);
            assert!(AccessScope::ReadWrite.allows(op), "{op}");
            assert_eq!(AccessScope::ReadOnly.allows(op), reads, "{op}");
            assert_eq!(AccessScope::WriteOnly.allows(op), delivers, "{op}");
        }
    }

    #[test]
    fn scopes_are_written_three_ways() {
        for scope in AccessScope::ALL {
            for name in [scope.name(), scope.short(), scope.words()] {
                assert_eq!(name.parse(), Ok(scope));
            }
        }
        assert!("rw".parse::<AccessScope>().is_err());
    }
}
