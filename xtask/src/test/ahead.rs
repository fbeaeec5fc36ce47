//! What later suites install is fetched while the first ones compile: waiting for the network leaves the processors to others.
//!
//! Owns one thread and the order, which is that of the suites. It must never decide whether a suite can run: each asks for what
//! it needs once more, finds it there, and tells why when it is not.

use std::thread::{self, JoinHandle};

use anyhow::Result;

use super::suites::Suite;
use crate::repo::Repo;

/// Installs one thing where it is missing.
pub(crate) type Fetch = fn(&Repo) -> Result<()>;

/// Fetching, until it is waited for.
#[derive(Debug)]
pub(super) struct Ahead {
    thread: Option<JoinHandle<()>>,
}

/// Begins to fetch for these suites.
pub(super) fn begin(repo: &Repo, suites: &[&'static Suite]) -> Ahead {
    let wanted: Vec<Fetch> = suites.iter().flat_map(|suite| suite.fetch).copied().collect();
    let repo = repo.clone();
    let thread = thread::spawn(move || {
        for fetch in wanted {
            if let Err(reason) = fetch(&repo) {
                println!("not fetched ahead, its suite tries again: {reason:#}");
            }
        }
    });
    Ahead { thread: Some(thread) }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Nobody's install is cut off half way; what went wrong in it was told.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;
    use crate::test::Outcome;

    const SUITE: Suite = Suite {
        name: "sample",
        about: "",
        budget_minutes: 1.0,
        needs: "",
        runs_tests: false,
        fetch: &[|_| anyhow::bail!("no network"), |repo| Ok(std::fs::write(repo.path("fetched"), "")?)],
        run: |_| Ok(Outcome::default()),
    };

    #[test]
    fn what_cannot_be_fetched_does_not_keep_the_next_from_it() {
        static ONE: Suite = SUITE;
        let sample = Sample::of(&[("x", "")]);
        drop(begin(&sample.repo(), &[&ONE]));
        assert!(sample.repo().has("fetched"), "and who waits finds it there");
    }
}
