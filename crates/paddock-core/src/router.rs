//! From a logical path to its Workspace: the longest prefix, by whole names.
//!
//! A tree of names, so that the cost is that of the path and not of how many Workspaces there are.

use std::collections::BTreeMap;

use crate::path::{LogicalPath, RelPath};

#[derive(Debug, Default)]
struct Node {
    children: BTreeMap<Box<str>, usize>,
    workspace: Option<usize>,
}

/// Finds the Workspace of a path.
#[derive(Debug)]
pub(crate) struct Router {
    nodes: Vec<Node>,
}

impl Router {
    pub(crate) fn new<'a>(prefixes: impl Iterator<Item = &'a LogicalPath>) -> Self {
        let mut router = Self { nodes: vec![Node::default()] };
        for (index, prefix) in prefixes.enumerate() {
            router.insert(prefix, index);
        }
        router
    }

    fn insert(&mut self, prefix: &LogicalPath, workspace: usize) {
        let mut at = 0;
        for name in prefix.names() {
            let fresh = self.nodes.len();
            let next = *self.nodes[at].children.entry(name.into()).or_insert(fresh);
            if next == fresh {
                self.nodes.push(Node::default());
            }
            at = next;
        }
        self.nodes[at].workspace = Some(workspace);
    }

    /// The Workspace with the longest prefix of this path, and what is left below it.
    pub(crate) fn route<'p>(&self, path: &'p LogicalPath) -> Option<(usize, RelPath<'p>)> {
        let text = path.as_str();
        let mut node = &self.nodes[0];
        let mut found = node.workspace.map(|w| (w, 1));
        let mut from = 1;
        while from < text.len() {
            let to = memchr::memchr(b'/', &text.as_bytes()[from..]).map_or(text.len(), |n| from + n);
            match node.children.get(&text[from..to]) {
                Some(&next) => node = &self.nodes[next],
                None => break,
            }
            from = to + 1;
            if let Some(w) = node.workspace {
                found = Some((w, from));
            }
        }
        found.map(|(w, from)| (w, RelPath(text.get(from..).unwrap_or(""))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_by_whole_names() {
        let path = |text: &str| LogicalPath::parse(text, &LogicalPath::top()).unwrap();
        let prefixes = ["/home", "/home/src", "/a/b/c"].map(path);
        let router = Router::new(prefixes.iter());
        let route = |text: &str| router.route(&path(text)).map(|(w, rel)| (w, rel.as_str().to_owned()));
        assert_eq!(route("/home"), Some((0, String::new())));
        assert_eq!(route("/home/x/y"), Some((0, "x/y".to_owned())));
        assert_eq!(route("/home/src"), Some((1, String::new())));
        assert_eq!(route("/home/src/x"), Some((1, "x".to_owned())));
        assert_eq!(route("/home/srcx"), Some((0, "srcx".to_owned())));
        assert_eq!(route("/homes"), None);
        assert_eq!(route("/a/b"), None);
        assert_eq!(route("/"), None);
        let at_top = [path("/"), path("/a")];
        let router = Router::new(at_top.iter());
        assert_eq!(router.route(&path("/x/y")).map(|(w, r)| (w, r.0.to_owned())), Some((0, "x/y".to_owned())));
        assert_eq!(router.route(&path("/")).map(|(w, r)| (w, r.0.to_owned())), Some((0, String::new())));
    }
}
