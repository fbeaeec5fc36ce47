//! `search_files`: matching lines, grouped by file.
//!
//! A page may end inside a file, so a cursor names the file and how many of its matches were shown:
//! `/project/a.rs#12`. Going on looks at that file once more, passes over those, and continues.
//! Those lines are held meanwhile, so how far a cursor may lead is bounded, as is what one page may gather.

use std::fmt::Write as _;

use paddock_core::{DenyRule, ErrorKind, Hit, Hits, LogicalPath, Operation, Outcome, Refused, Search};
use serde_json::{Map, Value};

use super::browse::parse_glob;
use super::{PAGE, mention_unreachable};
use crate::answer::Answer;
use crate::arguments::{BadArguments, MAX_PATTERN, SearchFiles, count};
use crate::boundary::Context;
use crate::failure::Failure;

const DEFAULT_MATCHES: u64 = 100;
const MOST_MATCHES: u64 = 10_000;
const MOST_CONTEXT: u64 = 100;
/// The most lines, matches and their context, that one page gathers; and the most that are passed over before it.
const MOST_LINES: u64 = 20_000;
/// What to do where there is too much to page through.
const NARROWER: &str = "use a narrower pattern, or less context";

pub(crate) fn search_files(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let mut args: SearchFiles = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    let after = args.after.take();
    let skip_ignored = !args.include_ignored.unwrap_or(false);
    let search = search_of(args, skip_ignored)?;
    let cursor = after.map(|after| Cursor::parse(cx, &after, &path, &search)).transpose()?;
    let mut page = Page::new(&search);
    if let Some(cursor) = &cursor {
        page.rest_of_file(cx, cursor, &search)?;
    }
    if !page.more {
        page.everything_after(cx, &path, cursor, &search)?;
    }
    Ok(page.finish(skip_ignored, cx.cut_short()))
}

fn search_of(args: SearchFiles, skip_ignored: bool) -> Result<Search, Failure> {
    let bad = |name, why: String| Failure::from(BadArguments::Bad { name, why });
    if args.pattern.is_empty() {
        return Err(bad("pattern", "is empty: it would match every line".to_owned()));
    }
    if args.pattern.len() > MAX_PATTERN {
        let why = format!("is {} bytes long, and at most {MAX_PATTERN} are taken", args.pattern.len());
        return Err(bad("pattern", why));
    }
    let context = args.context.unwrap_or(0);
    if context > MOST_CONTEXT {
        return Err(bad("context", format!("may be at most {MOST_CONTEXT}")));
    }
    let context = u32::try_from(context).unwrap_or(0);
    let limit = count("limit", args.limit, DEFAULT_MATCHES, MOST_MATCHES.min(matches_within_bounds(context)))?;
    Ok(Search {
        pattern: args.pattern,
        ignore_case: args.ignore_case.unwrap_or(false),
        glob: args.glob.as_deref().map(parse_glob).transpose()?,
        context,
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        skip_ignored,
        after: None,
    })
}

/// How many matches with so much context make no more than the lines that may be held.
fn matches_within_bounds(context: u32) -> u64 {
    MOST_LINES / (2 * u64::from(context) + 1)
}

/// How many matches of one file a cursor may pass over.
fn farthest(search: &Search) -> usize {
    usize::try_from(matches_within_bounds(search.context)).unwrap_or(usize::MAX)
}

/// Where a page ended.
struct Cursor {
    file: LogicalPath,
    /// How many matches of that file were shown; nothing when the file is done with.
    shown: Option<usize>,
}

impl Cursor {
    fn parse(cx: &Context<'_>, text: &str, within: &LogicalPath, search: &Search) -> Result<Self, Failure> {
        let counted = text.rsplit_once('#').and_then(|(file, shown)| Some((file, shown.parse::<u32>().ok()?)));
        let (file, shown) = counted.map_or((text, None), |(file, shown)| (file, Some(shown as usize)));
        let file = cx.path(file)?;
        if file.below(within).is_none() {
            let why = format!("is not below {within}: use it with the path of the search that gave it");
            return Err(BadArguments::Bad { name: "after", why }.into());
        }
        let farthest = farthest(search);
        if shown.is_some_and(|shown| shown > farthest) {
            let why = format!("leads past {farthest} matches of one file: {NARROWER}");
            return Err(BadArguments::Bad { name: "after", why }.into());
        }
        Ok(Self { file, shown })
    }
}

/// One page of matches while it is written.
struct Page {
    out: String,
    limit: usize,
    farthest: usize,
    with_context: bool,
    matches: usize,
    files: usize,
    file: String,
    /// How many matches of that file were shown, on this page and before it.
    in_file: usize,
    last_line: u64,
    more: bool,
    unreachable: Vec<LogicalPath>,
}

impl Page {
    fn new(search: &Search) -> Self {
        Self {
            out: String::new(),
            limit: search.limit,
            farthest: farthest(search),
            with_context: search.context > 0,
            matches: 0,
            files: 0,
            file: String::new(),
            in_file: 0,
            last_line: 0,
            more: false,
            unreachable: Vec::new(),
        }
    }

