//! What signs decisions: the key of the System Root, or, where several machines share a state, one that is kept with that state.
//!
//! A decision that one machine signs has to hold on the others, and their System Roots share nothing but the database. Whoever may write that
//! database could write a decision into it anyway; everybody else has neither.

use std::sync::{Arc, OnceLock};

use paddock_db::DbError;
use paddock_db::statements::Value;

use super::token::TokenKey;
use super::{Approvals, Result};

/// Where the key comes from.
#[derive(Clone)]
pub(crate) enum KeySource {
    /// It is the System Root's.
    Own([u8; 32]),
    /// It is in the database, made by whoever needs it first.
    Shared(Arc<OnceLock<[u8; 32]>>),
}

impl Approvals {
    pub(super) fn signing_key(&self) -> Result<TokenKey, DbError> {
        match &self.key {
            KeySource::Own(key) => Ok(TokenKey::from(key)),
            KeySource::Shared(known) => self.kept_key(known).map(|key| TokenKey::from(&key)),
        }
    }

    /// A key for another purpose that all machines of a shared state have; nothing where the state is this System Root's alone.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn shared_key(&self, purpose: &str) -> Result<Option<[u8; 32]>> {
        match &self.key {
            KeySource::Own(_) => Ok(None),
            KeySource::Shared(known) => Ok(Some(blake3::derive_key(purpose, &self.kept_key(known)?))),
        }
    }

    /// Kept before it is used: a key that was lost with its transaction would have signed for nothing.
    fn kept_key(&self, known: &OnceLock<[u8; 32]>) -> Result<[u8; 32], DbError> {
        if let Some(key) = known.get() {
            return Ok(*key);
        }
        let broken = |why: String| DbError::Corrupt { name: "approvals".to_owned(), why };
        let made = crate::audit::random().map_err(|error| broken(error.to_string()))?;
        let made = blake3::Hash::from_bytes(made).to_hex().to_string();
        let home: Value = self.home.as_str().into();
        let text = self.write(|session| {
            let insert = "INSERT INTO approval_key (home, key) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            session.execute(insert, &[home.clone(), made.as_str().into()])?;
            let rows = session.query("SELECT key FROM approval_key WHERE home = ?1", std::slice::from_ref(&home))?;
            Ok(rows.first().map(|row| row[0].text().to_owned()).unwrap_or_default())
        })?;
        let key = blake3::Hash::from_hex(&text).map_err(|_| broken("the key of the decisions is none".to_owned()))?;
        Ok(*known.get_or_init(|| *key.as_bytes()))
    }
}
