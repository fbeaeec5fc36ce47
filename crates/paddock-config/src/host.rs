//! What building Workspaces has to know about the host: where the project is, and what is Paddock's own.
//!
//! Paddock's own files (the configuration, its schema, the running binary, the System Root) are never
//! writable by an agent. They are looked for by identity, device and inode, not by spelling alone, so that
//! a second way to the same directory does not open one to them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use paddock_core::RelPathBuf;
use paddock_state::SystemRoot;
use paddock_stores::Way;

use crate::init::{CONFIG_FILE, SCHEMA_FILE};

/// Where a project is and what in it is Paddock's own.
#[derive(Debug, Clone)]
pub struct Host {
    project_root: PathBuf,
    home: Option<PathBuf>,
    system_root: SystemRoot,
    own: Vec<PathBuf>,
}

impl Host {
    /// The host of a project whose configuration is (or would be) at `config_file`.
    ///
    /// # Errors
    /// When the directory of the file cannot be reached.
    pub fn new(config_file: &Path, system_root: SystemRoot) -> io::Result<Self> {
        // As it was named: a link on the way to it decides which file the next start reads.
        let mut own = link_chain(&std::path::absolute(config_file)?);
        let project_root = parent(&link_free_parent(config_file)?);
        own.extend(binary());
        Ok(Self { own, project_root, home: std::env::home_dir(), system_root })
    }

    /// A host without a configuration, for directories named on the command line.
    ///
    /// # Errors
    /// When the current directory cannot be reached.
    pub fn without_config(system_root: SystemRoot) -> io::Result<Self> {
        let project_root = std::env::current_dir()?;
        Ok(Self { own: binary(), project_root, home: std::env::home_dir(), system_root })
    }

    /// The same host, knowing another way to its configuration too. `named` is absolute.
    pub(crate) fn with_links_to(mut self, named: &Path) -> Self {
        self.own.extend(link_chain(named));
        self
    }

    /// The same host, knowing the configurations in and above these directories too: whoever starts Paddock
    /// there takes the policy from them.
    pub(crate) fn with_configs_over<'p>(&self, directories: impl Iterator<Item = &'p Path>) -> Self {
        let mut host = self.clone();
        for directory in directories.filter_map(|directory| fs::canonicalize(directory).ok()) {
            host.own.extend(directory.ancestors().flat_map(|above| link_chain(&above.join(CONFIG_FILE))));
        }
        host
    }

    /// The Project Root, absolute and free of links.
    #[must_use]
    pub fn project_root(&self) -> &Path {
        &self.project_root
    }

    /// The System Root.
    #[must_use]
    pub fn system_root(&self) -> &SystemRoot {
        &self.system_root
    }

    /// The host path that a Mount names: relative to the Project Root, `~` the person's home.
    #[must_use]
    pub fn path_of(&self, written: &str) -> PathBuf {
        match (written.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => self.project_root.join(written),
        }
    }

    /// As a person would write it: what is in the project without the way there.
    pub(crate) fn named(&self, path: &Path) -> String {
        path.strip_prefix(&self.project_root).unwrap_or(path).display().to_string()
    }

    /// Paddock's own files below a Mount, relative to it.
    pub(crate) fn own_below(&self, mount: &Path) -> Vec<RelPathBuf> {
        // A configuration at the top of any Mount would be the policy of whoever starts Paddock there.
        let future = [CONFIG_FILE, SCHEMA_FILE].map(PathBuf::from);
        let mut looked = Looked::default();
        let below: Vec<PathBuf> = self.own.iter().filter_map(|own| looked.beneath(mount, own)).collect();
        // A name that is no logical path cannot be asked for, so it needs no rule.
        below.into_iter().chain(future).filter_map(|rel| RelPathBuf::parse(rel.to_str()?).ok()).collect()
    }

    /// Does the Mount contain the System Root?
    pub(crate) fn holds_system_root(&self, mount: &Path) -> bool {
        Looked::default().beneath(mount, self.system_root.path()).is_some()
    }

    /// Does the Mount lie in the System Root?
    pub(crate) fn in_system_root(&self, mount: &Path) -> bool {
        Looked::default().beneath(self.system_root.path(), mount).is_some()
    }
}

/// What the directories on the way really are: device and inode. Each is looked at once, since paths to Paddock's
/// own files share most of theirs. Lives for one question only, so it cannot grow old.
#[derive(Default)]
pub(crate) struct Looked<'p>(HashMap<&'p Path, Option<(u64, u64)>>);

impl<'p> Looked<'p> {
    /// What is left of `inner` below `top`, by name or by what the directories on the way really are.
    pub(crate) fn beneath(&mut self, top: &'p Path, inner: &'p Path) -> Option<PathBuf> {
        let wanted = self.identity(top);
        inner
            .ancestors()
            .find(|above| *above == top || (wanted.is_some() && self.identity(above) == wanted))
            .and_then(|above| inner.strip_prefix(above).ok())
            .map(Path::to_owned)
    }

