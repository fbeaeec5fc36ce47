//! A project as one commit of Git: as a bundle, or as a repository.
//!
//! A bundle names its commit before the pack that holds it, and a pack its number of objects before the first. So the project is read twice: once to
//! name every object, once to write them. Neither needs a temporary file, and what changes in between is noticed, since the second
//! reading has to give the same names. Empty directories are not in it, since Git has none.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use paddock_core::LogicalPath;
use paddock_tools::Person;

use super::pack::{Id, Naming, PackWriter, Packed, Type, id_of, write_index};
use super::{Export, Exported};
use crate::error::{ProjectError, Result};
use crate::host;
use crate::left_out::LeftOut;
use crate::progress::{Meter, Watch};
use crate::source::{Met, Source, Visit};

/// How often a file that changes while it is named is looked at again.
const TRIES: usize = 3;

/// What the commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Who made it.
    pub author: String,
    /// Their address.
    pub email: String,
    /// When; without it always the same moment, so that the same project gives the same commit.
    pub when: Option<SystemTime>,
    /// What it is about.
    pub message: String,
    /// The branch it is on.
    pub branch: String,
}

impl Default for Commit {
    fn default() -> Self {
        Self {
            author: "Paddock".to_owned(),
            email: "paddock@localhost".to_owned(),
            when: None,
            message: "Export from Paddock".to_owned(),
            branch: "main".to_owned(),
        }
    }
}

impl Commit {
    /// The moment of a commit that has none: the first of 2000.
    const ALWAYS: u64 = 946_684_800;

    fn content(&self, tree: Id, parent: Option<&str>) -> Vec<u8> {
        let since = |when: SystemTime| when.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seconds = self.when.map_or(Self::ALWAYS, since);
        let who =
            format!("{} <{}> {seconds} +0000", plain(&self.author, "Paddock"), plain(&self.email, "paddock@localhost"));
        let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
        let message = self.message.replace('\0', "");
        format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n{}\n", message.trim_end()).into_bytes()
    }

    fn branch_ref(&self) -> Result<String> {
        Ok(format!("refs/heads/{}", host_branch(&self.branch)?))
    }
}

/// A name as a commit can hold it.
fn plain(text: &str, without: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | '"' | '\''));
    if text.is_empty() { without.to_owned() } else { text.to_owned() }
}

/// A name that Git takes for a branch, and no program for an option.
pub(crate) fn host_branch(name: &str) -> Result<&str> {
    let good_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with('.')
            && !part.to_ascii_lowercase().ends_with(".lock")
            && !part.contains("..")
    };
    let good = name.len() <= 200
        && name != "HEAD"
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
        && name.split('/').all(good_part);
    if good { Ok(name) } else { Err(ProjectError::BadBranch(paddock_core::visible(name))) }
}

/// Writes a project as a Git bundle: `git clone FILE` takes it.
///
/// # Errors
/// When the project cannot be read or changes meanwhile, or `out` takes no more. What was written to `out` is then no whole bundle.
pub fn bundle(
    person: &Person<'_>,
    path: &LogicalPath,
    export: Export,
    commit: &Commit,
    out: &mut dyn Write,
    watch: Watch<'_>,
) -> Result<Exported> {
    let branch = commit.branch_ref()?;
    let source = Source::open(person, path)?;
    let mut meter = Meter::new(watch);
    let named = Named::of(&source, export, &mut meter)?;
    let whole = Whole::new(named, commit, None);
    let id = whole.commit_id;
    write!(out, "# v2 git bundle\n{id} HEAD\n{id} {branch}\n\n").map_err(ProjectError::Output)?;
    whole.write_pack(&source, out, &mut meter)?;
    Ok(whole.told())
}

