//! Where `paddock serve` of this project listens, for the commands that name its address: what it wrote down when it began, else what the
//! configuration says. Several may serve at once, and one that was killed leaves its word behind: only who answers counts.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use paddock_config::{ConfigFile, Installation};
use paddock_state::{SystemRoot, WorkspaceHome};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::host;

/// The port where nobody says otherwise.
pub(crate) const PORT: u16 = 7433;

/// How long somebody on this machine may take to be heard of.
const SOON: Duration = Duration::from_secs(1);

/// How the files begin that hold an address, in the project's place in the System Root: one for each process that serves.
const FILES: &str = "serving-at";

/// Writes down where it listens, and clears away what others left behind that were killed. Nobody depends on it, so that it may fail.
pub(crate) fn remember(installation: &Installation, url: &str) {
    let dead = known(installation).into_iter().filter(|(_, url)| !answers(url));
    dead.for_each(|(place, _)| host::remove_made(&place));
    if let Some(place) = own_place(installation) {
        host::put_text(&place, url);
    }
}

/// This process does not serve any more.
pub(crate) fn forget(installation: &Installation) {
    if let Some(place) = own_place(installation) {
        host::remove_made(&place);
    }
}

fn own_place(installation: &Installation) -> Option<PathBuf> {
    Some(installation.home()?.path().join(format!("{FILES}-{}", std::process::id())))
}

/// Every address that was written down, and where.
fn known(installation: &Installation) -> Vec<(PathBuf, String)> {
    installation.home().map(|home| written_in(home.path())).unwrap_or_default()
}

fn written_in(place: &Path) -> Vec<(PathBuf, String)> {
    let names = host::names_in(place).unwrap_or_default();
    let files = names.iter().filter(|name| name.starts_with(FILES)).map(|name| place.join(name));
    let read = files.filter_map(|file| Some((host::read_text(&file).ok()?, file)));
    read.filter(|(url, _)| url.starts_with("http://")).map(|(url, file)| (file, url)).collect()
}

/// Does somebody listen at this address, which is one of this machine? An address that is no number cannot be told.
pub(crate) fn answers(url: &str) -> bool {
    let address = url.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    address.is_none_or(|address| TcpStream::connect_timeout(&address, SOON).is_ok())
}

/// The Project Root whose `paddock serve` wrote down that it has this port, of those with a place in the same System Root.
pub(crate) fn project_at(system: &SystemRoot, port: u16) -> Option<PathBuf> {
    let places = system.workspaces_dir();
    let has_it = |url: &str| url.rsplit_once(':').and_then(|(_, at)| at.parse().ok()) == Some(port);
    // One that was killed has no port any more, whoever has it now.
    let serves = |place: &PathBuf| written_in(place).iter().any(|(file, url)| has_it(url) && is_alive(file));
    let names = host::names_in(&places).ok()?;
    let place = names.iter().map(|name| places.join(name)).find(serves)?;
    Some(WorkspaceHome::owner_of(&place)?.project_root().to_owned())
}

/// Does the process that wrote this file still live?
fn is_alive(file: &Path) -> bool {
    let process = file.file_name().and_then(|name| name.to_str()?.strip_prefix(FILES)?.strip_prefix('-')?.parse().ok());
    let process = process.and_then(Pid::from_raw);
    process.is_some_and(|process| !matches!(test_kill_process(process), Err(Errno::SRCH)))
}

/// The console's address: of one that still serves, else what the configuration says.
pub(crate) fn url(installation: &Installation, file: &ConfigFile) -> String {
    let serving = known(installation).into_iter().map(|(_, url)| url).find(|url| answers(url));
    serving.unwrap_or_else(|| {
        let port = file.config().serve.as_ref().and_then(|serve| serve.port).unwrap_or(PORT);
        format!("http://127.0.0.1:{port}")
    })
}
