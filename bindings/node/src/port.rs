//! Files that a JavaScript object keeps: seed 001's `StorePort`, as a Keeper.
//!
//! What the object answers was looked at on its own side already, so that a wrong shape is told in words of JavaScript; what it
//! means is looked at again behind this, where nothing of it is trusted.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use napi_derive::napi;
use paddock_core::{Call, ErrorKind, RelPath, Result, StoreError};
use paddock_stores::foreign::{Abilities, Content, Keeper, KeyKind, Listing, Named, Sight};

use crate::javascript::{JsFunction, Shared, Telling, ask, tell, wrong};

/// The functions of the object.
#[napi(object, object_to_js = false)]
pub struct PortFunctions {
    /// The whole content of a file.
    #[napi(ts_type = "(path: string) => Promise<string>")]
    pub read: JsFunction<(String,), String>,
    /// The content becomes this.
    #[napi(ts_type = "(path: string, content: string) => Promise<void>")]
    pub write: JsFunction<(String, String), ()>,
    /// Replaces a text, and answers how often.
    #[napi(ts_type = "(path: string, oldString: string, newString: string) => Promise<number>")]
    pub edit: JsFunction<(String, String, String), f64>,
    /// The names in a directory; that of a directory ends with `/`.
    #[napi(ts_type = "(path: string) => Promise<string[]>")]
    pub list: JsFunction<(String,), Vec<String>>,
    /// What is at a path; nothing where nothing is.
    #[napi(ts_type = "(path: string) => Promise<PortStat | null>")]
    pub stat: Option<JsFunction<(String,), Option<PortStat>>>,
    /// Takes away a file.
    #[napi(ts_type = "(path: string) => Promise<void>")]
    pub remove: Option<JsFunction<(String,), ()>>,
    /// Paths of files that may hold a match.
    #[napi(ts_type = "(path: string, pattern: string) => Promise<string[]>")]
    pub search: Option<JsFunction<(String, String), Vec<String>>>,
    /// Told what was left out of an answer.
    #[napi(ts_type = "(why: string) => void")]
    pub left_out: Telling,
}

/// What an object says about a path.
#[napi(object)]
pub struct PortStat {
    /// `file` or `directory`.
    #[napi(ts_type = "'file' | 'directory'")]
    pub kind: String,
    /// When it was changed, in milliseconds since 1970.
    pub modified: Option<f64>,
}

/// The object as a Keeper.
pub(crate) struct PortKeeper {
    read: Shared<(String,), String>,
    write: Shared<(String, String), ()>,
    edit: Shared<(String, String, String), f64>,
    list: Shared<(String,), Vec<String>>,
    stat: Option<Shared<(String,), Option<PortStat>>>,
    remove: Option<Shared<(String,), ()>>,
    search: Option<Shared<(String, String), Vec<String>>>,
    left_out: Telling,
}

impl PortKeeper {
    pub(crate) fn new(port: PortFunctions) -> Self {
        Self {
            read: Arc::new(port.read),
            write: Arc::new(port.write),
            edit: Arc::new(port.edit),
            list: Arc::new(port.list),
            stat: port.stat.map(Arc::new),
            remove: port.remove.map(Arc::new),
            search: port.search.map(Arc::new),
            left_out: port.left_out,
        }
    }

    /// What is at a path, as far as the object tells.
    fn stat(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Option<PortStat>>> {
        self.stat.as_ref().map(|stat| ask(call, stat, (written(path),))).transpose()
    }
}

/// A path as the object is given it: as seed 001 writes them, from the top of the Mount.
fn written(path: RelPath<'_>) -> String {
    format!("/{}", path.as_str())
}

fn kind_of(stat: &PortStat) -> Result<KeyKind> {
    match stat.kind.as_str() {
        "file" => Ok(KeyKind::File),
        "directory" => Ok(KeyKind::Dir),
        other => Err(wrong(format!("stat answered the kind \"{}\"", other.escape_debug()))),
    }
}

/// A time of JavaScript; nothing for one that no clock shows.
pub(crate) fn time_of(millis: f64) -> Option<SystemTime> {
    (millis.is_finite() && (0.0..1e15).contains(&millis)).then(|| UNIX_EPOCH + Duration::from_millis(millis as u64))
}

impl Keeper for PortKeeper {
    fn abilities(&self) -> Abilities {
        Abilities {
            listing: Listing::Directories,
            remove: self.remove.is_some(),
            search: self.search.is_some(),
            make_dir: false,
            bytes: false,
        }
    }

    fn look(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Sight> {
        match self.stat(call, path)? {
            None => Ok(Sight::Unsure),
            Some(None) => Ok(Sight::Nothing),
            Some(Some(stat)) => kind_of(&stat).map(Sight::There),
        }
    }

    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Content>> {
        let bytes = ask(call, &self.read, (written(path),))?.into_bytes();
        let stat = self.stat(call, path)?.flatten();
        Ok(Some(Content { bytes, modified: stat.and_then(|stat| stat.modified).and_then(time_of) }))
    }

    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], _: Option<SystemTime>) -> Result<()> {
        let text =
            std::str::from_utf8(content).map_err(|_| ErrorKind::Unsupported("holding what is not UTF-8 text"))?;
        ask(call, &self.write, (written(path), text.to_owned()))
    }

    fn edit(&self, call: &Call<'_>, path: RelPath<'_>, old: &str, new: &str) -> Result<Option<u64>> {
        let count = ask(call, &self.edit, (written(path), old.to_owned(), new.to_owned()))?;
        if count.fract() != 0.0 || !(0.0..1e9).contains(&count) {
            return Err(wrong(format!("edit answered {count} as the number of replacements")));
        }
        Ok(Some(count as u64))
    }

    fn list(&self, call: &Call<'_>, dir: RelPath<'_>) -> Result<Vec<Named>> {
        let names = ask(call, &self.list, (written(dir),))?;
        Ok(names.into_iter().map(named).collect())
    }

    fn search(&self, call: &Call<'_>, dir: RelPath<'_>, pattern: &str) -> Result<Option<Vec<String>>> {
        let Some(search) = &self.search else { return Ok(None) };
        let paths = ask(call, search, (written(dir), pattern.to_owned()))?;
        Ok(Some(paths.into_iter().map(|path| path.strip_prefix('/').map_or(path.clone(), str::to_owned)).collect()))
    }

    fn left_out(&self, why: &StoreError) {
        let cause = why.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        tell(&self.left_out, format!("{why}{cause}"));
    }

    fn remove(&self, call: &Call<'_>, path: RelPath<'_>, _: KeyKind) -> Result<()> {
        let Some(remove) = &self.remove else { return Err(ErrorKind::Unsupported("deleting").into()) };
        ask(call, remove, (written(path),))
    }
}

fn named(name: String) -> Named {
    match name.strip_suffix('/') {
        Some(dir) => Named { name: dir.to_owned(), kind: KeyKind::Dir },
        None => Named { name, kind: KeyKind::File },
    }
}