/// Writes a project as a bare repository into a directory that is not there yet, or is empty: `git clone DIRECTORY` takes it.
///
/// # Errors
/// When the project cannot be read or changes meanwhile, or the directory cannot be written. What was made is then taken away again.
pub fn repository(
    person: &Person<'_>,
    path: &LogicalPath,
    export: Export,
    commit: &Commit,
    directory: &Path,
    watch: Watch<'_>,
) -> Result<Exported> {
    let branch = commit.branch_ref()?;
    let source = Source::open(person, path)?;
    let mut meter = Meter::new(watch);
    let named = Named::of(&source, export, &mut meter)?;
    let made = host::BareRepository::make(directory, &branch)?;
    let whole = Whole::new(named, commit, None);
    whole.write_into(&source, &made, &branch, &mut meter)?;
    made.keep();
    Ok(whole.told())
}

/// A file whose content is read again when the pack is written.
struct Blob {
    path: String,
    len: u64,
    id: Id,
}

/// Every object of a project, named.
pub(crate) struct Named {
    blobs: Vec<Blob>,
    /// Small contents that are at hand: links and trees.
    at_hand: Vec<(Type, Vec<u8>)>,
    known: HashSet<Id>,
    /// The directories that are being gone through: name, and what was found in them.
    open: Vec<(String, Vec<u8>)>,
    pub(crate) tree: Id,
    told: Exported,
}

struct NameVisit<'m, 'w> {
    named: Named,
    meter: &'m mut Meter<'w>,
}

impl Named {
    pub(crate) fn of(source: &Source<'_>, export: Export, meter: &mut Meter<'_>) -> Result<Self> {
        let named = Self {
            blobs: Vec::new(),
            at_hand: Vec::new(),
            known: HashSet::new(),
            open: vec![(String::new(), Vec::new())],
            tree: id_of(Type::Tree, b""),
            told: Exported::default(),
        };
        let mut visit = NameVisit { named, meter };
        source.visit(export.ignored, &mut visit)?;
        Ok(visit.named)
    }

    /// One more line of the tree that is being made. Everything comes in Git's order already.
    fn line(&mut self, mode: &str, path: &str, id: Id) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        if let Some((_, tree)) = self.open.last_mut() {
            tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            tree.extend_from_slice(&id.0);
        }
    }

    /// An object whose content is at hand.
    fn hold(&mut self, kind: Type, content: Vec<u8>) -> Id {
        let id = id_of(kind, &content);
        if self.known.insert(id) {
            self.at_hand.push((kind, content));
        }
        id
    }
}

impl Visit for NameVisit<'_, '_> {
    fn dir(&mut self, path: &str, _: u32) -> Result<()> {
        self.named.open.push((path.to_owned(), Vec::new()));
        Ok(())
    }

    fn file(&mut self, source: &Source<'_>, file: &Met<'_>) -> Result<()> {
        let (id, len) = name_file(source, file, self.meter)?;
        self.named.line(if file.mode & 0o100 == 0 { "100644" } else { "100755" }, file.path, id);
        if self.named.known.insert(id) {
            self.named.blobs.push(Blob { path: file.path.to_owned(), len, id });
        }
        self.named.told.files += 1;
        self.named.told.bytes += len;
        self.meter.files += 1;
        Ok(())
    }

    fn link(&mut self, path: &str, leads_to: &str) -> Result<()> {
        let id = self.named.hold(Type::Blob, leads_to.as_bytes().to_vec());
        self.named.line("120000", path, id);
        self.named.told.links += 1;
        self.meter.files += 1;
        Ok(())
    }

    fn leave(&mut self, _: &str) -> Result<()> {
        let Some((path, tree)) = self.named.open.pop() else { return Ok(()) };
        let is_top = self.named.open.is_empty();
        if tree.is_empty() && !is_top {
            return Ok(());
        }
        let id = self.named.hold(Type::Tree, tree);
        if is_top {
            self.named.tree = id;
        } else {
            self.named.told.directories += 1;
            self.named.line("40000", &path, id);
        }
        Ok(())
    }

    fn left_out(&mut self) -> &mut LeftOut {
        &mut self.named.told.left_out
    }
}

