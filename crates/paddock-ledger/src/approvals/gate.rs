//! The Gate that asks: what is above the threshold waits for a person, and runs once one has agreed.
//!
//! A decision is used up in the transaction that records the intent of the call, so that of two calls that bring the same one only one
//! has an effect, whichever process each is in. Nothing is let through on an error.
//!
//! What a person is shown is made between two transactions, never within one: everybody else in the project would wait as long as it takes to
//! read what a call would change.

use paddock_core::{
    AgentName, Call, Earlier, EffectKind, Gate, Passed, Permit, Plan, Question, Refused, Request, Requester,
};
use paddock_db::DbError;
use paddock_db::statements::{Row, Session};

use super::held;
use super::row::{self, Approval, Status, digest};
use super::token::{self, Presented};
use super::{ApprovalError, Approvals, Decision, Reach, TokenFault, new_id};

/// What is longer is not shown in a prompt.
const LONGEST_QUESTION: usize = 16 * 1024;

/// So many changes of one agent's commands wait at the most: each may hold much, and nobody decides about more at once.
const MOST_WAITING: usize = 16;

/// How the history writes that a call has not ended, or failed.
const CALL_OPEN: i64 = 0;
const CALL_FAILED: i64 = 2;

/// What is to be done about a call.
enum Way {
    /// A grant covers it.
    Granted(String),
    /// A decision fits it.
    Agreed(Approval),
    /// A person put other arguments in the place of its own.
    Edited(Approval),
    /// A person said no.
    Rejected(Approval),
    /// It waits.
    Waits(String),
    /// It has to wait, and what it changed is not kept yet.
    Keep,
}

impl Gate for Approvals {
    fn pass(&self, call: &Call<'_>, request: &Request<'_>, plan: &Plan, permit: Permit) -> Result<Passed, Refused> {
        let asked = request.asked;
        let (terms, requester) = (asked.terms(), asked.requester());
        if requester.token.is_none() && request.risk <= terms.above {
            return Ok(Passed::Now(permit.grant()));
        }
        let Digests { of_call, digest, exact } = digests(request)?;
        let state = state_of(plan, &asked.state());
        let now = self.now();
        let id = call.id.to_string();
        let by = Presented {
            requester,
            terms,
            call: &id,
            tool: request.tool,
            of_call: &of_call,
            digest: &digest,
            exact: &exact,
            state: &state,
            now,
        };
        if let Some(token) = &requester.token {
            let agreed = self.by_token(token, &by)?;
            self.use_up(call, plan, &agreed)?;
            return Ok(Passed::Now(permit.grant()));
        }
        match self.way(call, request, plan, &by)? {
            Way::Granted(id) => {
                self.count_use(&id);
                Ok(Passed::Now(permit.grant()))
            }
            Way::Agreed(approval) => {
                self.use_up(call, plan, &approval)?;
                Ok(Passed::Now(permit.grant()))
            }
            Way::Edited(approval) => Ok(Passed::Edited {
                arguments: approval.edited.unwrap_or_default(),
                token: approval.token.unwrap_or_default(),
            }),
            Way::Rejected(approval) => Err(rejected(&approval)),
            Way::Waits(id) => Ok(Passed::Parked(id)),
            Way::Keep => Err(Refused::Gate("what waits could not be kept".to_owned())),
        }
    }

    fn asks(&self) -> bool {
        true
    }

    fn earlier(&self, call: &Call<'_>, request: &Request<'_>) -> Result<Earlier, Refused> {
        let broken = |error: DbError| unasked(&error);
        let of_call = digest(request.tool, &request.asked.arguments());
        let (now, requester) = (self.now(), request.asked.requester());
        let (agent, brought) = (call.agent.as_str(), named(requester));
        let (held, waiting) = self.read(|session| self.held_of(session, agent, &of_call, brought)).map_err(broken)?;
        let is_meant = |row: &&Approval| row.thread == requester.thread && row.user == requester.user;
        let waits = |row: &Approval| row.status == Status::Pending && now < row.expires_at;
        let Some(newest) = held.iter().find(is_meant) else {
            return Ok(Earlier::Nothing { waiting });
        };
        let nothing = || Earlier::Nothing { waiting };
        if let Some(call) = &newest.used_by {
            let state = self.read(|session| self.state_of_call(session, call)).map_err(broken)?;
            return Ok(match state {
                Some(CALL_OPEN) => Earlier::Waits(newest.id.clone()),
                Some(CALL_FAILED) => nothing(),
                _ => {
                    let (told, by) = (newest.told.clone(), newest.decided_by.clone());
                    Earlier::Made { id: newest.id.clone(), told: told.unwrap_or_default(), by: by.unwrap_or_default() }
                }
            });
        }
        match newest.status {
            Status::Pending if waits(newest) => Ok(Earlier::Waits(newest.id.clone())),
            Status::Approved if now < newest.expires_at => {
                let held = self.load(newest).map_err(|error| not_held(&error))?;
                Ok(Earlier::Agreed(Box::new(held)))
            }
            _ => Ok(nothing()),
        }
    }

