//! Shares: links under which a project can be looked at without signing in, until they end.
//!
//! A share's id has 128 bits that nobody can guess: whoever has it may look, so it is the capability, and the first name of the host that the project is
//! published under. Of a password only what argon2id made of it is kept. Who has come in holds a mark that only this share could have made; making
//! one counts as a use, in the statement that looks whether any is left, so that of many at once no more come in than may.
//! What is shown is decided at every request by the policy that holds then: see [`find`].

mod password;
mod published;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use paddock_config::Tables;
use paddock_core::{AgentName, LogicalPath};
use paddock_db::statements::{Row, Session, Storage, Value};
use paddock_db::{DbError, Migration, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acts::{Act, Acts};
use crate::at_once::at_once;
use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::{access, moment, past};

pub use published::{Published, Sought, find, noteworthy};

/// How long the database is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a share lasts where nobody says.
pub const USUAL_DAYS: u32 = 7;
/// How long one may last.
const MOST_DAYS: u32 = 365;
const DAY: i64 = 24 * 3600 * 1000;
/// How exactly the last use is known.
const SEEN_EVERY: i64 = 60 * 1000;
/// Digits of an id.
const ID: usize = 32;
/// Shares of one page where nobody says, and the most.
const USUAL: usize = 100;
const MOST: usize = 1000;

macro_rules! tables {
    ($text:literal, $int:literal) => {
        concat!(
            "CREATE TABLE published_share (home ",
            $text,
            " NOT NULL, id ",
            $text,
            " NOT NULL, name ",
            $text,
            " NOT NULL, agent ",
            $text,
            " NOT NULL, workspace ",
            $text,
            " NOT NULL, path ",
            $text,
            " NOT NULL, mark ",
            $text,
            " NOT NULL, password ",
            $text,
            ", made_at ",
            $int,
            " NOT NULL, expires_at ",
            $int,
            " NOT NULL, max_uses ",
            $int,
            ", uses ",
            $int,
            " NOT NULL, seen_at ",
            $int,
            ", revoked_at ",
            $int,
            ", PRIMARY KEY (home, id));\n",
        )
    };
}

/// The tables of this module.
pub const TABLES: Tables = Tables {
    sqlite: Schema { owner: "shares", migrations: &[Migration { version: 1, sql: tables!("TEXT", "INTEGER") }] },
    postgres: Schema {
        owner: "shares",
        migrations: &[Migration { version: 1, sql: tables!("TEXT COLLATE \"C\"", "BIGINT") }],
    },
};

/// Under which address published projects are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    scheme: &'static str,
    host: String,
}

impl Base {
    /// Of a server that is reached under this name, with its port. A number is no name that others can stand before: this
    /// machine is `localhost` then, and what is elsewhere is reached with TLS.
    #[must_use]
    pub fn of_host(host: &str) -> Self {
        let (name, port) = host.rsplit_once(':').filter(|(name, _)| !name.ends_with(':')).unwrap_or((host, ""));
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_here = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok();
        let host = match (is_here, port) {
            (false, _) => host.to_owned(),
            (true, "") => "localhost".to_owned(),
            (true, port) => format!("localhost:{port}"),
        };
        Self { scheme: if is_here { "http" } else { "https" }, host }
    }

    /// Of a console's address, such as `http://127.0.0.1:7433`.
    #[must_use]
    pub fn of_url(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let base = Self::of_host(rest.split('/').next().unwrap_or(rest));
        match scheme {
            "http" => Self { scheme: "http", ..base },
            "https" => Self { scheme: "https", ..base },
            _ => base,
        }
    }

    fn link(&self, id: &str) -> String {
        format!("{}://{id}.{}/", self.scheme, self.host)
    }
}

/// A share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Share {
    /// Its id: whoever knows it may look.
    pub id: String,
    /// What the person called it; the project's name where they did not.
    pub name: String,
    /// Whose Workspace the project is in.
    pub agent: String,
    /// The project.
    pub path: String,
    /// Where it is published while `paddock serve` runs.
    pub link: String,
    /// `open`, `expired`, `used_up` or `revoked`.
    pub state: &'static str,
    /// When it was made.
    pub made: String,
    /// When it ends by itself.
    pub expires: String,
    /// Is a password asked for?
    pub password: bool,
    /// How many visitors may come; nothing: any number.
    pub max_uses: Option<u64>,
    /// How many have come.
    pub uses: u64,
    /// When somebody last looked, to the minute.
    pub last_used: Option<String>,
    /// When it was revoked.
    pub revoked: Option<String>,
}

