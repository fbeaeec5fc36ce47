//! The url of a server, taken apart.
//!
//! Owns the parameters that are Paddock's own (`pool_size`, `pooler`, `schema`) or stricter than the driver's
//! (`sslmode`, `sslrootcert`). The password is in here and nowhere else: no message and no `Debug` may show it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};

use super::tls::Trust;
use crate::{DbError, Result};

const POOL_SIZE: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection whose other side is gone is noticed within about a minute.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;

/// What stands between this program and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooler {
    /// To be found out when connecting.
    Detect,
    /// Nothing: the session is ours.
    None,
    /// Something that gives a session for one transaction.
    Transaction,
}

/// Everything a url says.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) config: tokio_postgres::Config,
    pub(super) trust: Trust,
    pub(super) pooler: Pooler,
    pub(super) pool_size: usize,
    /// The PostgreSQL schema that holds the tables.
    pub(super) schema: String,
    /// For people; holds no password.
    pub(super) name: String,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The parameters that the driver does not know, or knows less strictly.
#[derive(Default)]
struct Own {
    pooler: Option<Pooler>,
    pool_size: Option<usize>,
    schema: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<PathBuf>,
}

impl Settings {
    /// Reads a url; reaches for nothing.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (start, query) = url.split_once('?').unwrap_or((url, ""));
        if !start.starts_with("postgres://") && !start.starts_with("postgresql://") {
            return Err(bad("it does not begin with postgres://"));
        }
        if query.contains('@') || start.contains('#') {
            return Err(bad("a user or a password holds a character that must be written as %XX"));
        }
        let mut own = Own::default();
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            if !own.take(pair)? {
                others.push(pair);
            }
        }
        let rest = if others.is_empty() { start.to_owned() } else { format!("{start}?{}", others.join("&")) };
        // The driver's own words may quote the url, so they are not passed on.
        let config = tokio_postgres::Config::from_str(&rest)
            .map_err(|_| bad("the driver cannot read it; a part or a parameter of it is misspelled"))?;
        own.complete(config)
    }
}

impl Own {
    /// Whether the parameter is one of these.
    fn take(&mut self, pair: &str) -> Result<bool> {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value)?;
        match key {
            "pool_size" => match value.parse() {
                Ok(size) if (1..=1000).contains(&size) => self.pool_size = Some(size),
                _ => return Err(bad("\"pool_size\" is a number from 1 to 1000")),
            },
            "pooler" => match value.as_str() {
                "transaction" => self.pooler = Some(Pooler::Transaction),
                "none" => self.pooler = Some(Pooler::None),
                "detect" => self.pooler = Some(Pooler::Detect),
                _ => return Err(bad("\"pooler\" is one of detect, none, transaction")),
            },
            "schema" if is_plain_name(&value) => self.schema = Some(value),
            "schema" => return Err(bad("\"schema\" is made of lower case letters, digits and _, at most 63")),
            "sslmode" => self.sslmode = Some(value),
            "sslrootcert" => self.sslrootcert = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn complete(self, mut config: tokio_postgres::Config) -> Result<Settings> {
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(bad("it names no host"));
        }
        let name = name_of(&config);
        let (mode, trust) = match (self.sslmode.as_deref().unwrap_or("prefer"), self.sslrootcert) {
            ("disable", _) => (SslMode::Disable, Trust::Anyone),
            ("prefer", _) => (SslMode::Prefer, Trust::Anyone),
            // As everywhere else with PostgreSQL: with a certificate at hand, it is also used.
            ("require", None) => (SslMode::Require, Trust::Anyone),
            ("require" | "verify-ca", Some(file)) => (SslMode::Require, Trust::Signed(Some(file))),
            ("verify-ca", None) => (SslMode::Require, Trust::Signed(None)),
            ("verify-full", file) => (SslMode::Require, Trust::SignedAndNamed(file)),
            _ => return Err(bad("\"sslmode\" is one of disable, prefer, require, verify-ca, verify-full")),
        };
        config.ssl_mode(mode);
        if config.get_application_name().is_none() {
            config.application_name("paddock");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives(true).keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_RETRIES);
        Ok(Settings {
            trust,
            config,
            pooler: self.pooler.unwrap_or(Pooler::Detect),
            pool_size: self.pool_size.unwrap_or(POOL_SIZE),
            schema: self.schema.unwrap_or_else(|| "paddock".to_owned()),
            name,
        })
    }
}

