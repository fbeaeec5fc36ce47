//! The tools that change something: write, append, edit, make, move, delete.
//!
//! What a write-only Workspace answers is one fixed text with no fact beside it; nothing about the
//! outcome is looked at on the way there.

use paddock_core::{Operation, Outcome, Version};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::arguments::{AppendFile, DeleteFile, EditFile, MakeDir, MoveFile, WriteFile, check_size, expectation};
use crate::boundary::Context;
use crate::failure::Failure;
use crate::messages::ACCEPTED;

/// What a change outside a write-only Workspace brought back.
struct Changed {
    version: Option<Version>,
    created: bool,
    replacements: usize,
    paths: usize,
}

pub(crate) fn write_file(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: WriteFile = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    check_size("content", args.content.len())?;
    let expect = expectation(args.expected_version.as_deref())?;
    let bytes = args.content.len();
    let operation = Operation::Write { path: path.clone(), content: args.content.into_bytes(), expect };
    change(cx, operation, |changed| {
        let how = if changed.created { "new file" } else { "replaced" };
        Answer::done(format!("File written successfully: {path} ({}, {how})", crate::messages::bytes(bytes as u64)))
            .with("created", changed.created)
            .with("bytes", bytes)
    })
}

pub(crate) fn append_file(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: AppendFile = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    check_size("content", args.content.len())?;
    let bytes = args.content.len();
    let operation = Operation::Append { path: path.clone(), content: args.content.into_bytes() };
    change(cx, operation, |changed| {
        let how = if changed.created { ", new file" } else { "" };
        Answer::done(format!("Added to {path} ({}{how})", crate::messages::bytes(bytes as u64)))
            .with("created", changed.created)
            .with("bytes", bytes)
    })
}

pub(crate) fn edit_file(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: EditFile = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    let expect = expectation(args.expected_version.as_deref())?;
    let edits = args.replacements()?;
    change(cx, Operation::Edit { path: path.clone(), edits, expect }, |changed| {
        let count = changed.replacements;
        let replacements = if count == 1 { "1 replacement".to_owned() } else { format!("{count} replacements") };
        Answer::done(format!("File edited successfully: {path} ({replacements})")).with("replacements", count)
    })
}

pub(crate) fn make_dir(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: MakeDir = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    change(cx, Operation::MakeDir { path: path.clone() }, |changed| {
        let text = if changed.created { "Directory made" } else { "Directory is there already" };
        Answer::done(format!("{text}: {path}")).with("created", changed.created)
    })
}

pub(crate) fn move_file(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: MoveFile = cx.arguments(given)?;
    let from = cx.path(&args.source)?;
    let to = cx.path(&args.destination)?;
    change(cx, Operation::Move { from: from.clone(), to: to.clone() }, |_| {
        Answer::done(format!("Moved {from} to {to}"))
    })
}

pub(crate) fn delete_file(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: DeleteFile = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    let recursive = args.recursive.unwrap_or(false);
    change(cx, Operation::Delete { path: path.clone(), recursive }, |changed| {
        let all = match changed.paths {
            0 | 1 => String::new(),
            paths => format!(" and what it held ({paths} paths)"),
        };
        Answer::done(format!("Deleted {path}{all}")).with("paths", changed.paths)
    })
}

/// Makes the change and tells what came of it, where that may be told.
fn change(cx: &Context<'_>, operation: Operation, tell: impl FnOnce(&Changed) -> Answer) -> Result<Answer, Failure> {
    match cx.perform(operation)? {
        Outcome::Accepted => Ok(Answer::done(ACCEPTED)),
        Outcome::Changed { version, created, replacements, paths } => {
            let changed = Changed { version, created, replacements, paths };
            let answer = tell(&changed);
            Ok(match changed.version {
                Some(version) => answer.with("version", version.to_string()),
                None => answer,
            })
        }
        Outcome::Read { .. } | Outcome::Entries(_) | Outcome::Hits(_) => Err(Failure::Defect),
    }
}
