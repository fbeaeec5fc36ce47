//! Origin: which project a place in the System Root belongs to.
//!
//! A WorkspaceId is lossy by design (people must be able to read it), so what it was made from is kept
//! beside it in `origin.json` and compared exactly before any state is used.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How the files of a place are laid out and written: a program that knows only an older way leaves them alone. Databases have
/// versions of their own. The first way is not written down.
const LAYOUT: u32 = 1;

/// Why an origin cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Damaged(String),
    /// A newer program laid the files out in this way.
    Newer(u32),
}

/// A Project Root and the name of the package in it.
///
/// The Project Root is expected canonical: two spellings of one directory are two origins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    project_root: PathBuf,
    package: String,
}

impl Origin {
    /// The origin of a package in a canonical Project Root.
    pub fn new(project_root: impl Into<PathBuf>, package: impl Into<String>) -> Self {
        Self { project_root: project_root.into(), package: package.into() }
    }

    /// The origin of a project that may not name its package: the directory's name stands in.
    pub fn of_project(project_root: impl Into<PathBuf>, name: Option<&str>) -> Self {
        let project_root = project_root.into();
        let package = name.map_or_else(|| directory_name(&project_root), str::to_owned);
        Self::new(project_root, package)
    }

    /// The canonical Project Root.
    #[must_use]
    pub fn project_root(&self) -> &Path {
        &self.project_root
    }

    /// The package's name.
    #[must_use]
    pub fn package(&self) -> &str {
        &self.package
    }

    /// The first 12 hex digits of SHA-256 over `<root>\n<package>`.
    pub(crate) fn short_digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.project_root.as_os_str().as_bytes());
        hash.update(b"\n");
        hash.update(self.package.as_bytes());
        hex(&hash.finalize()[..6])
    }

    pub(crate) fn to_json(&self) -> String {
        let written = Written {
            project_root: self.project_root.to_string_lossy().into_owned(),
            project_root_hex: self
                .project_root
                .to_str()
                .is_none()
                .then(|| hex(self.project_root.as_os_str().as_bytes())),
            package: self.package.clone(),
        };
        format!("{:#}\n", serde_json::json!(written))
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, Unreadable> {
        let damaged = |error: serde_json::Error| Unreadable::Damaged(error.to_string());
        let Laid { layout } = serde_json::from_str(text).map_err(damaged)?;
        if layout > LAYOUT {
            return Err(Unreadable::Newer(layout));
        }
        let written: Written = serde_json::from_str(text).map_err(damaged)?;
        let project_root = match written.project_root_hex {
            None => PathBuf::from(written.project_root),
            Some(digits) => {
                let odd = || Unreadable::Damaged("project_root_hex is not hexadecimal".to_owned());
                PathBuf::from(OsString::from_vec(from_hex(&digits).ok_or_else(odd)?))
            }
        };
        Ok(Self::new(project_root, written.package))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "package \"{}\" in \"{}\"", self.package, self.project_root.display())
    }
}

/// `origin.json`. The hex form is there only when the path is not UTF-8: a lossy one would make two
/// different projects look like one.
#[derive(Serialize, Deserialize)]
struct Written {
    project_root: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project_root_hex: Option<String>,
    package: String,
}

/// What is read first of `origin.json`: a newer program may write the rest in another way.
#[derive(Deserialize)]
struct Laid {
    #[serde(default)]
    layout: u32,
}

fn directory_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<u8>>>()
        .filter(|_| digits.len().is_multiple_of(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_without_a_name_takes_its_directory() {
        assert_eq!(Origin::of_project("/a/shop", None).package(), "shop");
        assert_eq!(Origin::of_project("/a/shop", Some("x")).package(), "x");
        assert_eq!(Origin::of_project("/", None).package(), "");
    }

    #[test]
    fn origins_survive_being_written() {
        let plain = Origin::new("/a/b", "c \"quoted\" ñ");
        assert_eq!(Origin::from_json(&plain.to_json()), Ok(plain));
        let odd = Origin::new(OsString::from_vec(b"/a/\xff".to_vec()), "c");
        let other = Origin::new(OsString::from_vec(b"/a/\xfe".to_vec()), "c");
        assert_eq!(Origin::from_json(&odd.to_json()), Ok(odd.clone()));
        assert_ne!(Origin::from_json(&odd.to_json()), Ok(other));
    }

    #[test]
    fn a_damaged_origin_is_not_read() {
        for text in ["", "{", "[]", "{\"package\":\"x\"}", "{\"project_root\":1,\"package\":\"x\"}"] {
            assert!(Origin::from_json(text).is_err(), "{text}");
        }
        let odd = r#"{"project_root":"/a","project_root_hex":"2f6","package":"x"}"#;
        assert!(Origin::from_json(odd).is_err());
    }

    #[test]
    fn what_a_newer_program_laid_out_is_told_from_damage() {
        let known = r#"{"layout":1,"project_root":"/a","package":"x"}"#;
        assert_eq!(Origin::from_json(known), Ok(Origin::new("/a", "x")));
        let newer = r#"{"layout":2,"project":{"root":"/a"}}"#;
        assert_eq!(Origin::from_json(newer), Err(Unreadable::Newer(2)));
    }
}