/// A share that is to be made.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewShare {
    /// The agent; `main` where none is named.
    #[serde(default)]
    pub agent: Option<String>,
    /// The project.
    pub path: String,
    /// What to call it.
    #[serde(default)]
    pub name: Option<String>,
    /// After how many days it ends; 7 where nothing is said.
    #[serde(default)]
    pub days: Option<u32>,
    /// Visitors are asked for it.
    #[serde(default)]
    pub password: Option<String>,
    /// How many visitors may come.
    #[serde(default)]
    pub max_uses: Option<u32>,
}

impl std::fmt::Debug for NewShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the password.
        f.debug_struct("NewShare").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a visitor meets.
#[derive(Debug)]
pub enum Door {
    /// There is no such share.
    Unknown,
    /// It has ended, or nobody may come any more.
    Gone,
    /// It asks for a password.
    Asks,
    /// It is open. A mark for a visitor who is new, to be brought along from now on.
    Open(Box<Opened>, Option<String>),
}

/// A share that lets somebody in.
#[derive(Debug)]
pub struct Opened {
    agent: String,
    workspace: String,
    path: String,
    /// For how many seconds it lasts.
    pub lasts: u64,
}

/// The shares of one installation.
#[derive(Clone)]
pub struct Shares {
    storage: Arc<dyn Storage>,
    home: String,
    acts: Acts,
}

impl std::fmt::Debug for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shares").field("home", &self.home).finish_non_exhaustive()
    }
}

/// Does it look like the id of a share?
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == ID && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

impl Shares {
    /// Of a desk; what is done with them is the act of who sits at it.
    ///
    /// # Errors
    /// When its installation keeps nothing.
    pub fn of(desk: &Desk) -> Result<Self> {
        let (storage, home) = crate::project::state_of(desk.installation())?;
        Ok(Self { storage, home, acts: desk.acts() })
    }

    /// The same shares with somebody else at them.
    #[must_use]
    pub fn acting_as(&self, by: &str) -> Self {
        Self { acts: self.acts.of(by), ..self.clone() }
    }

    fn record(&self, command: &str, share: &Row) -> Result<()> {
        let agent = AgentName::parse(share[2].text()).unwrap_or_else(|_| AgentName::main());
        let workspace = LogicalPath::parse(share[3].text(), &LogicalPath::top()).ok();
        let done = Act::done(&agent, command, share[4].text());
        self.acts.record(&Act { workspace: workspace.as_ref(), ..done })
    }

    /// Publishes a project.
    ///
    /// # Errors
    /// When it is no directory that its Workspace shows, or what is asked makes no sense.
    pub fn make(&self, desk: &Desk, new: &NewShare, base: &Base) -> Result<Share> {
        let days = new.days.unwrap_or(USUAL_DAYS);
        if days == 0 || days > MOST_DAYS {
            return Err(Failure::misused(
                format!("a share cannot last {days} days"),
                format!("say 1 to {MOST_DAYS}; it can be made again"),
            ));
        }
        if new.max_uses == Some(0) {
            return Err(Failure::misused("a share for 0 visitors is none", "say 1 or more, or leave it out"));
        }
        let (agent, workspace, path) = published::publishable(desk, new.agent.as_deref(), &new.path)?;
        let called = new.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let name = called.unwrap_or_else(|| path.name().unwrap_or("/")).to_owned();
        if name.chars().count() > 100 || name.chars().any(char::is_control) {
            return Err(Failure::misused("a share's name has at most 100 letters", "choose a shorter one"));
        }
        let password = new.password.as_deref().map(password::kept).transpose()?;
        let id = access::secret()?[..ID].to_owned();
        let made = now();
        let values = [
            self.home(),
            id.as_str().into(),
            name.into(),
            agent.as_str().into(),
            workspace.as_str().into(),
            path.as_str().into(),
            access::secret()?.into(),
            password.into(),
            made.into(),
            (made + i64::from(days) * DAY).into(),
            new.max_uses.map(i64::from).into(),
        ];
        self.write(|session| {
            session.execute(
                "INSERT INTO published_share (home, id, name, agent, workspace, path, mark, password, made_at, expires_at, max_uses, uses) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0)",
                &values,
            )
        })?;
        let kept = self.row(&id)?.ok_or_else(|| Failure::failed("the share was not kept", "try again"))?;
        self.record("publish", &kept)?;
        Ok(share(&kept, base))
    }

