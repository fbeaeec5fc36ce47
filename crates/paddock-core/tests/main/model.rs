//! The naive model that the Vfs is compared with: a list of Workspaces, a map of files in each,
//! and every rule written out the slow way.
//!
//! It shares no code with the crate beyond the plain values it answers with. Paths are lists of
//! names, whose order is that of a tree.

use std::collections::BTreeMap;

use paddock_core::{AccessScope, DenyRule, EditError, ErrorKind, Expect, Kind, OpKind};

pub(crate) type Names = Vec<String>;

/// A hidden name, of the three shapes that the model understands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hide {
    Name(&'static str),
    Suffix(&'static str),
    AtTop(&'static str),
}

impl Hide {
    pub(crate) fn pattern(self) -> String {
        match self {
            Self::Name(name) => name.to_owned(),
            Self::Suffix(suffix) => format!("*{suffix}"),
            Self::AtTop(name) => format!("/{name}"),
        }
    }

    fn hits(self, rel: &[String]) -> bool {
        let Some(last) = rel.last().map(|name| name.to_lowercase()) else { return false };
        match self {
            Self::Name(name) => last == name,
            Self::Suffix(suffix) => last.ends_with(suffix),
            Self::AtTop(name) => rel.len() == 1 && last == name,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ModelSpace {
    pub(crate) prefix: Names,
    pub(crate) scope: AccessScope,
    pub(crate) hide: Vec<Hide>,
    /// What its Store holds; nothing for a directory.
    pub(crate) nodes: BTreeMap<Names, Option<String>>,
}

/// Why the policy says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    NoWorkspace,
    Scope,
    Hidden,
    Guarded,
    HoldsWorkspace,
}

impl From<DenyRule> for Why {
    fn from(rule: DenyRule) -> Self {
        match rule {
            DenyRule::NoWorkspace => Self::NoWorkspace,
            DenyRule::Scope => Self::Scope,
            DenyRule::Hidden => Self::Hidden,
            DenyRule::Guarded(_) => Self::Guarded,
            DenyRule::HoldsWorkspace => Self::HoldsWorkspace,
            DenyRule::Unserved => panic!("every Store of the model can do everything"),
            DenyRule::Own => panic!("no Workspace of the model holds a file of Paddock's own"),
        }
    }
}

/// What an operation comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Denied(Why),
    DeniedInside(Why),
    Failed(ErrorKind),
    Misuse,
    Read(String),
    Entries(Vec<(String, Kind, Option<AccessScope>)>, bool),
    Hits(Vec<(String, u64, String)>, bool),
    Changed { created: bool, replacements: usize },
    Deleted(usize),
    Moved,
    Accepted,
}

impl From<ErrorKind> for Told {
    fn from(kind: ErrorKind) -> Self {
        Self::Failed(kind)
    }
}

/// An operation on clean paths.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Read(Names),
    List { at: Names, depth: Option<u32>, after: Option<Names>, limit: usize },
    Find { at: Names, glob: Glob, after: Option<Names>, limit: usize },
    Search { at: Names, glob: Option<Glob>, after: Option<Names>, limit: usize },
    Write { at: Names, content: String, expect: Expect },
    Append { at: Names, content: String },
    Edit { at: Names, old: char, new: char, all: bool },
    MakeDir(Names),
    Move { from: Names, to: Names },
    Delete { at: Names, recursive: bool },
}

/// A glob, of the two shapes that the model understands: by the start of the name, by the path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Glob {
    StartsWith(&'static str),
    DirectlyIn(&'static str),
}

impl Glob {
    pub(crate) fn text(self) -> String {
        match self {
            Self::StartsWith(start) => format!("{start}*"),
            Self::DirectlyIn(dir) => format!("{dir}/*"),
        }
    }

    fn takes(self, below_start: &[String]) -> bool {
        match (self, below_start) {
            (Self::StartsWith(start), [.., name]) => name.starts_with(start),
            (Self::DirectlyIn(dir), [first, _]) => first == dir,
            _ => false,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) spaces: Vec<ModelSpace>,
}

pub(crate) fn text(path: &[String]) -> String {
    format!("/{}", path.join("/"))
}

fn lies_below(path: &[String], dir: &[String]) -> bool {
    path.len() > dir.len() && path.starts_with(dir)
}

impl Model {
    fn route(&self, path: &[String]) -> Option<usize> {
        let covering = self.spaces.iter().enumerate().filter(|(_, space)| path.starts_with(&space.prefix));
        covering.max_by_key(|(_, space)| space.prefix.len()).map(|(index, _)| index)
    }

    fn holds_workspace(&self, path: &[String]) -> bool {
        self.spaces.iter().any(|space| lies_below(&space.prefix, path))
    }

    pub(crate) fn judge(&self, op: OpKind, path: &[String]) -> Result<(), Why> {
        let Some(space) = self.route(path).map(|index| &self.spaces[index]) else {
            let browses = matches!(op, OpKind::List | OpKind::Find | OpKind::Search);
            return if browses && self.holds_workspace(path) { Ok(()) } else { Err(Why::NoWorkspace) };
        };
        let looks = matches!(op, OpKind::Read | OpKind::List | OpKind::Find | OpKind::Search);
        let delivers = matches!(op, OpKind::Write | OpKind::Append | OpKind::Edit);
        let allowed = match space.scope {
            AccessScope::ReadOnly => looks,
            AccessScope::WriteOnly => delivers,
            AccessScope::ReadWrite => true,
        };
        let rel = &path[space.prefix.len()..];
        if !allowed {
            return Err(Why::Scope);
        }
        // A file system that folds case would take it for the Workspace nested there.
        let is_like = |other: &[String]| {
            path.len() >= other.len() && path.iter().zip(other).all(|(name, nested)| name.eq_ignore_ascii_case(nested))
        };
        if self.spaces.iter().any(|other| lies_below(&other.prefix, &space.prefix) && is_like(&other.prefix)) {
            return Err(Why::Hidden);
        }
        if space.hides(rel) {
            return Err(Why::Hidden);
        }
        if looks {
            return Ok(());
        }
        if rel.is_empty() && matches!(op, OpKind::Delete | OpKind::MoveFrom | OpKind::MoveTo) {
            return Err(Why::HoldsWorkspace);
        }
        if rel.iter().any(|name| name.eq_ignore_ascii_case(".envrc")) {
            return Err(Why::Guarded);
        }
        Ok(())
    }

    /// The Workspace of a path that was judged allowed, and what is left below it.
    fn at<'p>(&self, path: &'p [String]) -> (usize, &'p [String]) {
        let index = self.route(path).unwrap();
        (index, &path[self.spaces[index].prefix.len()..])
    }

    pub(crate) fn take(&mut self, step: &Step) -> Told {
        let told = match step {
            Step::Read(at) => self.read(at),
            Step::List { at, depth, after, limit } => self.list(OpKind::List, at, *depth, None, after.as_ref(), *limit),
            Step::Find { at, glob, after, limit } => {
                self.list(OpKind::Find, at, None, Some(*glob), after.as_ref(), *limit)
            }
            Step::Search { at, glob, after, limit } => self.search(at, *glob, after.as_ref(), *limit),
            Step::Write { at, content, expect } => self.change(OpKind::Write, at, *expect, |old| match (expect, old) {
                (Expect::Absent, Some(_)) => Err(ErrorKind::AlreadyExists),
                _ => Ok((content.clone(), 0)),
            }),
            Step::Append { at, content } => self
                .change(OpKind::Append, at, Expect::Any, |old| Ok((old.unwrap_or_default().to_owned() + content, 0))),
            Step::Edit { at, old, new, all } => self.change(OpKind::Edit, at, Expect::Any, |content| {
                edited(content.ok_or(ErrorKind::NotFound)?, *old, *new, *all)
            }),
            Step::MakeDir(at) => self.make_dir(at),
            Step::Move { from, to } => self.rename(from, to),
            Step::Delete { at, recursive } => self.delete(at, *recursive),
        };
        told.unwrap_or_else(|instead| instead)
    }

    fn read(&self, at: &[String]) -> Result<Told, Told> {
        self.judge(OpKind::Read, at).map_err(Told::Denied)?;
        let (index, rel) = self.at(at);
        match self.spaces[index].look(rel)? {
            None => Err(ErrorKind::NotFound.into()),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory.into()),
            Some(Node::File(content)) => Ok(Told::Read(content.to_owned())),
        }
    }

    fn list(
        &self,
        op: OpKind,
        at: &[String],
        depth: Option<u32>,
        glob: Option<Glob>,
        after: Option<&Names>,
        limit: usize,
    ) -> Result<Told, Told> {
        self.judge(op, at).map_err(Told::Denied)?;
        if let Some(index) = self.route(at) {
            match self.spaces[index].look(&at[self.spaces[index].prefix.len()..])? {
                Some(Node::Dir) => {}
                Some(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None if at == self.spaces[index].prefix || self.holds_workspace(at) => {}
                None => return Err(ErrorKind::NotFound.into()),
            }
        }
        let mut shown: Vec<(Names, Kind, Option<AccessScope>)> = self
            .everything_below(op, at)
            .into_iter()
            .map(|(path, (kind, scope))| (path, kind, scope))
            .filter(|(path, _, _)| depth.is_none_or(|depth| path.len() - at.len() <= depth as usize))
            .filter(|(path, kind, _)| glob.is_none_or(|glob| *kind != Kind::Dir && glob.takes(&path[at.len()..])))
            .filter(|(path, _, _)| after.is_none_or(|after| path > after))
            .collect();
        let more = shown.len() > limit;
        shown.truncate(limit);
        Ok(Told::Entries(shown.into_iter().map(|(path, kind, scope)| (text(&path), kind, scope)).collect(), more))
    }

    /// Everything an agent may see below a path: what the Stores show, the Workspaces, the way to them.
    fn everything_below(&self, op: OpKind, at: &[String]) -> BTreeMap<Names, (Kind, Option<AccessScope>)> {
        let mut shown = BTreeMap::new();
        for (index, space) in self.spaces.iter().enumerate() {
            for (rel, content) in &space.nodes {
                let path = [space.prefix.clone(), rel.clone()].concat();
                let seen = lies_below(&path, at)
                    && (lies_below(&space.prefix, at) || at.starts_with(&space.prefix))
                    && self.route(&path) == Some(index)
                    && self.judge(op, &path).is_ok();
                if seen {
                    let kind = if content.is_some() { Kind::File } else { Kind::Dir };
                    shown.insert(path, (kind, None));
                }
            }
        }
        for space in self.spaces.iter().filter(|space| lies_below(&space.prefix, at)) {
            for end in at.len() + 1..space.prefix.len() {
                shown.entry(space.prefix[..end].to_vec()).or_insert((Kind::Dir, None));
            }
        }
        for space in self.spaces.iter().filter(|space| lies_below(&space.prefix, at)) {
            shown.insert(space.prefix.clone(), (Kind::Dir, Some(space.scope)));
        }
        shown
    }

    fn search(&self, at: &[String], glob: Option<Glob>, after: Option<&Names>, limit: usize) -> Result<Told, Told> {
        self.judge(OpKind::Search, at).map_err(Told::Denied)?;
        let mut files: BTreeMap<Names, &str> = BTreeMap::new();
        if let Some(index) = self.route(at) {
            match self.spaces[index].look(&at[self.spaces[index].prefix.len()..])? {
                Some(Node::File(content)) => {
                    files.insert(at.to_vec(), content);
                }
                Some(Node::Dir) => {}
                None if at == self.spaces[index].prefix || self.holds_workspace(at) => {}
                None => return Err(ErrorKind::NotFound.into()),
            }
        }
        for (path, (kind, _)) in self.everything_below(OpKind::Search, at) {
            if kind == Kind::File && glob.is_none_or(|glob| glob.takes(&path[at.len()..])) {
                let (index, rel) = self.at(&path);
                if let Ok(Some(Node::File(content))) = self.spaces[index].look(rel) {
                    files.insert(path.clone(), content);
                }
            }
        }
        let mut hits = Vec::new();
        for (path, content) in files.iter().filter(|(path, _)| after.is_none_or(|after| *path > after)) {
            let lines = content.lines().zip(1..).filter(|(line, _)| line.contains('x'));
            hits.extend(lines.map(|(line, number)| (text(path), number, line.to_owned())));
        }
        let more = hits.len() > limit;
        hits.truncate(limit);
        Ok(Told::Hits(hits, more))
    }

    fn change(
        &mut self,
        op: OpKind,
        at: &[String],
        expect: Expect,
        make: impl Fn(Option<&str>) -> Result<(String, usize), ErrorKind>,
    ) -> Result<Told, Told> {
        self.judge(op, at).map_err(Told::Denied)?;
        let (index, rel) = self.at(at);
        let space = &mut self.spaces[index];
        if space.scope == AccessScope::WriteOnly {
            if expect != Expect::Any {
                return Err(Told::Misuse);
            }
            let _ = space.change(rel, make);
            return Ok(Told::Accepted);
        }
        let (created, replacements) = space.change(rel, make)?;
        Ok(Told::Changed { created, replacements })
    }

    fn make_dir(&mut self, at: &[String]) -> Result<Told, Told> {
        self.judge(OpKind::MakeDir, at).map_err(Told::Denied)?;
        let (index, rel) = self.at(at);
        let space = &mut self.spaces[index];
        let created = match space.look(rel)? {
            Some(Node::File(_)) => return Err(ErrorKind::AlreadyExists.into()),
            Some(Node::Dir) => false,
            None => true,
        };
        space.make_dirs(rel);
        Ok(Told::Changed { created, replacements: 0 })
    }

    fn delete(&mut self, at: &[String], recursive: bool) -> Result<Told, Told> {
        self.judge(OpKind::Delete, at).map_err(Told::Denied)?;
        let (index, rel) = self.at(at);
        let kind = self.spaces[index].look(rel)?.ok_or(ErrorKind::NotFound)?.kind();
        if kind == Kind::Dir && self.holds_workspace(at) {
            return Err(Told::Denied(Why::HoldsWorkspace));
        }
        let inside = self.spaces[index].below(rel);
        if !recursive && !inside.is_empty() {
            return Err(ErrorKind::NotEmpty.into());
        }
        for inner in &inside {
            let path = [self.spaces[index].prefix.clone(), inner.clone()].concat();
            self.judge(OpKind::Delete, &path).map_err(Told::DeniedInside)?;
        }
        for gone in inside.iter().map(Vec::as_slice).chain([rel]) {
            self.spaces[index].nodes.remove(gone);
        }
        Ok(Told::Deleted(inside.len() + 1))
    }

    fn rename(&mut self, from: &[String], to: &[String]) -> Result<Told, Told> {
        self.judge(OpKind::MoveFrom, from).map_err(Told::Denied)?;
        self.judge(OpKind::MoveTo, to).map_err(Told::Denied)?;
        let ((source, from_rel), (dest, to_rel)) = (self.at(from), self.at(to));
        let kind = self.spaces[source].look(from_rel)?.ok_or(ErrorKind::NotFound)?.kind();
        if self.spaces[dest].look(to_rel)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if to.starts_with(from) {
            return Err(Told::Misuse);
        }
        if kind == Kind::Dir && self.holds_workspace(from) {
            return Err(Told::Denied(Why::HoldsWorkspace));
        }
        let mut moved = vec![from_rel.to_vec()];
        moved.extend(self.spaces[source].below(from_rel));
        for rel in &moved[1..] {
            let leaves = [self.spaces[source].prefix.clone(), rel.clone()].concat();
            self.judge(OpKind::MoveFrom, &leaves).map_err(Told::DeniedInside)?;
            let arrives = [to, &rel[from_rel.len()..]].concat();
            self.judge(OpKind::MoveTo, &arrives).map_err(Told::DeniedInside)?;
            assert_eq!(self.route(&arrives), Some(dest), "nothing may arrive under a nested Workspace");
        }
        self.spaces[dest].make_dirs(&to_rel[..to_rel.len() - 1]);
        for rel in &moved {
            let content = self.spaces[source].nodes.remove(rel).unwrap();
            let arrives = [to_rel, &rel[from_rel.len()..]].concat();
            self.spaces[dest].nodes.insert(arrives, content);
        }
        Ok(Told::Moved)
    }
}

pub(crate) enum Node<'a> {
    File(&'a str),
    Dir,
}

impl Node<'_> {
    fn kind(&self) -> Kind {
        match self {
            Self::File(_) => Kind::File,
            Self::Dir => Kind::Dir,
        }
    }
}

impl ModelSpace {
    fn hides(&self, rel: &[String]) -> bool {
        (1..=rel.len()).any(|end| self.hide.iter().any(|hide| hide.hits(&rel[..end])))
    }

    fn look(&self, rel: &[String]) -> Result<Option<Node<'_>>, ErrorKind> {
        for end in 1..rel.len() {
            match self.nodes.get(&rel[..end]) {
                None => return Ok(None),
                Some(Some(_)) => return Err(ErrorKind::NotADirectory),
                Some(None) => {}
            }
        }
        if rel.is_empty() {
            return Ok(Some(Node::Dir));
        }
        Ok(self.nodes.get(rel).map(|content| content.as_ref().map_or(Node::Dir, |content| Node::File(content))))
    }

    fn below(&self, rel: &[String]) -> Vec<Names> {
        self.nodes.keys().filter(|path| lies_below(path, rel)).cloned().collect()
    }

    fn make_dirs(&mut self, rel: &[String]) {
        for end in 1..=rel.len() {
            self.nodes.entry(rel[..end].to_vec()).or_insert(None);
        }
    }

    /// Gives a file new content, made from the old. Was it new, and how much was replaced?
    fn change(
        &mut self,
        rel: &[String],
        make: impl Fn(Option<&str>) -> Result<(String, usize), ErrorKind>,
    ) -> Result<(bool, usize), ErrorKind> {
        let old = match self.look(rel)? {
            Some(Node::Dir) => return Err(ErrorKind::IsADirectory),
            Some(Node::File(content)) => Some(content),
            None => None,
        };
        let created = old.is_none();
        let (content, replacements) = make(old)?;
        self.make_dirs(&rel[..rel.len() - 1]);
        self.nodes.insert(rel.to_vec(), Some(content));
        Ok((created, replacements))
    }
}

fn edited(content: &str, old: char, new: char, all: bool) -> Result<(String, usize), ErrorKind> {
    if old == new {
        return Err(ErrorKind::Edit(EditError::Pointless("old_string and new_string are the same")));
    }
    let places: Vec<usize> = content.match_indices(old).map(|(at, _)| at).collect();
    if places.is_empty() {
        return Err(ErrorKind::Edit(EditError::Absent { index: None }));
    }
    if places.len() > 1 && !all {
        let lines = places.iter().take(10).map(|at| content[..*at].matches('\n').count() + 1).collect();
        return Err(ErrorKind::Edit(EditError::Ambiguous { index: None, count: places.len(), lines }));
    }
    Ok((content.replace(old, &new.to_string()), places.len()))
}

/// A text as an agent writes it, taken apart by hand; nothing when it leads above the top.
pub(crate) fn parse(written: &str, base: &[String]) -> Option<Names> {
    let mut names = if written.starts_with('/') { Vec::new() } else { base.to_vec() };
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name.to_owned()),
        }
    }
    Some(names)
}
