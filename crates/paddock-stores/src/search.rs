//! Searching one file line by line, and keeping the first matches of many files.
//!
//! Every Store searches with these, so that a pattern means the same everywhere and no pattern and
//! no file can cost more than a bounded amount of memory. The regular expressions run in linear
//! time; one that would compile to something huge is refused. Nothing here opens a file or knows
//! what an agent may see: a Store decides which files it hands over.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use paddock_core::{Call, ErrorKind, Hit, Query, Result, SNIFF, StoreError, tree_order, visible};

/// The longest pattern taken, in bytes.
const MAX_PATTERN: usize = 8 * 1024;
/// What a pattern may cost. Searching a byte takes at most as many steps as its automaton is large, and
/// a line is searched in one go, so the two together bound how long a call can be beyond stopping.
const COSTS: [Cost; 2] = [
    Cost { automaton: 1024 * 1024, line: 1024 * 1024 },
    // The few patterns that need more, such as long counted repetitions of `\\w`, get shorter lines.
    Cost { automaton: 8 * 1024 * 1024, line: 32 * 1024 },
];
/// What the lazily built automaton may keep in memory, per thread.
const MAX_CACHE: usize = 4 * 1024 * 1024;
/// How much of a line a hit shows, in bytes.
const SHOWN: usize = 500;
/// Where a match stands in a long line, this much before it is shown too.
const LEAD: usize = 100;
/// The most context a hit may have, on each side.
const MAX_CONTEXT: u32 = 1000;
/// How much of a pattern that cannot be used is told back, in bytes.
const SHOWN_PATTERN: usize = 200;
/// Stands where text was cut.
const CUT: &str = "…";

#[derive(Debug, Clone, Copy)]
struct Cost {
    /// The largest automaton, in bytes.
    automaton: usize,
    /// The longest line searched, in bytes; what follows a longer one in its file is left out.
    line: usize,
}

/// A compiled query: clone it, or borrow it from many threads.
#[derive(Debug, Clone)]
pub struct LineSearch {
    matcher: RegexMatcher,
    line_end: LineTerminator,
    longest_line: usize,
    context: usize,
    limit: usize,
}

impl LineSearch {
    /// Compiles the pattern, or says why it cannot be used.
    pub fn new(query: &Query) -> Result<Self> {
        if query.pattern.len() > MAX_PATTERN {
            return Err(bad_pattern(format!("it is longer than {MAX_PATTERN} bytes")));
        }
        let (matcher, line_end, longest_line) = compile_within_costs(query)?;
        let context = usize::try_from(query.context.min(MAX_CONTEXT)).unwrap_or(usize::MAX);
        Ok(Self { matcher, line_end, longest_line, context, limit: query.limit })
    }

    /// What one thread searches with, file after file.
    pub fn reader(&self) -> FileSearcher {
        FileSearcher { line_search: self.clone(), searcher: self.searcher(), head: vec![0; SNIFF] }
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(self.line_end)
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(self.longest_line))
            .max_matches(Some(u64::try_from(self.limit).unwrap_or(u64::MAX)))
            .build()
    }
}

/// The matcher within the lowest cost that will do, what ends a line for it, and the longest line.
fn compile_within_costs(query: &Query) -> Result<(RegexMatcher, LineTerminator, usize)> {
    let mut first = None;
    for cost in COSTS {
        // With CRLF known as an end of line, `x$` finds x in such files; a pattern that itself
        // names `\r` is compiled without.
        for (crlf, line_end) in [(true, LineTerminator::crlf()), (false, LineTerminator::byte(b'\n'))] {
            match compile(query, crlf, cost.automaton) {
                Ok(matcher) => return Ok((matcher, line_end, cost.line)),
                Err(why) => drop(first.get_or_insert(why)),
            }
        }
    }
    Err(bad_pattern(first.map_or_else(String::new, |why| explain(&query.pattern, &why))))
}

