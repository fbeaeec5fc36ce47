//! Files in a namespace of a LangGraph BaseStore, as a Keeper.
//!
//! Such a store holds values by key and gives them by pages, all of them: there is no key that begins with something, and no
//! compare-and-swap. So directories are what the keys imply, an empty one has a key of its own that ends with `/`, and the
//! locks of the Store keep changes apart. Only what is in exactly this namespace gets here.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use napi_derive::napi;
use paddock_core::{Call, MAX_PATH, RelPath, RelPathBuf, Result};
use paddock_stores::foreign::{Abilities, Content, Item, Keeper, KeyKind, Listing, Sight};

use crate::javascript::{JsFunction, Shared, ask, wrong};
use crate::port::time_of;

/// How many values are asked for at once.
const PAGE: u32 = 500;

/// The functions of the store.
#[napi(object, object_to_js = false)]
pub struct BaseFunctions {
    /// The value at a key.
    #[napi(ts_type = "(key: string) => Promise<BaseItem | null>")]
    pub get: JsFunction<(String,), Option<BaseItem>>,
    /// Puts a value.
    #[napi(ts_type = "(item: BaseItem) => Promise<void>")]
    pub put: JsFunction<(BaseItem,), ()>,
    /// Takes one away.
    #[napi(ts_type = "(key: string) => Promise<void>")]
    pub delete: JsFunction<(String,), ()>,
    /// Some of all values.
    #[napi(ts_type = "(offset: number, limit: number) => Promise<BasePage>")]
    pub page: JsFunction<(f64, u32), BasePage>,
}

/// A file, or a directory that was made.
#[napi(object)]
pub struct BaseItem {
    /// The path relative to the Mount; that of a directory ends with `/`.
    pub key: String,
    /// The text, or the bytes in base64.
    pub content: String,
    /// `utf-8` or `base64`.
    #[napi(ts_type = "'utf-8' | 'base64'")]
    pub encoding: String,
    /// When it was changed, in milliseconds since 1970.
    pub modified: Option<f64>,
}

/// Some of all values.
#[napi(object)]
pub struct BasePage {
    /// Those in exactly this namespace.
    pub items: Vec<BaseItem>,
    /// How many the store gave, others' included; fewer than asked for is the end.
    pub scanned: u32,
}

/// The store as a Keeper.
pub(crate) struct BaseKeeper {
    get: Shared<(String,), Option<BaseItem>>,
    put: Shared<(BaseItem,), ()>,
    delete: Shared<(String,), ()>,
    page: Shared<(f64, u32), BasePage>,
}

impl BaseKeeper {
    pub(crate) fn new(base: BaseFunctions) -> Self {
        Self {
            get: Arc::new(base.get),
            put: Arc::new(base.put),
            delete: Arc::new(base.delete),
            page: Arc::new(base.page),
        }
    }

    fn get(&self, call: &Call<'_>, key: String) -> Result<Option<BaseItem>> {
        ask(call, &self.get, (key,))
    }
}

/// The key of a directory that was made.
fn key_of_dir(path: RelPath<'_>) -> String {
    format!("{}/", path.as_str())
}

fn bytes_of(item: BaseItem) -> Result<Vec<u8>> {
    match item.encoding.as_str() {
        "utf-8" => Ok(item.content.into_bytes()),
        "base64" => STANDARD.decode(&item.content).map_err(|error| wrong(format!("a value is no base64: {error}"))),
        other => Err(wrong(format!("a value is encoded as \"{}\"", other.escape_debug()))),
    }
}

fn item_of(path: RelPath<'_>, content: &[u8], modified: SystemTime) -> BaseItem {
    let millis = modified.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_millis() as f64);
    let (content, encoding) = match std::str::from_utf8(content) {
        Ok(text) => (text.to_owned(), "utf-8"),
        Err(_) => (STANDARD.encode(content), "base64"),
    };
    BaseItem { key: path.as_str().to_owned(), content, encoding: encoding.to_owned(), modified: Some(millis) }
}

impl Keeper for BaseKeeper {
    fn abilities(&self) -> Abilities {
        Abilities { listing: Listing::Whole, remove: true, search: true, make_dir: true, bytes: true }
    }

    fn look(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Sight> {
        if self.get(call, path.as_str().to_owned())?.is_some() {
            return Ok(Sight::There(KeyKind::File));
        }
        if self.get(call, key_of_dir(path))?.is_some() {
            return Ok(Sight::There(KeyKind::Dir));
        }
        // Files below it may imply it.
        Ok(Sight::Unsure)
    }

    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Content>> {
        let Some(item) = self.get(call, path.as_str().to_owned())? else { return Ok(None) };
        let modified = item.modified.and_then(time_of);
        Ok(Some(Content { bytes: bytes_of(item)?, modified }))
    }

    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], dated: Option<SystemTime>) -> Result<()> {
        ask(call, &self.put, (item_of(path, content, dated.unwrap_or_else(SystemTime::now)),))
    }

    fn everything(&self, call: &Call<'_>, take: &mut dyn FnMut(Item) -> Result<()>) -> Result<()> {
        let mut offset = 0;
        loop {
            let page = ask(call, &self.page, (f64::from(offset), PAGE))?;
            // What others keep beside the files is not shown, and must not take them along.
            page.items.into_iter().filter_map(told).try_for_each(&mut *take)?;
            if page.scanned < PAGE {
                return Ok(());
            }
            offset += page.scanned;
        }
    }

    fn remove(&self, call: &Call<'_>, path: RelPath<'_>, kind: KeyKind) -> Result<()> {
        let key = match kind {
            KeyKind::File => path.as_str().to_owned(),
            KeyKind::Dir => key_of_dir(path),
        };
        ask(call, &self.delete, (key,))
    }

    fn make_dir(&self, call: &Call<'_>, dir: RelPath<'_>) -> Result<()> {
        let item = BaseItem { key: key_of_dir(dir), ..item_of(dir, b"", SystemTime::now()) };
        ask(call, &self.put, (item,))
    }
}

/// What a value is; nothing for a key that is no path, or a value that is no file.
fn told(item: BaseItem) -> Option<Item> {
    let (path, kind) = match item.key.strip_suffix('/') {
        Some(dir) => (dir.to_owned(), KeyKind::Dir),
        None => (item.key.clone(), KeyKind::File),
    };
    if path.is_empty() || path.len() > MAX_PATH || RelPathBuf::parse(&path).is_err() {
        return None;
    }
    let content = match kind {
        KeyKind::Dir => None,
        KeyKind::File => Some(bytes_of(item).ok()?),
    };
    Some(Item { path, kind, content })
}
