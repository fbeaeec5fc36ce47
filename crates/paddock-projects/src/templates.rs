//! Templates: what a project can start from. Some are in the program, others a person put into the packages of their System Root.
//!
//! The layout is `template-NAME/`; a file called `_gitignore` becomes `.gitignore`, and the manifest gets the project's name. A package
//! `packages/NAME@VERSION/` holds such directories, or is one template as a whole.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use paddock_core::{LogicalPath, is_plain_name};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{ProjectError, Result};
use crate::host::{self, PackageEntry, Scratch};
use crate::import::{Import, Incoming, Limits, Pieces};
use crate::progress::{Meter, Watch};

/// How the directory of a template begins.
const PREFIX: &str = "template-";
/// Is called so in a template, since it would leave out things of the template itself.
const GITIGNORE: (&str, &str) = ("_gitignore", ".gitignore");
/// What holds the name of a project.
const MANIFEST: &str = "package.json";
/// The largest manifest that is given another name.
const MAX_MANIFEST: u64 = 256 * 1024;
/// How unlike a name may be that is offered for another.
const NEAR: f64 = 0.6;

/// The templates in the program: name, title, and what it is.
const EMBEDDED: &[(&str, &str, &str)] = &[
    ("react", "React", "A React app with Vite: hot reload, and `npm run build` for static files"),
    ("vanilla", "Vanilla JS", "HTML, CSS and JavaScript without a build; can be published as it is"),
    ("node-api", "Node API", "A small JSON API on Node alone, with tests; no dependencies"),
];

/// Something that a project can start from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Template {
    /// What `paddock new` takes.
    pub name: String,
    /// For people.
    pub title: String,
    /// What it is.
    pub description: String,
    /// Where it is from.
    pub source: TemplateSource,
}

/// Where a template is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TemplateSource {
    /// It is in the program.
    Embedded,
    /// A package of the System Root, by its name and version.
    Package(String),
}

/// What became of a new project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Created {
    /// What it started from.
    pub template: String,
    /// Where it is.
    pub path: String,
    /// The call that it was; `paddock undo` takes it.
    pub call: String,
    /// How many files.
    pub files: u64,
    /// Bytes of content.
    pub bytes: u64,
}

/// The templates there are.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    packages: Option<PathBuf>,
}

impl Templates {
    /// Those in the program, and those in this directory of packages.
    pub fn with_packages(packages: impl Into<PathBuf>) -> Self {
        Self { packages: Some(packages.into()) }
    }

    /// All of them: those in the program first, then those of packages by name.
    ///
    /// # Errors
    /// When the packages cannot be looked at.
    pub fn list(&self) -> Result<Vec<Template>> {
        let embedded = EMBEDDED.iter().map(|(name, title, description)| Template {
            name: (*name).to_owned(),
            title: (*title).to_owned(),
            description: (*description).to_owned(),
            source: TemplateSource::Embedded,
        });
        let of_packages = self.of_packages()?.into_iter().map(|(template, _)| template);
        Ok(embedded.chain(of_packages).collect())
    }

    /// Makes a project from a template, as one call recorded as `new`. Nothing may be at the place.
    ///
    /// # Errors
    /// When there is no such template, the place is not empty, or the Workspace does not take it. Nothing is written then.
    pub fn create(
        &self,
        person: &Person<'_>,
        template: &str,
        path: &LogicalPath,
        scratch: &Scratch,
        watch: Watch<'_>,
    ) -> Result<Created> {
        let mut meter = Meter::new(watch);
        let mut incoming = Incoming::new(scratch, Limits::default());
        let name = package_name(path);
        match self.find(template)? {
            Found::Embedded(name_of_template) => embedded_into(&mut incoming, name_of_template, &name, &mut meter)?,
            Found::Package(directory) => package_into(&mut incoming, template, &directory, &name, &mut meter)?,
        }
        let made = incoming.settle(person, "new", path, Import::default())?;
        Ok(Created {
            template: template.to_owned(),
            path: made.path,
            call: made.call,
            files: made.files,
            bytes: made.bytes,
        })
    }

