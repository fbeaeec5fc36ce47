//! Who may come in over HTTP: the one-time links a person signs in with, their sessions, and the tokens of agents and programs.
//!
//! Only hashes are kept: whoever reads the database learns no secret that opens a door. The secrets themselves have 256 bits, so a plain
//! hash is enough. A link is used up in the transaction that makes its session; of two that bring it one comes in.
//! All of it is in the state's database, so every process of an installation knows the same.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use paddock_config::Tables;
use paddock_core::AgentName;
use paddock_db::statements::{Row, Session, Storage, Value};
use paddock_db::{DbError, Migration, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acts::{Act, Acts};
use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::{moment, past};

/// How long the database is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a sign-in link can be used.
const LINK_LASTS: Duration = Duration::from_secs(15 * 60);
/// How long a session lasts without being used.
const SESSION_LASTS: Duration = Duration::from_secs(30 * 24 * 3600);
/// How exactly the last use of something is known.
const SEEN_EVERY: Duration = Duration::from_secs(60);
/// What every token begins with, so that scanners for leaked ones can know it.
pub const TOKEN_PREFIX: &str = "pdk_";

macro_rules! tables {
    ($text:literal, $int:literal) => {
        concat!(
            "CREATE TABLE access_link (home ",
            $text,
            " NOT NULL, hash ",
            $text,
            " NOT NULL, expires_at ",
            $int,
            " NOT NULL, used_at ",
            $int,
            ", PRIMARY KEY (home, hash));\n",
            "CREATE TABLE access_session (home ",
            $text,
            " NOT NULL, hash ",
            $text,
            " NOT NULL, label ",
            $text,
            " NOT NULL, made_at ",
            $int,
            " NOT NULL, seen_at ",
            $int,
            " NOT NULL, PRIMARY KEY (home, hash));\n",
            "CREATE TABLE access_token (home ",
            $text,
            " NOT NULL, id ",
            $text,
            " NOT NULL, hash ",
            $text,
            " NOT NULL, name ",
            $text,
            " NOT NULL, agent ",
            $text,
            ", read_only ",
            $int,
            " NOT NULL, made_at ",
            $int,
            " NOT NULL, expires_at ",
            $int,
            ", seen_at ",
            $int,
            ", revoked_at ",
            $int,
            ", PRIMARY KEY (home, id));\n",
            "CREATE UNIQUE INDEX access_token_hash ON access_token (home, hash);\n",
        )
    };
}

/// The tables of this module.
pub const TABLES: Tables = Tables {
    sqlite: Schema { owner: "access", migrations: &[Migration { version: 1, sql: tables!("TEXT", "INTEGER") }] },
    postgres: Schema {
        owner: "access",
        migrations: &[Migration { version: 1, sql: tables!("TEXT COLLATE \"C\"", "BIGINT") }],
    },
};

/// A token as it is listed: never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// What the person called it.
    pub name: String,
    /// The agent that it speaks for over MCP; nothing: it opens the API.
    pub agent: Option<String>,
    /// May it only look?
    pub read_only: bool,
    /// When it was made.
    pub made: String,
    /// When it ends by itself.
    pub expires: Option<String>,
    /// When it was last used, to the minute.
    pub last_used: Option<String>,
    /// When it was revoked.
    pub revoked: Option<String>,
}

/// A token that is to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What to call it.
    pub name: String,
    /// The agent that it speaks for over MCP; nothing: it opens the API.
    #[serde(default)]
    pub agent: Option<String>,
    /// May it only look? For the API.
    #[serde(default)]
    pub read_only: bool,
    /// After how many days it ends by itself; nothing: never.
    #[serde(default)]
    pub days: Option<u32>,
}

/// A token that was just made: the only time that its secret is shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MadeToken {
    /// The token.
    pub token: Token,
    /// What is sent as `Authorization: Bearer …`.
    pub secret: String,
}

