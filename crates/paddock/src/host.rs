//! The only file of the command line that touches the host itself.
//!
//! The doctor looks at directories, the demo lays out a sample project and starts the server, a backup is made, a few
//! commands read a text. None of it is ever done for an agent: an agent's files are reached through a Store only.

#![allow(clippy::disallowed_methods, reason = "for the person at the terminal, never for an agent")]

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use paddock_state::private;

/// Is there a file?
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Is there a directory?
pub(crate) fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// What a file holds, at the most so many bytes of it.
pub(crate) fn read_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(path)?, most), &mut bytes)?;
    Ok(bytes)
}

/// What the person at the terminal types in one line, without showing it.
pub(crate) fn ask_unseen(prompt: &str) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let mut terminal = std::fs::File::options().read(true).write(true).open("/dev/tty")?;
    io::Write::write_all(&mut terminal, prompt.as_bytes())?;
    let shown = tcgetattr(&terminal)?;
    let mut unseen = shown.clone();
    unseen.local_modes.remove(LocalModes::ECHO);
    unseen.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&terminal, OptionalActions::Flush, &unseen)?;
    let mut line = String::new();
    let read = io::BufRead::read_line(&mut io::BufReader::new(&terminal), &mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &shown)?;
    read?;
    line.truncate(line.trim_end_matches(['\n', '\r']).len());
    Ok(line)
}

/// What a person makes of a text in their editor. The file is private, and gone afterwards.
pub(crate) fn edited_text(text: &str) -> io::Result<String> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.filter(|editor| !editor.trim().is_empty());
    let editor = editor.ok_or_else(|| io::Error::other("there is no $EDITOR"))?;
    let mut file = tempfile::Builder::new().prefix("paddock-").suffix(".json").tempfile()?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    // People write options into the variable.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = std::process::Command::new(program).args(words).arg(file.path()).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("\"{program}\" ended with {status}")));
    }
    std::fs::read_to_string(file.path())
}

/// What this process was given to read: a pipe, a file, a socket; a terminal only when it is asked for. Programs take a pipe for
/// work to do, so what is none of these must not become one.
pub(crate) fn own_input(terminal_too: bool) -> io::Result<Option<OwnedFd>> {
    let input = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let kind = input.metadata()?.file_type();
    let is_given = kind.is_fifo() || kind.is_file() || kind.is_socket();
    Ok((is_given || (terminal_too && io::IsTerminal::is_terminal(&input))).then(|| input.into()))
}

/// A file, for reading it piece by piece.
pub(crate) fn open(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// What is in a directory, by name; nothing where there is none.
pub(crate) fn names_in(path: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Makes a directory and those above it.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// The real place of a path.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Writes files, each with the directories above it.
pub(crate) fn lay_out(directory: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    for (path, content) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
        std::fs::write(path, content)?;
    }
    Ok(())
}

/// Puts a text into a file that only its owner may read, whatever was there; a failure is nobody's.
pub(crate) fn put_text(path: &Path, text: &str) {
    let _ = private::replace(path, text.as_bytes());
}

/// Makes a new file that only its owner may read.
pub(crate) fn make_private_file(path: &Path) -> io::Result<std::fs::File> {
    private::options().write(true).create_new(true).open(path)
}

/// Removes a file, or a directory with everything in it, that this process made a moment ago.
pub(crate) fn remove_made(path: &Path) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
}

/// Makes a directory that only its owner may read; one that is there and empty will do.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    match private::new_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty_dir(path) => Ok(()),
        other => other,
    }
}

fn is_empty_dir(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// The length of a file.
pub(crate) fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Copies a file, or a directory with everything in it, to where nothing is. Links are copied as links. Answers how many
/// files that were; a source that is not there, or goes meanwhile, is none.
pub(crate) fn copy_new(from: &Path, to: &Path) -> io::Result<u64> {
    let found = match std::fs::symlink_metadata(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    if found.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?;
        return Ok(1);
    }
    if found.is_dir() {
        private::new_directory(to)?;
        let mut copied = 0;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copied += copy_new(&entry.path(), &to.join(entry.file_name()))?;
        }
        std::fs::File::open(to)?.sync_all()?;
        return Ok(copied);
    }
    let mut source = match std::fs::File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    let mut copy = make_private_file(to)?;
    io::copy(&mut source, &mut copy)?;
    // The mode and the time of what was kept come back with it.
    copy.set_permissions(found.permissions())?;
    copy.set_modified(found.modified()?)?;
    copy.sync_all()?;
    Ok(1)
}

/// Shows an address in the person's browser.
pub(crate) fn open_in_browser(url: &str) -> io::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = || Stdio::null();
    std::process::Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().map(drop)
}

/// Starts this same program with these arguments, its standard input and output in our hands.
pub(crate) fn start_ourselves(arguments: &[&Path], directory: &Path) -> io::Result<tokio::process::Child> {
    tokio::process::Command::new(std::env::current_exe()?)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// The text of a file, if there is one. A link that leads nowhere is an error.
pub(crate) fn text_if_any(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        other => other.map(Some),
    }
}

/// Replaces a file as a whole, or makes it with this mode (less what the person's mask takes). A link is kept, and what it
/// leads to is replaced.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let real = match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => path.to_owned(),
        other => other?,
    };
    let found = std::fs::metadata(&real).ok().map(|found| found.permissions());
    let mut beside = real.clone().into_os_string();
    beside.push(format!(".new-{}", std::process::id()));
    let written = (|| {
        let mut file = std::fs::File::options().write(true).create_new(true).mode(mode).open(&beside)?;
        if let Some(found) = found {
            file.set_permissions(found)?;
        }
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, &real)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// The directories above a path that are not there, the innermost first.
pub(crate) fn missing_above(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|above| !above.exists()).map(Path::to_owned).collect()
}

/// Makes a directory that only its owner may read; one that is there will do.
pub(crate) fn make_dir_private(path: &Path) -> io::Result<()> {
    private::make_directory(path)
}

/// Removes a file; none is fine.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes a directory that holds nothing.
pub(crate) fn remove_dir_if_empty(path: &Path) {
    let _ = std::fs::remove_dir(path);
}
