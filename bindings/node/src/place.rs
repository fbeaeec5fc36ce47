//! Where a program runs: the System Root, the host around it, and how what is wrong is told.

use std::fmt::Display;
use std::path::PathBuf;

use napi::{Error, Result};
use paddock_config::Host;
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

/// The host of a program without a configuration.
pub(crate) fn host() -> Result<Host> {
    let system_root = project::system_root(&places(None, None), None).map_err(told)?;
    Host::without_config(system_root).map_err(|error| told(format!("the current directory cannot be reached: {error}")))
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
