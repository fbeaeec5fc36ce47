//! A person's own acts on an agent's Workspaces: undo, restore, the applying of a fork.
//!
//! They go the same way as an agent's calls: planned, judged, passed, run, recorded. They are judged as if the scope
//! were READ_WRITE and count as approved; hidden, guarded and Paddock's own names still hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{
    AgentPolicy, Audit, Call, CallId, CallRecord, Cancel, Gate, LogicalPath, Operation, Outcome, Passed, Permit, Plan,
    Refused, Request, Risk, Vfs, WayBack,
};

/// How long one act may take.
const LONGEST: Duration = Duration::from_secs(600);

/// The person at the terminal or in the console, acting on one agent's Workspaces.
pub struct Person<'a> {
    policy: &'a AgentPolicy,
    audit: &'a dyn Audit,
    vfs: Vfs,
    cancel: Cancel,
}

/// What became of an act.
#[derive(Debug)]
pub struct Acted {
    /// The call it was; `undo` takes it.
    pub call: CallId,
    /// What came of it.
    pub outcome: Outcome,
}

/// Whoever acts is the one who would be asked.
struct Approved;

impl Gate for Approved {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        Ok(Passed::Now(permit.grant()))
    }
}

impl std::fmt::Debug for Person<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Person").field("agent", &self.policy.agent).finish_non_exhaustive()
    }
}

impl<'a> Person<'a> {
    /// A person who acts on what this agent has.
    pub fn on(policy: &'a AgentPolicy, audit: &'a dyn Audit) -> Self {
        Self { policy, audit, vfs: Self::vfs_of(policy), cancel: Cancel::default() }
    }

    /// The same, with the name under which what they do is recorded.
    #[must_use]
    pub fn named(self, by: &str) -> Self {
        Self { vfs: self.vfs.by(by), ..self }
    }

    /// The Workspaces that this agent has, as a person has them.
    pub fn vfs_of(policy: &AgentPolicy) -> Vfs {
        policy.vfs.for_person(Arc::new(Approved))
    }

    /// The Workspaces as the person has them.
    pub fn vfs(&self) -> &Vfs {
        &self.vfs
    }

    /// A call of this person's, for looking.
    pub fn call(&self) -> Call<'_> {
        let deadline = Instant::now() + LONGEST;
        Call { id: CallId::next(), agent: &self.policy.agent, cancel: &self.cancel, deadline }
    }

    /// Looks at something; looking is not recorded.
    ///
    /// # Errors
    /// When it is denied or fails.
    pub fn look(&self, operation: Operation) -> Result<Outcome, Refused> {
        self.run(&self.call(), operation)
    }

    /// As [`Self::look`], for as long as a call of the agent lasts.
    pub(crate) fn look_within(&self, call: &Call<'_>, operation: Operation) -> Result<Outcome, Refused> {
        self.run(call, operation)
    }

    /// Does something, and has it recorded under the name of the command.
    ///
    /// # Errors
    /// When it is denied or fails; or when it cannot be recorded.
    pub fn act(&self, command: &str, call: &Call<'_>, operation: Operation) -> Result<Acted, Refused> {
        self.act_as(command, call, operation, |plan| plan)
    }

    /// As [`Self::act`], with what is said of it where calls are listed.
    ///
    /// # Errors
    /// As [`Self::act`].
    pub fn act_noting(
        &self,
        command: &str,
        call: &Call<'_>,
        operation: Operation,
        note: &str,
    ) -> Result<Acted, Refused> {
        self.act_as(command, call, operation, |plan| plan.noting(note))
    }

    /// As [`Self::act`], for what is kept beside somebody's work and is not what an undo means.
    pub(crate) fn act_by_the_way(
        &self,
        command: &str,
        call: &Call<'_>,
        operation: Operation,
    ) -> Result<Acted, Refused> {
        self.act_as(command, call, operation, Plan::aside)
    }

    fn act_as(
        &self,
        command: &str,
        call: &Call<'_>,
        operation: Operation,
        how: impl FnOnce(Plan) -> Plan,
    ) -> Result<Acted, Refused> {
        let began = Instant::now();
        let path = operation.path().clone();
        let done = self.run_as(call, operation, |plan| how(plan.called(command)));
        let decision = self.vfs.judge(paddock_core::OpKind::Read, &path);
        let (outcome, reason) = match &done {
            Ok(_) => ("done", ""),
            Err(Refused::Denied(_) | Refused::DeniedInside(_)) => ("denied", "person"),
            Err(_) => ("failed", "person"),
        };
        let record = CallRecord {
            call: call.id,
            agent: &self.policy.agent,
            by: self.vfs.person(),
            tool: command,
            path: path.as_str(),
            workspace: decision.workspace().map(paddock_core::Workspace::prefix),
            outcome,
            reason,
            risk: Some(Risk::Low),
            bytes: 0,
            took: began.elapsed(),
            effect: true,
        };
        let recorded = self.audit.record(&record);
        let outcome = done?;
        recorded.map_err(|source| Refused::Store { path, source })?;
        Ok(Acted { call: call.id, outcome })
    }

    /// Takes back what a call has changed that failed or was cut off. False where it was another agent's.
    ///
    /// # Errors
    /// When something newer is in the way, or the way back is not known. Nothing was taken back then.
    pub fn take_back(&self, undone: CallId) -> Result<bool, Refused> {
        let call = self.call();
        match self.vfs.way_back(&call, undone)? {
            WayBack::Nothing => Ok(true),
            WayBack::OfAnother => Ok(false),
            WayBack::By(alterations) => {
                let path = alterations.first().map_or_else(LogicalPath::top, |first| first.path.clone());
                self.act("undo", &call, Operation::Alter { path, alterations }).map(|_| true)
            }
        }
    }

    fn run(&self, call: &Call<'_>, operation: Operation) -> Result<Outcome, Refused> {
        self.run_as(call, operation, |plan| plan)
    }

    fn run_as(
        &self,
        call: &Call<'_>,
        operation: Operation,
        how: impl FnOnce(Plan) -> Plan,
    ) -> Result<Outcome, Refused> {
        let plan = how(self.vfs.plan(call, operation)?);
        match self.vfs.ask(call, &Request::of_person("person", Risk::Low), &plan)? {
            Passed::Now(token) => self.vfs.run(call, plan, token),
            Passed::Parked(id) => Err(Refused::Gate(format!("it waits as {id}"))),
            Passed::Edited { .. } => Err(Refused::Gate("a person's own act is not edited".to_owned())),
        }
    }
}

/// Takes back what commands of this agent had changed half-way when their process died. What cannot be taken back stays as
/// it is: the history names it, and a person can look.
pub fn settle(policy: &AgentPolicy, audit: &dyn Audit) {
    let cut_off = policy.commands.iter().flat_map(|commands| commands.runner.cut_off());
    for run in cut_off {
        let call = run.call();
        match Person::on(policy, audit).take_back(call) {
            Ok(true) => {
                tracing::info!(%call, "a command that was cut off has left nothing behind");
                run.settled();
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%call, %error, "what a command changed half-way could not be taken back"),
        }
    }
}
