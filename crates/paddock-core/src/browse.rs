//! Listing, finding and searching across nested Workspaces.
//!
//! What the outer Store holds under a nested prefix is shadowed: the [`Place`](crate::Place) keeps
//! it out of sight, and the nested Workspace's own entries are put in its stead, in tree order and
//! under *its* scope. A write-only one is named and contributes nothing but the Workspaces nested in
//! it, which are no secret of its content.

use std::ops::ControlFlow;

use crate::call::Call;
use crate::error::{ErrorKind, StoreError};
use crate::found::Found;
use crate::glob::PathGlob;
use crate::path::{LogicalPath, RelPath, tree_order};
use crate::plan::{Browse, Entries, Hits, Search};
use crate::scope::OpKind;
use crate::store::{Entry, Hit, Kind, LastName, Query, Walk};
use crate::vfs::{MAX_HOPS, Refused, Vfs, refusal, store_refusal};
use crate::workspace::Workspace;

/// A listing or a find while it is collected.
struct Collector<'a> {
    op: OpKind,
    start: &'a LogicalPath,
    depth: Option<u32>,
    after: Option<&'a LogicalPath>,
    glob: Option<&'a PathGlob>,
    limit: usize,
    skip_ignored: bool,
    entries: Entries,
}

impl Collector<'_> {
    fn offer(&mut self, found: Found<'_>) -> ControlFlow<()> {
        if self.after.is_some_and(|after| tree_order(found.path, after.as_str()).is_le()) {
            return ControlFlow::Continue(());
        }
        if let Some(glob) = self.glob
            && (found.kind == Kind::Dir || !glob.matches(self.below_start(found.path)))
        {
            return ControlFlow::Continue(());
        }
        if self.entries.found.len() == self.limit {
            self.entries.more = true;
            return ControlFlow::Break(());
        }
        self.entries.found.push(found);
        ControlFlow::Continue(())
    }

    fn below_start<'p>(&self, path: &'p str) -> &'p str {
        let start = self.start.as_str().trim_end_matches('/');
        path.get(start.len() + 1..).unwrap_or("")
    }

    /// How many levels below the start a path lies.
    fn level(&self, path: &LogicalPath) -> u32 {
        let levels = path.below(self.start).map_or(0, |rel| rel.names().count());
        u32::try_from(levels).unwrap_or(u32::MAX)
    }

    /// The levels that are left below a path, or nothing when it is too deep to look into.
    fn depth_below(&self, path: &LogicalPath) -> Option<Option<u32>> {
        match self.depth {
            None => Some(None),
            Some(depth) => depth.checked_sub(self.level(path)).filter(|left| *left > 0).map(Some),
        }
    }
}

impl Vfs {
    pub(crate) fn browse(
        &self,
        call: &Call<'_>,
        op: OpKind,
        browse: &Browse,
        glob: Option<&PathGlob>,
    ) -> Result<Entries, Refused> {
        let mut start = browse.path.clone();
        for _ in 0..MAX_HOPS {
            let decision = self.judge(op, &start);
            if !decision.allowed() {
                return Err(Refused::Denied(Box::new(decision.denial(&browse.path))));
            }
            let mut collector = Collector {
                op,
                start: &start,
                depth: browse.depth,
                after: browse.after.as_ref(),
                glob,
                limit: browse.limit,
                skip_ignored: browse.skip_ignored,
                entries: Entries::default(),
            };
            match self.collect(call, &mut collector, &start) {
                Ok(_) => return Ok(collector.entries),
                Err(e) if *e.kind() == ErrorKind::Link => {}
                Err(e) => return Err(refusal(&browse.path, e)),
            }
            let Some((index, rel)) = self.route(&start) else { break };
            start = self.follow(call, &browse.path, index, rel, LastName::Follow)?;
        }
        Err(store_refusal(&browse.path, ErrorKind::LinkEscapes))
    }

