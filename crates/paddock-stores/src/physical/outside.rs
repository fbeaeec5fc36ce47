//! The moments of a change at which somebody outside Paddock may act, told so that a test can be that fast every time.
//!
//! Nothing happens at them but in this crate's own tests, in the thread that makes the change.

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

#[cfg(test)]
pub(super) use acts::{may_act, while_at};

#[cfg(test)]
mod acts {
    use std::cell::RefCell;

    use super::Step;

    type Act = Box<dyn FnMut()>;

    thread_local! {
        static ACT: RefCell<Option<(Step, Act)>> = const { RefCell::new(None) };
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
}
