//! What a test plays of the world outside Paddock: somebody who acts at a certain moment of a change, and is that fast every
//! time, and a file system that can do less than the one at hand.
//!
//! Nothing of it happens but in this crate's own tests, in the thread that makes the change.

/// Where a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// What is to go was looked at, and is not touched yet.
    Judged,
    /// A file to be copied is open, and nothing of it was read yet.
    Copying,
}

/// Lets a test act.
#[cfg(not(test))]
pub(super) fn may_act(_: Step) {}

/// Can the file system rename without replacing?
#[cfg(not(test))]
pub(super) fn knows_no_replace() -> bool {
    true
}

#[cfg(test)]
pub(super) use acts::{knows_no_replace, may_act, while_at, without_no_replace};

#[cfg(test)]
mod acts {
    use std::cell::{Cell, RefCell};

    use super::Step;

    type Act = Box<dyn FnMut()>;

    thread_local! {
        static ACT: RefCell<Option<(Step, Act)>> = const { RefCell::new(None) };
        static KNOWS_NO_REPLACE: Cell<bool> = const { Cell::new(true) };
    }

    pub(in super::super) fn may_act(step: Step) {
        ACT.with_borrow_mut(|act| {
            if let Some((_, act)) = act.as_mut().filter(|(at, _)| *at == step) {
                act();
            }
        });
    }

    /// Runs something while this is done whenever a change is at the step.
    pub(in super::super) fn while_at<T>(step: Step, act: impl FnMut() + 'static, run: impl FnOnce() -> T) -> T {
        ACT.set(Some((step, Box::new(act))));
        let done = run();
        ACT.set(None);
        done
    }

    pub(in super::super) fn knows_no_replace() -> bool {
        KNOWS_NO_REPLACE.get()
    }

    /// Runs something as on NFS and some file systems of FUSE.
    pub(in super::super) fn without_no_replace<T>(run: impl FnOnce() -> T) -> T {
        KNOWS_NO_REPLACE.set(false);
        let done = run();
        KNOWS_NO_REPLACE.set(true);
        done
    }
}
