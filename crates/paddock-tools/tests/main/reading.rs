//! `read_file`: windows of lines, encodings, chunks, images.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{Meta, Store, Version};
use paddock_stores::MemoryStore;
use paddock_stores::doubles::{Method, Recording};
use paddock_tools::{Answer, Piece, Verdict};
use serde_json::json;

use crate::setup::{Agent, Meddler, Meddling, RO, agent, holding, workspace};

const PAGE: usize = 256 * 1024;

fn reader(content: &[u8]) -> Agent {
    agent(vec![workspace("/", RO, holding(&[("f", content)]))])
}

fn read(content: &[u8], offset: u64, limit: u64) -> Answer {
    reader(content).call("read_file", json!({"path": "/f", "offset": offset, "limit": limit}))
}

fn first_piece(answer: &Answer) -> &str {
    match &answer.content[0] {
        Piece::Text(text) => text,
        Piece::Image { .. } => unreachable!("text first"),
    }
}

#[test]
fn a_small_file_costs_one_read_and_comes_whole() {
    let store = Arc::new(Recording::new(holding(&[("f", b"one\r\ntwo\n\nlast")])));
    let agent = agent(vec![workspace("/", RO, Arc::clone(&store) as _)]);
    let answer = agent.call("read_file", json!({"path": "/f"}));
    assert_eq!(answer.content, [Piece::Text("one\r\ntwo\n\nlast".to_owned())]);
    assert_eq!(store.take(), [(Method::Read, "f".to_owned())]);
    let facts = &answer.structured;
    assert_eq!((&facts["lines"], &facts["size"], &facts["truncated"]), (&json!(4), &json!(14), &json!(false)));
    assert!(Version::parse(facts["version"].as_str().unwrap()).is_some());
    assert!(!facts.contains_key("next_offset") && !facts.contains_key("encoding"));
}

#[test]
fn a_window_says_how_to_go_on() {
    let answer = read(b"a\nb\nc\nd\n", 1, 2);
    assert_eq!(first_piece(&answer), "b\nc\n");
    assert_eq!(answer.structured["next_offset"], 3);
    assert_eq!(answer.structured["truncated"], true);
    assert_eq!(
        answer.content[1],
        Piece::Text("[Lines 2 to 3 of a file of 8 bytes. It goes on: read_file with offset=3.]".to_owned())
    );
    let last = read(b"a\nb\nc\nd\n", 3, 1);
    assert_eq!((first_piece(&last), last.content.len()), ("d\n", 1), "a window that ends with the file says nothing");
}

#[test]
fn the_edges_of_a_file_are_told() {
    assert_eq!(read(b"", 0, 5).text(), "\"/f\" is empty.");
    assert_eq!(read(b"a\nb", 2, 5).text(), "offset 2 is past the end: \"/f\" has 2 lines.");
    assert_eq!(read(b"a\nb\n", 7, 5).structured["total_lines"], 2);
    assert_eq!(read(b"a\nb\n", 7, 5).verdict, Verdict::Done);
    let zero = reader(b"a").call("read_file", json!({"path": "/f", "limit": 0}));
    assert_eq!(zero.verdict, Verdict::Invalid);
}

#[test]
fn pages_put_together_are_the_file() {
    let line = |i: usize| format!("{i} {}\n", "äö\u{1f600}".repeat(i % 40));
    let text: String = (0..9000).map(line).collect();
    assert!(text.len() > 5 * 64 * 1024);
    let agent = reader(text.as_bytes());
    for limit in [700, 2000, 1_000_000] {
        let (mut together, mut offset, mut pages) = (String::new(), 0, 0);
        loop {
            let answer = agent.call("read_file", json!({"path": "/f", "offset": offset, "limit": limit}));
            let page = first_piece(&answer);
            assert!(page.len() <= PAGE);
            together.push_str(page);
            pages += 1;
            match answer.structured.get("next_offset") {
                Some(next) => offset = next.as_u64().unwrap(),
                None => break,
            }
        }
        assert!(together == text, "limit {limit}");
        assert!(pages > 1, "limit {limit}");
    }
}

#[test]
fn characters_on_the_border_of_two_chunks_stay_whole() {
    // One byte first, so that every border of 64 KiB falls inside a two-byte character.
    let utf8 = format!("x{}", "ä".repeat(60_000));
    assert_eq!(first_piece(&read(utf8.as_bytes(), 0, 9)), utf8);
    // A byte order mark and pairs of four bytes: the border falls inside a pair.
    let text = "😀".repeat(40_000);
    for (mark, unit) in [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)] {
        let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect();
        assert_eq!(first_piece(&read(&bytes, 0, 9)), text);
    }
}

