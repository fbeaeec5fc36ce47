//! What a change was to leave, as far as that can be said before it is made: by it the doing of a call that was cut off is told
//! from what somebody did at the same path since.
//!
//! An outsider has no row, and nobody wrote down when the process died: a call may change something until its deadline, which may
//! be long after that. So what is there has to be what the call would have left. Only as much is kept as tells one content from another, and never the content.

use std::time::SystemTime;

use paddock_core::{Act, Call, Change, Kind, LogicalPath, Looks, PLAIN_MODE, Vfs, View, Workspace};
use serde::{Deserialize, Serialize};

use super::row::{read_looks, write_looks};

/// What is to be at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mark {
    /// A file with this content.
    Content { len: u64, hash: String },
    /// A file that was made elsewhere, which may be too large to be read for this: it keeps its time.
    Staged { len: u64, looks: String },
    /// A link that leads there.
    Link { hash: String },
    /// What was there, looking so.
    Looks { looks: String },
}

impl Mark {
    /// `is_new`: nothing is there yet, so that what is added is all there will be. `was`: how what is there looks.
    pub(crate) fn of(change: &Change, is_new: bool, was: Option<Looks>) -> Option<Self> {
        Some(match change.act() {
            Act::Write { content, .. } => Self::content(content),
            Act::Append { content } if is_new => Self::content(content),
            Act::Take { staged } => {
                let looks = Looks { mode: None, modified: Some(staged.modified()) };
                Self::Staged { len: staged.len(), looks: write_looks(looks) }
            }
            Act::Link { leads_to } => Self::Link { hash: hash(leads_to.as_bytes()) },
            Act::Dress { looks } => {
                // What it leaves as it is says as much: whoever changes the content changes the time.
                let was = was.unwrap_or_default();
                let modified = looks.modified.or(was.modified);
                Self::Looks { looks: write_looks(Looks { modified, ..*looks }) }
            }
            _ => return None,
        })
    }

    fn content(content: &[u8]) -> Self {
        Self::Content { len: content.len() as u64, hash: hash(content) }
    }

    /// Is that what is at the path? What cannot be looked at is not.
    pub(crate) fn fits(&self, vfs: &Vfs, call: &Call<'_>, (path, workspace): (&LogicalPath, &Workspace)) -> bool {
        match self {
            Self::Content { len, hash: of } => {
                content_at(vfs, call, (path, workspace), *len).is_some_and(|content| hash(&content) == *of)
            }
            Self::Staged { len, looks } => vfs
                .facts(call, path)
                .is_ok_and(|now| now.kind == Kind::File && now.len == *len && is_no_later(now.modified, looks)),
            Self::Link { hash: of } => vfs.leads_to(call, path).is_ok_and(|to| hash(to.as_bytes()) == *of),
            Self::Looks { looks } => vfs.facts(call, path).is_ok_and(|now| {
                let mode = read_looks(looks).and_then(|wanted| wanted.mode);
                let is_so = mode.is_none_or(|mode| now.mode.is_none_or(|now| (now ^ mode) & PLAIN_MODE == 0));
                // A directory's time is that of what it holds.
                is_so && (now.kind == Kind::Dir || is_no_later(now.modified, looks))
            }),
        }
    }
}

/// Some file systems cut a time short, and whoever changes a file makes it later.
fn is_no_later(now: Option<SystemTime>, looks: &str) -> bool {
    let wanted = read_looks(looks).and_then(|wanted| wanted.modified);
    now.zip(wanted).is_none_or(|(now, wanted)| now <= wanted)
}

fn content_at(vfs: &Vfs, call: &Call<'_>, at: (&LogicalPath, &Workspace), len: u64) -> Option<Vec<u8>> {
    let (path, workspace) = at;
    let meta = vfs.facts(call, path).ok().filter(|meta| meta.kind == Kind::File && meta.len == len)?;
    let view = View::of(workspace, vfs.workspaces())?;
    let mut content = Vec::new();
    view.read(call, path.below(workspace.prefix())?, 0..meta.len, &mut content).ok()?;
    Some(content)
}

/// Half of it is enough to tell two contents apart, and is written with every change.
fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex()[..32].to_owned()
}