    fn hears(&self, id: &str, requester: &Requester) -> Result<bool, Refused> {
        let marked = self.write(|session| self.mark_told(session, id)).map_err(|error| unasked(&error))?;
        // A run that was cut off before it kept the answer asks again with the same decision.
        Ok(marked || named(requester) == Some(id))
    }

    fn question(&self, agent: &AgentName, id: &str, tool: &str, arguments: &str) -> Option<Question> {
        let row = self.find(id).ok().flatten()?;
        let waits = row.status == Status::Pending && self.now() < row.expires_at;
        let is_this = row.agent == agent.as_str() && row.tool == tool && row.of_call == digest(tool, arguments);
        let preview = row.preview.to_string();
        if !waits || !is_this || !row.preview.whole || preview.len() > LONGEST_QUESTION {
            return None;
        }
        let rule = row.rule.as_ref().map(|rule| format!(": {rule}")).unwrap_or_default();
        let (path, risk, arguments) = (&row.path, row.risk.name(), &row.arguments);
        let text = format!("{agent} asks for {tool} on {path}\nrisk: {risk}{rule}\narguments: {arguments}\n{preview}");
        Some(Question { id: row.id, path: row.path.clone(), text })
    }

    fn answered(&self, id: &str, by: &str, agrees: bool) -> Result<(), Refused> {
        let decision = if agrees {
            Decision::Approve(Reach::Once)
        } else {
            Decision::Reject("it was declined when the client asked".to_owned())
        };
        self.decide(id, None, by, &decision).map(drop).map_err(told)
    }

    fn let_go(&self, id: &str, why: &str) {
        // What is left is swept away when its time is over.
        let sql = "UPDATE approval SET status = 'expired', told_at = ?1, reason = ?4 WHERE home = ?2 AND id = ?3";
        let why = format!("nothing was made: {why}");
        let _ = self.write(|session| {
            session.execute(sql, &[self.now().into(), self.home.as_str().into(), id.into(), why.as_str().into()])?;
            self.sweep(session)
        });
    }
}

/// What stands for a call.
struct Digests {
    /// By itself.
    of_call: String,
    /// With what it changed already, as that is kept.
    digest: String,
    /// As often as it comes.
    exact: String,
}

fn digests(request: &Request<'_>) -> Result<Digests, Refused> {
    let own = || digest(request.tool, &request.asked.arguments());
    let Some(holding) = request.asked.holding() else {
        let of_call = own();
        return Ok(Digests { digest: of_call.clone(), exact: of_call.clone(), of_call });
    };
    let of_call = holding.of.map_or_else(own, std::borrow::ToOwned::to_owned);
    let digest = held::digest(&of_call, &holding).map_err(|error| not_held(&error))?;
    let exact = held::exact(&of_call, &holding).map_err(|error| not_held(&error))?;
    Ok(Digests { of_call, digest, exact })
}

/// The decision that a call brings, by its name alone.
fn named(requester: &Requester) -> Option<&str> {
    token::approval_of(requester.token.as_deref()?).ok()
}

fn rejected(approval: &Approval) -> Refused {
    let by = approval.decided_by.as_deref().unwrap_or("a person");
    let why = approval.reason.as_deref().unwrap_or("no reason was given");
    Refused::NotApproved { name: "rejected", why: format!("{by} rejected this call: {why}") }
}

impl Approvals {
    /// The decision that a token proves, for exactly this call.
    fn by_token(&self, token: &str, by: &Presented<'_>) -> Result<Approval, Refused> {
        let found = token::approval_of(token).map(|id| self.find(id));
        let checked = match found {
            Ok(Ok(Some(approval))) if matches!(approval.status, Status::Approved | Status::Edited) => {
                token::check(&self.key, token, &approval, by).map(|()| approval)
            }
            Ok(Ok(_)) => Err(TokenFault::Unknown),
            Ok(Err(error)) => return Err(unasked(&error)),
            Err(fault) => Err(fault),
        };
        checked.map_err(|fault| Refused::NotApproved { name: fault.name(), why: fault.to_string() })
    }

