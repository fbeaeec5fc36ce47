//! The checkout that a chore works on: where it is, and which of its files are ours.
//!
//! Owns the walk that every check shares, so that build output and installed packages are skipped in one
//! place. It must never follow symbolic links, and never write.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories that hold what machines made, at any depth.
const NOT_OURS: &[&str] = &[
    "target",
    "node_modules",
    ".git",
    "__pycache__",
    "corpus",
    "artifacts",
    "dist",
    "esm",
    "cjs",
    "cjs-source",
    ".tests",
    ".examples",
    ".pack",
];

/// Files that machines made beside ours.
const MADE: &[&str] = &["native.cjs", "native.d.cts"];
const MADE_ENDINGS: &[&str] = &[".node", ".tgz"];

/// Where the sources of ours are.
const SOURCES: &[&str] = &["crates", "bindings", "xtask"];

/// A checkout, or a sample of one in a test.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    top: PathBuf,
    build_directory: PathBuf,
}

/// One text file of the checkout.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    /// Relative to the top, with `/` between components.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repo {
    /// The checkout that this program was built from.
    pub(crate) fn here() -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut here = Self::at(manifest.parent().unwrap_or(manifest));
        if let Some(set) = std::env::var_os("CARGO_TARGET_DIR") {
            here.build_directory = here.top.join(set);
        }
        here
    }

    pub(crate) fn at(top: &Path) -> Self {
        Self { top: top.to_owned(), build_directory: top.join("target") }
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// Where cargo builds.
    pub(crate) fn build_directory(&self) -> &Path {
        &self.build_directory
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.top.join(relative)
    }

    pub(crate) fn has(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String> {
        let path = self.path(relative);
        fs::read_to_string(&path).with_context(|| format!("cannot read \"{relative}\""))
    }

    /// The names of the directories right under `relative`, sorted; none when it is absent.
    pub(crate) fn directories(&self, relative: &str) -> Result<Vec<String>> {
        let place = self.path(relative);
        if !place.is_dir() {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&place).with_context(|| format!("cannot list \"{relative}\""))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() && is_ours(&name) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Paths of every file of ours under `relative`, sorted; `""` is the whole checkout.
    pub(crate) fn paths(&self, relative: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let place = self.path(relative);
        if place.is_dir() {
            self.collect(&place, &mut found)?;
        }
        found.sort();
        Ok(found)
    }

    /// Every UTF-8 file under `relative` whose path passes `wanted`.
    pub(crate) fn files(&self, relative: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<SourceFile>> {
        let mut files = Vec::new();
        for path in self.paths(relative)? {
            if !wanted(&path) {
                continue;
            }
            let bytes = fs::read(self.path(&path)).with_context(|| format!("cannot read \"{path}\""))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(SourceFile { path, text });
            }
        }
        Ok(files)
    }

    /// The same for every source of ours.
    pub(crate) fn sources(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<SourceFile>> {
        let mut files = Vec::new();
        for place in SOURCES {
            files.extend(self.files(place, &wanted)?);
        }
        Ok(files)
    }

    fn collect(&self, directory: &Path, found: &mut Vec<String>) -> Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let path = entry.path();
            if kind.is_dir() && is_ours(&entry.file_name().to_string_lossy()) {
                self.collect(&path, found)?;
            } else if kind.is_file() && !is_made(&entry.file_name().to_string_lossy()) {
                found.push(path.strip_prefix(&self.top)?.to_string_lossy().replace('\\', "/"));
            }
        }
        Ok(())
    }
}

fn is_ours(name: &str) -> bool {
    !NOT_OURS.contains(&name)
}

fn is_made(name: &str) -> bool {
    MADE.contains(&name) || MADE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// A throw-away checkout for the tests of the checks.
#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    pub(crate) struct Sample {
        directory: tempfile::TempDir,
    }

    impl Sample {
        pub(crate) fn of(files: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = directory.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self { directory }
        }

        pub(crate) fn repo(&self) -> Repo {
            Repo::at(self.directory.path())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sample::Sample;

    #[test]
    fn build_output_is_not_ours() {
        let sample =
            Sample::of(&[("crates/a/src/lib.rs", ""), ("target/debug/x.rs", ""), ("docs/node_modules/y.md", "")]);
        assert_eq!(sample.repo().paths("").unwrap(), ["crates/a/src/lib.rs"]);
    }

    #[test]
    fn what_the_package_is_compiled_to_is_not_ours() {
        let made = ["esm/a.js", "cjs/a.js", ".tests/a.js", "native.cjs", "native.d.cts", "paddock.linux.node", "a.tgz"];
        let made = made.map(|path| format!("bindings/node/{path}"));
        let mut files: Vec<(&str, &str)> = made.iter().map(|path| (path.as_str(), "")).collect();
        files.extend([("bindings/node/ts/a.ts", ""), ("crates/a/src/a.rs", ""), ("docs/a.md", "")]);
        let sources = Sample::of(&files).repo().sources(|_| true).unwrap();
        let paths: Vec<&str> = sources.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/a.rs", "bindings/node/ts/a.ts"]);
    }

    #[test]
    fn what_is_absent_is_empty() {
        let sample = Sample::of(&[]);
        assert!(sample.repo().paths("crates").unwrap().is_empty());
        assert!(sample.repo().directories("crates").unwrap().is_empty());
    }
}