    fn find(&self, name: &str) -> Result<Found> {
        if let Some((name, ..)) = EMBEDDED.iter().find(|(known, ..)| *known == name) {
            return Ok(Found::Embedded(name));
        }
        let of_packages = self.of_packages()?;
        let exactly = of_packages.iter().find(|(template, _)| template.name == name);
        if let Some((_, directory)) = exactly.or_else(|| newest(&of_packages, name)) {
            return Ok(Found::Package(directory.clone()));
        }
        let embedded = EMBEDDED.iter().map(|(name, ..)| (*name).to_owned());
        let known: Vec<String> = embedded.chain(of_packages.into_iter().map(|(template, _)| template.name)).collect();
        Err(ProjectError::UnknownTemplate { name: paddock_core::visible(name), near: near(name, &known), known })
    }

    /// The templates of packages, with where they are.
    fn of_packages(&self) -> Result<Vec<(Template, PathBuf)>> {
        let Some(packages) = &self.packages else { return Ok(Vec::new()) };
        let unreadable = |source| ProjectError::BadTemplate { name: "packages".to_owned(), source };
        let mut found = Vec::new();
        for package in host::directories(packages).map_err(unreadable)?.into_iter().filter(|name| is_plain_name(name)) {
            let directory = packages.join(&package);
            let inside = host::directories(&directory).map_err(unreadable)?;
            let named: Vec<&str> = inside.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
            if named.is_empty() {
                found.push((of_package(&package, None, &directory), directory));
                continue;
            }
            for name in named {
                let directory = directory.join(format!("{PREFIX}{name}"));
                found.push((of_package(&package, Some(name), &directory), directory));
            }
        }
        Ok(found)
    }
}

/// The newest version of a package that is one template as a whole.
fn newest<'t>(templates: &'t [(Template, PathBuf)], name: &str) -> Option<&'t (Template, PathBuf)> {
    let version =
        |template: &'t Template| Some(template.name.rsplit_once('@').filter(|(package, _)| *package == name)?.1);
    let parts =
        |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0)).collect() };
    let versions = templates.iter().filter_map(|row| Some((parts(version(&row.0)?), row)));
    versions.max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, row)| row)
}

enum Found {
    Embedded(&'static str),
    Package(PathBuf),
}

/// A template of a package. One that is the whole package is called as the package; others by both.
fn of_package(package: &str, name: Option<&str>, directory: &Path) -> Template {
    let manifest = host::package_text(&directory.join(MANIFEST), MAX_MANIFEST);
    let manifest: Option<serde_json::Value> = manifest.and_then(|text| serde_json::from_str(&text).ok());
    let said = manifest.as_ref().and_then(|manifest| manifest.get("description")?.as_str());
    let title = name.unwrap_or_else(|| package.rsplit_once('@').map_or(package, |(name, _)| name));
    Template {
        name: name.map_or_else(|| package.to_owned(), |name| format!("{package}/{name}")),
        title: title.to_owned(),
        description: said.map(paddock_core::visible).unwrap_or_else(|| format!("from the package {package}")),
        source: TemplateSource::Package(package.to_owned()),
    }
}

fn near(name: &str, known: &[String]) -> Vec<String> {
    let name = name.to_lowercase();
    let short = |known: &str| {
        known.rsplit('/').next().map(|last| last.split('@').next().unwrap_or(last).to_owned()).unwrap_or_default()
    };
    let alike = |known: &String| strsim::jaro_winkler(&name, known).max(strsim::jaro_winkler(&name, &short(known)));
    let mut near: Vec<(f64, &String)> =
        known.iter().map(|known| (alike(known), known)).filter(|(alike, _)| *alike > NEAR).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.into_iter().map(|(_, name)| name.clone()).collect()
}

/// The name of a project as a manifest can hold it.
fn package_name(path: &LogicalPath) -> String {
    let name = path.name().unwrap_or("project").to_lowercase();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect();
    let plain = plain.trim_matches(['-', '_', '.']).to_owned();
    if plain.is_empty() { "project".to_owned() } else { plain }
}

fn embedded_into(incoming: &mut Incoming<'_>, template: &str, name: &str, meter: &mut Meter<'_>) -> Result<()> {
    let directory = format!("{PREFIX}{template}/");
    for path in host::embedded_paths().filter(|path| path.starts_with(&directory)) {
        let content = host::embedded(&path).unwrap_or_default();
        put(incoming, &path[directory.len()..], None, &content, name, meter)?;
    }
    Ok(())
}

fn package_into(
    incoming: &mut Incoming<'_>,
    template: &str,
    directory: &Path,
    name: &str,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let unreadable = |source| ProjectError::BadTemplate { name: template.to_owned(), source };
    for (path, entry) in host::package_entries(directory).map_err(unreadable)? {
        // Its own history is not the new project's.
        if path.split('/').any(crate::names::is_repository) {
            continue;
        }
        match entry {
            PackageEntry::Dir { mode } => incoming.dir(&path, Some(mode))?,
            PackageEntry::Link { leads_to } => incoming.link(&path, &leads_to)?,
            PackageEntry::File { mut file, mode } if path == MANIFEST => {
                let mut text = Vec::new();
                std::io::Read::read_to_end(&mut file, &mut text).map_err(unreadable)?;
                put(incoming, &path, Some(mode), &text, name, meter)?;
            }
            PackageEntry::File { mut file, mode } => {
                incoming.file(&renamed(&path), Some(mode), &mut Pieces { content: &mut file, meter }, u64::MAX)?;
            }
        }
    }
    Ok(())
}

fn put(
    incoming: &mut Incoming<'_>,
    path: &str,
    mode: Option<u32>,
    content: &[u8],
    name: &str,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let named = if path == MANIFEST { with_name(content, name) } else { None };
    let content = named.as_deref().unwrap_or(content);
    incoming.file(&renamed(path), mode, &mut Pieces { content: &mut Cursor::new(content), meter }, u64::MAX)
}

/// The path that a file of a template gets.
fn renamed(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((dir, name)) if name == GITIGNORE.0 => format!("{dir}/{}", GITIGNORE.1),
        None if path == GITIGNORE.0 => GITIGNORE.1.to_owned(),
        _ => path.to_owned(),
    }
}

