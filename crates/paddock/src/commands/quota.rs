//! `paddock quota`: what each Workspace holds, and how much it may.

use paddock_config::ConfigFile;
use paddock_core::{AgentPolicy, LogicalPath, Quota as Bounds, Usage, Workspace, list_some};
use paddock_stores::virtual_store::VirtualStore;
use paddock_tools::Person;
use serde_json::{Value, json};

use crate::cli::{Global, Quota};
use crate::failure::{Ended, Failure};
use crate::printer::{Look, Printer};
use paddock_desk::Project;
use paddock_desk::past::{refused, size};

/// One Workspace: where it is, what it holds where that is counted, what it may hold.
struct Row {
    prefix: LogicalPath,
    used: Option<Usage>,
    allowed: Bounds,
}

pub(crate) fn run(global: &Global, options: &Quota, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let in_memory = is_in_memory(&project.config_file()?);
    let policy = project.policy_of(global.agent())?.current();
    let person = Person::on(&policy, &paddock_core::NoAudit);
    let mut rows = Vec::new();
    for workspace in chosen(&policy, options.workspace.as_deref())? {
        // Each process has a memory of its own, and this one's is empty.
        let out_of_reach = in_memory && workspace.territory().and_then(VirtualStore::namespace_in).is_some();
        let prefix = workspace.prefix().clone();
        let used = match out_of_reach {
            true => None,
            false => person.vfs().usage(&person.call(), &prefix).map_err(|error| refused(&error))?,
        };
        rows.push(Row { prefix, used, allowed: workspace.quota() });
    }
    if options.json {
        printer.json(&Value::Array(rows.iter().map(as_json).collect()))?;
    } else {
        let widest = rows.iter().map(|row| row.prefix.as_str().len()).max().unwrap_or(0);
        rows.iter().try_for_each(|row| printer.line(show(row, widest, printer)))?;
    }
    Ok(Ended::Done)
}

fn chosen<'p>(policy: &'p AgentPolicy, text: Option<&str>) -> anyhow::Result<Vec<&'p Workspace>> {
    let all: Vec<&Workspace> = policy.vfs.workspaces().iter().filter(|workspace| !workspace.is_aside()).collect();
    let Some(text) = text else { return Ok(all) };
    let path = policy.path(text).map_err(|error| Failure::misused(&error, error.hint()))?;
    match all.iter().find(|workspace| *workspace.prefix() == path) {
        Some(workspace) => Ok(vec![*workspace]),
        None => {
            let known: Vec<LogicalPath> = all.iter().map(|workspace| workspace.prefix().clone()).collect();
            let hint =
                list_some(&known).map_or_else(|| "it has none".to_owned(), |all| format!("its Workspaces are {all}"));
            Err(Failure::misused(format!("agent {} has no Workspace at \"{path}\"", policy.agent), hint))
        }
    }
}

fn is_in_memory(file: &ConfigFile) -> bool {
    let stores = file.config().virtual_.as_ref();
    stores.and_then(|stores| stores.url.as_ref()).and_then(|url| url.plain()).is_some_and(|url| url.0 == "memory")
}

fn show(row: &Row, widest: usize, printer: &Printer) -> String {
    let Row { prefix, used, allowed } = row;
    let prefix = printer.look(Look::Strong, format_args!("{:widest$}", prefix.as_str()));
    let bound = |limit: Option<u64>, text: fn(u64) -> String| limit.map(|limit| format!(" of {}", text(limit)));
    let bytes = bound(allowed.bytes, size).unwrap_or_default();
    let files = bound(allowed.files, |files| files.to_string()).unwrap_or_default();
    let said = match used {
        Some(used) => {
            let s = if used.files == 1 && files.is_empty() { "" } else { "s" };
            format!("{}{bytes}, {}{files} file{s}", size(used.bytes), used.files)
        }
        None if allowed.is_unbounded() => "not counted".to_owned(),
        None => {
            let bounds = [(allowed.bytes.map(size)), (allowed.files.map(|files| format!("{files} files")))];
            format!("not counted, may hold {}", bounds.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
    };
    let full = used.is_some_and(|used| {
        allowed.bytes.is_some_and(|most| used.bytes >= most) || allowed.files.is_some_and(|most| used.files >= most)
    });
    let said = if full { printer.look(Look::Warning, format_args!("{said} (full)")) } else { said };
    let free = if allowed.is_unbounded() { printer.look(Look::Faint, " (no quota)") } else { String::new() };
    format!("{prefix}  {said}{free}")
}

fn as_json(row: &Row) -> Value {
    json!({
        "prefix": row.prefix.as_str(),
        "used": row.used.map(|used| json!({ "bytes": used.bytes, "files": used.files })),
        "quota": { "bytes": row.allowed.bytes, "files": row.allowed.files },
    })
}
