//! What an Overlay changed, told and carried down: `diff` and `apply` of a fork.
//!
//! - `compare`: the three states of each path (the Overlay's, the layer's below, their common ancestor) and a verdict;
//! - `apart`: what a person or a `.gitignore` names of that, told apart;
//! - `text`: three texts merged line by line, and two shown side by side;
//! - `difference`: what applying would do, for people and for programs;
//! - `merge`: the changes that do it, each with what it expects to find, or the conflicts that stand in the way.
//!
//! The cost follows what the Overlay holds, never what is below, but for directories that go: what goes with them is
//! what the layer below shows there. That layer is only ever seen through its View, so what it keeps out of sight is
//! neither told nor changed. Nothing here changes a file: the changes go through the guard like any others.

mod apart;
mod compare;
mod difference;
mod merge;
mod text;

pub use difference::{
    Detail, Difference, DifferenceKind, Holdings, Modes, Shape, Stat, StatRow, compared, differences, stat, unified,
};
pub use merge::{Conflict, ConflictKind, Lines, Merge, merge};