fn bad(why: &str) -> DbError {
    DbError::BadUrl { why: why.to_owned() }
}

/// A name that needs no quotes, so that none can be forgotten.
fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= 63 && name.chars().all(plain)
}

fn name_of(config: &tokio_postgres::Config) -> String {
    let host = match (config.get_hosts().first(), config.get_hostaddrs().first()) {
        (Some(Host::Tcp(host)), _) => host.clone(),
        (Some(Host::Unix(path)), _) => path.display().to_string(),
        (None, Some(address)) => address.to_string(),
        (None, None) => String::new(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("{host}:{port}/{database}")
}

fn decoded(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(code) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return Err(bad("a % is not followed by two hexadecimal digits"));
        };
        bytes.push(code);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| bad("a parameter is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Settings {
        Settings::parse(url).unwrap()
    }

    fn complaint(url: &str) -> String {
        Settings::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn a_short_url_gets_defaults() {
        let settings = parsed("postgres://me@db.example/work");
        assert_eq!(settings.pool_size, 8);
        assert_eq!(settings.pooler, Pooler::Detect);
        assert_eq!(settings.schema, "paddock");
        assert_eq!(settings.config.get_application_name(), Some("paddock"));
        assert_eq!(settings.name, "db.example:5432/work");
    }

    #[test]
    fn own_parameters_are_taken_and_others_reach_the_driver() {
        let settings = parsed(
            "postgres://me@db:6432/work?pool_size=3&pooler=transaction&connect_timeout=9&schema=other&application_name=x",
        );
        assert_eq!((settings.pool_size, settings.pooler), (3, Pooler::Transaction));
        assert_eq!(settings.config.get_connect_timeout(), Some(&Duration::from_secs(9)));
        assert_eq!(settings.config.get_application_name(), Some("x"));
        assert_eq!(settings.schema, "other");
    }

    #[test]
    fn a_path_of_a_socket_is_a_host() {
        assert_eq!(parsed("postgres://me@%2Frun%2Fpg/work").name, "/run/pg:5432/work");
        assert_eq!(parsed("postgres://me@/work?host=/run/pg").name, "/run/pg:5432/work");
    }

    #[test]
    fn what_is_wrong_is_told_and_never_the_password() {
        for (url, why) in [
            ("mysql://me:hunter2@db/work", "does not begin"),
            ("postgres://me:hunter2@db:port/work", "cannot read"),
            ("postgres://me:hunter2@db/work?pool_size=0", "pool_size"),
            ("postgres://me:hunter2@db/work?pooler=session", "pooler"),
            ("postgres://me:hunter2@db/work?schema=a-b", "schema"),
            ("postgres://me:hunter2@db/work?sslmode=maybe", "sslmode"),
            ("postgres://me:hunter2@db/work?colour=red", "misspelled"),
            ("postgres://me:hunter2@db/work?sslrootcert=%zz", "hexadecimal"),
            ("postgres://me:a?hunter2=1@db/work", "%XX"),
            ("postgres://me:hunter2#1@db/work", "%XX"),
            ("postgres:///work", "no host"),
        ] {
            let said = complaint(url);
            assert!(said.contains(why), "{url}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn debug_shows_no_password() {
        let shown = format!("{:?}", parsed("postgres://me:hunter2@db/work"));
        assert!(shown.contains("db:5432/work") && !shown.contains("hunter2"), "{shown}");
    }
}
