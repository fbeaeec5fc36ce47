//! `paddock export`: a project as a Zip, a bundle, a repository, or a push to one.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use paddock_core::visible;
use paddock_desk::past::size;
use paddock_desk::projects::{self, Format, RemoteNamed};
use paddock_desk::{Desk, Project};
use paddock_projects::Progress;
use paddock_projects::export::Exported;
use serde_json::json;

use super::import::tell_left_out;
use crate::cli::{ExportFormat, ExportProject, Global};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};
use crate::progress::Line;

pub(crate) fn run(global: &Global, options: &ExportProject, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let agent = global.agent();
    let agent = agent.as_str();
    if let Some(url) = &options.push {
        return push(&desk, agent, url, options, printer);
    }
    let output = options.output.clone().unwrap_or_else(|| named_after(options));
    let mut line = Line::new();
    let mut watch = |at: Progress<'_>| line.hear(at);
    let path = options.path.as_str();
    let to_stdout = output.as_os_str() == "-";
    let exported = match format(options.format) {
        None if to_stdout => {
            return Err(Failure::misused("a repository is a directory", "name one with --output, or take a bundle"));
        }
        None => projects::export_repository(&desk, Some(agent), path, options.include_ignored, &output, &mut watch)?,
        Some(format) if to_stdout => {
            let mut out = BufWriter::new(printer.stream());
            let how = (format, options.include_ignored);
            let exported = projects::export(&desk, Some(agent), path, how, &mut out, &mut watch)?;
            out.flush()?;
            exported
        }
        Some(format) => into_file(&output, |out| {
            let how = (format, options.include_ignored);
            Ok(projects::export(&desk, Some(agent), path, how, out, &mut watch)?)
        })?,
    };
    drop(line);
    tell(&exported, &output, to_stdout, options, printer)?;
    Ok(Ended::Done)
}

fn format(format: ExportFormat) -> Option<Format> {
    match format {
        ExportFormat::Zip => Some(Format::Zip),
        ExportFormat::Bundle => Some(Format::Bundle),
        ExportFormat::Repository => None,
    }
}

/// The project's name, with how such a file ends.
fn named_after(options: &ExportProject) -> PathBuf {
    let name = options.path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty());
    let ending = format(options.format).map_or("git", Format::ending);
    PathBuf::from(format!("{}.{ending}", name.unwrap_or("project")))
}

/// Writes a new file; a part of one is not left behind.
fn into_file(
    path: &Path,
    write: impl FnOnce(&mut dyn std::io::Write) -> anyhow::Result<Exported>,
) -> anyhow::Result<Exported> {
    let file = host::make_private_file(path).map_err(|error| {
        Failure::failed(format!("cannot write \"{}\": {error}", path.display()), "name another file with --output")
    })?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).and_then(|exported| Ok(out.flush().map(|()| exported)?));
    if written.is_err() {
        host::remove_made(path);
    }
    written
}

fn tell(
    exported: &Exported,
    output: &Path,
    to_stdout: bool,
    options: &ExportProject,
    printer: &Printer,
) -> anyhow::Result<()> {
    if options.json && !to_stdout {
        return printer.json(&json!(exported));
    }
    let s = if exported.files == 1 { "" } else { "s" };
    let told = format!("{} file{s}, {}", exported.files, size(exported.bytes));
    if to_stdout {
        printer::tell(format_args!("exported {}: {told}", visible(&options.path)));
    } else {
        printer.line(format_args!("exported {} to {}: {told}", visible(&options.path), output.display()))?;
    }
    tell_left_out(&exported.left_out);
    Ok(())
}

fn push(desk: &Desk, agent: &str, url: &str, options: &ExportProject, printer: &Printer) -> anyhow::Result<Ended> {
    let remote = RemoteNamed {
        url: url.to_owned(),
        branch: options.branch.clone(),
        secret: options.opens.secret.clone(),
        user: options.opens.user.clone(),
    };
    let mut line = Line::new();
    let what = (&remote, options.include_ignored);
    let pushed = projects::push(desk, Some(agent), &options.path, what, &mut |at| line.hear(at))?;
    drop(line);
    if options.json {
        printer.json(&json!(pushed))?;
    } else if pushed.unchanged {
        printer.line(format_args!("{} of {} holds the same already", pushed.branch, visible(&pushed.address)))?;
    } else {
        let files = pushed.exported.files;
        let s = if files == 1 { "" } else { "s" };
        printer.line(format_args!("pushed {files} file{s} to {} of {}", pushed.branch, visible(&pushed.address)))?;
        tell_left_out(&pushed.exported.left_out);
    }
    Ok(Ended::Done)
}
