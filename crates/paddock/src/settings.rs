//! How the person likes the program to speak: their own settings, read once and asked by whoever speaks.
//!
//! An option beats the environment, and that beats what is set here. Settings that cannot be read are told and left out: they
//! decide about nothing but words, so nothing has to wait for them.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::OnceLock;

use paddock_config::UserSettings;
use paddock_state::{HomeSources, SystemRoot};
use tracing::Level;

static SETTINGS: OnceLock<UserSettings> = OnceLock::new();

/// Reads the settings of the System Root that the options name. Answers what is wrong with them, in words.
pub(crate) fn start(home: Option<PathBuf>) -> Option<String> {
    // Whoever needs the System Root is told what is wrong with it.
    let system_root = SystemRoot::resolve(&HomeSources::from_environment(home), None).ok()?;
    match UserSettings::load(&system_root) {
        Ok(settings) => {
            let _ = SETTINGS.set(settings);
            None
        }
        Err(error) => Some(format!("warning: your settings are left out: {error}\nhint: {}", error.hint())),
    }
}

fn is(name: &str, value: &str) -> bool {
    SETTINGS.get().is_some_and(|settings| settings.is(name, value))
}

/// What is logged where no option says it.
pub(crate) fn log_level() -> Level {
    let set = SETTINGS.get().and_then(|settings| settings.get("log").ok().flatten());
    set.and_then(|level| level.parse().ok()).unwrap_or(Level::WARN)
}

/// May long work say how far it is?
pub(crate) fn shows_progress() -> bool {
    !is("progress", "never")
}

/// Is what is printed coloured?
pub(crate) fn colours() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if set("NO_COLOR") || set("CLICOLOR_FORCE") {
        return !set("NO_COLOR");
    }
    is("color", "always") || (!is("color", "never") && io::stdout().is_terminal() && !dumb())
}
