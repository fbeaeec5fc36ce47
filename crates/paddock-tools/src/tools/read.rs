//! `read_file`: lines of a text file, an image, or what kind of file it is.
//!
//! Reads through the Vfs in chunks and holds no more than a page: the first chunk settles most
//! files with one read. Chunks of different versions never make one answer: when the file changes
//! underneath, the reading starts again, once.

use paddock_core::{LogicalPath, Operation, Outcome, TextKind, Version};
use serde_json::{Map, Value};

use super::lines::{Cut, LineFeed, Window, fit};
use super::{PAGE, media};
use crate::answer::{Answer, Piece};
use crate::arguments::{ReadFile, count};
use crate::boundary::Context;
use crate::failure::Failure;

const FIRST_CHUNK: u64 = 64 * 1024;
const NEXT_CHUNKS: u64 = 512 * 1024;
const DEFAULT_LINES: u64 = 2000;
/// How far a line that is too long to show is measured.
const MEASURED: u64 = 64 * 1024 * 1024;
/// How often a file may change while it is read.
const ATTEMPTS: usize = 2;

/// Why a reading ends early.
enum Interrupted {
    /// The file is not the one that the reading began with.
    Changed,
    Failed(Failure),
}

impl From<Failure> for Interrupted {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

pub(crate) fn read_file(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: ReadFile = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    let skip = args.offset.unwrap_or(0);
    let take = count("limit", args.limit, DEFAULT_LINES, u64::MAX)?;
    for _ in 0..ATTEMPTS {
        match attempt(cx, &path, skip, take) {
            Ok(answer) => return Ok(answer),
            Err(Interrupted::Changed) => {}
            Err(Interrupted::Failed(failure)) => return Err(failure),
        }
    }
    Err(Failure::Restless(path))
}

fn attempt(cx: &Context<'_>, path: &LogicalPath, skip: u64, take: u64) -> Result<Answer, Interrupted> {
    let (chunks, head) = Chunks::open(cx, path)?;
    if head.is_empty() {
        return Ok(chunks.facts(Answer::done(format!("\"{path}\" is empty."))).with("lines", 0));
    }
    let kind = TextKind::of(&head);
    match media::binary_type(kind, &head) {
        Some(mime) => show_binary(chunks, head, mime),
        None => show_text(chunks, &head, kind, skip, take),
    }
}

fn show_text(mut chunks: Chunks<'_>, head: &[u8], kind: TextKind, skip: u64, take: u64) -> Result<Answer, Interrupted> {
    let feed = LineFeed::of(kind);
    let mut window = Window::new(feed, skip, take, PAGE * kind.unit());
    let mut wanting = window.push(head);
    while wanting && let Some(chunk) = chunks.next()? {
        wanting = window.push(&chunk);
    }
    if window.bytes().is_empty() {
        return Ok(past_the_end(&chunks, skip, window.lines_skipped()));
    }
    let mut text = kind.decode(window.bytes()).unwrap_or_default();
    let cut = fit(&text, PAGE, !window.is_full());
    let mut goes_on = cut.keep < text.len() || window.consumed() < chunks.end();
    let mut note = None;
    if cut.inside_a_line {
        let length = measure(&mut chunks, &window, feed)?;
        goes_on = length.goes_on;
        note = Some(cut_line(skip + 1, cut.keep, &length));
    }
    text.truncate(cut.keep);
    let answer = with_text_facts(chunks.facts(Answer::done(text)), kind, cut, goes_on);
    Ok(match (note, goes_on) {
        (None, false) => answer,
        (note, goes_on) => answer.and(Piece::Text(how_to_go_on(note, goes_on, skip, cut.lines, chunks.len))),
    }
    .with_next(goes_on, skip + cut.lines))
}

fn with_text_facts(answer: Answer, kind: TextKind, cut: Cut, goes_on: bool) -> Answer {
    let answer = answer.with("lines", cut.lines).with("truncated", goes_on || cut.inside_a_line);
    match kind {
        TextKind::Encoded(_) => answer.with("encoding", kind.name()),
        _ => answer,
    }
}

impl Answer {
    fn with_next(self, goes_on: bool, offset: u64) -> Self {
        if goes_on { self.with("next_offset", offset) } else { self }
    }
}

fn how_to_go_on(note: Option<String>, goes_on: bool, skip: u64, lines: u64, size: u64) -> String {
    let mut out = String::from("[");
    if let Some(note) = note {
        out.push_str(&note);
    }
    if goes_on {
        if out.len() > 1 {
            out.push(' ');
        }
        let (first, last) = (skip + 1, skip + lines);
        out.push_str(&format!(
            "Lines {first} to {last} of a file of {size} bytes. It goes on: read_file with offset={last}."
        ));
    }
    out.push(']');
    out
}

fn cut_line(line: u64, shown: usize, length: &Length) -> String {
    let long = match length.bytes {
        Some(bytes) => format!("is {bytes} bytes long"),
        None => format!("is longer than {MEASURED} bytes"),
    };
    format!("Line {line} {long}; only its first {shown} bytes are shown. search_files finds what is in the rest.")
}

fn past_the_end(chunks: &Chunks<'_>, skip: u64, lines: u64) -> Answer {
    let has = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    let text = format!("offset {skip} is past the end: \"{}\" has {has}.", chunks.path);
    chunks.facts(Answer::done(text)).with("lines", 0).with("total_lines", lines).with("truncated", false)
}

/// How long a line is, and whether anything follows it.
struct Length {
    bytes: Option<u64>,
    goes_on: bool,
}

/// Measures the first line of a window, which is too long for it. Holds one chunk at a time.
fn measure(chunks: &mut Chunks<'_>, window: &Window, feed: LineFeed) -> Result<Length, Interrupted> {
    let start = window.consumed() - window.bytes().len() as u64;
    let ends_at =
        |end: u64, chunks: &Chunks<'_>| Length { bytes: Some(end - feed.width()), goes_on: start + end < chunks.end() };
    if let Some(end) = feed.end_of_line(window.bytes()) {
        return Ok(ends_at(end as u64, chunks));
    }
    let mut length = window.bytes().len() as u64;
    while let Some(chunk) = chunks.next()? {
        if let Some(end) = feed.end_of_line(&chunk) {
            return Ok(ends_at(length + end as u64, chunks));
        }
        length += chunk.len() as u64;
        if length > MEASURED {
            return Ok(Length { bytes: None, goes_on: true });
        }
    }
    Ok(Length { bytes: Some(length), goes_on: false })
}

fn show_binary(mut chunks: Chunks<'_>, head: Vec<u8>, mime: &'static str) -> Result<Answer, Interrupted> {
    let (path, size) = (chunks.path, chunks.len);
    let facts = |answer: Answer| answer.with("mime", mime);
    let Some(image) = media::image_type(mime) else {
        let text = format!("\"{path}\" is not text: {mime}, {}.", crate::messages::bytes(size));
        return Ok(facts(chunks.facts(Answer::done(text))));
    };
    if size > media::MAX_IMAGE {
        let most = media::MAX_IMAGE;
        let text = format!("\"{path}\" is an image ({mime}, {size} bytes); images over {most} bytes are not shown.");
        return Ok(facts(chunks.facts(Answer::done(text))));
    }
    let mut data = head;
    while let Some(chunk) = chunks.next()? {
        data.extend_from_slice(&chunk);
    }
    let text = format!("\"{path}\": {mime}, {size} bytes.");
    Ok(facts(chunks.facts(Answer::done(text))).and(Piece::Image { mime: image, data }))
}

/// One version of a file, chunk by chunk.
struct Chunks<'a> {
    cx: &'a Context<'a>,
    path: &'a LogicalPath,
    version: Version,
    len: u64,
    at: u64,
    ended: bool,
}