    /// A page of the shares, the newest first, behind the one with the id `after`; at most 1000.
    ///
    /// # Errors
    /// When the database cannot be asked, or there is no share `after`.
    pub fn list(&self, base: &Base, after: Option<&str>, limit: Option<usize>) -> Result<Vec<Share>> {
        let limit = i64::try_from(at_once(limit, USUAL, MOST)?).unwrap_or(1);
        let behind = after.map(|id| self.row(id)?.ok_or_else(|| no_such(id))).transpose()?;
        let rows = self.read(|session| match &behind {
            None => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM published_share WHERE home = ?1 ORDER BY made_at DESC, id LIMIT ?2"
                );
                session.query(&sql, &[self.home(), limit.into()])
            }
            Some(row) => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM published_share WHERE home = ?1 AND (made_at < ?3 OR (made_at = ?3 AND id > ?4)) \
                     ORDER BY made_at DESC, id LIMIT ?2"
                );
                session.query(&sql, &[self.home(), limit.into(), row[MADE].int().into(), row[0].text().into()])
            }
        })?;
        Ok(rows.iter().map(|row| share(row, base)).collect())
    }

    /// All of them, the newest first.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn all(&self, base: &Base) -> Result<Vec<Share>> {
        let mut found: Vec<Share> = Vec::new();
        loop {
            let page = self.list(base, found.last().map(|last| last.id.as_str()), Some(MOST))?;
            let is_last = page.len() < MOST;
            found.extend(page);
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Ends a share now, by its id or a beginning of it that no other has.
    ///
    /// # Errors
    /// When none that is open has this id.
    pub fn revoke(&self, id: &str) -> Result<()> {
        let wanted = id.to_ascii_lowercase();
        let missing = || {
            Failure::missing(
                format!("no share \"{}\" is there to be revoked", paddock_core::visible(id)),
                "`paddock share list` shows those there are",
            )
        };
        if wanted.len() < 8 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(missing());
        }
        let revoked = self.write(|session| {
            let among = session.query(
                "SELECT id FROM published_share WHERE home = ?1 AND revoked_at IS NULL AND id LIKE ?2",
                &[self.home(), format!("{wanted}%").into()],
            )?;
            let [only] = among.as_slice() else { return Ok(None) };
            let ended = session.execute(
                "UPDATE published_share SET revoked_at = ?3 WHERE home = ?1 AND id = ?2 AND revoked_at IS NULL",
                &[self.home(), only[0].text().into(), now().into()],
            )?;
            Ok((ended == 1).then(|| only[0].text().to_owned()))
        })?;
        let row = self.row(&revoked.ok_or_else(missing)?)?;
        row.map_or(Ok(()), |share| self.record("share revoke", &share))
    }

    /// Somebody comes to a share, perhaps with the mark of an earlier visit.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn knock(&self, id: &str, mark: Option<&str>) -> Result<Door> {
        let Some(row) = self.row(id)? else { return Ok(Door::Unknown) };
        if state(&row, now()) == "revoked" || state(&row, now()) == "expired" {
            return Ok(Door::Gone);
        }
        if mark.is_some_and(|mark| is_mark_of(&row, mark)) {
            self.seen(&row)?;
            return Ok(Door::Open(Box::new(opened(&row)), None));
        }
        match () {
            () if state(&row, now()) != "open" => Ok(Door::Gone),
            () if row[PASSWORD].maybe_text().is_some() => Ok(Door::Asks),
            () => self.begin(&row),
        }
    }

    /// Does a share ask for a password? Counts nothing.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn asks(&self, id: &str) -> Result<Door> {
        let Some(row) = self.row(id)? else { return Ok(Door::Unknown) };
        match () {
            () if state(&row, now()) != "open" => Ok(Door::Gone),
            () if row[PASSWORD].maybe_text().is_some() => Ok(Door::Asks),
            () => Ok(Door::Open(Box::new(opened(&row)), None)),
        }
    }

    /// Somebody says the password of a share.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn enter(&self, id: &str, password: &str) -> Result<Door> {
        let Some(row) = self.row(id)? else { return Ok(Door::Unknown) };
        if state(&row, now()) != "open" {
            return Ok(Door::Gone);
        }
        match row[PASSWORD].maybe_text() {
            Some(kept) if !password::is(password, kept) => Ok(Door::Asks),
            _ => self.begin(&row),
        }
    }

    /// A new visit: counted in the statement that looks whether one is left.
    fn begin(&self, row: &Row) -> Result<Door> {
        let id = row[0].text();
        let counted = self.write(|session| {
            session.execute(
                "UPDATE published_share SET uses = uses + 1, seen_at = ?3 WHERE home = ?1 AND id = ?2 AND revoked_at IS NULL \
                 AND expires_at > ?3 AND (max_uses IS NULL OR uses < max_uses)",
                &[self.home(), id.into(), now().into()],
            )
        })?;
        if counted == 0 {
            return Ok(Door::Gone);
        }
        let visit = access::secret()?;
        let mark = format!("{visit}.{}", sealed(row, &visit));
        Ok(Door::Open(Box::new(opened(row)), Some(mark)))
    }

    fn seen(&self, row: &Row) -> Result<()> {
        if row[SEEN].maybe_int().is_some_and(|seen| seen > now() - SEEN_EVERY) {
            return Ok(());
        }
        let id = row[0].text();
        self.write(|session| {
            session.execute(
                "UPDATE published_share SET seen_at = ?3 WHERE home = ?1 AND id = ?2",
                &[self.home(), id.into(), now().into()],
            )
        })?;
        Ok(())
    }

    fn row(&self, id: &str) -> Result<Option<Row>> {
        if !is_id(id) {
            return Ok(None);
        }
        let rows = self.read(|session| {
            let sql = format!("SELECT {COLUMNS} FROM published_share WHERE home = ?1 AND id = ?2");
            session.query(&sql, &[self.home(), id.into()])
        })?;
        Ok(rows.into_iter().next())
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

const COLUMNS: &str =
    "id, name, agent, workspace, path, mark, password, made_at, expires_at, max_uses, uses, seen_at, revoked_at";
const MADE: usize = 7;
const MARK: usize = 5;
const PASSWORD: usize = 6;
const EXPIRES: usize = 8;
const SEEN: usize = 11;

fn share(row: &Row, base: &Base) -> Share {
    let when = |value: &Value| value.maybe_int().map(|millis| moment::exact(moment::of_millis(millis)));
    let count = |value: &Value| value.maybe_int().map(|count| u64::try_from(count).unwrap_or(0));
    Share {
        id: row[0].text().to_owned(),
        name: row[1].text().to_owned(),
        agent: row[2].text().to_owned(),
        path: row[4].text().to_owned(),
        link: base.link(row[0].text()),
        state: state(row, now()),
        made: when(&row[MADE]).unwrap_or_default(),
        expires: when(&row[EXPIRES]).unwrap_or_default(),
        password: row[PASSWORD].maybe_text().is_some(),
        max_uses: count(&row[9]),
        uses: count(&row[10]).unwrap_or(0),
        last_used: when(&row[SEEN]),
        revoked: when(&row[12]),
    }
}

fn no_such(id: &str) -> Failure {
    let text = format!("there is no share \"{}\"", paddock_core::visible(id));
    Failure::missing(text, "`paddock share list` shows those there are")
}

fn state(row: &Row, now: i64) -> &'static str {
    match () {
        () if row[12].maybe_int().is_some() => "revoked",
        () if row[EXPIRES].int() <= now => "expired",
        () if row[9].maybe_int().is_some_and(|most| row[10].int() >= most) => "used_up",
        () => "open",
    }
}