/// A manifest with another name; everything else of it stays as it is written.
fn with_name(manifest: &[u8], name: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(manifest).ok()?;
    let parsed: serde_json::Value = serde_json::from_str(text).ok()?;
    let old = serde_json::to_string(parsed.get("name")?.as_str()?).ok()?;
    let at = text.find("\"name\"")?;
    let value = at + text[at..].find(&old)?;
    let between = &text[at + "\"name\"".len()..value];
    if between.trim() != ":" {
        return None;
    }
    let new = serde_json::to_string(name).ok()?;
    Some(format!("{}{new}{}", &text[..value], &text[value + old.len()..]).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_of_templates_has_its_row_and_every_row_its_directory() {
        let mut directories: Vec<String> =
            host::embedded_paths().map(|path| path.split('/').next().unwrap().to_owned()).collect();
        directories.dedup();
        let mut rows: Vec<String> = EMBEDDED.iter().map(|(name, ..)| format!("{PREFIX}{name}")).collect();
        rows.sort();
        assert_eq!(directories, rows);
    }

    #[test]
    fn a_manifest_gets_the_name_and_keeps_the_rest() {
        let manifest = b"{\n  \"private\": true,\n  \"name\" : \"old\", \"x\": \"old\"\n}\n";
        let named = String::from_utf8(with_name(manifest, "new").unwrap()).unwrap();
        assert_eq!(named, "{\n  \"private\": true,\n  \"name\" : \"new\", \"x\": \"old\"\n}\n");
        assert_eq!(with_name(b"{}", "new"), None);
        assert_eq!(with_name(b"not json", "new"), None);
    }

    #[test]
    fn a_name_that_is_nearly_one_is_offered() {
        let known: Vec<String> = ["react", "vanilla", "node-api", "mine@1.0/shop"].map(str::to_owned).into();
        assert_eq!(near("raect", &known).first().map(String::as_str), Some("react"));
        assert_eq!(near("node", &known).first().map(String::as_str), Some("node-api"));
        assert_eq!(near("shop", &known).first().map(String::as_str), Some("mine@1.0/shop"));
        assert!(near("zzzz", &known).is_empty());
    }
}