/// The doors of one installation.
#[derive(Clone)]
pub struct Access {
    storage: Arc<dyn Storage>,
    home: String,
    acts: Acts,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Access {
    /// Of a desk; what is done with them is the act of who sits at it.
    ///
    /// # Errors
    /// When its installation keeps nothing.
    pub fn of(desk: &Desk) -> Result<Self> {
        let (storage, home) = crate::project::state_of(desk.installation())?;
        Ok(Self { storage, home, acts: desk.acts() })
    }

    /// The same doors with somebody else at them.
    #[must_use]
    pub fn acting_as(&self, by: &str) -> Self {
        Self { acts: self.acts.of(by), ..self.clone() }
    }

    fn record(&self, command: &str, about: &str) -> Result<()> {
        self.acts.record(&Act::done(&AgentName::main(), command, about))
    }

    fn record_of_token(&self, command: &str, token: &Token) -> Result<()> {
        let agent = token.agent.as_deref().and_then(|agent| AgentName::parse(agent).ok());
        let about = format!("{} {}", token.id, token.name);
        self.acts.record(&Act::done(&agent.unwrap_or_else(AgentName::main), command, &about))
    }

    /// The secret of a new link to sign in with, once and soon.
    ///
    /// # Errors
    /// When the database cannot keep it.
    pub fn link(&self) -> Result<String> {
        let secret = secret()?;
        let expires = later(LINK_LASTS);
        self.write(|session| {
            session.execute(
                "DELETE FROM access_link WHERE home = ?1 AND expires_at < ?2",
                &[self.home(), (now() - millis(LINK_LASTS)).into()],
            )?;
            session.execute(
                "INSERT INTO access_link (home, hash, expires_at) VALUES (?1, ?2, ?3)",
                &[self.home(), hash(&secret).into(), expires.into()],
            )
        })?;
        self.record("login", "")?;
        Ok(secret)
    }

    /// Uses a link up. The secret of the session that it opens; nothing where it was used before, is too old, or never was.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn sign_in(&self, link: &str, label: &str) -> Result<Option<String>> {
        let secret = secret()?;
        let (link, label) = (hash(link), label.chars().take(200).collect::<String>());
        let opened = self.write(|session| {
            let used = session.execute(
                "UPDATE access_link SET used_at = ?3 WHERE home = ?1 AND hash = ?2 AND used_at IS NULL AND expires_at > ?3",
                &[self.home(), link.as_str().into(), now().into()],
            )?;
            if used == 0 {
                return Ok(false);
            }
            session.execute(
                "INSERT INTO access_session (home, hash, label, made_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?4)",
                &[self.home(), hash(&secret).into(), label.as_str().into(), now().into()],
            )?;
            Ok(true)
        })?;
        if opened {
            self.record("sign in", "")?;
        }
        Ok(opened.then_some(secret))
    }

    /// Is this the secret of a session that lasts?
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn has_session(&self, secret: &str) -> Result<bool> {
        let hash = hash(secret);
        let rows = self.read(|session| {
            session.query(
                "SELECT seen_at FROM access_session WHERE home = ?1 AND hash = ?2",
                &[self.home(), hash.as_str().into()],
            )
        })?;
        let Some(seen) = rows.first().map(|row| row[0].int()) else { return Ok(false) };
        if seen < now() - millis(SESSION_LASTS) {
            return Ok(false);
        }
        if seen < now() - millis(SEEN_EVERY) {
            self.seen("UPDATE access_session SET seen_at = ?3 WHERE home = ?1 AND hash = ?2", &hash)?;
        }
        Ok(true)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn sign_out(&self, secret: &str) -> Result<()> {
        let hash = hash(secret);
        let ended = self.write(|session| {
            session.execute(
                "DELETE FROM access_session WHERE home = ?1 AND hash = ?2",
                &[self.home(), hash.as_str().into()],
            )
        })?;
        if ended > 0 { self.record("sign out", "") } else { Ok(()) }
    }

    /// Ends every session: whoever had a link signs in again.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn sign_everybody_out(&self) -> Result<u64> {
        let ended =
            self.write(|session| session.execute("DELETE FROM access_session WHERE home = ?1", &[self.home()]))?;
        self.record("sign everybody out", "")?;
        Ok(ended)
    }