fn opened(row: &Row) -> Opened {
    Opened {
        agent: row[2].text().to_owned(),
        workspace: row[3].text().to_owned(),
        path: row[4].text().to_owned(),
        lasts: u64::try_from((row[EXPIRES].int() - now()) / 1000).unwrap_or(0),
    }
}

/// What only this share can say of a visit.
fn sealed(row: &Row, visit: &str) -> String {
    let key = blake3::derive_key("paddock 2026-11-15 mark of a visit to a share", row[MARK].text().as_bytes());
    blake3::keyed_hash(&key, visit.as_bytes()).to_hex().to_string()
}

fn is_mark_of(row: &Row, mark: &str) -> bool {
    let Some((visit, seal)) = mark.split_once('.') else { return false };
    let Ok(seal) = blake3::Hash::from_hex(seal) else { return false };
    // Compared in constant time.
    blake3::Hash::from_hex(sealed(row, visit)).is_ok_and(|own| own == seal)
}

fn now() -> i64 {
    moment::millis(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paddock_db::{Durability, Sqlite};

    fn shares() -> (tempfile::TempDir, Shares) {
        let place = tempfile::tempdir().unwrap();
        let database = Sqlite::new(place.path().join("state.db"), vec![TABLES.sqlite], Durability::Process);
        let acts = Acts { audit: Arc::new(paddock_core::NoAudit), by: "alice".to_owned() };
        (place, Shares { storage: Arc::new(database), home: String::new(), acts })
    }

    fn planted(shares: &Shares, id: &str, password: Option<&str>, expires: i64, most: Option<i64>) {
        let kept = password.map(|password| password::kept(password).unwrap());
        let values = [id.into(), kept.into(), expires.into(), most.into(), id.into()];
        let sql = "INSERT INTO published_share (home, id, name, agent, workspace, path, mark, password, made_at, expires_at, max_uses, uses) \
                   VALUES ('', ?1, 'n', 'main', '/w', '/w/p', ?5, ?2, 0, ?3, ?4, 0)";
        shares.write(|session| session.execute(sql, &values)).unwrap();
    }

    /// In the year 2096.
    const FAR: i64 = 4_000_000_000_000;
    const A: &str = "0123456789abcdef0123456789abcdef";
    const B: &str = "f123456789abcdef0123456789abcdef";

    fn came_in(door: Door) -> String {
        match door {
            Door::Open(_, Some(mark)) => mark,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_visit_is_counted_once_and_its_mark_opens_this_share_alone() {
        let (_place, shares) = shares();
        planted(&shares, A, None, FAR, Some(1));
        planted(&shares, B, Some("a long password"), FAR, None);
        let mark = came_in(shares.knock(A, None).unwrap());
        assert!(matches!(shares.knock(A, Some(&mark)).unwrap(), Door::Open(_, None)));
        assert!(matches!(shares.knock(A, None).unwrap(), Door::Gone), "one visitor may come");
        assert!(matches!(shares.knock(A, Some("x.y")).unwrap(), Door::Gone), "a mark of nobody's");
        assert!(matches!(shares.knock(B, Some(&mark)).unwrap(), Door::Asks), "another share's mark");
        assert_eq!(shares.all(&Base::of_host("localhost")).unwrap().iter().map(|it| it.uses).sum::<u64>(), 1);
    }

    #[test]
    fn whoever_looked_before_the_last_place_was_taken_comes_too_late() {
        let (_place, shares) = shares();
        planted(&shares, A, None, FAR, Some(1));
        let seen = shares.row(A).unwrap().unwrap();
        came_in(shares.begin(&seen).unwrap());
        assert!(matches!(shares.begin(&seen).unwrap(), Door::Gone));
    }

    #[test]
    fn a_password_lets_in_and_nothing_else() {
        let (_place, shares) = shares();
        planted(&shares, A, Some("a long password"), FAR, None);
        assert!(matches!(shares.knock(A, None).unwrap(), Door::Asks));
        assert!(matches!(shares.enter(A, "a long passwort").unwrap(), Door::Asks));
        let mark = came_in(shares.enter(A, "a long password").unwrap());
        assert!(matches!(shares.knock(A, Some(&mark)).unwrap(), Door::Open(_, None)));
    }

    #[test]
    fn what_ended_is_gone_for_everybody() {
        let (_place, shares) = shares();
        planted(&shares, A, None, 1, None);
        planted(&shares, B, None, FAR, None);
        assert!(matches!(shares.knock(A, None).unwrap(), Door::Gone));
        let mark = came_in(shares.knock(B, None).unwrap());
        shares.revoke(&B[..8]).unwrap();
        assert!(matches!(shares.knock(B, Some(&mark)).unwrap(), Door::Gone));
        assert!(shares.revoke(B).is_err());
        assert!(shares.revoke("%").is_err());
        assert!(matches!(shares.knock("0", None).unwrap(), Door::Unknown));
    }

    #[test]
    fn pages_of_shares_follow_one_another_without_loss() {
        let (_place, shares) = shares();
        let base = Base::of_host("localhost");
        // All made in one moment, so that only their ids tell them apart.
        (0..7).for_each(|n| planted(&shares, &format!("{n:032x}"), None, FAR, None));
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = shares.list(&base, after.as_deref(), Some(3)).unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            seen.extend(page);
        }
        assert_eq!(seen, shares.all(&base).unwrap());
        assert_eq!(seen.len(), 7);
        assert!(shares.list(&base, Some(A), None).is_err());
    }

    #[test]
    fn links_stand_under_names() {
        let link = |host: &str| Base::of_host(host).link("x");
        assert_eq!(link("127.0.0.1:7433"), "http://x.localhost:7433/");
        assert_eq!(link("[::1]:7433"), "http://x.localhost:7433/");
        assert_eq!(link("localhost"), "http://x.localhost/");
        assert_eq!(link("example.com"), "https://x.example.com/");
        assert_eq!(Base::of_url("http://example.com:81/").link("x"), "http://x.example.com:81/");
    }
}