    /// Collects everything below `here`, crossing into nested Workspaces that allow it.
    fn collect(
        &self,
        call: &Call<'_>,
        collector: &mut Collector<'_>,
        here: &LogicalPath,
    ) -> Result<ControlFlow<()>, StoreError> {
        let mut nested = self.directly_below(here).into_iter().peekable();
        // Directories on the way to a nested Workspace; the outer Store may lack them.
        let mut shown_up_to: Option<LogicalPath> = None;
        let mut flow = ControlFlow::Continue(());
        let mut failed: Option<StoreError> = None;
        if let Some((index, rel)) = self.route(here)
            && self.workspaces[index].allows(collector.op)
            && !self.is_past(collector.after, &self.workspaces[index].prefix)
        {
            let outer = &self.workspaces[index];
            let after = collector.after.and_then(|after| after.below(&outer.prefix));
            let depth = collector.depth_below(here).unwrap_or(Some(0));
            let walk = Walk { depth, skip_ignored: collector.skip_ignored, after: after.map(RelPath::as_str) };
            let mut path = LogicalPath::top();
            let mut sink = |entry: Entry<'_>| {
                outer.prefix.join_into(RelPath(entry.path), &mut path);
                while let Some(workspace) = nested.next_if(|w| w.prefix <= path) {
                    match self.show_nested(call, collector, here, workspace, &mut shown_up_to) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(stop) => {
                            flow = stop;
                            return stop;
                        }
                        Err(e) => {
                            failed = Some(e);
                            return ControlFlow::Break(());
                        }
                    }
                }
                // Whatever it is, it is shown here and not again as the way to the Workspace.
                if nested.peek().is_some_and(|w| w.prefix.below(&path).is_some()) {
                    shown_up_to = Some(path.clone());
                }
                let found = Found { path: path.as_str(), kind: entry.kind, plain: entry.plain, scope: None };
                flow = collector.offer(found);
                flow
            };
            match outer.mount.store.walk(call, &self.place(index, rel), &walk, &mut sink) {
                // Not there yet (it is made by the first write), or only there as the way to a
                // nested Workspace.
                Err(e) if *e.kind() == ErrorKind::NotFound && (rel.is_here() || nested.peek().is_some()) => {}
                done => done?,
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        for workspace in nested {
            if flow.is_break() {
                break;
            }
            flow = self.show_nested(call, collector, here, workspace, &mut shown_up_to)?;
        }
        Ok(flow)
    }