fn compile(query: &Query, crlf: bool, automaton: usize) -> Result<RegexMatcher, grep_regex::Error> {
    let mut builder = RegexMatcherBuilder::new();
    // Either of the two also says which line ends no match may hold.
    if crlf {
        builder.crlf(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder
        .case_insensitive(query.ignore_case)
        .multi_line(true)
        .size_limit(automaton)
        .dfa_size_limit(MAX_CACHE)
        .nest_limit(100)
        .build(&query.pattern)
}

/// What is wrong, in one line and about the pattern as it was written: the library shows the one that it made of it.
fn explain(pattern: &str, error: &grep_regex::Error) -> String {
    if let grep_regex::ErrorKind::NotAllowed(_) = error.kind() {
        return "it spans lines, and lines are searched one by one".to_owned();
    }
    let told = error.to_string();
    let why = told.lines().last().unwrap_or_default().trim();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    let shown = &pattern[..pattern.floor_char_boundary(SHOWN_PATTERN)];
    let cut = if shown.len() < pattern.len() { CUT } else { "" };
    format!("\"{}{cut}\": {why}", visible(shown))
}

fn bad_pattern(why: String) -> StoreError {
    ErrorKind::BadPattern(why).into()
}

/// Searches files one after the other and reuses its buffers.
#[derive(Debug)]
pub struct FileSearcher {
    line_search: LineSearch,
    searcher: Searcher,
    head: Vec<u8>,
}

impl FileSearcher {
    /// Adds the lines of one file that match, and their context, to `out`: at most as many matches
    /// as the query asks for. A binary file has none. A line over a mebibyte ends the search of its
    /// file, and the call counts that. Ends early when the call does, and with what the source said when it cannot be read.
    pub fn search(&mut self, call: &Call<'_>, path: &str, source: impl Read, out: &mut Vec<Hit>) -> Result<()> {
        if self.line_search.limit == 0 {
            return Ok(());
        }
        let mut source = Stoppable { source, call, failed: None };
        let filled = match fill(&mut source, &mut self.head) {
            Ok(filled) => filled,
            Err(e) => return Err(source.failed.take().unwrap_or_else(|| io_error(e))),
        };
        let head = &self.head[..filled];
        if !has_utf16_mark(head) && head.contains(&0) {
            return Ok(());
        }
        let matcher = &self.line_search.matcher;
        let sink = Lines { path, matcher, limit: self.line_search.limit, matches: 0, out };
        // In one go only what is allowed to be one line.
        let searched = if filled < self.head.len().min(self.line_search.longest_line) {
            self.searcher.search_slice(matcher, head, sink)
        } else {
            self.searcher.search_reader(matcher, head.chain(&mut source), sink)
        };
        if let Some(error) = source.failed.take() {
            return Err(error);
        }
        if searched.is_err() {
            // A line that does not fit: give back the memory that looking for its end took.
            call.cut_short();
            self.searcher = self.line_search.searcher();
        }
        Ok(())
    }
}

/// Reads until the buffer is full or the source is at its end.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

fn has_utf16_mark(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
}

/// What a source failed by: its own words where it is a Store, which knows more than that it could not be read.
fn io_error(source: io::Error) -> StoreError {
    source.downcast::<StoreError>().unwrap_or_else(|source| StoreError::caused_by(ErrorKind::Io, source))
}

/// A source that fails once its call is over, and remembers why it failed: what the searcher
/// reports besides is only ever a line that is too long.
struct Stoppable<'a, 'c, R> {
    source: R,
    call: &'a Call<'c>,
    failed: Option<StoreError>,
}

impl<R: Read> Read for Stoppable<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let error = match self.call.tick(0) {
            Err(over) => over,
            Ok(()) => match self.source.read(buffer) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => io_error(e),
                done => return done,
            },
        };
        self.failed = Some(error);
        Err(io::Error::other("the search stops here"))
    }
}

/// Takes lines from the searcher as hits.
struct Lines<'a> {
    path: &'a str,
    matcher: &'a RegexMatcher,
    limit: usize,
    matches: usize,
    out: &'a mut Vec<Hit>,
}