    /// What the page before left of the file in which it ended.
    fn rest_of_file(&mut self, cx: &Context<'_>, cursor: &Cursor, search: &Search) -> Result<(), Failure> {
        let Some(shown) = cursor.shown else { return Ok(()) };
        let again = Search { glob: None, limit: shown + self.limit, ..search.clone() };
        let hits = match hits(cx.perform(Operation::Search { path: cursor.file.clone(), search: again })) {
            Ok(hits) => hits,
            // It is gone meanwhile: there is nothing left of it.
            Err(failure) if is_absent(&failure) => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let rest = past_matches(&hits.found, shown);
        self.file = cursor.file.as_str().to_owned();
        self.in_file = shown;
        self.take(rest, hits.more);
        Ok(())
    }

    fn everything_after(
        &mut self,
        cx: &Context<'_>,
        path: &LogicalPath,
        cursor: Option<Cursor>,
        search: &Search,
    ) -> Result<(), Failure> {
        let left = self.limit - self.matches;
        let after = cursor.map(|cursor| cursor.file);
        // Where the page is full already, one match more tells that there is more.
        let search = Search { after, limit: left.max(1), ..search.clone() };
        let found = hits(cx.perform(Operation::Search { path: path.clone(), search }))?;
        self.unreachable = found.unreachable;
        if left == 0 {
            self.more = !found.found.is_empty();
        } else {
            self.take(&found.found, found.more);
        }
        Ok(())
    }

    fn take(&mut self, hits: &[Hit], more: bool) {
        for hit in hits {
            if hit.matched && !self.out.is_empty() && self.out.len() + hit.text.len() > PAGE {
                self.more = true;
                return;
            }
            self.write(hit);
        }
        self.more = more;
    }

    fn write(&mut self, hit: &Hit) {
        if self.files == 0 || self.file != hit.path {
            if self.files > 0 {
                self.out.push('\n');
            }
            if self.file != hit.path {
                self.file.clone_from(&hit.path);
                self.in_file = 0;
            }
            self.files += 1;
            self.out.push_str(&hit.path);
            self.out.push('\n');
        } else if self.with_context && hit.line > self.last_line + 1 {
            self.out.push_str("--\n");
        }
        let sign = if hit.matched { ':' } else { '-' };
        let _ = writeln!(self.out, "{}{sign} {}", hit.line, hit.text);
        self.last_line = hit.line;
        self.matches += usize::from(hit.matched);
        self.in_file += usize::from(hit.matched);
    }

    fn finish(mut self, skip_ignored: bool, cut_short: u64) -> Answer {
        let cursor = self.cursor();
        if self.matches == 0 {
            self.out.push_str(if skip_ignored {
                "No matches. include_ignored=true also searches what .gitignore leaves out.\n"
            } else {
                "No matches.\n"
            });
        }
        match &cursor {
            Some(cursor) => {
                let _ = writeln!(self.out, "more: use after=\"{cursor}\"");
            }
            None if self.more && self.is_too_far() => {
                let _ = writeln!(self.out, "more: {} has too many matches to go on: {NARROWER}", self.file);
            }
            None if self.more => self.out.push_str("more: use a narrower pattern or a larger limit\n"),
            None => {}
        }
        mention_unreachable(&self.unreachable, &mut self.out);
        mention_cut_short(cut_short, &mut self.out);
        self.out.pop();
        let mut answer =
            Answer::done(self.out).with("matches", self.matches).with("files", self.files).with("truncated", self.more);
        if cut_short > 0 {
            answer = answer.with("cut_short", cut_short);
        }
        match cursor {
            Some(cursor) => answer.with("next_after", cursor),
            None => answer,
        }
    }

    fn is_too_far(&self) -> bool {
        self.in_file > self.farthest
    }

    /// Where to go on; nothing where nothing is left, where that is too far, or where the name cannot be written
    /// as a path.
    fn cursor(&self) -> Option<String> {
        let nameable = LogicalPath::parse(&self.file, &LogicalPath::top()).is_ok();
        (self.more && nameable && !self.is_too_far()).then(|| format!("{}#{}", self.file, self.in_file))
    }
}

/// Files of which only a part was searched: what was found is not all there is.
fn mention_cut_short(files: u64, out: &mut String) {
    let told = match files {
        0 => return,
        1 => "1 file was searched only up to a line".to_owned(),
        files => format!("{files} files were searched only up to a line"),
    };
    let _ =
        writeln!(out, "{told} that is too long: over 1 MiB, or 32 KiB for a costly pattern. read_file shows the rest.");
}

/// What follows the first `shown` matches, if a match does.
fn past_matches(hits: &[Hit], shown: usize) -> &[Hit] {
    let mut matches = 0;
    let start = hits.iter().position(|hit| {
        let passed = matches == shown;
        matches += usize::from(hit.matched);
        passed
    });
    let rest = start.map_or(&[][..], |start| &hits[start..]);
    if rest.iter().any(|hit| hit.matched) { rest } else { &[] }
}

fn hits(outcome: Result<Outcome, Failure>) -> Result<Hits, Failure> {
    match outcome? {
        Outcome::Hits(hits) => Ok(hits),
        _ => Err(Failure::Defect),
    }
}

fn is_absent(failure: &Failure) -> bool {
    match failure {
        Failure::Refused(Refused::Store { source, .. }) => {
            matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        }
        Failure::Refused(Refused::Denied(denial)) => denial.rule == DenyRule::Hidden,
        _ => false,
    }
}
