//! Files in a namespace of a LangGraph BaseStore, as a Keeper.
//!
//! Such a store holds values by key and gives them by pages, all of them: there is no key that begins with something, and no
//! compare-and-swap. So directories are what the keys imply, an empty one has a key of its own that ends with `/`, and the
//! locks of the Store keep changes apart. Only what is in exactly this namespace gets here, and of most pages only the
//! names: each new file asks whether one of them lies below it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use napi_derive::napi;
use paddock_core::{Call, RelPath, Result};
use paddock_stores::foreign::{Abilities, Content, Item, Keeper, KeyKind, Listing, Sight, Take, Wanted};

use crate::javascript::{JsFunction, Shared, ask, wrong};
use crate::port::time_of;

/// How many values are asked for at once where their contents come along, and where they do not: a store gives them all the
/// same, and some look at everything for each page.
const PAGE: u32 = 500;
const PAGE_OF_NAMES: u32 = 2_000;
/// What stands between two names of a page. No path holds it.
const BETWEEN: char = '\0';
/// Bounds that people choose are multiples of this.
const ROUND: u32 = 10;

/// The functions of the store.
#[napi(object, object_to_js = false)]
pub struct BaseFunctions {
    /// What is at a path: `file`, or `directory` for one that was made.
    #[napi(ts_type = "(key: string) => Promise<'file' | 'directory' | null>")]
    pub look: JsFunction<(String,), Option<String>>,
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
    /// The keys of some of all values.
    #[napi(ts_type = "(offset: number, limit: number) => Promise<BaseNames>")]
    pub names: JsFunction<(f64, u32), BaseNames>,
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

/// The keys of some of all values.
#[napi(object)]
pub struct BaseNames {
    /// Those in exactly this namespace, with U+0000 between them: one text crosses to Rust much faster than many.
    pub keys: String,
    /// How many values the store gave, others' included.
    pub scanned: u32,
    /// What tells the first of them from others.
    pub first: String,
}

/// Some of all values.
#[napi(object)]
pub struct BasePage {
    /// Those in exactly this namespace.
    pub items: Vec<BaseItem>,
    /// How many the store gave, others' included.
    pub scanned: u32,
    /// What tells the first of them from others.
    pub first: String,
}

/// The store as a Keeper.
pub(crate) struct BaseKeeper {
    look: Shared<(String,), Option<String>>,
    get: Shared<(String,), Option<BaseItem>>,
    put: Shared<(BaseItem,), ()>,
    delete: Shared<(String,), ()>,
    page: Shared<(f64, u32), BasePage>,
    names: Shared<(f64, u32), BaseNames>,
}

impl BaseKeeper {
    pub(crate) fn new(base: BaseFunctions) -> Self {
        Self {
            look: Arc::new(base.look),
            get: Arc::new(base.get),
            put: Arc::new(base.put),
            delete: Arc::new(base.delete),
            page: Arc::new(base.page),
            names: Arc::new(base.names),
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
        match ask(call, &self.look, (path.as_str().to_owned(),))?.as_deref() {
            Some("file") => Ok(Sight::There(KeyKind::File)),
            Some("directory") => Ok(Sight::There(KeyKind::Dir)),
            Some(other) => Err(wrong(format!("look answered \"{}\"", other.escape_debug()))),
            // Files below it may imply it.
            None => Ok(Sight::Unsure),
        }
    }

    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Content>> {
        let Some(item) = self.get(call, path.as_str().to_owned())? else { return Ok(None) };
        let modified = item.modified.and_then(time_of);
        Ok(Some(Content { bytes: bytes_of(item)?, modified }))
    }

    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], dated: Option<SystemTime>) -> Result<()> {
        ask(call, &self.put, (item_of(path, content, dated.unwrap_or_else(SystemTime::now)),))
    }

    fn everything(&self, call: &Call<'_>, wanted: Wanted, take: Take<'_>) -> Result<()> {
        match wanted {
            Wanted::Contents => pages(PAGE, |offset| {
                let BasePage { items, scanned, first } = ask(call, &self.page, (f64::from(offset), PAGE))?;
                // What others keep beside the files is not shown, and must not take them along.
                let files = items.into_iter().filter_map(|item| Some((item.key.clone(), bytes_of(item).ok()?)));
                let flow = all_of(files, |(key, content)| take(named(&key, Some(content))))?;
                Ok(Page { scanned, first, flow })
            }),
            Wanted::Names => pages(PAGE_OF_NAMES, |offset| {
                let BaseNames { keys, scanned, first } = ask(call, &self.names, (f64::from(offset), PAGE_OF_NAMES))?;
                let flow = all_of(keys.split(BETWEEN), |key| take(named(key, None)))?;
                Ok(Page { scanned, first, flow })
            }),
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

/// What came of one page.
struct Page {
    scanned: u32,
    first: String,
    flow: ControlFlow<()>,
}

/// Asks for page after page until there is no more, or it is enough.
fn pages(limit: u32, mut page: impl FnMut(u32) -> Result<Page>) -> Result<()> {
    let (mut offset, mut before) = (0, String::new());
    loop {
        let Page { scanned, first, flow } = page(offset)?;
        // A store may give fewer at once than it is asked for, and what it gives by itself is then a round number. One that
        // begins anew each time has given everything.
        let is_last = scanned == 0 || (scanned < limit && scanned % ROUND != 0) || first == before;
        if flow.is_break() || is_last {
            return Ok(());
        }
        (offset, before) = (offset + scanned, first);
    }
}

/// Hands over one after the other, until it is enough.
fn all_of<T>(
    items: impl Iterator<Item = T>,
    mut take: impl FnMut(T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    for item in items {
        if take(item)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// What a key stands for.
fn named(key: &str, content: Option<Vec<u8>>) -> Item<'_> {
    match key.strip_suffix('/') {
        Some(path) => Item { path, kind: KeyKind::Dir, content: None },
        None => Item { path: key, kind: KeyKind::File, content },
    }
}