impl Lines<'_> {
    /// Where a long line matches; a short one is shown whole, so there it does not matter.
    fn match_start(&self, line: &[u8]) -> usize {
        if line.len() <= SHOWN {
            return 0;
        }
        self.matcher.find(line).ok().flatten().map_or(0, |place| place.start())
    }

    fn push(&mut self, line: Option<u64>, text: String, matched: bool) {
        self.out.push(Hit { path: self.path.to_owned(), line: line.unwrap_or(0), text, matched });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        // A match inside the context of the last one wanted is one too many.
        if self.matches == self.limit {
            return Ok(false);
        }
        self.matches += 1;
        let line = without_line_end(found.bytes());
        self.push(found.line_number(), shown(line, self.match_start(line)), true);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = without_line_end(context.bytes());
        self.push(context.line_number(), shown(line, 0), false);
        Ok(true)
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line as text; of a long one only the part in which the match starts.
fn shown(line: &[u8], start: usize) -> String {
    if line.len() <= SHOWN {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = if start + LEAD < SHOWN { 0 } else { character_start(line, start - LEAD) };
    let to = if from + SHOWN < line.len() { character_start(line, from + SHOWN) } else { line.len() };
    let text = String::from_utf8_lossy(&line[from..to]);
    let before = if from > 0 { CUT } else { "" };
    let after = if to < line.len() { CUT } else { "" };
    format!("{before}{text}{after}")
}

/// The start of the UTF-8 character that holds this byte, where the bytes are UTF-8.
fn character_start(line: &[u8], at: usize) -> usize {
    let is_inside = |i: &usize| line[*i] & 0xc0 == 0x80;
    (at.saturating_sub(3)..=at).rev().find(|i| !is_inside(i)).unwrap_or(at)
}

/// The first `limit` matches in tree order, whatever the order files are searched in.
///
/// Behind a lock it serves many threads: asking and adding cost little, and what cannot be among
/// the first any more is dropped at once.
#[derive(Debug)]
pub struct TopHits {
    limit: usize,
    context: u64,
    matches: usize,
    files: BTreeMap<TreeOrder, FileHits>,
}

#[derive(Debug)]
struct FileHits {
    matches: usize,
    hits: Vec<Hit>,
}

impl TopHits {
    /// Keeps what this query asks for.
    pub fn new(query: &Query) -> Self {
        Self { limit: query.limit, context: query.context.into(), matches: 0, files: BTreeMap::new() }
    }

    /// Can this file still hold one of the first matches?
    pub fn accepts(&self, path: &str) -> bool {
        if !self.is_full() {
            return true;
        }
        self.files.last_key_value().is_some_and(|(last, _)| tree_order(path, &last.0).is_lt())
    }

    /// Are there enough matches? Then only files before the last of them can change anything.
    pub fn is_full(&self) -> bool {
        self.matches >= self.limit
    }

    /// Takes what was found in one file.
    pub fn add(&mut self, path: &str, hits: Vec<Hit>) {
        let matches = hits.iter().filter(|hit| hit.matched).count();
        if matches == 0 || !self.accepts(path) {
            return;
        }
        self.matches += matches;
        self.files.insert(TreeOrder(path.to_owned()), FileHits { matches, hits });
        while let Some(last) = self.files.last_entry() {
            if self.matches - last.get().matches < self.limit {
                break;
            }
            self.matches -= last.remove().matches;
        }
    }

    /// What was kept, in tree order and by line.
    pub fn finish(self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.files.into_values().flat_map(|file| file.hits).collect();
        let mut matches = 0;
        let over = hits.iter().position(|hit| {
            matches += usize::from(hit.matched);
            matches > self.limit
        });
        if let Some(over) = over {
            hits.truncate(over);
            drop_stray_context(&mut hits, self.context);
        }
        hits
    }
}

/// The context that led up to a match which was cut off goes with it.
fn drop_stray_context(hits: &mut Vec<Hit>, context: u64) {
    let Some(last) = hits.iter().rposition(|hit| hit.matched) else { return hits.clear() };
    let end = hits[last].line.saturating_add(context);
    let follows = |hit: &&Hit| hit.path == hits[last].path && hit.line <= end;
    let kept = hits[last..].iter().take_while(follows).count();
    hits.truncate(last + kept);
}

/// A path that sorts as a tree is walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeOrder(pub(crate) String);

impl Ord for TreeOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        tree_order(&self.0, &other.0)
    }
}

