//! A Zip that comes in. Its central directory is somebody's claim: what counts is what is read.

use std::io::{Read, Seek, SeekFrom};

use paddock_core::{LogicalPath, visible};
use paddock_tools::Person;
use zip::ZipArchive;
use zip::read::ZipFile;

use super::incoming::Pieces;
use super::{Import, Imported, Incoming};
use crate::error::{ProjectError, Result};
use crate::host::Scratch;
use crate::progress::{Meter, Watch};

/// Up to here no content is too large for its archive.
const NEVER_A_BOMB: u64 = 64 * 1024 * 1024;
/// The largest text that is read of a link.
const LONGEST_LINK: u64 = 4096;
/// The bits of a mode that say what an entry is, and what they are for a file, a directory and a link.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// Takes in a Zip, as one call recorded under this command's name.
///
/// # Errors
/// When it is no Zip, holds what is refused or more than is taken, or the Workspace does not take it. Nothing is written then.
pub fn zip<R: Read + Seek>(
    person: &Person<'_>,
    path: &LogicalPath,
    import: Import,
    mut archive: R,
    scratch: &Scratch,
    watch: Watch<'_>,
) -> Result<Imported> {
    let size = archive.seek(SeekFrom::End(0)).map_err(damaged)?;
    let mut zip = ZipArchive::new(archive).map_err(damaged)?;
    if zip.has_duplicate_names() {
        return Err(ProjectError::Damaged { what: "a Zip", why: "two of its entries have one name".to_owned() });
    }
    let mut incoming = Incoming::new(scratch, import.limits);
    incoming.announce(zip.len() as u64, 0)?;
    let ceiling = size.saturating_mul(import.limits.ratio).max(NEVER_A_BOMB);
    let mut meter = Meter::new(watch);
    for index in 0..zip.len() {
        let raw = zip.by_index_raw(index).map_err(damaged)?;
        let name = name_of(&raw)?;
        let (is_encrypted, is_dir, mode) = (raw.encrypted(), raw.is_dir(), raw.unix_mode().filter(|mode| *mode != 0));
        drop(raw);
        if is_encrypted {
            return Err(ProjectError::Encrypted { name: visible(&name) });
        }
        let entry = zip.by_index(index).map_err(|error| of_entry(&name, &error))?;
        take(&mut incoming, entry, &name, is_dir, mode, ceiling, &mut meter)?;
    }
    if import.unwrap {
        incoming.unwrap()?;
    }
    incoming.settle(person, "import", path, import)
}

fn take<R: Read>(
    incoming: &mut Incoming<'_>,
    mut entry: ZipFile<'_, R>,
    name: &str,
    is_dir: bool,
    mode: Option<u32>,
    ceiling: u64,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let bad = |why| Err(ProjectError::BadName { name: visible(name), why });
    match (mode.map(|mode| mode & KIND), is_dir) {
        (Some(LINK), false) => {
            let mut leads_to = Vec::new();
            entry.take(LONGEST_LINK + 1).read_to_end(&mut leads_to).map_err(|error| of_entry(name, &error))?;
            match String::from_utf8(leads_to) {
                Ok(leads_to) => incoming.link(name, &leads_to),
                Err(_) => Err(ProjectError::LinkLeaves { name: visible(name) }),
            }
        }
        (Some(DIRECTORY | 0) | None, true) => incoming.dir(name.trim_end_matches('/'), mode),
        (Some(FILE | 0) | None, false) => {
            incoming.file(name, mode, &mut Pieces { content: &mut entry, meter }, ceiling)
        }
        (Some(FILE | DIRECTORY | LINK), _) => bad("its name and its kind disagree"),
        _ => bad("it is neither a file, a directory nor a link"),
    }
}

/// The name as it is written, when that is text.
fn name_of<R: Read>(entry: &ZipFile<'_, R>) -> Result<String> {
    let raw = entry.name_raw();
    let name = match std::str::from_utf8(raw) {
        Ok(name) => name.to_owned(),
        Err(_) => entry.name().map_err(damaged)?.into_owned(),
    };
    // One slash at its end says that it is a directory; more are a name that others read differently.
    let is_odd = name.ends_with("//") || name == "/";
    if is_odd { Err(ProjectError::BadName { name: visible(&name), why: "it has an empty part" }) } else { Ok(name) }
}

fn damaged<E: std::error::Error>(error: E) -> ProjectError {
    ProjectError::Damaged { what: "a Zip", why: visible(&error.to_string()) }
}

fn of_entry(name: &str, error: &dyn std::fmt::Display) -> ProjectError {
    ProjectError::Damaged { what: "a Zip", why: format!("\"{}\": {}", visible(name), visible(&error.to_string())) }
}
