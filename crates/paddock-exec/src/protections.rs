//! The single protections of a run, each with a name, so that a test can switch one off and see the attack it stops.
//!
//! Outside of tests there is only [`Protections::ALL`]: no caller can build another value, and nothing reads one from
//! a file or a variable.

/// What holds a command. Every field is on in a real run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protections {
    /// Own network namespace.
    pub network: bool,
    /// Own process namespace, with its own `/proc` that shows only the command's processes.
    pub processes: bool,
    /// Own System V and message-queue namespace.
    pub ipc: bool,
    /// The system of the host taken away once the new one is entered.
    pub detached: bool,
    /// Read-only attributes of mounts.
    pub read_only: bool,
    /// Hidden names masked.
    pub masks: bool,
    /// Read-only Workspaces on an overlay, where no socket of the host answers.
    pub sockets: bool,
    /// Guarded paths read-only in direct runs.
    pub guards: bool,
    /// Ancestors of guarded paths pinned.
    pub pins: bool,
    /// The first process of the sandbox cannot be looked into.
    pub undumpable: bool,
    /// Capabilities dropped, with the bounding set.
    pub capabilities: bool,
    /// No program gains by being set-user-id.
    pub no_new_privileges: bool,
    /// Landlock.
    pub landlock: bool,
    /// The filter of system calls.
    pub filter: bool,
    /// Inherited descriptors closed.
    pub descriptors: bool,
    /// Variables built anew.
    pub variables: bool,
    /// The sandbox dies with the launcher.
    pub death: bool,
    /// Resource limits and control groups.
    pub limits: bool,
}

impl Protections {
    /// Everything on.
    pub const ALL: Protections = Protections {
        network: true,
        processes: true,
        ipc: true,
        detached: true,
        read_only: true,
        masks: true,
        sockets: true,
        guards: true,
        pins: true,
        undumpable: true,
        capabilities: true,
        no_new_privileges: true,
        landlock: true,
        filter: true,
        descriptors: true,
        variables: true,
        death: true,
        limits: true,
    };
}

impl Default for Protections {
    fn default() -> Protections {
        Protections::ALL
    }
}