impl PartialOrd for TreeOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use paddock_core::{AgentName, CallId, Cancel};

    use super::*;

    fn query(pattern: &str) -> Query {
        Query {
            pattern: pattern.to_owned(),
            ignore_case: false,
            glob: None,
            context: 0,
            limit: 100,
            skip_ignored: true,
            after: None,
        }
    }

    fn search(query: &Query, source: impl Read) -> Result<Vec<(u64, String, bool)>> {
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(600);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let mut out = Vec::new();
        LineSearch::new(query)?.reader().search(&call, "f", source, &mut out)?;
        Ok(out.into_iter().map(|hit| (hit.line, hit.text, hit.matched)).collect())
    }

    fn lines(query: &Query, content: &[u8]) -> Vec<u64> {
        search(query, content).unwrap().into_iter().filter(|hit| hit.2).map(|hit| hit.0).collect()
    }

    #[test]
    fn lines_that_match_are_told_with_their_number_and_text() {
        let found = search(&query("b+"), &b"a\nbb\r\nc\nxbx"[..]).unwrap();
        assert_eq!(found, [(2, "bb".to_owned(), true), (4, "xbx".to_owned(), true)]);
        assert_eq!(lines(&query("^$"), b"a\n\nb\n"), [2]);
        assert_eq!(
            lines(&Query { ignore_case: true, ..query("STRASSE|größe") }, "strasse\nGRÖSSE\nGRÖßE\n".as_bytes()),
            [1, 3]
        );
    }

    #[test]
    fn ends_of_lines_are_found_in_both_kinds_of_file() {
        assert_eq!(lines(&query("a$"), b"a\r\nab\r\na\n"), [1, 3]);
        assert_eq!(lines(&query("a\\r$"), b"a\r\nab\r\na\n"), [1], "a pattern may still ask for CR itself");
        assert_eq!(lines(&query("a\\s*b"), b"a\nb\na b\n"), [3], "no match spans lines");
    }

    #[test]
    fn context_comes_with_the_match_and_the_limit_counts_matches() {
        let content = b"1\n2\nx\n4\n5\nx\n7\n";
        let with_context = Query { context: 1, ..query("x") };
        let found = search(&with_context, &content[..]).unwrap();
        let told: Vec<(u64, bool)> = found.iter().map(|hit| (hit.0, hit.2)).collect();
        assert_eq!(told, [(2, false), (3, true), (4, false), (5, false), (6, true), (7, false)]);
        let found = search(&Query { limit: 1, ..with_context }, &content[..]).unwrap();
        assert_eq!(found.iter().map(|hit| hit.0).collect::<Vec<_>>(), [2, 3, 4]);
        let crowded = search(&Query { limit: 2, context: 5, ..query("x") }, &b"x\nx\nx\nx\n"[..]).unwrap();
        assert_eq!(crowded.iter().filter(|hit| hit.2).count(), 2);
        assert_eq!(lines(&Query { limit: 0, ..query("x") }, content), [0; 0]);
    }

    #[test]
    fn binary_files_have_no_lines() {
        assert_eq!(lines(&query("x"), b"x\nx\0\nx\n"), [0; 0]);
        assert_eq!(lines(&query("x"), b"x\nx\n"), [1, 2]);
        let late = [b"x\n", "y\n".repeat(100_000).as_bytes(), b"\0\nx\n"].concat();
        assert_eq!(lines(&query("x"), &late), [1], "one that shows itself late ends there");
    }

    #[test]
    fn utf16_files_are_searched_as_text() {
        let little: Vec<u8> = "\u{feff}a\r\nñandú\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}a\nñandú\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for content in [little, big] {
            assert_eq!(search(&query("ñ.*ú$"), &content[..]).unwrap(), [(2, "ñandú".to_owned(), true)]);
        }
        assert_eq!(lines(&query("^a"), b"\xef\xbb\xbfa\n"), [1], "a mark of UTF-8 is no part of the line");
    }

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let mut line = "é".repeat(3000);
        line.push_str("needle");
        line.push_str(&"ü".repeat(3000));
        let found = search(&query("needle"), line.as_bytes()).unwrap();
        let text = &found[0].1;
        assert!(text.contains("needle") && text.starts_with(CUT) && text.ends_with(CUT), "{text}");
        assert!(text.len() <= SHOWN + 2 * CUT.len() && !text.contains('\u{fffd}'), "{text}");
        let head = search(&query("^é"), line.as_bytes()).unwrap();
        assert!(head[0].1.starts_with('é') && head[0].1.ends_with(CUT));
    }

    #[test]
    fn a_line_without_end_is_left_out_and_costs_no_memory() {
        let endless = b"x first\n".chain(io::repeat(b'x').take(1 << 30)).chain(&b"\nx last\n"[..]);
        assert_eq!(search(&query("x"), endless).unwrap(), [(1, "x first".to_owned(), true)]);
        let mut out = Vec::new();
        let line_search = LineSearch::new(&query("x")).unwrap();
        let mut reader = line_search.reader();
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(600);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        reader.search(&call, "long", io::repeat(b'x').take(1 << 24), &mut out).unwrap();
        reader.search(&call, "next", &b"x\n"[..], &mut out).unwrap();
        assert_eq!(out.iter().map(|hit| hit.path.as_str()).collect::<Vec<_>>(), ["next"]);
        assert_eq!(cancel.cut_short(), 1, "the long one");
    }

    #[test]
    fn a_costly_pattern_gets_shorter_lines() {
        let line = |n: usize| format!("{}\nneedle x\n", "y ".repeat(n / 2)).into_bytes();
        let costly = query(r"\w{2,64}@\w{2,64}\.\w+|needle");
        assert_eq!(lines(&costly, &line(20_000)), [2], "short lines are searched");
        assert_eq!(lines(&costly, &line(60_000)), [0; 0], "a longer line ends the search of its file");
        assert_eq!(lines(&query("needle"), &line(60_000)), [2]);
        assert_eq!(lines(&query("needle"), &line(600_000)), [2]);
    }

    #[test]
    fn patterns_that_cannot_be_used_are_explained() {
        for pattern in
            ["(", "a{", "\\w{1000}{1000}", "((a{100}){100}){100}", "a\\nb", &"(".repeat(5000), &"a".repeat(9000)]
        {
            let error = LineSearch::new(&query(pattern)).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::BadPattern(_)), "{pattern}: {error}");
            assert!(!error.to_string().contains("(?:("), "only what was written is told back: {error}");
            assert!(error.to_string().lines().count() == 1 && error.to_string().len() < 400, "{error}");
        }
        let error = LineSearch::new(&query("f(")).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::BadPattern("\"f(\": unclosed group".to_owned()));
        for pattern in ["\\w{2,64}@\\w{2,64}\\.\\w+", "[\\p{L}\\d]{1,40}", "(?i)fn\\s+\\w+", "(a+)+$", "a|b|"] {
            assert!(LineSearch::new(&query(pattern)).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn a_call_that_is_over_stops_a_search_inside_a_file() {
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(600);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let mut reader = LineSearch::new(&query("x")).unwrap().reader();
        cancel.stop();
        let error = reader.search(&call, "f", io::repeat(b'\n'), &mut Vec::new()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_source_that_fails_is_told_apart_from_a_long_line() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        assert_eq!(*search(&query("x"), Broken).unwrap_err().kind(), ErrorKind::Io);
        let later = io::repeat(b'\n').take(1 << 20).chain(Broken);
        assert_eq!(*search(&query("x"), later).unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn a_store_that_fails_says_itself_why() {
        struct Over;
        impl Read for Over {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other(StoreError::from(ErrorKind::Cancelled)))
            }
        }
        assert_eq!(*search(&query("x"), Over).unwrap_err().kind(), ErrorKind::Cancelled);
    }

    fn hit(path: &str, line: u64, matched: bool) -> Hit {
        Hit { path: path.to_owned(), line, text: String::new(), matched }
    }

    #[test]
    fn the_first_matches_are_kept_whatever_the_order_of_files() {
        let files = ["a", "a/b", "a-b", "b", "c"];
        let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1], [1, 0, 4, 2, 3]];
        for order in orders {
            let mut top = TopHits::new(&Query { limit: 3, ..query("x") });
            for at in order {
                if top.accepts(files[at]) {
                    top.add(files[at], vec![hit(files[at], 1, true), hit(files[at], 9, true)]);
                }
            }
            let kept: Vec<(String, u64)> = top.finish().into_iter().map(|h| (h.path, h.line)).collect();
            assert_eq!(kept, [("a".to_owned(), 1), ("a".to_owned(), 9), ("a/b".to_owned(), 1)], "{order:?}");
        }
    }

    #[test]
    fn files_past_the_last_wanted_match_are_not_asked_for() {
        let mut top = TopHits::new(&Query { limit: 1, ..query("x") });
        assert!(top.accepts("z"));
        top.add("m", vec![hit("m", 1, true)]);
        assert!(top.accepts("a") && !top.accepts("m") && !top.accepts("z"));
        top.add("z", vec![hit("z", 1, true)]);
        assert_eq!(top.finish().len(), 1);
    }

    #[test]
    fn context_of_a_match_that_was_cut_off_goes_with_it() {
        let mut top = TopHits::new(&Query { limit: 1, context: 1, ..query("x") });
        top.add(
            "a",
            vec![hit("a", 2, false), hit("a", 3, true), hit("a", 4, false), hit("a", 8, false), hit("a", 9, true)],
        );
        assert_eq!(top.finish().iter().map(|h| h.line).collect::<Vec<_>>(), [2, 3, 4]);
    }
}