#[test]
fn other_encodings_are_shown_as_text_and_named() {
    for (name, mark, unit) in [
        ("UTF-16LE", [0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        ("UTF-16BE", [0xfe, 0xff], u16::to_be_bytes),
    ] {
        let bytes: Vec<u8> = mark.into_iter().chain("äb\nc\nd".encode_utf16().flat_map(unit)).collect();
        let answer = read(&bytes, 1, 1);
        assert_eq!((first_piece(&answer), &answer.structured["encoding"]), ("c\n", &json!(name)));
        assert_eq!(answer.structured["next_offset"], 2);
    }
    let latin = read(b"Gr\xf6\xdfe und Stra\xdfe\n\xfcber allem\n", 0, 9);
    assert_eq!(
        (first_piece(&latin), &latin.structured["encoding"]),
        ("Größe und Straße\nüber allem\n", &json!("windows-1252"))
    );
    let marked = read(b"\xef\xbb\xbfa\n", 0, 9);
    assert_eq!((first_piece(&marked), marked.structured.contains_key("encoding")), ("a\n", false));
}

#[test]
fn a_line_longer_than_a_page_is_cut_and_measured() {
    let long = "y".repeat(PAGE + 70_000);
    let text = format!("short\n{long}\nafter\n");
    let first = read(text.as_bytes(), 0, 9);
    assert_eq!((first_piece(&first), &first.structured["next_offset"]), ("short\n", &json!(1)));

    let cut = read(text.as_bytes(), 1, 9);
    assert_eq!(first_piece(&cut), &long[..PAGE]);
    assert_eq!((&cut.structured["next_offset"], &cut.structured["truncated"]), (&json!(2), &json!(true)));
    let note = cut.text();
    assert!(note.contains(&format!("Line 2 is {} bytes long", long.len())), "{}", &note[PAGE..]);
    assert_eq!(first_piece(&read(text.as_bytes(), 2, 9)), "after\n");

    // The last line of a file, and one that reaches far beyond what is read at first.
    let endless = read("z".repeat(3 * 1024 * 1024).as_bytes(), 0, 1);
    assert!(endless.text().contains("Line 1 is 3145728 bytes long"));
    assert!(!endless.structured.contains_key("next_offset"));
}

#[test]
fn a_large_file_is_never_loaded_to_read_its_beginning() {
    let store = Arc::new(Recording::new(holding(&[("f", "line\n".repeat(1_000_000).as_bytes())])));
    let agent = agent(vec![workspace("/", RO, Arc::clone(&store) as _)]);
    agent.done("read_file", json!({"path": "/f"}));
    assert_eq!(store.take().len(), 1, "2,000 lines of five bytes are in the first chunk");
}

#[test]
fn binary_files_are_named_and_images_shown() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR rest";
    let answer = read(png, 0, 9);
    assert_eq!(answer.text(), format!("\"/f\": image/png, {} bytes.", png.len()));
    assert_eq!(answer.content[1], Piece::Image { mime: "image/png", data: png.to_vec() });

    let mut large = png.to_vec();
    large.resize(300_000, 7);
    assert_eq!(read(&large, 0, 9).content[1], Piece::Image { mime: "image/png", data: large.clone() });
    large.resize(4 * 1024 * 1024 + 1, 7);
    let refused = read(&large, 0, 9);
    assert_eq!(refused.content.len(), 1, "too large to show");
    assert!(refused.text().contains("images over 4194304 bytes are not shown"));

    let zip = read(b"PK\x03\x04\x14\0\0\0", 0, 9);
    assert_eq!(zip.text(), "\"/f\" is not text: application/zip, 8 bytes.");
    assert_eq!((&zip.structured["mime"], &zip.structured["size"]), (&json!("application/zip"), &json!(8)));
    assert_eq!(read(b"\0\x01", 0, 9).text(), "\"/f\" is not text: application/octet-stream, 2 bytes.");
}

/// A file that someone writes while it is read: so many later chunks are of another version.
struct Restless {
    inner: Arc<MemoryStore>,
    changes: AtomicUsize,
}

impl Meddling for Restless {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn after_read(&self, range: &Range<u64>, _: &mut Vec<u8>, meta: &mut Meta) {
        let left = self.changes.load(Ordering::SeqCst);
        if range.start > 0 && left > 0 {
            self.changes.store(left - 1, Ordering::SeqCst);
            meta.version = Version(meta.version.0 + 1);
        }
    }
}

fn read_restless(changes: usize) -> Answer {
    let inner = holding(&[("f", "line\n".repeat(50_000).as_bytes())]);
    let store = Meddler(Restless { inner, changes: AtomicUsize::new(changes) });
    agent(vec![workspace("/", RO, Arc::new(store))]).call("read_file", json!({"path": "/f", "offset": 40_000}))
}

#[test]
fn a_change_between_two_chunks_is_noticed() {
    assert_eq!(read_restless(0).verdict, Verdict::Done);
    let once = read_restless(1);
    assert_eq!((once.verdict.clone(), first_piece(&once)), (Verdict::Done, "line\n".repeat(2000).as_str()));
    let always = read_restless(2);
    assert_eq!(always.verdict, Verdict::Failed);
    assert_eq!(
        always.text(),
        "❌ ERROR: \"/f\" keeps changing while it is read. Read it again when whoever writes it is done."
    );
}

#[test]
fn a_directory_is_no_file() {
    let agent = agent(vec![workspace("/", RO, holding(&[("d/f", b"")]))]);
    let told = agent.refused("read_file", json!({"path": "/d"}));
    assert_eq!(told, "❌ ERROR: \"/d\" is a directory. list_dir shows what it holds.");
}
