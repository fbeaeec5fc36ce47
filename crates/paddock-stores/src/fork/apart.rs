//! What stays where it is of what an Overlay changed: what a person names, and what a `.gitignore` names, as the Overlay
//! shows these files: build output, mostly.
//!
//! Two builds contradict each other in every file, and nobody means to merge them. A repository itself is only apart from
//! that with a directory around it that is. What goes with a directory that goes is never apart: the directory is.
//!
//! The index of a repository alone is apart, too: every `git status` writes it anew, so that two Overlays would contradict each
//! other, and what an agent has staged and not committed would be in a person's next commit without a word.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use paddock_core::{Kind, RelPath, RelPathBuf, Result, tree_order};

use super::compare::Finding;
use crate::ignores::{Ignores, MAX_RULES};
use crate::virtual_store::Overlaid;

/// Where the rules are that Git itself reads.
const RULES: &str = ".gitignore";

/// Git's own directory, to which it applies none of them.
const REPOSITORY: &str = ".git";

/// Of that: what is staged, with what Git remembers of each file; and contents by their sums.
const INDEX: &str = "index";
const OBJECTS: &str = "objects";

/// Takes what a `.gitignore` names, and each index that changed alone, out of what was found, which is in tree order. Answers the
/// uppermost of it.
pub(super) fn ignored(seen: &Overlaid<'_>, findings: &mut Vec<Finding<'_>>) -> Result<Vec<RelPathBuf>> {
    let mut rules = Rules { seen, known: HashMap::new() };
    let mut apart = set_apart(findings, |path, is_dir| rules.name(path, is_dir))?;
    let alone = indexes_alone(findings);
    apart.extend(excepted(&alone, findings)?);
    apart.sort_by(|a, b| tree_order(a.as_str(), b.as_str()));
    Ok(apart)
}

/// The indexes of repositories of which nothing else changed but what is kept by its content.
fn indexes_alone(findings: &[Finding<'_>]) -> Vec<RelPathBuf> {
    let parts = || findings.iter().filter_map(|finding| Some((in_repository(&finding.path)?, finding)));
    let counts = |inside: &str| inside != INDEX && inside != OBJECTS && !inside.starts_with("objects/");
    let changed: HashSet<&str> =
        parts().filter(|((_, inside), _)| counts(inside)).map(|((repository, _), _)| repository).collect();
    let is_file = |finding: &Finding<'_>| [finding.ours.kind(), finding.theirs.kind()] == [Some(Kind::File); 2];
    parts()
        .filter(|((repository, inside), finding)| *inside == INDEX && is_file(finding) && !changed.contains(repository))
        .map(|(_, finding)| finding.path.clone())
        .collect()
}

/// The repository that a path is of, and the path inside of it; empty for the repository itself.
fn in_repository(path: &RelPathBuf) -> Option<(&str, &str)> {
    let text = path.as_str();
    let mut at = 0;
    for name in text.split('/') {
        at += name.len();
        if name == REPOSITORY {
            return Some((&text[..at], text[at..].trim_start_matches('/')));
        }
        at += 1;
    }
    None
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
