//! `paddock init`: sets up a project, and overwrites nothing.

use std::path::Path;

use clap::ValueEnum;
use paddock_config::{CONFIG_FILE, SCHEMA_FILE, WORKSPACE_DIR};
use serde_json::Value;

use crate::cli::{ClientName, Global, Init};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{Look, Printer};

pub(crate) fn run(options: &Init, global: &Global, printer: &Printer) -> anyhow::Result<Ended> {
    let refused = |path: &Path, error: std::io::Error| {
        let message = format!("cannot use \"{}\": {error}", path.display());
        Failure::failed(message, "name a directory that you may write")
    };
    host::make_dir(&options.dir).map_err(|error| refused(&options.dir, error))?;
    let project = host::real(&options.dir).map_err(|error| refused(&options.dir, error))?;
    // Here every later command would be refused, so nothing is begun.
    paddock_desk::project::system_root(&global.places(), Some(&project))?;
    let of_directory = || project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = options.name.clone().unwrap_or_else(of_directory);
    let written = paddock_config::init(&project, &name).map_err(|error| Failure::failed(&error, error.hint()))?;
    let workspace = project.join(WORKSPACE_DIR);
    host::make_dir(&workspace).map_err(|error| refused(&workspace, error))?;

    for path in &written {
        let path = path.strip_prefix(&project).unwrap_or(path);
        report(printer, &path.display().to_string(), says(path))?;
    }
    report(printer, &format!("{WORKSPACE_DIR}/"), "the only place where agents write")?;
    printer.line("\nAgents read this project as /project and write in /project/workspace. Next:")?;
    printer.line("  paddock map                       what does the agent see?")?;
    printer.line("  paddock why write src/main.rs     what would happen, and which line decides it?")?;
    printer.line(format_args!("  paddock connect CLIENT            connect {}", clients()))?;
    printer.line("\nFor another MCP client, as it is configured in JSON:")?;
    printer.line(for_client(global, &project)?)?;
    Ok(Ended::Done)
}

/// The agent programs that can be connected.
fn clients() -> String {
    let names = ClientName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    names.map(|name| name.get_name().to_owned()).collect::<Vec<_>>().join(", ")
}

/// What starts the server for this project from anywhere, as most clients want it written. Absolute, since clients
/// rarely have the person's PATH or directory.
fn for_client(global: &Global, project: &Path) -> anyhow::Result<String> {
    let quoted = |path: &Path| Value::from(path.to_string_lossy()).to_string();
    let command = quoted(&std::env::current_exe()?);
    let mut arguments = format!("\"mcp\", \"--config\", {}", quoted(&project.join(CONFIG_FILE)));
    if let Some(home) = global.home_elsewhere() {
        arguments += &format!(", \"--home\", {}", quoted(&std::path::absolute(home)?));
    }
    // By hand: the command first, and the arguments in one line, as people write it.
    Ok(format!(
        r#"{{
  "mcpServers": {{
    "paddock": {{
      "command": {command},
      "args": [{arguments}]
    }}
  }}
}}"#
    ))
}

fn report(printer: &Printer, path: &str, what: &str) -> anyhow::Result<()> {
    printer.line(format_args!("{} {path:<22} {}", printer.look(Look::Good, "✓"), printer.look(Look::Faint, what)))
}

fn says(path: &Path) -> &'static str {
    match path.to_str() {
        Some(SCHEMA_FILE) => "for your editor",
        Some(".gitignore") => "keeps workspace/ out of version control",
        _ => "what agents perceive: change it as you like",
    }
}
