//! `paddock serve`: the console, the API and MCP over HTTP, for one project.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use paddock_config::{CONFIG_FILE, ConfigFile, upkeep};
use paddock_console::{Listening, ServeError, ServeOptions};
use paddock_desk::{Desk, Project};
use serde_json::json;

use super::{init, publish};
use crate::cli::{Global, Init, LogFormat, Serve};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Look, Printer};
use crate::{host, listening};

pub(crate) fn run(global: &Global, options: &Serve, printer: &Printer) -> anyhow::Result<Ended> {
    let places = places(global, options)?;
    if options.init && !places.config.as_deref().is_some_and(host::is_file) {
        let dir = options.dir.clone().unwrap_or_else(|| ".".into());
        init::run(&Init { dir, name: None }, global, &told_aside(options, printer))?;
    }
    let project = Project::with_config(&places)?;
    let serve = where_to(options, &project.config_file()?)?;
    upkeep::stay();
    let desk = Arc::new(Desk::work(project)?);
    upkeep::tidy_in_background(desk.installation(), |error| tracing::warn!(error, "the past was not tidied"));
    let begun = |listening: &Listening| {
        listening::remember(desk.installation(), &listening.url);
        if let Err(error) = tell(listening, options, printer) {
            tracing::warn!(%error, "where it listens could not be told");
        }
        if options.open && host::open_in_browser(&listening.sign_in).is_err() {
            printer::tell("no browser could be opened; open the link above yourself");
        }
    };
    let ending = || match options.log_format {
        LogFormat::Json => tracing::info!("ending"),
        LogFormat::Text => printer::tell("ending when what is under way has ended; once more ends it now"),
    };
    let served = paddock_console::serve(Arc::clone(&desk), &serve, begun, ending);
    listening::forget(desk.installation());
    desk.audit().flush().map_err(|error| Failure::failed(&error, "run `paddock doctor`"))?;
    served.map_err(|error| not_served(&desk, &error))?;
    Ok(Ended::Done)
}

/// Why it does not serve; where another project has the port, which.
fn not_served(desk: &Desk, error: &ServeError) -> anyhow::Error {
    let Project { system_root, .. } = desk.project();
    let holder = match error {
        ServeError::Listen { address, why } if why.kind() == ErrorKind::AddrInUse => {
            listening::project_at(system_root, address.port())
        }
        _ => None,
    };
    let Some(holder) = holder else { return Failure::failed(error, error.hint()) };
    let holder = paddock_core::visible(&holder.display().to_string());
    let message = format!("{error}: `paddock serve` of \"{holder}\" has it");
    Failure::failed(message, format!("`paddock login` there prints a link to it; or {}", error.hint()))
}

/// Where to listen: what was asked for, else what the configuration says.
fn where_to(options: &Serve, file: &ConfigFile) -> anyhow::Result<ServeOptions> {
    let configured = file.config().serve.as_ref();
    let bind = configured.and_then(|serve| serve.bind).map(|address| address.0);
    let address = options.bind.or(bind).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let port = options.port.or(configured.and_then(|serve| serve.port)).unwrap_or(listening::PORT);
    let mut hosts = options.host.clone();
    hosts.extend(configured.and_then(|serve| serve.hosts.clone()).unwrap_or_default());
    hosts.extend(publish::origin(file)?);
    if !address.is_loopback() && hosts.is_empty() {
        return Err(Failure::misused(
            format!("nobody could reach a console on {address}: it answers only under names it knows"),
            "add --host NAME:PORT with the name that people will type; and put a proxy with TLS before it",
        ));
    }
    Ok(ServeOptions { address, port, hosts })
}

/// The project of the directory that was named.
fn places(global: &Global, options: &Serve) -> anyhow::Result<paddock_desk::Places> {
    let mut places = global.places();
    if let Some(dir) = &options.dir {
        let config = dir.join(CONFIG_FILE);
        if !options.init && !host::is_file(&config) {
            let message = format!("there is no {CONFIG_FILE} in \"{}\"", dir.display());
            return Err(Failure::misused(message, "add --init to write one"));
        }
        places.config = Some(config);
    } else if options.init && places.config.is_none() {
        places.config = paddock_config::find_upwards(&std::env::current_dir()?).or(Some(CONFIG_FILE.into()));
    }
    Ok(places)
}

/// For programs standard output is one line of JSON and nothing else.
fn told_aside(options: &Serve, printer: &Printer) -> Printer {
    if options.json { Printer::nowhere() } else { printer.clone() }
}

fn tell(listening: &Listening, options: &Serve, printer: &Printer) -> anyhow::Result<()> {
    let Listening { address, url, sign_in } = listening;
    let mcp = format!("{url}/mcp");
    if options.json {
        let told = json!({ "address": address.to_string(), "url": url, "sign_in": sign_in, "mcp": mcp });
        return printer.line(told);
    }
    printer.line(format_args!("\n{}  {sign_in}", printer.look(Look::Strong, "Console ")))?;
    printer.line("          (opens once, within 15 minutes; `paddock login` prints another)")?;
    printer.line(format_args!("{}  {mcp}", printer.look(Look::Strong, "MCP     ")))?;
    printer.line(format_args!("{}  {url}/api/v1/openapi.json", printer.look(Look::Strong, "API     ")))?;
    printer.line("\nConnect an agent, which also switches off its own file and shell tools:")?;
    printer.line("  paddock connect claude-code       or codex, cursor, vscode")?;
    printer.line("  paddock token new NAME            a token for any client of the MCP address")?;
    printer.line("\nCtrl-C ends it.")
}
