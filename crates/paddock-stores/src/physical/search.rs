//! Searching contents below a host directory, in parallel, with an answer that does not depend on
//! which thread was faster.
//!
//! Threads take directories and batches of files, those that come first in tree order first. The
//! first `limit` matches in tree order are kept; once there are that many, whatever comes later in
//! the tree is not even opened.

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use paddock_core::{ErrorKind, Hit, Kind, Query, Sink, StoreError, tree_order};

use super::HardLinks;
use super::host::{open_dir, open_file, store_error};
use super::walk::{Opened, Tree, passed_over};
use crate::below::Below;
use crate::ignores::Ignores;
use crate::search::{FileSearcher, LineSearch, TopHits};

/// More threads than this wait for the disk rather than for each other.
const MAX_THREADS: usize = 8;
/// How many files of one directory a thread takes at once.
const BATCH: usize = 64;

/// Searches a directory, or the one file at the Place.
pub(super) fn search(
    tree: &Tree<'_>,
    hard_links: HardLinks,
    query: &Query,
    sink: Sink<'_, Hit>,
) -> Result<(), StoreError> {
    let lines = LineSearch::new(query)?;
    let found = match tree.start() {
        Ok(start) => search_tree(tree, hard_links, query, &lines, &start)?,
        Err(e) if *e.kind() == ErrorKind::NotADirectory => {
            let mut found = Vec::new();
            let path = tree.place.rel();
            let file = open_searched(tree.mount, path.as_str(), hard_links)?;
            lines.reader().search(tree.call, path.as_str(), file, &mut found)?;
            found
        }
        Err(e) => return Err(e),
    };
    for hit in found {
        if sink(hit).is_break() {
            break;
        }
    }
    Ok(())
}

/// Work for one thread.
enum Job {
    Dir { path: String, ignores: Arc<Ignores> },
    Files { dir: String, paths: Vec<String> },
}

impl Job {
    /// Where it stands in tree order.
    fn at(&self) -> &str {
        match self {
            Self::Dir { path, .. } => path,
            Self::Files { dir, paths } => paths.first().unwrap_or(dir),
        }
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Job {}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Job {
    /// Reversed: the heap gives the greatest, and the first in the tree is wanted.
    fn cmp(&self, other: &Self) -> Order {
        tree_order(other.at(), self.at())
    }
}

#[derive(Default)]
struct Queue {
    jobs: BinaryHeap<Job>,
    busy: usize,
}

/// What the threads of one search share.
struct Pool<'a> {
    tree: &'a Tree<'a>,
    hard_links: HardLinks,
    query: &'a Query,
    queue: Mutex<Queue>,
    changed: Condvar,
    top: Mutex<TopHits>,
    /// Set once the first `limit` matches may be complete, so that `top` is asked only then.
    full: AtomicBool,
    failed: Mutex<Option<StoreError>>,
}

fn search_tree(
    tree: &Tree<'_>,
    hard_links: HardLinks,
    query: &Query,
    lines: &LineSearch,
    start: &Opened,
) -> Result<Vec<Hit>, StoreError> {
    let pool = Pool {
        tree,
        hard_links,
        query,
        queue: Mutex::default(),
        changed: Condvar::new(),
        top: Mutex::new(TopHits::new(query)),
        full: AtomicBool::new(query.limit == 0),
        failed: Mutex::new(None),
    };
    let start_path = tree.place.rel().as_str().to_owned();
    let mut searcher = lines.reader();
    pool.take_in(&start_path, start, &mut searcher)?;
    let waiting = held(&pool.queue).jobs.len();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS).min(waiting.max(1));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| pool.work(&mut lines.reader()));
        }
        pool.work(&mut searcher);
    });
    if let Some(error) = held(&pool.failed).take() {
        return Err(error);
    }
    let top = pool.top.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(top.finish())
}

