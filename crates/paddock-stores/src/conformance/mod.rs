//! What every Store must do: one suite, told as small stories, for any Store there is or will be.
//!
//! Only the Vfs can mint a Place, so the suite drives a Store as an agent would: through a Vfs with
//! a read-write Workspace at `/w` and a Gate that lets everything pass. Each case gets a fresh
//! Store. What a Store may legitimately lack is said in [`Capabilities`], and nowhere else.
//!
//! ```ignore
//! fn my_store() -> Fixture {
//!     Fixture::new(Capabilities { links: false, modes: false, atomic_sets: true }, || Box::new(MyFresh::new()))
//! }
//! paddock_stores::conformance_tests!(my_store, my_store);
//! ```
//!
//! The suite is ordinary code of this crate so that other crates can run it; nothing of Paddock
//! itself calls it.

pub mod altering;
pub mod arranging;
pub mod boundaries;
pub mod finding;
pub mod links;
pub mod meanwhile;
pub mod naming;
pub mod racing;
pub mod reading;
pub mod walking;
mod world;
pub mod writing;

use std::fmt;
use std::sync::Arc;

use paddock_core::Store;

pub use world::{Space, World};

/// A Store that holds nothing yet, and what a test may do to it behind its back.
pub trait Fresh: Send + Sync {
    /// The Store.
    fn store(&self) -> Arc<dyn Store>;

    /// Puts a symbolic link there, with the directories above it; the target counts from where the
    /// link stands. Only called where [`Capabilities::links`] says so.
    fn plant_link(&self, path: &str, target: &str) {
        panic!("this Store has no links, yet one from {path} to {target} was asked for");
    }

    /// Gives what is there these mode bits. Only called where [`Capabilities::modes`] says so.
    fn set_mode(&self, path: &str, mode: u32) {
        panic!("this Store keeps no modes, yet {mode:o} was asked for {path}");
    }
}

/// What a Store can do beyond what all of them must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Symbolic links can be in it.
    pub links: bool,
    /// It keeps Unix mode bits.
    pub modes: bool,
    /// A set of several changes is made as a whole or not at all.
    pub atomic_sets: bool,
}

/// Makes fresh Stores of one kind.
pub struct Fixture {
    can: Capabilities,
    make: Box<dyn Fn() -> Box<dyn Fresh>>,
}

impl Fixture {
    /// A kind of Store: what it can, and how one is made.
    pub fn new(can: Capabilities, make: impl Fn() -> Box<dyn Fresh> + 'static) -> Self {
        Self { can, make: Box::new(make) }
    }

    /// What this kind of Store can.
    pub fn can(&self) -> Capabilities {
        self.can
    }

    /// A fresh Store in a read-write Workspace at `/w`.
    pub fn world(&self) -> World {
        self.world_of(&[Space::at("/w")])
    }

    /// Fresh Stores, one for each Workspace.
    pub fn world_of(&self, spaces: &[Space<'_>]) -> World {
        World::new(spaces, spaces.iter().map(|_| (self.make)()).collect())
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("can", &self.can).finish_non_exhaustive()
    }
}

/// One story of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name: the module and what holds.
    pub name: &'static str,
    /// Panics where it does not hold.
    pub run: fn(&Fixture),
}

/// Every case, for those who run them without the macro.
pub fn suite() -> Vec<Case> {
    crate::conformance_cases! { suite }
}

/// One `#[test]` for each case, in a module of this name: `conformance_tests!(memory, fixture)`,
/// where `fixture` is a function that gives a [`Fixture`].
#[macro_export]
macro_rules! conformance_tests {
    ($module:ident, $fixture:path) => {
        $crate::conformance_cases! { tests $module ($fixture) }
    };
}

/// The list of all cases, and what can be made of it.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    (@each (suite) $($group:ident { $($case:ident)* })*) => {
        vec![$($(
            $crate::conformance::Case {
                name: concat!(stringify!($group), "::", stringify!($case)),
                run: $crate::conformance::$group::$case,
            },
        )*)*]
    };
    (@each (tests $module:ident ($($fixture:tt)*)) $($group:ident { $($case:ident)* })*) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(mod $group {
                #[allow(unused_imports)]
                use super::*;
                $(#[test]
                fn $case() {
                    $crate::conformance::$group::$case(&$($fixture)*());
                })*
            })*
        }
    };
    (tests $module:ident ($fixture:path)) => {
        $crate::conformance_cases! { @list (tests $module ($fixture)) }
    };
    (suite) => {
        $crate::conformance_cases! { @list (suite) }
    };
    (@list $made:tt) => {
        $crate::conformance_cases! { @each $made
CASES
        }
    };
}
