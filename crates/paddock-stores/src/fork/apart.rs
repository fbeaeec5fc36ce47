//! What stays where it is of what an Overlay changed: what a person names, and what a `.gitignore` names, as the Overlay
//! shows these files: build output, mostly.
//!
//! Two builds contradict each other in every file, and nobody means to merge them. A repository itself is only apart from
//! that with a directory around it that is. What goes with a directory that goes is never apart: the directory is.

use std::collections::HashMap;
use std::sync::Arc;

use paddock_core::{Kind, RelPath, RelPathBuf, Result};

use super::compare::Finding;
use crate::ignores::{Ignores, MAX_RULES};
use crate::virtual_store::Overlaid;

/// Where the rules are that Git itself reads.
const RULES: &str = ".gitignore";

/// Git's own directory, to which it applies none of them.
const REPOSITORY: &str = ".git";

/// Takes what a `.gitignore` names out of what was found, which is in tree order. Answers the uppermost of it.
pub(super) fn ignored(seen: &Overlaid<'_>, findings: &mut Vec<Finding<'_>>) -> Result<Vec<RelPathBuf>> {
    let mut rules = Rules { seen, known: HashMap::new() };
    set_apart(findings, |path, is_dir| rules.name(path, is_dir))
}

/// The same with these paths, and what is below them.
pub(super) fn excepted(paths: &[RelPathBuf], findings: &mut Vec<Finding<'_>>) -> Result<Vec<RelPathBuf>> {
    set_apart(findings, |path, _| Ok(paths.iter().any(|above| path.is_within(above.as_rel()))))
}

fn set_apart(
    findings: &mut Vec<Finding<'_>>,
    mut names: impl FnMut(RelPath<'_>, bool) -> Result<bool>,
) -> Result<Vec<RelPathBuf>> {
    let (mut apart, mut gone): (Vec<RelPathBuf>, Option<RelPathBuf>) = (Vec::new(), None);
    let mut kept = Vec::with_capacity(findings.len());
    for finding in findings.drain(..) {
        let at = finding.path.as_rel();
        let is_in = |above: Option<&RelPathBuf>| above.is_some_and(|above| at.is_within(above.as_rel()));
        if is_in(gone.as_ref()) {
            kept.push(finding);
            continue;
        }
        if is_in(apart.last()) {
            continue;
        }
        let kinds = [finding.ours.kind(), finding.theirs.kind()];
        if names(at, kinds.contains(&Some(Kind::Dir)))? {
            apart.push(finding.path);
            continue;
        }
        if kinds[1] == Some(Kind::Dir) && kinds[0] != kinds[1] {
            gone = Some(finding.path.clone());
        }
        kept.push(finding);
    }
    *findings = kept;
    Ok(apart)
}

/// The rules of the directories that were looked at.
struct Rules<'a> {
    seen: &'a Overlaid<'a>,
    known: HashMap<String, Arc<Ignores>>,
}

impl Rules<'_> {
    /// Is it named, or a directory that it is in?
    fn name(&mut self, path: RelPath<'_>, is_dir: bool) -> Result<bool> {
        let mut ways: Vec<RelPath<'_>> = path.ancestors().collect();
        ways.reverse();
        for way in ways {
            let (dir, name) = way.split_last().unwrap_or((RelPath::HERE, ""));
            if name == REPOSITORY {
                return Ok(false);
            }
            if self.inside(dir)?.names(way.as_str(), is_dir || way != path) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rules that hold in a directory, its own and those above it.
    fn inside(&mut self, dir: RelPath<'_>) -> Result<Arc<Ignores>> {
        if let Some(known) = self.known.get(dir.as_str()) {
            return Ok(Arc::clone(known));
        }
        let above = match dir.split_last() {
            Some((above, _)) => self.inside(above)?,
            None => Arc::default(),
        };
        let name = if dir.is_here() { RULES.to_owned() } else { format!("{}/{RULES}", dir.as_str()) };
        let text = RelPathBuf::parse(&name).ok().and_then(|path| self.seen.shown(path.as_rel(), MAX_RULES));
        let texts: Vec<String> = text.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
        let rules = Ignores::enter(&above, dir.as_str(), &texts);
        self.known.insert(dir.as_str().to_owned(), Arc::clone(&rules));
        Ok(rules)
    }
}