    /// Has the approval used by this call: with its intent where it changes something, else now.
    fn use_up(&self, call: &Call<'_>, plan: &Plan, approval: &Approval) -> Result<(), Refused> {
        if plan.kind().changes() {
            self.using.add(call.id, approval.id.clone());
            return Ok(());
        }
        let (home, id, by, now) = (self.home.clone(), approval.id.clone(), call.id.to_string(), self.now());
        let used = self.write(|session| mark_used(session, &home, &id, &by, now));
        match used {
            Ok(true) => Ok(()),
            Ok(false) => Err(used_already()),
            Err(error) => Err(unasked(&error)),
        }
    }

    fn way(&self, call: &Call<'_>, request: &Request<'_>, plan: &Plan, by: &Presented<'_>) -> Result<Way, Refused> {
        let way = self.way_with(call, request, plan, by, None)?;
        let (Way::Keep, Some(holding)) = (&way, request.asked.holding()) else { return Ok(way) };
        let waiting = self.read(|session| self.count_waiting(session, call.agent.as_str()));
        if waiting.map_err(|error| unasked(&error))? >= MOST_WAITING {
            let why = format!("the changes of {MOST_WAITING} commands wait for a person already: they come first");
            return Err(Refused::NotApproved { name: "too_many_wait", why });
        }
        // Its content is there before anybody is asked about it.
        let id = new_id("ap");
        self.keep(&id, &holding).map_err(|error| not_held(&error))?;
        self.way_with(call, request, plan, by, Some(&id))
    }

    /// `kept` is the id under which what a command changed was kept.
    fn way_with(
        &self,
        call: &Call<'_>,
        request: &Request<'_>,
        plan: &Plan,
        by: &Presented<'_>,
        kept: Option<&str>,
    ) -> Result<Way, Refused> {
        let known = self.write(|session| self.known(session, call, request, plan, by, kept));
        if let Some(way) = known.map_err(|error| unasked(&error))? {
            return Ok(way);
        }
        // What is shown may take long to be made, so nobody waits for the database meanwhile; what is known by then is looked at again.
        let row = self.new_row(call, request, plan, by, kept);
        let values = row::values(&self.home, &row);
        let done = self.write(|session| {
            if let Some(way) = self.known(session, call, request, plan, by, kept)? {
                return Ok(way);
            }
            if kept.is_some() {
                self.sweep(session)?;
            }
            if session.execute(row::INSERT, &values)? == 1 {
                return Ok(Way::Waits(row.id.clone()));
            }
            // Another process asked the same between the look and now.
            Ok(self.decided(session, call, by)?.unwrap_or(Way::Keep))
        });
        let way = done.map_err(|error| unasked(&error))?;
        if matches!(&way, Way::Waits(id) if *id == row.id) {
            self.tell(&row, request.asked.terms());
        }
        Ok(way)
    }

    /// What is known of a call already; nothing where a person has to be asked.
    fn known(
        &self,
        session: &mut dyn Session,
        call: &Call<'_>,
        request: &Request<'_>,
        plan: &Plan,
        by: &Presented<'_>,
        kept: Option<&str>,
    ) -> Result<Option<Way>, DbError> {
        let is_held = request.asked.holding().is_some();
        // What a person refused by name stays refused, whatever they allowed in general.
        if let Some(refused) = self.refused(session, call, by, is_held)? {
            return Ok(Some(Way::Rejected(refused)));
        }
        let decided = if is_held { None } else { self.decided(session, call, by)? };
        if let Some(grant) = self.grant_for(session, call, request, plan, by)? {
            return Ok(Some(Way::Granted(grant)));
        }
        Ok(if is_held && kept.is_none() { Some(Way::Keep) } else { decided })
    }

    /// The changes of one command of an agent that were held and that it has not heard of, the newest first, with the one it brings
    /// the decision about, and without those that a person refused: what the command changes now may be another thing. And how many of all its commands wait. The others are counted and never loaded: each may be large.
    fn held_of(
        &self,
        session: &mut dyn Session,
        agent: &str,
        of_call: &str,
        brought: Option<&str>,
    ) -> Result<(Vec<Approval>, usize), DbError> {
        let sql = format!(
            "SELECT {} FROM approval WHERE home = ?1 AND agent = ?2 AND of_call = ?3 AND held IS NOT NULL \
             AND status NOT IN ('expired', 'rejected') AND (told_at IS NULL OR id = ?4) ORDER BY requested_at DESC, id",
            row::COLUMNS
        );
        let brought = brought.unwrap_or_default().into();
        let rows = session.query(&sql, &[self.home.as_str().into(), agent.into(), of_call.into(), brought])?;
        Ok((rows.iter().map(row::read).collect(), self.count_waiting(session, agent)?))
    }

