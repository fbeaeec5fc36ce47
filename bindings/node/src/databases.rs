//! The databases of Virtual Stores, by their address: each is opened once in a process and shared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use napi::Result;
use paddock_db::{Durability, Postgres, Sqlite};
use paddock_desk::project;
use paddock_stores::virtual_store::base::BaseStore;
use paddock_stores::virtual_store::{MemoryBase, PostgresBase, SqliteBase};

use crate::place::{installation, system_root, told, told_with};

static OPEN: Mutex<BTreeMap<String, Arc<dyn BaseStore>>> = Mutex::new(BTreeMap::new());

/// A database, and what tells it apart from others.
pub(crate) type Opened = (Arc<dyn BaseStore>, String);

/// The database at an address; the embedded one of the current directory where there is none.
pub(crate) fn open(url: Option<&str>) -> Result<Opened> {
    match url {
        None | Some("sqlite") => embedded(),
        Some("memory") => shared("memory".to_owned(), || Ok(Arc::new(MemoryBase::new()))),
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            shared(url.to_owned(), || {
                let server = Postgres::new(url, vec![PostgresBase::SCHEMA]);
                let server = server.map_err(|error| told_with(&error, error.hint()))?;
                Ok(Arc::new(PostgresBase::new(server)))
            })
        }
        Some(url) => match url.strip_prefix("sqlite:").filter(|file| !file.is_empty()) {
            Some(file) => in_file(Path::new(file)),
            None => Err(told_with(
                format!("\"{}\" is no address of a database", scheme(url)),
                "use \"sqlite:FILE\", \"memory\", \"postgres://…\", or none for the embedded one",
            )),
        },
    }
}

/// An address may hold a password: only how it begins is repeated.
fn scheme(url: &str) -> &str {
    url.split_once(':').map_or(url, |(scheme, _)| scheme)
}

fn shared(key: String, open: impl FnOnce() -> Result<Arc<dyn BaseStore>>) -> Result<Opened> {
    let mut known = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(base) = known.get(&key) {
        return Ok((Arc::clone(base), key));
    }
    let base = open()?;
    known.insert(key.clone(), Arc::clone(&base));
    Ok((base, key))
}

/// The embedded database of the current directory, in the System Root, where `paddock` keeps it too.
fn embedded() -> Result<Opened> {
    let (system_root, here) = (system_root()?, std::env::current_dir().map_err(told)?);
    shared(format!("sqlite {} {}", system_root.path().display(), here.display()), || {
        Ok(installation()?.ports(project::gate()).base)
    })
}

/// A database in a file that the program names; what is large is in a second one beside it.
#[expect(clippy::disallowed_methods, reason = "a slip of the program is told now, and not to its agent later")]
fn in_file(file: &Path) -> Result<Opened> {
    let file = std::path::absolute(file).map_err(told)?;
    if !file.parent().is_some_and(Path::is_dir) {
        let message = format!("there is no directory for \"{}\"", file.display());
        return Err(told_with(message, "make the directory first"));
    }
    shared(format!("sqlite:{}", file.display()), || {
        let mut content = file.clone().into_os_string();
        content.push(".content");
        let state = Sqlite::new(file.clone(), vec![SqliteBase::STATE], Durability::Process);
        let content = Sqlite::new(PathBuf::from(content), vec![SqliteBase::CONTENT], Durability::Process);
        Ok(Arc::new(SqliteBase::new(state, content)))
    })
}