impl<'a> Chunks<'a> {
    fn open(cx: &'a Context<'a>, path: &'a LogicalPath) -> Result<(Self, Vec<u8>), Interrupted> {
        let (bytes, version, len) = read_range(cx, path, 0, FIRST_CHUNK)?;
        let at = bytes.len() as u64;
        let ended = at < FIRST_CHUNK || at >= len;
        Ok((Self { cx, path, version, len, at, ended }, bytes))
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Interrupted> {
        if self.ended {
            return Ok(None);
        }
        self.cx.check_time(self.path)?;
        let (bytes, version, len) = read_range(self.cx, self.path, self.at, NEXT_CHUNKS)?;
        if version != self.version || len != self.len {
            return Err(Interrupted::Changed);
        }
        let read = bytes.len() as u64;
        self.at += read;
        self.ended = read < NEXT_CHUNKS || self.at >= self.len;
        Ok((read > 0).then_some(bytes))
    }

    /// Where the file ends, as far as is known.
    fn end(&self) -> u64 {
        if self.ended { self.at } else { self.len }
    }

    fn facts(&self, answer: Answer) -> Answer {
        answer.with("version", self.version.to_string()).with("size", self.len)
    }
}

fn read_range(cx: &Context<'_>, path: &LogicalPath, at: u64, len: u64) -> Result<(Vec<u8>, Version, u64), Failure> {
    match cx.perform(Operation::Read { path: path.clone(), range: at..at + len })? {
        Outcome::Read { bytes, meta } => Ok((bytes, meta.version, meta.len)),
        _ => Err(Failure::Defect),
    }
}
