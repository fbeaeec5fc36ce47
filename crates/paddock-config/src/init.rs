//! The first configuration of a project, and where a project's configuration is.
//!
//! What `paddock init` writes is for people to read and change: the project can be read, one directory can be
//! written, secrets stay invisible.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::schema::json_schema;

/// The name of the configuration in the Project Root.
pub const CONFIG_FILE: &str = "paddock.toml";
/// The name of the JSON Schema beside it, for editors.
pub const SCHEMA_FILE: &str = ".paddock.schema.json";
/// The directory that the first configuration lets agents write.
pub const WORKSPACE_DIR: &str = "workspace";

/// The names that are hidden in every Workspace unless a person says otherwise: environment files and
/// private keys. The bundle of public certificates that pip and others bring along is none.
pub const HIDE: &[&str] = &[
    ".env",
    ".env.*",
    "*.pem",
    "!cacert.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
];

/// The words that the first configuration refuses as commands.
const DENY: &[&str] = &["rm", "rmdir", "del", "format", "dd"];

/// Why a project cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is a configuration already.
    #[error("\"{}\" exists already", .0.display())]
    Exists(PathBuf),
    /// The host refused.
    #[error("cannot write \"{}\": {source}", path.display())]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
}

impl InitError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Exists(_) => "change it with `paddock config set`, or remove it first",
            Self::Io { .. } => "check that you may write in this directory",
        }
    }
}

/// The text of a new `paddock.toml` for a project of this name.
///
/// ```
/// let text = paddock_config::template("my-app");
/// assert!(paddock_config::ConfigFile::parse("paddock.toml", &text).is_ok());
/// ```
#[must_use]
pub fn template(name: &str) -> String {
    let name = toml_edit::Value::from(name);
    let (hide, deny) = (list(HIDE), list(DENY));
    format!(
        r#"#:schema ./{SCHEMA_FILE}
# What agents perceive in this project: each [[workspace]] is a logical directory with one Access Scope.
# Everything else does not exist for them. A saved change takes effect at the agent's next call.
#
#   paddock check                     is this file right?
#   paddock map                       what does the agent see?
#   paddock why write src/main.rs     what would happen, and which line decides it?

name = {name}
base = "/project"                      # where relative paths start

# The project: the agent reads it and changes nothing.
[[workspace]]
prefix = "/project"
scope = "READ_ONLY"                    # or READ_WRITE, or WRITE_ONLY (nothing comes back)
mount = {{ physical = "." }}             # relative to the directory of this file
hide = {hide}

# The only place where the agent writes. Deleting the directory breaks nothing: the next write makes it again.
[[workspace]]
prefix = "/project/{WORKSPACE_DIR}"
scope = "READ_WRITE"
mount = {{ physical = "{WORKSPACE_DIR}" }}
hide = {hide}

# The agent runs commands in a sandbox of the kernel, under the same Workspaces and scopes, without these words. What a
# command changed is looked at when it ends, and can be undone. Without this section it runs none.
[commands]
deny = {deny}
"#
    )
}

/// Writes the first configuration, its schema, and the line that keeps the agents' directory out of
/// version control. Gives back what was written.
///
/// # Errors
/// When there is a configuration already, or the host refuses.
pub fn init(project: &Path, name: &str) -> Result<Vec<PathBuf>, InitError> {
    let config = project.join(CONFIG_FILE);
    create(&config, &template(name)).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => InitError::Exists(config.clone()),
        _ => failed(&config, source),
    })?;
    let schema = project.join(SCHEMA_FILE);
    fs::write(&schema, format!("{:#}\n", json_schema())).map_err(|source| failed(&schema, source))?;
    let ignore = project.join(".gitignore");
    let added = ignore_workspace(&ignore).map_err(|source| failed(&ignore, source))?;
    Ok([config, schema].into_iter().chain(added.then_some(ignore)).collect())
}

/// The configuration of the directory or of the nearest one above it.
#[must_use]
pub fn find_upwards(from: &Path) -> Option<PathBuf> {
    let from = std::path::absolute(from).ok()?;
    from.ancestors().map(|directory| directory.join(CONFIG_FILE)).find(|file| file.is_file())
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Adds the agents' directory to `.gitignore`; false when it is there already.
fn ignore_workspace(file: &Path) -> io::Result<bool> {
    let line = format!("{WORKSPACE_DIR}/");
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let same = |written: &str| written.trim().trim_start_matches('/').trim_end_matches('/') == WORKSPACE_DIR;
    if text.lines().any(same) {
        return Ok(false);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut open = File::options().append(true).create(true).open(file)?;
    open.write_all(format!("{gap}{line}\n").as_bytes())?;
    Ok(true)
}

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", words.join(", "))
}

fn failed(path: &Path, source: io::Error) -> InitError {
    let path = path.to_owned();
    InitError::Io { path, source }
}
