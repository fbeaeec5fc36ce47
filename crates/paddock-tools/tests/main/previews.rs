//! What a call would change, as whoever is asked gets it: every path, and no more read for it than there is room for.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paddock_core::{
    AgentName, AgentPolicy, Call, Fate, Gate, Meta, NoJournal, Passed, Permit, Plan, Preview, Refused, Request, Store,
    Vfs,
};
use paddock_stores::MemoryStore;
use paddock_tools::Toolbox;
use serde_json::json;

use crate::setup::{Meddler, Meddling, RW, call, holding, path, workspace};

/// The most that is read for one preview.
const MOST_READ: u64 = 64 << 20;

/// A Store whose files hold so many bytes each, whatever they were made with, and that counts what is read of them.
struct Counting {
    store: Arc<MemoryStore>,
    len: Option<u64>,
    bytes: AtomicU64,
    reads: AtomicU64,
}

impl Counting {
    fn over(files: &[(&str, &[u8])], len: Option<u64>) -> Arc<Meddler<Self>> {
        Arc::new(Meddler(Self { store: holding(files), len, bytes: AtomicU64::new(0), reads: AtomicU64::new(0) }))
    }
}

impl Meddling for Counting {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn after_read(&self, range: &Range<u64>, out: &mut Vec<u8>, meta: &mut Meta) {
        if let Some(len) = self.len {
            meta.len = len;
            out.resize(usize::try_from(range.end.min(len) - range.start).unwrap(), 0);
        }
        self.bytes.fetch_add(out.len() as u64, Ordering::Relaxed);
        self.reads.fetch_add(u64::from(!out.is_empty()), Ordering::Relaxed);
    }
}

/// A Gate that looks at what would change, and lets nothing pass.
#[derive(Default)]
struct Looking(Mutex<Option<Preview>>);

impl Gate for Looking {
    fn pass(&self, _: &Call<'_>, request: &Request<'_>, _: &Plan, _: Permit) -> Result<Passed, Refused> {
        *self.0.lock().unwrap() = Some(request.asked.preview());
        Ok(Passed::Parked("ap".to_owned()))
    }
}

/// What is shown of a recursive delete of `/w/many`.
fn of_deleting(store: &Arc<Meddler<Counting>>) -> Preview {
    let gate = Arc::new(Looking::default());
    let journal = Arc::new(NoJournal);
    let vfs = Vfs::new(vec![workspace("/w", RW, Arc::clone(store) as _)], Arc::<Looking>::clone(&gate), journal);
    let toolbox = Toolbox::fixed(AgentPolicy::new(AgentName::main(), path("/"), vfs.unwrap()));
    call(&toolbox, "delete_file", json!({"path": "/w/many", "recursive": true}));
    gate.0.lock().unwrap().take().unwrap()
}

/// What is shown of a file that holds this and is written over.
fn of_writing(old: &[u8], new: &str) -> Preview {
    let gate = Arc::new(Looking::default());
    let store = holding(&[("file", old)]);
    let vfs = Vfs::new(vec![workspace("/w", RW, store)], Arc::<Looking>::clone(&gate), Arc::new(NoJournal));
    let toolbox = Toolbox::fixed(AgentPolicy::new(AgentName::main(), path("/"), vfs.unwrap()));
    call(&toolbox, "write_file", json!({"path": "/w/file", "content": new}));
    gate.0.lock().unwrap().take().unwrap()
}

#[test]
fn no_change_of_bytes_hides_behind_a_text_that_looks_the_same() {
    let ordinary = "# café\n".repeat(200);
    let text = format!("{ordinary}if ($pw eq \"\u{fffd}\") {{\n");
    let broken = [ordinary.as_bytes(), b"if ($pw eq \"\xff\") {\n"].concat();
    let hidden = of_writing(&broken, &text);
    assert!(!hidden.whole && hidden.paths[0].hunks.is_empty(), "{hidden:?}");
    assert!(hidden.paths[0].not_shown.as_ref().is_some_and(|why| why.contains("no plain text")), "{hidden:?}");
    // In another encoding a shell reads other words.
    let wide: Vec<u8> = "\u{feff}\n;id;#x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(!of_writing(&wide, "plain\n").whole);
    let marked = of_writing(b"#!/bin/sh\n", "\u{feff}#!/bin/sh\n");
    let lines: Vec<&str> = marked.paths[0].hunks[0].lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["#!/bin/sh", "\\u{feff}#!/bin/sh"], "{marked:?}");
    assert!(of_writing(b"caf\xe9 au lait\n", "tea\n").whole, "a letter of an older encoding is shown");
}

fn named(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("many/{n:05}")).collect()
}

fn deleted(preview: &Preview) -> u64 {
    assert_eq!(preview.totals.fates.len(), 1, "{:?}", preview.totals);
    preview.totals.fates[&Fate::Deleted]
}

#[test]
fn however_much_a_call_takes_no_more_is_read_than_there_is_room_for() {
    let names = named(400);
    let mut files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    files.push(("many/", b""));
    files.push(("many/-empty/", b""));
    for len in [1 << 20, 200 << 10] {
        let store = Counting::over(&files, Some(len));
        let preview = of_deleting(&store);
        let read = store.0.bytes.load(Ordering::Relaxed);
        assert!(read <= MOST_READ && read > MOST_READ - (1 << 20), "{read} bytes of files of {len}");
        // Every path is told all the same, and what it is.
        assert_eq!((deleted(&preview), preview.paths.len(), preview.whole), (402, 402, false));
        let directories: Vec<&str> =
            preview.paths.iter().filter(|path| path.is_directory).map(|path| path.path.as_str()).collect();
        assert_eq!(directories, ["/w/many/-empty", "/w/many"]);
        let left_out = preview.paths.iter().filter(|path| path.not_shown.is_some()).count() as u64;
        assert_eq!((preview.totals.uncounted, left_out), (400, 400), "and what nobody counted is told");
    }
}

#[test]
fn of_paths_that_cannot_be_named_nothing_is_read() {
    let names = named(2500);
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x\n".as_slice())).collect();
    let store = Counting::over(&files, None);
    let preview = of_deleting(&store);
    assert_eq!((deleted(&preview), preview.paths.len(), preview.whole), (2501, 2000, false));
    assert_eq!(store.0.reads.load(Ordering::Relaxed), 2000);
    assert_eq!((preview.totals.removed, preview.totals.uncounted), (2000, 501));
}

#[test]
fn lines_are_bounded_by_their_number_too() {
    let empty = "\n".repeat(19_990);
    let files: [(&str, &[u8]); 3] = [("many/1", b"x\n"), ("many/2", empty.as_bytes()), ("many/3", empty.as_bytes())];
    let preview = of_deleting(&Counting::over(&files, None));
    assert_eq!(
        (preview.totals.removed, preview.totals.uncounted),
        (2 * 19_990 + 1, 0),
        "they are counted all the same"
    );
    let shown: Vec<(&str, usize)> = preview
        .paths
        .iter()
        .map(|path| (path.path.as_str(), path.hunks.iter().map(|hunk| hunk.lines.len()).sum()))
        .collect();
    assert_eq!(shown, [("/w/many/3", 19_990), ("/w/many/2", 0), ("/w/many/1", 1), ("/w/many", 0)]);
    assert!(!preview.whole);
}
