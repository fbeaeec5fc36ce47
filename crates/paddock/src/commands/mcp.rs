//! `paddock mcp`: serves one agent's tools to one MCP client, from a configuration or from directories.

use std::io::IsTerminal as _;
use std::sync::Arc;

use paddock_config::{AdhocDir, Host, Installation, upkeep};
use paddock_tools::{Audited, PolicySource};

use crate::cli::{Global, Mcp};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer;
use paddock_desk::{Project, project};

pub(crate) fn run(global: &Global, options: &Mcp) -> anyhow::Result<Ended> {
    let (policy, installation) =
        if options.dirs.is_empty() { configured(global)? } else { of_directories(global, &options.dirs)? };
    if std::io::stdin().is_terminal() {
        printer::tell(
            "waiting for an MCP client on standard input; Ctrl-D ends this, and `paddock demo` shows how it works",
        );
    }
    let greeted =
        || upkeep::tidy_in_background(&installation, |error| tracing::warn!(error, "the past was not tidied"));
    let served = paddock_mcp::serve_stdio(Arc::clone(&policy), greeted);
    // What only looked or was denied is recorded a moment after its answer, and the end must not come before.
    policy.audit().flush().map_err(|error| Failure::failed(&error, "run `paddock doctor`"))?;
    served.map_err(|error| {
        Failure::failed(&error, "an MCP client starts this command and speaks to it; `paddock demo` shows one")
    })?;
    Ok(Ended::Done)
}

/// What is served, and what is tidied meanwhile.
type Served = (Arc<dyn PolicySource>, Installation);

fn configured(global: &Global) -> anyhow::Result<Served> {
    let project = Project::find(&global.places())?;
    if !host::is_file(&project.config) {
        tracing::warn!("there is no paddock.toml here or above, so there are no tools; run `paddock init`");
    }
    upkeep::stay();
    let (policy, installation) = project.working_as(global.agent())?;
    Ok((Arc::new(policy), installation))
}

fn of_directories(global: &Global, dirs: &[String]) -> anyhow::Result<Served> {
    let dirs: Vec<AdhocDir> = dirs.iter().map(|dir| AdhocDir::parse(dir)).collect();
    let system_root = project::system_root(&global.places(), None)?;
    let host = Host::without_config(system_root.clone())?;
    // Looked at with nothing behind them first: what cannot be served leaves nothing on disk.
    let misused = |error: paddock_config::AdhocError| Failure::misused(&error, error.hint());
    paddock_config::adhoc(&dirs, &host, &project::looking()).map_err(misused)?;
    let first = dirs.first().map_or_else(|| host.project_root().to_owned(), |dir| host.project_root().join(&dir.path));
    let settings = project::settings(host::real(&first)?, None, &global.places().secrets)?;
    let installation = Installation::claim(&system_root, &settings).map_err(project::installation_problem)?;
    let policy = paddock_config::adhoc(&dirs, &host, &installation.ports(project::gate())).map_err(misused)?;
    let secrets = installation.secrets().clone();
    Ok((Arc::new(Audited { policy: Arc::new(policy), audit: installation.audit(), secrets }), installation))
}
