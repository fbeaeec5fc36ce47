//! Files: listing, reading with ranges, conditional writing, searching.
//!
//! A file's entity tag is its version. What is read or written streams: no file ever has to fit into memory.

mod conditions;
mod kinds;
mod ranges;
mod reading;
mod writing;

use axum::http::Method;
use axum::routing::{delete, get, put};
use paddock_desk::FailureKind::{Conflict, Missing};
use paddock_desk::files::{self, Changed, FileShown, Found, Listing, Sought, Spot};
use paddock_desk::{Failure, FailureKind, Result};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;

use crate::endpoint::{Answers, Asked, Endpoint, Nothing, json, raw};

pub(crate) use writing::{Incoming, next};

/// Which file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OfFile {
    /// The agent whose Workspace it is in.
    agent: String,
    /// Its path, without the slash at the beginning.
    path: String,
}

impl OfFile {
    /// As the desk has it. What an address means never depends on `.` and `..`: a client resolves them, or did not mean them.
    fn spot(&self, desk: &paddock_desk::Desk) -> Result<Spot> {
        if self.path.split('/').any(|name| matches!(name, "." | "..")) {
            let hint = "write the path as it is listed";
            return Err(Failure::misused("\".\" and \"..\" are no names of files", hint));
        }
        Spot::of(desk, Some(&self.agent), &format!("/{}", self.path))
    }
}

/// Which path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfPath {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// The path; the top where none is named.
    #[serde(default = "top")]
    path: String,
}

/// Which part of a directory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfDirectory {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// The path; the top where none is named.
    #[serde(default = "top")]
    path: String,
    /// Behind this entry: the `next` of the page before.
    #[serde(default)]
    after: Option<String>,
    /// At most so many entries; 200 where nothing is said, and never more than 1000.
    #[serde(default)]
    limit: Option<usize>,
}

/// What to look for, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// Below this path; below the top where none is named.
    #[serde(default = "top")]
    path: String,
    /// The text, or the regular expression.
    q: String,
    /// Is it a regular expression?
    #[serde(default)]
    regex: bool,
    /// Without regard to case.
    #[serde(default)]
    ignore_case: bool,
    /// Only in files whose path matches this pattern, such as `**/*.rs`.
    #[serde(default)]
    glob: Option<String>,
    /// Also in what `.gitignore` leaves out.
    #[serde(default)]
    include_ignored: bool,
    /// Behind this file: the `next` of the page before.
    #[serde(default)]
    after: Option<String>,
    /// At most so many lines; 100 where nothing is said, and never more than 1000.
    #[serde(default)]
    limit: Option<usize>,
}

/// A path of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Named {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// The path.
    path: String,
}

/// From where to where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Moved {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// What moves.
    from: String,
    /// To where nothing is yet.
    to: String,
}

fn top() -> String {
    "/".to_owned()
}

/// What a change can be made to depend on.
const CONDITIONS: &[(&str, &str)] =
    &[("If-Match", "Only over this version, as an ETag named it"), ("If-None-Match", "`*`: only where nothing is")];

/// How all of them can fail: nothing is there, or something else than was expected.
const FAILS: &[FailureKind] = &[Missing, Conflict];

pub(crate) fn endpoints() -> Vec<Endpoint> {
    const FILE: &str = "/api/v1/files/{agent}/{*path}";
    let changed = |generator: &mut SchemaGenerator| generator.subschema_for::<Changed>();
    let read = raw::<OfFile, reading::HowRead>(
        Method::GET,
        FILE,
        "A file: all of it, or a Range; its ETag is its version",
        Answers::Other("*/*"),
        get(reading::file),
    );
    let write = raw::<OfFile, Nothing>(
        Method::PUT,
        FILE,
        "Put a file; If-None-Match: * only where nothing is, If-Match only over that version",
        Answers::Json(changed),
        put(writing::file),
    );
    let remove = raw::<OfFile, writing::HowDeleted>(
        Method::DELETE,
        FILE,
        "Take a file or directory away; with If-Match only that version",
        Answers::Json(changed),
        delete(writing::away),
    );
    vec![
        Endpoint {
            also: &[206, 304],
            refuses: &[412, 416],
            headers: &[
                ("Range", "Only these bytes, as in `bytes=0-99`"),
                ("If-Range", "The Range holds for this version; otherwise all of the file is answered"),
                ("If-Match", "Only where the file has one of these versions"),
                ("If-None-Match", "Nothing (304) where the file has one of these versions"),
            ],
            ..read.failing(FAILS)
        },
        Endpoint { also: &[201], refuses: &[412], takes_file: true, headers: CONDITIONS, ..write.failing(FAILS) },
        Endpoint { refuses: &[412], headers: CONDITIONS, ..remove.failing(FAILS) },
        json(Method::GET, "/api/v1/list", "A page of what a directory holds", list).failing(FAILS),
        json(Method::GET, "/api/v1/stat", "What is at a path", stat).failing(FAILS),
        json(Method::GET, "/api/v1/search", "Lines of files that match", search).failing(FAILS),
        json(Method::POST, "/api/v1/directories", "Make a directory", make_dir).failing(FAILS),
        json(Method::POST, "/api/v1/move", "Move a file or directory to where nothing is yet", move_to).failing(FAILS),
    ]
}

fn list(asked: &Asked<Nothing, OfDirectory>) -> Result<Listing> {
    let OfDirectory { agent, path, after, limit } = &asked.query;
    files::list(&Spot::of(&asked.shared.desk, agent.as_deref(), path)?, after.as_deref(), *limit)
}

fn stat(asked: &Asked<Nothing, OfPath>) -> Result<FileShown> {
    files::stat(&Spot::of(&asked.shared.desk, asked.query.agent.as_deref(), &asked.query.path)?)
}

fn search(asked: &Asked<Nothing, Search>) -> Result<Found> {
    let query = &asked.query;
    let sought = Sought {
        q: query.q.clone(),
        regex: query.regex,
        ignore_case: query.ignore_case,
        glob: query.glob.clone(),
        include_ignored: query.include_ignored,
        after: query.after.clone(),
        limit: query.limit,
    };
    files::search(&Spot::of(&asked.shared.desk, query.agent.as_deref(), &query.path)?, &sought)
}

fn make_dir(asked: &Asked<Nothing, Nothing, Named>) -> Result<Changed> {
    files::make_dir(&Spot::of(&asked.shared.desk, asked.body.agent.as_deref(), &asked.body.path)?)
}

fn move_to(asked: &Asked<Nothing, Nothing, Moved>) -> Result<Changed> {
    let from = Spot::of(&asked.shared.desk, asked.body.agent.as_deref(), &asked.body.from)?;
    files::move_to(&from, &from.at(&asked.body.to)?)
}
