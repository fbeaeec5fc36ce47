//! `paddock quota`: what each Workspace holds, and how much it may.

use paddock_desk::past::size;
use paddock_desk::workspaces::{self, WorkspaceShown};
use paddock_desk::{Desk, Project};
use serde_json::json;

use crate::cli::{Global, Quota};
use crate::failure::Ended;
use crate::printer::{Look, Printer};

pub(crate) fn run(global: &Global, options: &Quota, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::look(Project::with_config(&global.places())?)?;
    let agent = global.agent();
    let rows = match &options.workspace {
        Some(prefix) => vec![workspaces::at(&desk, &agent, prefix)?],
        None => workspaces::of_agent(&desk, Some(agent.as_str()))?,
    };
    if options.json {
        printer.json(&json!(rows))?;
    } else {
        let widest = rows.iter().map(|row| row.prefix.len()).max().unwrap_or(0);
        rows.iter().try_for_each(|row| printer.line(show(row, widest, printer)))?;
    }
    Ok(Ended::Done)
}

fn show(row: &WorkspaceShown, widest: usize, printer: &Printer) -> String {
    let WorkspaceShown { prefix, used, quota, .. } = row;
    let is_unbounded = quota.bytes.is_none() && quota.files.is_none();
    let prefix = printer.look(Look::Strong, format_args!("{prefix:widest$}"));
    let bound = |limit: Option<u64>, text: fn(u64) -> String| limit.map(|limit| format!(" of {}", text(limit)));
    let bytes = bound(quota.bytes, size).unwrap_or_default();
    let files = bound(quota.files, |files| files.to_string()).unwrap_or_default();
    let said = match used {
        Some(used) => {
            let s = if used.files == 1 && files.is_empty() { "" } else { "s" };
            format!("{}{bytes}, {}{files} file{s}", size(used.bytes), used.files)
        }
        None if is_unbounded => "not counted".to_owned(),
        None => {
            let bounds = [(quota.bytes.map(size)), (quota.files.map(|files| format!("{files} files")))];
            format!("not counted, may hold {}", bounds.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
    };
    let full = used.is_some_and(|used| {
        quota.bytes.is_some_and(|most| used.bytes >= most) || quota.files.is_some_and(|most| used.files >= most)
    });
    let said = if full { printer.look(Look::Warning, format_args!("{said} (full)")) } else { said };
    let free = if is_unbounded { printer.look(Look::Faint, " (no quota)") } else { String::new() };
    format!("{prefix}  {said}{free}")
}
