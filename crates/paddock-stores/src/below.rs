//! Paths of what a directory holds, one after the other in the same memory.

/// A directory whose entries are gone through.
pub(crate) struct Below {
    path: String,
    /// Where a name begins.
    start: usize,
}

impl Below {
    /// In this directory; `""` is the Mount itself.
    pub(crate) fn new(dir: &str) -> Self {
        let path = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        Self { start: path.len(), path }
    }

    /// The path of an entry.
    pub(crate) fn path(&mut self, name: &str) -> &str {
        self.path.truncate(self.start);
        self.path.push_str(name);
        &self.path
    }
}