    /// Makes a token.
    ///
    /// # Errors
    /// When its name cannot be used, or the database cannot keep it.
    pub fn make_token(&self, new: &NewToken) -> Result<MadeToken> {
        let name = new.name.trim();
        if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
            return Err(Failure::misused(
                "a token needs a name of 1 to 100 letters",
                "name it after the program that will use it",
            ));
        }
        if let Some(agent) = &new.agent {
            AgentName::parse(agent)
                .map_err(|error| Failure::misused(error, "name an agent of paddock.toml, for instance main"))?;
            if new.read_only {
                return Err(Failure::misused(
                    "a token of an agent cannot be read-only",
                    "what the agent may do stands in paddock.toml",
                ));
            }
        }
        if new.days == Some(0) {
            return Err(Failure::misused("a token cannot end after 0 days", "say 1 or more, or leave it out"));
        }
        let secret = format!("{TOKEN_PREFIX}{}", secret()?);
        let id = format!("tok_{}", &hash(&secret)[..12]);
        let expires = new.days.map(|days| later(Duration::from_secs(u64::from(days) * 24 * 3600)));
        self.write(|session| {
            session.execute(
                "INSERT INTO access_token (home, id, hash, name, agent, read_only, made_at, expires_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                &[
                    self.home(),
                    id.as_str().into(),
                    hash(&secret).into(),
                    name.into(),
                    new.agent.clone().into(),
                    new.read_only.into(),
                    now().into(),
                    expires.into(),
                ],
            )
        })?;
        let token = self.tokens()?.into_iter().find(|token| token.id == id);
        let token = token.ok_or_else(|| Failure::failed("the token was not kept", "try again"))?;
        self.record_of_token("token new", &token)?;
        Ok(MadeToken { token, secret })
    }

    /// The token of this secret, where it holds.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn token(&self, secret: &str) -> Result<Option<Token>> {
        if !secret.starts_with(TOKEN_PREFIX) {
            return Ok(None);
        }
        let hash = hash(secret);
        let rows = self.read(|session| {
            session.query(
                &format!(
                    "SELECT {COLUMNS} FROM access_token WHERE home = ?1 AND hash = ?2 AND revoked_at IS NULL \
                     AND (expires_at IS NULL OR expires_at > ?3)"
                ),
                &[self.home(), hash.as_str().into(), now().into()],
            )
        })?;
        let Some(row) = rows.first() else { return Ok(None) };
        if row[6].maybe_int().is_none_or(|seen| seen < now() - millis(SEEN_EVERY)) {
            self.seen("UPDATE access_token SET seen_at = ?3 WHERE home = ?1 AND hash = ?2", &hash)?;
        }
        Ok(Some(token(row)))
    }

    /// Every token, the newest first.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn tokens(&self) -> Result<Vec<Token>> {
        let rows = self.read(|session| {
            session.query(
                &format!("SELECT {COLUMNS} FROM access_token WHERE home = ?1 ORDER BY made_at DESC, id"),
                &[self.home()],
            )
        })?;
        Ok(rows.iter().map(token).collect())
    }

    /// Ends a token now.
    ///
    /// # Errors
    /// When there is none of this id that holds.
    pub fn revoke(&self, id: &str) -> Result<()> {
        let revoked = self.write(|session| {
            session.execute(
                "UPDATE access_token SET revoked_at = ?3 WHERE home = ?1 AND id = ?2 AND revoked_at IS NULL",
                &[self.home(), id.into(), now().into()],
            )
        })?;
        if revoked == 1 {
            let token = self.tokens()?.into_iter().find(|token| token.id == id);
            return token.map_or(Ok(()), |token| self.record_of_token("token revoke", &token));
        }
        Err(Failure::missing(
            format!("no token \"{}\" holds", paddock_core::visible(id)),
            "`paddock token list` shows those there are",
        ))
    }

    fn seen(&self, sql: &str, hash: &str) -> Result<()> {
        self.write(|session| session.execute(sql, &[self.home(), hash.into(), now().into()]))?;
        Ok(())
    }

    fn read<T>(&self, ask: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T> {
        self.storage.look(ask).map_err(past::database_problem)
    }

    fn write<T>(&self, change: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T> {
        self.storage.change(Instant::now() + PATIENCE, change).map_err(past::database_problem)
    }

    fn home(&self) -> Value {
        self.home.as_str().into()
    }
}

const COLUMNS: &str = "id, name, agent, read_only, made_at, expires_at, seen_at, revoked_at";

fn token(row: &Row) -> Token {
    let when = |value: &Value| value.maybe_int().map(|millis| moment::exact(moment::of_millis(millis)));
    Token {
        id: row[0].text().to_owned(),
        name: row[1].text().to_owned(),
        agent: row[2].maybe_text().map(str::to_owned),
        read_only: row[3].int() != 0,
        made: when(&row[4]).unwrap_or_default(),
        expires: when(&row[5]),
        last_used: when(&row[6]),
        revoked: when(&row[7]),
    }
}

/// 256 bits that nobody can guess, in letters that fit into a URL.
///
/// # Errors
/// When the host gives no randomness.
pub fn secret() -> Result<String> {
    let mut bytes = [0_u8; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            .map_err(std::io::Error::from)?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is kept of a secret.
pub(crate) fn hash(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

fn now() -> i64 {
    moment::millis(SystemTime::now())
}

fn later(duration: Duration) -> i64 {
    now() + millis(duration)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paddock_db::{Durability, Sqlite};

    fn access() -> (tempfile::TempDir, Access) {
        let place = tempfile::tempdir().unwrap();
        let database = Sqlite::new(place.path().join("state.db"), vec![TABLES.sqlite], Durability::Process);
        let acts = Acts { audit: Arc::new(paddock_core::NoAudit), by: "alice".to_owned() };
        (place, Access { storage: Arc::new(database), home: String::new(), acts })
    }

    #[test]
    fn a_link_opens_one_session() {
        let (_place, access) = access();
        let link = access.link().unwrap();
        let session = access.sign_in(&link, "a browser").unwrap().unwrap();
        assert_eq!(access.sign_in(&link, "another").unwrap(), None);
        assert!(access.has_session(&session).unwrap());
        assert!(!access.has_session(&link).unwrap());
        access.sign_out(&session).unwrap();
        assert!(!access.has_session(&session).unwrap());
    }

    #[test]
    fn a_token_holds_until_it_is_revoked() {
        let (_place, access) = access();
        let new = NewToken { name: "ci".into(), agent: None, read_only: true, days: Some(1) };
        let made = access.make_token(&new).unwrap();
        let found = access.token(&made.secret).unwrap().unwrap();
        assert_eq!((found.id.as_str(), found.read_only), (made.token.id.as_str(), true));
        assert_eq!(access.token("pdk_0").unwrap(), None);
        access.revoke(&made.token.id).unwrap();
        assert_eq!(access.token(&made.secret).unwrap(), None);
        assert!(access.revoke(&made.token.id).is_err());
        assert!(access.tokens().unwrap()[0].revoked.is_some());
    }

    /// Puts a moment of a row into the past.
    fn ago(access: &Access, table: &str, column: &str, millis: i64) {
        let sql = format!("UPDATE {table} SET {column} = ?1");
        access.write(|session| session.execute(&sql, &[(now() - millis).into()])).unwrap();
    }

    #[test]
    fn a_link_that_is_too_old_opens_nothing() {
        let (_place, access) = access();
        let link = access.link().unwrap();
        ago(&access, "access_link", "expires_at", 1);
        assert_eq!(access.sign_in(&link, "late").unwrap(), None);
        assert!(access.sign_in(&access.link().unwrap(), "in time").unwrap().is_some());
    }

    #[test]
    fn a_session_that_nobody_used_ends_and_one_in_use_goes_on() {
        let (_place, access) = access();
        let session = access.sign_in(&access.link().unwrap(), "b").unwrap().unwrap();
        let lasts = millis(SESSION_LASTS);
        ago(&access, "access_session", "seen_at", lasts - 60_000);
        assert!(access.has_session(&session).unwrap(), "it was used just in time");
        ago(&access, "access_session", "made_at", 2 * lasts);
        assert!(access.has_session(&session).unwrap(), "that use counts, not when it was made");
        ago(&access, "access_session", "seen_at", lasts + 1);
        assert!(!access.has_session(&session).unwrap());
    }

    #[test]
    fn a_token_ends_by_itself() {
        let (_place, access) = access();
        let new = NewToken { name: "ci".into(), agent: None, read_only: false, days: Some(1) };
        let secret = access.make_token(&new).unwrap().secret;
        assert!(access.token(&secret).unwrap().is_some());
        ago(&access, "access_token", "expires_at", 1);
        assert_eq!(access.token(&secret).unwrap(), None);
    }

    #[test]
    fn everybody_is_signed_out_at_once() {
        let (_place, access) = access();
        let sessions = [(); 2].map(|()| access.sign_in(&access.link().unwrap(), "b").unwrap().unwrap());
        assert_eq!(access.sign_everybody_out().unwrap(), 2);
        assert!(sessions.iter().all(|session| !access.has_session(session).unwrap()));
    }

    #[test]
    fn no_secret_is_kept() {
        let (place, access) = access();
        let link = access.link().unwrap();
        let session = access.sign_in(&link, "b").unwrap().unwrap();
        let new = NewToken { name: "ci".into(), agent: Some("main".into()), read_only: false, days: None };
        let token = access.make_token(&new).unwrap().secret;
        #[expect(clippy::disallowed_methods, reason = "looks at what the database wrote")]
        for file in std::fs::read_dir(place.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            for secret in [&link, &session, &token] {
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "a secret lies in the database");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let (_place, access) = access();
        let refused = |name: &str, agent: Option<&str>, read_only, days| {
            let new = NewToken { name: name.into(), agent: agent.map(str::to_owned), read_only, days };
            access.make_token(&new).is_err()
        };
        assert!(refused("", None, false, None));
        assert!(refused("x", Some("../y"), false, None));
        assert!(refused("x", Some("main"), true, None));
        assert!(refused("x", None, false, Some(0)));
    }
}
