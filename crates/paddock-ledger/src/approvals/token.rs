//! The ApprovalToken: what proves that a person agreed to one call and no other.
//!
//! Signed over everything that the decision was about. The payload is not secret, and worth nothing to whoever changes a letter of it; it
//! is used once, which the database holds, not the token. It is never shown to a model.

use paddock_core::{Requester, Terms};

use super::TokenFault;
use super::row::Approval;

/// Marks the format.
const KIND: &str = "pat1";

/// The key that signs tokens: the audit's, for another purpose. It is not in the database, so whoever writes there can decide nothing for a
/// run; machines that share a state share this key, without which they could record nothing either.
#[derive(Clone)]
pub(crate) struct TokenKey([u8; 32]);

impl TokenKey {
    pub(crate) fn from(key: &[u8; 32]) -> Self {
        Self(blake3::derive_key("Paddock 2026 approval token", key))
    }

    fn sign(&self, text: &str) -> String {
        blake3::keyed_hash(&self.0, text.as_bytes()).to_hex().to_string()
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey(…)")
    }
}

/// What a call brings to be compared with what was approved.
pub(crate) struct Presented<'a> {
    pub(crate) requester: &'a Requester,
    pub(crate) terms: &'a Terms,
    /// The id of the call.
    pub(crate) call: &'a str,
    pub(crate) tool: &'a str,
    /// Stands for the call by itself, without what it changed already.
    pub(crate) of_call: &'a str,
    pub(crate) digest: &'a str,
    /// Stands for the call as often as it comes: of a command, with what it changes, whenever it runs.
    pub(crate) exact: &'a str,
    pub(crate) state: &'a str,
    pub(crate) now: i64,
}

/// The token of an approval that was decided.
pub(crate) fn token(key: &TokenKey, approval: &Approval) -> String {
    let bound = bound(approval);
    format!("{KIND}.{}.{}", approval.id, key.sign(&bound))
}

/// Everything that a decision binds, told apart by their lengths so that no two calls have one text.
fn bound(approval: &Approval) -> String {
    let parts = [
        KIND,
        &approval.id,
        approval.thread.as_deref().unwrap_or(""),
        approval.user.as_deref().unwrap_or(""),
        &approval.agent,
        &approval.tool,
        &approval.agreed_digest(),
        &approval.state_version,
        &approval.policy,
        &approval.expires_at.to_string(),
    ];
    parts.iter().map(|part| format!("{}:{part};", part.len())).collect()
}

/// The approval that a token names; says nothing of whether it is genuine.
pub(crate) fn approval_of(token: &str) -> Result<&str, TokenFault> {
    let mut parts = token.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(KIND), Some(id), Some(_), None) => Ok(id),
        _ => Err(TokenFault::Forged),
    }
}

/// Whether a token is genuine, and for exactly this call. The approval is what the database holds under the token's id.
pub(crate) fn check(key: &TokenKey, token: &str, approval: &Approval, by: &Presented<'_>) -> Result<(), TokenFault> {
    let told = token.rsplit('.').next().unwrap_or_default();
    let right = blake3::keyed_hash(&key.0, bound(approval).as_bytes());
    let told = blake3::Hash::from_hex(told).map_err(|_| TokenFault::Forged)?;
    // Compares in constant time.
    if told != right {
        return Err(TokenFault::Forged);
    }
    fits(approval, by)
}

/// Whether a decision is for exactly this call.
pub(crate) fn fits(approval: &Approval, by: &Presented<'_>) -> Result<(), TokenFault> {
    // The call that used it may be made again under its id: it was cut off, or only looked at before.
    if approval.used_by.as_deref().is_some_and(|used| used != by.call) {
        return Err(TokenFault::Used);
    }
    if by.now >= approval.expires_at {
        return Err(TokenFault::Expired);
    }
    if approval.thread != by.requester.thread {
        return Err(TokenFault::OtherThread);
    }
    if approval.user != by.requester.user {
        return Err(TokenFault::OtherUser);
    }
    if approval.tool != by.tool {
        return Err(TokenFault::OtherTool);
    }
    if approval.agreed_digest() != by.digest {
        return Err(TokenFault::OtherArguments);
    }
    // What a command changed is judged under the policy of the day it is made: there is no call that could be asked about anew.
    if approval.held.is_none() && approval.policy != by.terms.policy {
        return Err(TokenFault::OtherPolicy);
    }
    // What an edited call would touch is seen when it is planned.
    if approval.edited.is_none() && approval.state_version != by.state {
        return Err(TokenFault::OtherState);
    }
    Ok(())
}
