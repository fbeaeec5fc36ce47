//! `paddock fork`: makes a fork of a Workspace, or lists those that there are.

use paddock_config::{LayerError, LayerName, NewFork};
use paddock_core::{AgentName, Call};
use paddock_state::ForkRecord;
use serde_json::{Value, json};

use crate::cli::{Fork, Global};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};
use paddock_desk::Project;
use paddock_desk::layered::{self, Layered};

pub(crate) fn run(global: &Global, options: &Fork, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    match (&options.workspace, &options.name) {
        (Some(workspace), Some(name)) if !options.list => make(&project, options, workspace, name, printer),
        _ => list(&project, options, printer),
    }
}

fn make(project: &Project, options: &Fork, source: &str, name: &str, printer: &Printer) -> anyhow::Result<Ended> {
    let mut agents = options.agent.clone();
    agents.sort();
    agents.dedup();
    // Whoever was named first is whose Workspace is meant, unless it is said.
    let first = options.agent.first().cloned().unwrap_or_else(AgentName::main);
    if agents.is_empty() {
        agents.push(first.clone());
    }
    let from = options.from.clone().unwrap_or(first);
    let layered = Layered::claim(project)?;
    let call = layered.call(&from);
    let new = NewFork { name, source, from: &from, agents: &agents };
    let record = layered.layers()?.make(&call, &new).map_err(layered::told)?;
    let fork = LayerName::Fork(record.clone());
    layered.record(&call, "fork", &layered::place(&fork)?, true)?;
    if options.json {
        printer.json(&as_json(&record, None))?;
        return Ok(Ended::Done);
    }
    let ForkRecord { name, source, agents, .. } = &record;
    printer.line(format_args!("forked {source} as /forks/{name}, for {}", agents.join(", ")))?;
    printer::tell(format_args!(
        "`paddock diff {name}` shows what changes there, `paddock apply {name}` takes it over into {source}"
    ));
    Ok(Ended::Done)
}

/// How a fork stands beside its source.
enum Standing {
    Differs(usize),
    Conflicts { paths: usize, conflicts: usize },
    Gone,
    Unknown(String),
}

fn list(project: &Project, options: &Fork, printer: &Printer) -> anyhow::Result<Ended> {
    let layered = Layered::look(project)?;
    let forks = layered.layers()?.forks().map_err(layered::told)?;
    let main = AgentName::main();
    let call = layered.call(&main);
    let mut rows = Vec::new();
    for fork in forks {
        let standing = standing(&layered, &call, &fork)?;
        rows.push((fork, standing));
    }
    if options.json {
        printer.json(&Value::Array(rows.iter().map(|(fork, standing)| as_json(fork, Some(standing))).collect()))?;
        return Ok(Ended::Done);
    }
    if rows.is_empty() {
        printer::tell("there are no forks; `paddock fork WORKSPACE NAME` makes one");
    }
    let widest = |text: fn(&ForkRecord) -> String| rows.iter().map(|(fork, _)| text(fork).len()).max().unwrap_or(0);
    let (names, sources, agents) = (widest(|fork| fork.name.clone()), widest(of), widest(for_whom));
    for (fork, standing) in &rows {
        let (name, source) = (format!("{:names$}", fork.name), format!("{:sources$}", of(fork)));
        let (agents, age) = (format!("{:agents$}", for_whom(fork)), layered::age(fork.created));
        let state = match standing {
            Standing::Differs(0) => printer.look(Look::Faint, "nothing differs"),
            Standing::Differs(1) => "1 path differs".to_owned(),
            Standing::Differs(count) => format!("{count} paths differ"),
            Standing::Conflicts { paths, conflicts } => {
                let conflicts = format!("{conflicts} in conflict");
                format!("{} differ, {}", layered::paths(*paths), printer.look(Look::Warning, conflicts))
            }
            Standing::Gone => printer.look(Look::Bad, "its source is gone"),
            Standing::Unknown(why) => printer.look(Look::Bad, why),
        };
        printer.line(format_args!("{}  {source}  for {agents}  {age:9}  {state}", printer.look(Look::Strong, name)))?;
    }
    Ok(Ended::Done)
}

fn of(fork: &ForkRecord) -> String {
    format!("{} of {}", fork.source, fork.from)
}

fn for_whom(fork: &ForkRecord) -> String {
    fork.agents.join(", ")
}

fn standing(layered: &Layered, call: &Call<'_>, fork: &ForkRecord) -> anyhow::Result<Standing> {
    let layer = match layered.open(&layered.layers()?, &LayerName::Fork(fork.clone())) {
        Ok(layer) => layer,
        Err(LayerError::SourceGone { .. }) => return Ok(Standing::Gone),
        Err(error) => return Err(layered::told(error).into()),
    };
    // One that cannot be compared must not keep the others from being shown.
    let holdings = match layered::compared(call, &layer) {
        Ok(holdings) => holdings,
        Err(error) => {
            let first = error.text().lines().next().unwrap_or_default();
            return Ok(Standing::Unknown(first.trim_start_matches("error: ").to_owned()));
        }
    };
    let conflicts = holdings.differences.iter().filter(|difference| difference.conflict).count();
    // What no apply takes along is in the fork alone, too.
    let paths = holdings.differences.len() + holdings.left_out.len();
    Ok(if conflicts == 0 { Standing::Differs(paths) } else { Standing::Conflicts { paths, conflicts } })
}

fn as_json(fork: &ForkRecord, standing: Option<&Standing>) -> Value {
    let (differs, conflicts) = match standing {
        None => (Some(0), Some(0)),
        Some(Standing::Differs(paths)) => (Some(*paths), Some(0)),
        Some(Standing::Conflicts { paths, conflicts }) => (Some(*paths), Some(*conflicts)),
        Some(Standing::Gone | Standing::Unknown(_)) => (None, None),
    };
    json!({
        "name": fork.name,
        "prefix": format!("/forks/{}", fork.name),
        "source": fork.source,
        "from": fork.from,
        "agents": fork.agents,
        "created": fork.created,
        "frozen": fork.frozen_at.is_some(),
        "differs": differs,
        "conflicts": conflicts,
        "source_is_gone": matches!(standing, Some(Standing::Gone)),
    })
}