    /// Shows the way to a nested Workspace, the Workspace itself, and what it holds.
    fn show_nested(
        &self,
        call: &Call<'_>,
        collector: &mut Collector<'_>,
        here: &LogicalPath,
        workspace: &Workspace,
        shown_up_to: &mut Option<LogicalPath>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let Some(way) = workspace.prefix.below(here) else { return Ok(ControlFlow::Continue(())) };
        let mut steps: Vec<LogicalPath> = way.ancestors().map(|step| here.join(step)).collect();
        steps.reverse();
        // What leads to something already shown has been shown on the way to it.
        let shown = shown_up_to.clone();
        for path in steps.into_iter().filter(|path| shown.as_ref().is_none_or(|shown| shown.below(path).is_none())) {
            if collector.depth.is_some_and(|depth| collector.level(&path) > depth) {
                return Ok(ControlFlow::Continue(()));
            }
            let scope = (path == workspace.prefix).then_some(workspace.scope);
            let found = Found { path: path.as_str(), kind: Kind::Dir, plain: true, scope };
            let flow = collector.offer(found);
            *shown_up_to = Some(path);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        if collector.depth_below(&workspace.prefix).is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        match self.collect(call, collector, &workspace.prefix) {
            Err(e) if !matches!(e.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut) => {
                collector.entries.unreachable.push(workspace.prefix.clone());
                Ok(ControlFlow::Continue(()))
            }
            done => done,
        }
    }

    pub(crate) fn search(&self, call: &Call<'_>, asked: &LogicalPath, search: &Search) -> Result<Hits, Refused> {
        let mut hits = Hits::default();
        let start = self.search_at_start(call, asked, search, &mut hits)?;
        for (index, workspace) in self.workspaces.iter().enumerate() {
            let Some(lead) = workspace.prefix.below(&start).filter(|lead| !lead.is_here()) else { continue };
            if !workspace.scope.allows(OpKind::Search) {
                continue;
            }
            if self.is_past(search.after.as_ref(), &workspace.prefix) {
                continue;
            }
            if !workspace.allows(OpKind::Search) {
                // Nobody should take what was found for all there is.
                hits.unreachable.push(workspace.prefix.clone());
                continue;
            }
            let query = query_for(search, workspace, lead.as_str());
            match self.search_one(call, index, RelPath::HERE, &query, &mut hits.found) {
                Ok(()) => {}
                Err(e) if *e.kind() == ErrorKind::NotFound => {}
                Err(e) if matches!(e.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut | ErrorKind::BadPattern(_)) => {
                    return Err(refusal(asked, e));
                }
                Err(_) => hits.unreachable.push(workspace.prefix.clone()),
            }
        }
        keep_first(&mut hits, search);
        Ok(hits)
    }

    /// Searches the Workspace that the start belongs to, and answers where the start really is.
    fn search_at_start(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        search: &Search,
        hits: &mut Hits,
    ) -> Result<LogicalPath, Refused> {
        let mut start = asked.clone();
        for _ in 0..MAX_HOPS {
            let decision = self.judge(OpKind::Search, &start);
            if !decision.allowed() {
                return Err(Refused::Denied(Box::new(decision.denial(asked))));
            }
            let Some((index, rel)) = self.route(&start) else { return Ok(start) };
            let workspace = &self.workspaces[index];
            if self.is_past(search.after.as_ref(), &workspace.prefix) {
                return Ok(start);
            }
            hits.found.clear();
            match self.search_one(call, index, rel, &query_for(search, workspace, ""), &mut hits.found) {
                Ok(()) => return Ok(start),
                Err(e) if *e.kind() == ErrorKind::Link => {}
                Err(e)
                    if *e.kind() == ErrorKind::NotFound
                        && (rel.is_here() || !self.workspaces_below(&start).is_empty()) =>
                {
                    return Ok(start);
                }
                Err(e) => return Err(refusal(asked, e)),
            }
            start = self.follow(call, asked, index, rel, LastName::Follow)?;
        }
        Err(store_refusal(asked, ErrorKind::LinkEscapes))
    }

    /// The Workspaces below a path that no other Workspace below it encloses, in tree order.
    fn directly_below(&self, path: &LogicalPath) -> Vec<&Workspace> {
        let mut found: Vec<&Workspace> = Vec::new();
        for workspace in self.workspaces_below(path).iter().filter(|workspace| !workspace.aside) {
            if found.last().is_none_or(|last| workspace.prefix.below(&last.prefix).is_none()) {
                found.push(workspace);
            }
        }
        found
    }

    /// Does everything below this prefix come before where the listing goes on?
    fn is_past(&self, after: Option<&LogicalPath>, prefix: &LogicalPath) -> bool {
        after.is_some_and(|after| after.below(prefix).is_none() && prefix < after)
    }
}

fn query_for(search: &Search, workspace: &Workspace, lead: &str) -> Query {
    Query {
        pattern: search.pattern.clone(),
        ignore_case: search.ignore_case,
        glob: search.glob.as_ref().map(|glob| glob.under(lead)),
        context: search.context,
        // One more than asked for tells whether there is more.
        limit: search.limit.saturating_add(1),
        skip_ignored: search.skip_ignored,
        after: search.after.as_ref().and_then(|a| a.below(&workspace.prefix)).map(|rel| rel.as_str().to_owned()),
    }
}

/// Puts lines from several Workspaces into one order and keeps the first `limit` matches.
fn keep_first(hits: &mut Hits, search: &Search) {
    hits.found.sort_by(|a, b| tree_order(&a.path, &b.path).then(a.line.cmp(&b.line)));
    let mut matches = 0;
    let cut = hits.found.iter().position(|hit: &Hit| {
        matches += usize::from(hit.matched);
        matches > search.limit
    });
    if let Some(cut) = cut {
        hits.more = true;
        hits.found.truncate(cut);
        drop_stray_context(&mut hits.found, search.context.into());
    }
}

/// The lines that led up to a match which was cut off go with it.
fn drop_stray_context(found: &mut Vec<Hit>, context: u64) {
    let Some(last) = found.iter().rposition(|hit| hit.matched) else { return found.clear() };
    let end = found[last].line.saturating_add(context);
    let follows = |hit: &&Hit| hit.path == found[last].path && hit.line <= end;
    let kept = found[last..].iter().take_while(follows).count();
    found.truncate(last + kept);
}