impl Pool<'_> {
    fn work(&self, searcher: &mut FileSearcher) {
        while let Some(job) = self.next() {
            // Counted down even when the job panics, or the other threads would wait for ever.
            let _done = Done(self);
            if let Err(e) = self.run(job, searcher)
                && !passed_over(&e)
            {
                held(&self.failed).get_or_insert(e);
            }
        }
    }

    /// The next job, or nothing once no thread can make any more.
    fn next(&self) -> Option<Job> {
        let mut queue = held(&self.queue);
        loop {
            if held(&self.failed).is_some() {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, job: Job, searcher: &mut FileSearcher) -> Result<(), StoreError> {
        if !self.wants(job.at()) {
            return Ok(());
        }
        match job {
            Job::Dir { path, ignores } => {
                let opened = self.tree.open(&path, &ignores)?;
                self.take_in(&path, &opened, searcher)
            }
            Job::Files { dir, paths } => {
                let fd = open_dir(self.tree.mount, &dir).map_err(store_error)?;
                self.search_files(&fd, &dir, &paths, searcher)
            }
        }
    }

    /// Queues what a directory holds, and searches its first files here and now.
    fn take_in(&self, dir: &str, opened: &Opened, searcher: &mut FileSearcher) -> Result<(), StoreError> {
        let mut files = Vec::new();
        let mut jobs = Vec::new();
        let start = self.tree.place.rel().as_str();
        let mut below = Below::new(dir);
        for entry in opened.listing.iter().filter(|entry| entry.plain) {
            let path = below.path(entry.name);
            if !self.tree.shows(path, &entry, &opened.ignores) {
                continue;
            }
            match entry.kind {
                Kind::Dir if !self.is_behind(path, true) => {
                    jobs.push(Job::Dir { path: path.to_owned(), ignores: Arc::clone(&opened.ignores) });
                }
                Kind::File if !self.is_behind(path, false) && self.globbed(start, path) => files.push(path.to_owned()),
                _ => {}
            }
        }
        let rest = files.split_off(files.len().min(BATCH));
        jobs.extend(rest.chunks(BATCH).map(|paths| Job::Files { dir: dir.to_owned(), paths: paths.to_vec() }));
        if !jobs.is_empty() {
            held(&self.queue).jobs.extend(jobs);
            self.changed.notify_all();
        }
        self.search_files(&opened.fd, dir, &files, searcher)
    }

    fn search_files(
        &self,
        fd: &OwnedFd,
        dir: &str,
        paths: &[String],
        searcher: &mut FileSearcher,
    ) -> Result<(), StoreError> {
        for path in paths {
            self.tree.call.tick(0)?;
            if !self.wants(path) {
                return Ok(());
            }
            let name = path[dir.len()..].trim_start_matches('/');
            let mut found = Vec::new();
            let searched = open_searched(fd, name, self.hard_links)
                .and_then(|file| searcher.search(self.tree.call, path, file, &mut found));
            match searched {
                Ok(()) => {}
                Err(e) if passed_over(&e) || *e.kind() == ErrorKind::Io => continue,
                Err(e) => return Err(e),
            }
            if !found.is_empty() {
                let mut top = held(&self.top);
                top.add(path, found);
                // Nothing sorts after this, so it is refused exactly when there is no room left.
                self.full.store(!top.accepts("\u{10ffff}"), Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Can a file at or after this path still be among the first matches?
    fn wants(&self, path: &str) -> bool {
        !self.full.load(Ordering::Relaxed) || held(&self.top).accepts(path)
    }

    /// Does the path come before where the search goes on? A directory counts until its end.
    fn is_behind(&self, path: &str, is_dir: bool) -> bool {
        let Some(after) = &self.query.after else { return false };
        let holds_after = is_dir && after.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        !holds_after && tree_order(path, after).is_le()
    }

    fn globbed(&self, start: &str, path: &str) -> bool {
        let below = path[start.len()..].trim_start_matches('/');
        self.query.glob.as_ref().is_none_or(|glob| glob.matches(below))
    }
}

/// A job that is over.
struct Done<'a, 'p>(&'a Pool<'p>);

impl Drop for Done<'_, '_> {
    fn drop(&mut self) {
        held(&self.0.queue).busy -= 1;
        self.0.changed.notify_all();
    }
}

fn open_searched(dir: &OwnedFd, path: &str, hard_links: HardLinks) -> Result<std::fs::File, StoreError> {
    let (file, stat) = open_file(dir, path)?;
    hard_links.check(&stat)?;
    Ok(file.into())
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
