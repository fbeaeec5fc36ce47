//! `paddock import`: a project from a Zip, a bundle or a repository.

use std::path::Path;

use paddock_core::visible;
use paddock_desk::past::size;
use paddock_desk::projects::{self, RemoteNamed, Taking};
use paddock_desk::{Desk, Project};
use paddock_projects::LeftOut;
use serde_json::json;

use super::new::tell_noteworthy;
use crate::cli::{Global, ImportProject};
use crate::failure::Ended;
use crate::host;
use crate::printer::{self, Printer};
use crate::progress::Line;

pub(crate) fn run(global: &Global, options: &ImportProject, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let agent = global.agent();
    let agent = Some(agent.as_str());
    let taking = Taking { merge: options.merge, leave_out_denied: options.leave_out_denied, unwrap: options.unwrap };
    let mut line = Line::new();
    let mut watch = |at: paddock_projects::Progress<'_>| line.hear(at);
    let source = Path::new(&options.source);
    let taken = if is_zip(source) {
        projects::import_zip(&desk, agent, &options.path, taking, host::open(source)?, &mut watch)?
    } else {
        let remote = RemoteNamed {
            url: options.source.clone(),
            branch: options.branch.clone(),
            secret: options.opens.secret.clone(),
            user: options.opens.user.clone(),
        };
        projects::import_git(&desk, agent, &options.path, taking, &remote, &mut watch)?
    };
    drop(line);
    if options.json {
        printer.json(&json!(taken))?;
    } else {
        let s = if taken.files == 1 { "" } else { "s" };
        printer.line(format_args!(
            "imported {}: {} file{s}, {}",
            visible(&taken.path),
            taken.files,
            size(taken.bytes)
        ))?;
        tell_left_out(&taken.left_out);
        tell_noteworthy(&desk, agent, &options.path)?;
    }
    Ok(Ended::Done)
}

/// Does it begin as a Zip does? Its name is only a name.
fn is_zip(source: &Path) -> bool {
    host::is_file(source) && host::read_bytes(source, 2).is_ok_and(|head| head == b"PK")
}

/// Nothing is left out in silence.
pub(super) fn tell_left_out(left_out: &LeftOut) {
    if left_out.ignored > 0 {
        printer::tell(format_args!("left out: {} that .gitignore names", left_out.ignored));
    }
    for left in &left_out.paths {
        printer::tell(format_args!("left out: {}: {}", visible(&left.path), left.why.words()));
    }
    if left_out.more > 0 {
        printer::tell(format_args!("left out: {} more", left_out.more));
    }
}