/// The name of a file's content, and how long that is. One that changes meanwhile is looked at again.
fn name_file(source: &Source<'_>, file: &Met<'_>, meter: &mut Meter<'_>) -> Result<(Id, u64)> {
    let mut len = file.len;
    for _ in 0..TRIES {
        let mut naming = Naming::new(Type::Blob, len);
        let read = source.read(file.path, len, meter, &mut |piece| {
            naming.update(piece);
            Ok(())
        })?;
        if !read.changed {
            return Ok((naming.id(), len));
        }
        len = source.stat(file.path)?.map_or(0, |meta| meta.len);
    }
    Err(changed(file.path))
}

fn changed(path: &str) -> ProjectError {
    ProjectError::Changed { path: path.to_owned() }
}

/// Everything that goes into a pack.
pub(crate) struct Whole {
    named: Named,
    commit: Vec<u8>,
    pub(crate) commit_id: Id,
}

impl Whole {
    pub(crate) fn new(named: Named, commit: &Commit, parent: Option<&str>) -> Self {
        let commit = commit.content(named.tree, parent);
        let commit_id = id_of(Type::Commit, &commit);
        Self { named, commit, commit_id }
    }

    fn write_pack<W: Write>(
        &self,
        source: &Source<'_>,
        out: W,
        meter: &mut Meter<'_>,
    ) -> Result<(W, [u8; 20], Vec<Packed>)> {
        let objects = self.named.known.len() + 1;
        let too_many = ProjectError::TooMuch { what: "the number of its files", limit: u64::from(u32::MAX) };
        let objects = u32::try_from(objects).map_err(|_| too_many)?;
        let mut pack = PackWriter::new(out, objects).map_err(ProjectError::Output)?;
        pack.whole(Type::Commit, &self.commit).map_err(ProjectError::Output)?;
        for (kind, content) in &self.named.at_hand {
            pack.whole(*kind, content).map_err(ProjectError::Output)?;
        }
        for blob in &self.named.blobs {
            let mut object = pack.object(Type::Blob, blob.len).map_err(ProjectError::Output)?;
            source.read(&blob.path, blob.len, meter, &mut |piece| object.write(piece).map_err(ProjectError::Output))?;
            if object.finish().map_err(ProjectError::Output)? != blob.id {
                return Err(changed(&blob.path));
            }
        }
        pack.finish().map_err(ProjectError::Output)
    }

    /// Puts everything into a repository, and its branch there.
    pub(crate) fn write_into(
        &self,
        source: &Source<'_>,
        repository: &host::BareRepository,
        branch: &str,
        meter: &mut Meter<'_>,
    ) -> Result<()> {
        let pack = repository.new_pack()?;
        let (pack, hash, packed) = self.write_pack(source, pack, meter)?;
        let mut index = Vec::new();
        write_index(&mut index, hash, &packed).map_err(ProjectError::Output)?;
        repository.settle_pack(pack, &Id(hash).to_string(), &index)?;
        repository.set_branch(branch, &self.commit_id.to_string())
    }

    pub(crate) fn told(&self) -> Exported {
        Exported { commit: Some(self.commit_id.to_string()), ..self.named.told.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_has_a_name_that_is_no_option_and_leads_nowhere() {
        for good in ["main", "feature/one", "v1.2", "a-b_c"] {
            assert!(host_branch(good).is_ok(), "{good}");
        }
        for bad in
            ["", "-x", "a/-x", "a..b", "a/", "/a", "a b", "a.lock", ".a", "a/.b", "HEAD", "a~1", "a:b", "ä", "x\n"]
        {
            assert!(host_branch(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_commit_holds_no_line_that_somebody_slips_in() {
        let commit = Commit {
            author: "Eve\nparent 0 <e>".to_owned(),
            email: "<>".to_owned(),
            message: "one\n\n".to_owned(),
            ..Commit::default()
        };
        let text = String::from_utf8(commit.content(id_of(Type::Tree, b""), None)).unwrap();
        let expected = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
            author Eveparent 0 e <paddock@localhost> 946684800 +0000\n\
            committer Eveparent 0 e <paddock@localhost> 946684800 +0000\n\none\n";
        assert_eq!(text, expected);
    }
}
