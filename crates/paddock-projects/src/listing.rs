//! The projects of a Workspace, and how much of it each of them is.
//!
//! A project is a directory with a file that tells what it is: directly in a read-write Workspace, or the Workspace itself. Which
//! file means what is one table. Listing looks at names only; measuring looks at every file, so it is asked for by itself.

use paddock_core::{AccessScope, AgentPolicy, Kind, LogicalPath};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::left_out::LeftOut;
use crate::progress::{Meter, Watch};
use crate::source::{Met, Source, Visit};

/// Files that tell what a project is, the most telling first.
const MARKS: &[(&str, Kind, &str)] = &[
    ("package.json", Kind::File, "node"),
    ("Cargo.toml", Kind::File, "rust"),
    ("pyproject.toml", Kind::File, "python"),
    ("requirements.txt", Kind::File, "python"),
    ("setup.py", Kind::File, "python"),
    ("go.mod", Kind::File, "go"),
    ("deno.json", Kind::File, "deno"),
    ("pom.xml", Kind::File, "java"),
    ("build.gradle", Kind::File, "java"),
    ("build.gradle.kts", Kind::File, "java"),
    ("Gemfile", Kind::File, "ruby"),
    ("composer.json", Kind::File, "php"),
    ("mix.exs", Kind::File, "elixir"),
    ("CMakeLists.txt", Kind::File, "c"),
    ("Makefile", Kind::File, "make"),
    ("index.html", Kind::File, "static"),
    (".git", Kind::Dir, "git"),
];
/// The largest manifest that is looked into.
const MAX_MANIFEST: u64 = 256 * 1024;

/// A project of a Workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Project {
    /// The name of its directory.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// The Workspace that it is in.
    pub workspace: String,
    /// What it is: `react`, `node`, `static`, `rust`, `python`, …
    pub kind: String,
    /// Can it be published as it is?
    pub has_index: bool,
    /// How large it is, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

/// How large a project is: everything that the Workspace shows of it, built things included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Size {
    /// Bytes of content.
    pub bytes: u64,
    /// Files and links.
    pub files: u64,
}

/// The projects in the read-write Workspaces of an agent, in the order of their paths.
///
/// # Errors
/// When a Workspace cannot be looked into.
pub fn projects(person: &Person<'_>, policy: &AgentPolicy) -> Result<Vec<Project>> {
    let mut found = Vec::new();
    let workspaces = policy.vfs.workspaces().iter().filter(|w| w.scope() == AccessScope::ReadWrite && !w.is_aside());
    for prefix in workspaces.map(paddock_core::Workspace::prefix) {
        let source = Source::at(person, prefix)?;
        let entries = source.list("")?.found;
        // A Workspace under version control is not yet one project.
        if let Some(kind) = kind_of(&source, "", &entries).filter(|kind| *kind != "git") {
            found.push(project(prefix, prefix, kind, &entries));
        }
        for (name, _) in entries.iter().filter(|(name, kind)| *kind == Kind::Dir && name != ".git") {
            let entries = source.list(name)?.found;
            if let Some(kind) = kind_of(&source, name, &entries) {
                found.push(project(&source.logical(name), prefix, kind, &entries));
            }
        }
    }
    found.sort_by(|a, b| paddock_core::tree_order(&a.path, &b.path));
    Ok(found)
}

fn project(path: &LogicalPath, workspace: &LogicalPath, kind: &str, entries: &[(String, Kind)]) -> Project {
    Project {
        name: path.name().unwrap_or("/").to_owned(),
        path: path.as_str().to_owned(),
        workspace: workspace.as_str().to_owned(),
        kind: kind.to_owned(),
        has_index: entries.iter().any(|(name, kind)| name == "index.html" && *kind == Kind::File),
        size: None,
    }
}

/// What the files of a directory say that it is.
fn kind_of(source: &Source<'_>, dir: &str, entries: &[(String, Kind)]) -> Option<&'static str> {
    let is_there = |mark: &str, kind: Kind| entries.iter().any(|(name, is)| name == mark && *is == kind);
    let (mark, _, kind) = MARKS.iter().find(|(mark, kind, _)| is_there(mark, *kind))?;
    if *mark != "package.json" {
        return Some(kind);
    }
    let mut manifest = Vec::new();
    let read = source.read_whole(&crate::source::join(dir, mark), MAX_MANIFEST, &mut manifest);
    let manifest: Option<serde_json::Value> = read.ok().and_then(|_| serde_json::from_slice(&manifest).ok());
    let uses = |name: &str| {
        let manifest = manifest.as_ref();
        ["dependencies", "devDependencies"].iter().any(|list| manifest.and_then(|m| m.get(list)?.get(name)).is_some())
    };
    let known = ["next", "react", "vue", "svelte"].into_iter().find(|name| uses(name));
    Some(known.unwrap_or(kind))
}

/// How large a project is.
///
/// # Errors
/// When it is not there, cannot be looked at, or whoever waits has stopped it.
pub fn measure(person: &Person<'_>, path: &LogicalPath, watch: Watch<'_>) -> Result<Size> {
    let mut count = Count { size: Size::default(), meter: Meter::new(watch), left_out: LeftOut::default() };
    Source::open(person, path)?.visit_all(&mut count)?;
    Ok(count.size)
}

struct Count<'a> {
    size: Size,
    meter: Meter<'a>,
    left_out: LeftOut,
}

impl Visit for Count<'_> {
    fn dir(&mut self, _: &str, _: u32) -> Result<()> {
        Ok(())
    }

    fn file(&mut self, _: &Source<'_>, file: &Met<'_>) -> Result<()> {
        self.size.files += 1;
        self.size.bytes += file.len;
        (self.meter.files, self.meter.bytes) = (self.size.files, self.size.bytes);
        self.meter.at(file.path)
    }

    fn link(&mut self, _: &str, _: &str) -> Result<()> {
        self.size.files += 1;
        Ok(())
    }

    fn leave(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn left_out(&mut self) -> &mut LeftOut {
        &mut self.left_out
    }
}