    /// How the call ended that made a held change, as the history has it.
    fn state_of_call(&self, session: &mut dyn Session, call: &str) -> Result<Option<i64>, DbError> {
        // What was cut off and taken back has failed.
        let sql = "SELECT state, undone_by FROM history_call WHERE home = ?1 AND call = ?2";
        let rows = session.query(sql, &[self.home.as_str().into(), call.into()])?;
        let state = |row: &Row| {
            if row[1].maybe_text().is_some() && row[0].int() == CALL_OPEN { CALL_FAILED } else { row[0].int() }
        };
        Ok(rows.first().map(state))
    }

    /// Whether nobody was told before.
    fn mark_told(&self, session: &mut dyn Session, id: &str) -> Result<bool, DbError> {
        let sql = "UPDATE approval SET told_at = ?1 WHERE home = ?2 AND id = ?3 AND told_at IS NULL";
        Ok(session.execute(sql, &[self.now().into(), self.home.as_str().into(), id.into()])? == 1)
    }

    fn grant_for(
        &self,
        session: &mut dyn Session,
        call: &Call<'_>,
        request: &Request<'_>,
        plan: &Plan,
        by: &Presented<'_>,
    ) -> Result<Option<String>, DbError> {
        let grants = self.grants_in(session, Some((call.agent.as_str(), request.tool)))?;
        let path = plan.path().as_str();
        // Not where a link leads elsewhere by now. Directories above a new file come with it.
        let is_there = plan
            .effects()
            .iter()
            .all(|effect| effect.path.below(plan.path()).is_some() || effect.what == EffectKind::MakeDir);
        let covers = |grant: &&super::Grant| {
            (is_there || grant.path.is_none()) && grant.covers(by.exact, path, &by.requester.session, request.risk)
        };
        Ok(grants.iter().find(covers).map(|grant| grant.id.clone()))
    }

    /// The refusal that stands for this call: of the same, as it was shown, under the same policy, until its time is over.
    fn refused(
        &self,
        session: &mut dyn Session,
        call: &Call<'_>,
        by: &Presented<'_>,
        is_held: bool,
    ) -> Result<Option<Approval>, DbError> {
        // A command ran before anybody was asked, so what it changed says whether it is the same.
        let (same, exact) = if is_held {
            ("of_call = ?3 AND held = ?4", by.exact)
        } else {
            ("of_call = ?3 AND digest = ?4 AND held IS NULL", by.digest)
        };
        let sql = format!(
            "SELECT {} FROM approval WHERE home = ?1 AND agent = ?2 AND {same} AND tool = ?5 AND state_version = ?6 AND policy = ?7 \
             AND COALESCE(thread, '') = ?8 AND COALESCE(requested_for, '') = ?9 AND expires_at > ?10 AND status = 'rejected' \
             ORDER BY requested_at DESC, id LIMIT 1",
            row::COLUMNS
        );
        let Requester { thread, user, .. } = by.requester;
        let values = [
            self.home.as_str().into(),
            call.agent.as_str().into(),
            by.of_call.into(),
            exact.into(),
            by.tool.into(),
            by.state.into(),
            by.terms.policy.as_str().into(),
            thread.as_deref().unwrap_or_default().into(),
            user.as_deref().unwrap_or_default().into(),
            by.now.into(),
        ];
        Ok(session.query(&sql, &values)?.first().map(row::read))
    }

