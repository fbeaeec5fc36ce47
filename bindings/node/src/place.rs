//! Where a program runs: the System Root, the host around it, and how what is wrong is told.

use std::fmt::Display;
use std::path::PathBuf;

use napi::{Error, Result};
use paddock_config::{Host, Installation};
use paddock_desk::Places;
use paddock_desk::project;
use paddock_state::{FromEnvironment, HomeSources, Secrets, SystemRoot, Vault};

/// The places of a program: what it names, and the secrets of the System Root.
pub(crate) fn places(home: Option<PathBuf>, config: Option<PathBuf>) -> Places {
    let secrets = match SystemRoot::resolve(&HomeSources::from_environment(home.clone()), None) {
        Ok(system) => Secrets::of(Vault::of(&system), FromEnvironment),
        // Whoever needs it is told what is wrong with it.
        Err(_) => Secrets::none(),
    };
    Places { home, config, secrets }
}

/// Keeps the addon in memory for the life of the process: its threads may outlive the environment (a worker) that loaded it.
pub(crate) fn stay_loaded() {
    static STAYS: std::sync::Once = std::sync::Once::new();
    // Making a handle does it; the handle itself is of no use.
    STAYS.call_once(|| drop(napi::threadsafe_function::ThreadsafeFunctionHandle::null()));
}

/// The System Root of a program without a configuration.
pub(crate) fn system_root() -> Result<SystemRoot> {
    project::system_root(&places(None, None), None).map_err(told)
}

/// The place of the current directory in it, where `paddock` keeps what belongs to it too.
pub(crate) fn installation() -> Result<Installation> {
    let here = std::env::current_dir().map_err(told)?;
    let settings = project::settings(here, None, &places(None, None).secrets).map_err(told)?;
    Installation::claim(&system_root()?, &settings).map_err(|error| told(project::installation_problem(error)))
}

/// The host of a program without a configuration.
pub(crate) fn host() -> Result<Host> {
    Host::without_config(system_root()?)
        .map_err(|error| told(format!("the current directory cannot be reached: {error}")))
}

/// What is wrong, as JavaScript throws it.
pub(crate) fn told(error: impl Display) -> Error {
    let text = error.to_string();
    Error::from_reason(text.strip_prefix("error: ").unwrap_or(&text))
}

/// The same with what to do next.
pub(crate) fn told_with(error: impl Display, hint: impl Display) -> Error {
    told(format!("{error}\nhint: {hint}"))
}