    fn identity(&mut self, path: &'p Path) -> Option<(u64, u64)> {
        *self.0.entry(path).or_insert_with(|| identity(path))
    }
}

/// What is there: device and inode.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The path with every link resolved but the last name's own.
fn link_free_parent(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let name = absolute.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = absolute.parent().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(fs::canonicalize(parent)?.join(name))
}

/// The file, each link on the way to its text, be it of a file or of a directory, and the text itself; a
/// schema beside each. `file` is absolute.
fn link_chain(file: &Path) -> Vec<PathBuf> {
    let Way { end, links, .. } = Way::of(file);
    links.into_iter().chain([end]).flat_map(|own| [parent(&own).join(SCHEMA_FILE), own]).collect()
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).to_owned()
}

fn binary() -> Vec<PathBuf> {
    let named = std::env::current_exe().ok();
    let mut ways: Vec<PathBuf> =
        named.into_iter().flat_map(|path| [fs::canonicalize(&path).ok(), Some(path)]).flatten().collect();
    ways.dedup();
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn beneath_compares_whole_names_and_what_directories_are() {
        let keep = tempfile::tempdir().unwrap();
        let here = keep.path().canonicalize().unwrap();
        fs::create_dir_all(here.join("a/b")).unwrap();
        assert_eq!(Looked::default().beneath(&here.join("a"), &here.join("a/b/c")), Some(PathBuf::from("b/c")));
        assert_eq!(Looked::default().beneath(&here.join("a"), &here.join("a")), Some(PathBuf::new()));
        assert_eq!(Looked::default().beneath(&here.join("a"), &here.join("ab")), None);
        assert_eq!(Looked::default().beneath(&here.join("no"), &here.join("no/x")), Some(PathBuf::from("x")));
        assert_eq!(
            Looked::default().beneath(&here.join("no"), &here.join("other")),
            None,
            "two missing ones are not the same"
        );
    }

    #[test]
    fn mounts_are_relative_to_the_project_and_a_tilde_is_home() {
        let keep = tempfile::tempdir().unwrap();
        let here = keep.path().canonicalize().unwrap();
        let sources = paddock_state::HomeSources { option: Some(here.join("home")), ..Default::default() };
        let system_root = SystemRoot::resolve(&sources, None).unwrap();
        let mut host = Host::new(&here.join("paddock.toml"), system_root).unwrap();
        host.home = Some(PathBuf::from("/home/alice"));
        for (written, path) in [
            (".", here.join(".")),
            ("docs", here.join("docs")),
            ("/srv/data", PathBuf::from("/srv/data")),
            ("~", PathBuf::from("/home/alice")),
            ("~/notes", PathBuf::from("/home/alice/notes")),
            ("~//etc", PathBuf::from("/home/alice/etc")),
            ("~bob", here.join("~bob")),
        ] {
            assert_eq!(host.path_of(written), path, "{written}");
        }
    }

    #[test]
    fn every_link_on_the_way_to_the_text_is_paddocks_own() {
        let keep = tempfile::tempdir().unwrap();
        let here = keep.path().canonicalize().unwrap();
        fs::create_dir(here.join("deep")).unwrap();
        fs::write(here.join("deep/real.toml"), "").unwrap();
        symlink("deep/real.toml", here.join("middle.toml")).unwrap();
        symlink("middle.toml", here.join("paddock.toml")).unwrap();
        let chain = link_chain(&here.join("paddock.toml"));
        for own in
            ["paddock.toml", "middle.toml", "deep/real.toml", ".paddock.schema.json", "deep/.paddock.schema.json"]
        {
            assert!(chain.contains(&here.join(own)), "{own}: {chain:?}");
        }
        symlink("loop.toml", here.join("loop.toml")).unwrap();
        assert!(link_chain(&here.join("loop.toml")).contains(&here.join("loop.toml")));
    }

    #[test]
    fn links_of_directories_on_the_way_are_paddocks_own_too() {
        let keep = tempfile::tempdir().unwrap();
        let here = keep.path().canonicalize().unwrap();
        fs::create_dir_all(here.join("w/in")).unwrap();
        fs::create_dir(here.join("safe")).unwrap();
        fs::write(here.join("safe/real.toml"), "").unwrap();
        symlink("../safe", here.join("w/conf")).unwrap();
        symlink(here.join("w/conf"), here.join("w/over")).unwrap();
        symlink("w/in/../over/./real.toml", here.join("paddock.toml")).unwrap();
        let chain = link_chain(&here.join("paddock.toml"));
        for own in ["paddock.toml", "w/over", "w/conf", "safe/real.toml", "safe/.paddock.schema.json"] {
            assert!(chain.contains(&here.join(own)), "{own}: {chain:?}");
        }
        for other in ["w", "w/in", "safe"] {
            assert!(!chain.contains(&here.join(other)), "{other}: {chain:?}");
        }
    }
}