    /// What was agreed to about this call, or that it waits already.
    fn decided(&self, session: &mut dyn Session, call: &Call<'_>, by: &Presented<'_>) -> Result<Option<Way>, DbError> {
        let sql = format!(
            "SELECT {} FROM approval WHERE home = ?1 AND agent = ?2 AND digest = ?3 AND status NOT IN ('expired', 'rejected') \
             AND held IS NULL ORDER BY requested_at DESC, id",
            row::COLUMNS
        );
        let rows = session.query(&sql, &[self.home.as_str().into(), call.agent.as_str().into(), by.digest.into()])?;
        let rows =
            rows.iter().map(row::read).filter(|row| row.thread == by.requester.thread && row.user == by.requester.user);
        // What was agreed to for longer is a grant, and over when that is.
        let is_grant = |row: &Approval| {
            row.status == Status::Approved && row.reach.as_deref().is_some_and(|reach| reach != "once")
        };
        let counts = |row: &Approval| row.thread.is_some() || !is_grant(row);
        let Some(newest) = rows.into_iter().find(|row| row.used_by.is_none() && row.tool == by.tool && counts(row))
        else {
            return Ok(None);
        };
        let is_as_it_was = newest.state_version == by.state && newest.policy == by.terms.policy;
        if by.now >= newest.expires_at || !is_as_it_was {
            let moved_on =
                if newest.policy == by.terms.policy { TokenFault::OtherState } else { TokenFault::OtherPolicy };
            let why = format!("nothing was made: {moved_on}");
            self.expire(session, &newest.id, Some(why.as_str()).filter(|_| by.now < newest.expires_at))?;
            return Ok(None);
        }
        Ok(Some(match newest.status {
            // The decision about a run comes back with its token.
            Status::Approved | Status::Edited if newest.thread.is_some() => Way::Waits(newest.id),
            Status::Approved => Way::Agreed(newest),
            Status::Edited => Way::Edited(newest),
            Status::Pending | Status::Rejected | Status::Expired | Status::Overtaken => Way::Waits(newest.id),
        }))
    }

    fn new_row(
        &self,
        call: &Call<'_>,
        request: &Request<'_>,
        plan: &Plan,
        by: &Presented<'_>,
        kept: Option<&str>,
    ) -> Approval {
        let asked = request.asked;
        let expires = i64::try_from(by.terms.expires.as_millis()).unwrap_or(i64::MAX);
        Approval {
            id: kept.map_or_else(|| new_id("ap"), str::to_owned),
            agent: call.agent.as_str().to_owned(),
            session: by.requester.session.clone(),
            thread: by.requester.thread.clone(),
            user: by.requester.user.clone(),
            tool: request.tool.to_owned(),
            path: plan.path().as_str().to_owned(),
            arguments: asked.shown_arguments(),
            digest: by.digest.to_owned(),
            state_version: by.state.to_owned(),
            policy: by.terms.policy.clone(),
            risk: request.risk,
            rule: asked.rule(),
            preview: asked.preview(),
            held: kept.map(|_| by.exact.to_owned()),
            requested_at: by.now,
            expires_at: by.now.saturating_add(expires),
            status: Status::Pending,
            decided_at: None,
            decided_by: None,
            reason: None,
            edited: None,
            reach: None,
            token: None,
            used_by: None,
            of_call: by.of_call.to_owned(),
            told: asked.holding().map(|holding| holding.told.to_owned()),
            told_at: None,
        }
    }
}

/// Marks an approval as used, if nobody has used it.
pub(crate) fn mark_used(session: &mut dyn Session, home: &str, id: &str, by: &str, now: i64) -> Result<bool, DbError> {
    // Done again by the same call, it is still that call's.
    let sql = "UPDATE approval SET used_by = ?1, used_at = ?2 WHERE home = ?3 AND id = ?4 \
               AND status IN ('approved', 'edited') AND (used_by IS NULL OR used_by = ?1)";
    Ok(session.execute(sql, &[by.into(), now.into(), home.into(), id.into()])? == 1)
}

/// Nothing is let through where the database cannot be used. What it said names places of the host, which are for the log alone.
fn unasked(error: &DbError) -> Refused {
    tracing::error!(%error, "the approvals cannot be used");
    Refused::Gate("nobody can be asked now, because the approvals cannot be reached".to_owned())
}

/// The same for what waits as a whole.
fn not_held(error: &held::NotHeld) -> Refused {
    match error {
        held::NotHeld::Database(error) => unasked(error),
        other => Refused::Gate(other.to_string()),
    }
}

/// The same for what can be wrong with an approval.
fn told(error: ApprovalError) -> Refused {
    match error {
        ApprovalError::Database(error) => unasked(&error),
        other => Refused::Gate(other.to_string()),
    }
}

pub(crate) fn used_already() -> Refused {
    Refused::NotApproved { name: TokenFault::Used.name(), why: TokenFault::Used.to_string() }
}

/// Stands for what a plan would touch, as it is.
fn state_of(plan: &Plan, beside: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(beside.as_bytes());
    for effect in plan.effects() {
        let before = effect.before.as_ref().map(ToString::to_string).unwrap_or_default();
        let line = format!("{}\0{:?}\0{before}\n", effect.path, effect.what);
        hasher.update(line.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
