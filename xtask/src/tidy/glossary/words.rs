//! The forbidden synonyms, the proper names that contain them, and the exceptions.
//!
//! Owns the word list and nothing else. Some synonyms (root, environment, target) are ordinary English: as the
//! name of a public item they are refused, in prose only the phrases in which they would stand for a term of
//! the glossary.

/// A word that must not name a public item, and the term to use.
pub(super) struct Synonym {
    pub(super) word: &'static str,
    pub(super) instead: &'static str,
}

const fn synonym(word: &'static str, instead: &'static str) -> Synonym {
    Synonym { word, instead }
}

const WORKSPACE: &str = "Workspace";
const SCOPE: &str = "Access Scope";
const MOUNT: &str = "Mount";
const STORE: &str = "Store";

/// In names of public items: the word or its plural, as a part of a CamelCase or snake_case name.
pub(super) const IN_NAMES: &[Synonym] = &[
    synonym("root", WORKSPACE),
    synonym("folder", WORKSPACE),
    synonym("environment", WORKSPACE),
    synonym("permission", SCOPE),
    synonym("rights", SCOPE),
    synonym("target", MOUNT),
    synonym("binding", MOUNT),
    synonym("backend", STORE),
    synonym("adapter", STORE),
    synonym("adaptor", STORE),
    synonym("localfs", "Physical Store"),
];

/// Names that the design, a seed or an outside format fixes; `_` stands between their words.
pub(super) const PROPER_NAMES: &[&str] =
    &["project_root", "system_root", "permissions_level", "target_id", "root_dir", "folder_token"];

/// In prose: words and phrases, matched whole and whatever their case.
pub(super) const IN_PROSE: &[Synonym] = &[
    synonym("folder", WORKSPACE),
    synonym("folders", WORKSPACE),
    synonym("workspace root", WORKSPACE),
    synonym("workspace roots", WORKSPACE),
    synonym("workspace's root", WORKSPACE),
    synonym("root of the workspace", WORKSPACE),
    synonym("root of a workspace", WORKSPACE),
    synonym("workspace environment", WORKSPACE),
    synonym("agent's environment", WORKSPACE),
    synonym("permissions", SCOPE),
    synonym("access permission", SCOPE),
    synonym("read permission", SCOPE),
    synonym("write permission", SCOPE),
    synonym("rights", SCOPE),
    synonym("access right", SCOPE),
    synonym("mount target", MOUNT),
    synonym("mount targets", MOUNT),
    synonym("mount's target", MOUNT),
    synonym("target of the mount", MOUNT),
    synonym("target of a mount", MOUNT),
    synonym("binding", MOUNT),
    synonym("bindings", MOUNT),
    synonym("backend", STORE),
    synonym("backends", STORE),
    synonym("back-end", STORE),
    synonym("adapter", STORE),
    synonym("adapters", STORE),
    synonym("localfs", "Physical Store"),
    synonym("db store", "Virtual Store"),
];

/// Phrases that contain a forbidden one and mean something else, everywhere.
pub(super) const ORDINARY: &[&str] = &[
    "cargo workspace root",
    "file permissions", // the mode of a file on the host, which is what the host calls it
    "unix permissions",
    "all rights reserved",
    "bindings/",
    "langchain-mcp-adapters", // the name of a package
    "backend-orchestrator",   // a directory of the sample project, named by a seed
];

/// One place where a forbidden word is meant as it stands.
pub(super) struct Exception {
    /// The file, relative to the top.
    pub(super) path: &'static str,
    /// Words around it, in lower case, that make the place known.
    pub(super) context: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader of the table; a test wants it filled"))]
    pub(super) reason: &'static str,
}

impl Exception {
    pub(super) fn covers(&self, path: &str, context: &str) -> bool {
        self.path == path && context.to_lowercase().contains(self.context)
    }
}

pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/paddock-state/src/system_root.rs",
        context: "from_environment",
        reason: "the variables of the process, which have no other name",
    },
    Exception {
        path: "crates/paddock-state/src/secrets/environment.rs",
        context: "fromenvironment",
        reason: "the variables of the process, which have no other name",
    },
    Exception {
        path: "xtask/src/tidy/manifest.rs",
        context: "bindings",
        reason: "the directory `bindings/`, a proper name",
    },
    Exception { path: "xtask/src/repo.rs", context: "bindings", reason: "the directory `bindings/`, a proper name" },
    Exception {
        path: "crates/paddock/src/commands/connect/clients/claude_code.rs",
        context: "permissions.",
        reason: "a key of Claude Code's own file",
    },
    Exception {
        path: "crates/paddock/src/commands/connect/clients/cursor.rs",
        context: "permissions.",
        reason: "a key of Cursor's own file",
    },
    Exception {
        path: "crates/paddock-console/src/published.rs",
        context: "permissions-policy",
        reason: "a header of HTTP",
    },
    Exception {
        path: "xtask/src/clients/connect.rs",
        context: "--dangerously-skip-permissions",
        reason: "an option of Claude Code",
    },
];
