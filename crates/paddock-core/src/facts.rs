//! Looking at one path: what is there, and where a link says that it leads.
//!
//! For whoever shows the Workspaces as a file system. Judged as a read, like everything that comes back to an agent; a
//! link as the last name is told and not followed. What leads to a Workspace is a directory whatever the Store around
//! it holds, and of a write-only Workspace nothing is told but that it is there.

use std::ops::ControlFlow;

use crate::call::Call;
use crate::decision::Rule;
use crate::error::{ErrorKind, StoreError};
use crate::path::{LogicalPath, RelPath};
use crate::place::Place;
use crate::scope::OpKind;
use crate::store::{Kind, LastName, Meta, Version, Walk};
use crate::vfs::{MAX_HOPS, Refused, Vfs, refusal, store_refusal};
use crate::workspace::Workspace;

impl Vfs {
    /// A directory and everything below it, hidden names included, in tree order: what would go with it. Only compared with
    /// what a call made; none of it is judged or told.
    pub fn all_at(&self, call: &Call<'_>, path: &LogicalPath) -> Result<Vec<LogicalPath>, Refused> {
        let Some((index, rel)) = self.route(path) else {
            return Err(Refused::Misuse { path: path.clone(), why: "no Workspace covers it" });
        };
        let Workspace { prefix, mount, .. } = &self.workspaces[index];
        let mut all = vec![path.clone()];
        let walked = mount.store.walk(call, &Place::bare(rel), &Walk::default(), &mut |entry| {
            all.push(prefix.join(RelPath(entry.path)));
            ControlFlow::Continue(())
        });
        walked.map(|()| all).map_err(|e| refusal(path, e))
    }

    /// Facts about what is at a path.
    pub fn facts(&self, call: &Call<'_>, asked: &LogicalPath) -> Result<Meta, Refused> {
        if self.is_a_way(asked) {
            return Ok(self.facts_of_a_way(call, asked));
        }
        self.look_through(call, asked, |index, rel| {
            self.workspaces[index].mount.store.stat(call, &self.place(index, rel))
        })
    }

    /// Where the link at a path says that it leads, as it is written.
    pub fn leads_to(&self, call: &Call<'_>, asked: &LogicalPath) -> Result<String, Refused> {
        self.look_through(call, asked, |index, rel| {
            self.workspaces[index].mount.store.leads_to(call, &self.place(index, rel))
        })
    }

    /// Does a Workspace begin here or below?
    fn is_a_way(&self, path: &LogicalPath) -> bool {
        let at = self.workspaces.partition_point(|w| w.prefix < *path);
        self.workspaces.get(at).is_some_and(|w| w.prefix.below(path).is_some())
    }

    /// A directory, and what the Store tells of it where it has one there that may be seen.
    fn facts_of_a_way(&self, call: &Call<'_>, path: &LogicalPath) -> Meta {
        let decision = self.judge(OpKind::Read, path);
        let routed = self.route(path).filter(|_| matches!(decision.rule, Rule::ScopeAllows));
        let stored =
            routed.and_then(|(index, rel)| self.workspaces[index].mount.store.stat(call, &self.place(index, rel)).ok());
        let unknown = Meta { kind: Kind::Dir, len: 0, version: Version(0), mode: None, modified: None };
        stored.filter(|meta| meta.kind == Kind::Dir).unwrap_or(unknown)
    }

    /// Judges a path, and again where links on the way to it lead, and looks.
    fn look_through<T>(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        look: impl Fn(usize, RelPath<'_>) -> Result<T, StoreError>,
    ) -> Result<T, Refused> {
        let mut path = asked.clone();
        for _ in 0..MAX_HOPS {
            let decision = self.judge(OpKind::Read, &path);
            let Some((index, rel)) = self.route(&path).filter(|_| decision.allowed()) else {
                return Err(Refused::Denied(Box::new(decision.denial(asked))));
            };
            match look(index, rel) {
                Err(e) if *e.kind() == ErrorKind::Link => {}
                looked => return looked.map_err(|e| refusal(asked, e)),
            }
            path = self.follow(call, asked, index, rel, LastName::Keep)?;
        }
        Err(store_refusal(asked, ErrorKind::LinkEscapes))
    }
}
