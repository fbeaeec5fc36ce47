//! Where `paddock serve` of this project listens, for the commands that name its address: what it wrote down when it began, else what the
//! configuration says.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use paddock_config::{ConfigFile, Installation};
use paddock_state::{SystemRoot, WorkspaceHome};

use crate::host;

/// The port where nobody says otherwise.
pub(crate) const PORT: u16 = 7433;

/// How long somebody on this machine may take to be heard of.
const SOON: Duration = Duration::from_secs(1);

/// The file that holds the address while somebody serves, in the project's place in the System Root.
const FILE: &str = "serving-at";

/// Writes down where it listens. Nobody depends on it, so that it may fail.
pub(crate) fn remember(installation: &Installation, url: &str) {
    if let Some(home) = installation.home() {
        host::put_text(&home.path().join(FILE), url);
    }
}

/// Nobody serves any more at this address.
pub(crate) fn forget(installation: &Installation, url: &str) {
    let Some(home) = installation.home() else { return };
    let place = home.path().join(FILE);
    // Another one may have begun meanwhile.
    if host::read_text(&place).is_ok_and(|known| known == url) {
        host::remove_made(&place);
    }
}

/// Does somebody listen at this address, which is one of this machine? An address that is no number cannot be told.
pub(crate) fn answers(url: &str) -> bool {
    let address = url.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    address.is_none_or(|address| TcpStream::connect_timeout(&address, SOON).is_ok())
}

/// The Project Root whose `paddock serve` wrote down that it has this port, of those with a place in the same System Root.
pub(crate) fn project_at(system: &SystemRoot, port: u16) -> Option<PathBuf> {
    let places = system.workspaces_dir();
    let serves = |place: &PathBuf| {
        let url = host::read_text(&place.join(FILE)).ok();
        url.and_then(|url| url.rsplit_once(':')?.1.parse().ok()) == Some(port)
    };
    let names = host::names_in(&places).ok()?;
    let place = names.iter().map(|name| places.join(name)).find(serves)?;
    Some(WorkspaceHome::owner_of(&place)?.project_root().to_owned())
}

/// The console's address.
pub(crate) fn url(installation: &Installation, file: &ConfigFile) -> String {
    let known = installation.home().and_then(|home| host::read_text(&home.path().join(FILE)).ok());
    known.filter(|url| url.starts_with("http://")).unwrap_or_else(|| {
        let port = file.config().serve.as_ref().and_then(|serve| serve.port).unwrap_or(PORT);
        format!("http://127.0.0.1:{port}")
    })
}
