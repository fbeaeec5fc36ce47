//! Hosts that commands may reach: one entry of the list, and whether it lets a host and port through.
//!
//! A host has one spelling here: lower case, no dot at the end, and an address is an address whichever way it is
//! written. What the C library would read as an address though it does not look like one (`127.1`, `0x7f000001`) is
//! no host at all, so a name that is listed is always a name. Nothing here asks anybody for the address of a name.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The ports of an entry that names none: those of `http` and `https`.
const USUAL_PORTS: [u16; 2] = [80, 443];
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host, in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// By name.
    Name(String),
    /// By address.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as a request or a person writes it: a name, an IPv4 address, an IPv6 address with or without `[]`.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(address) = bare {
            return address.parse().map(|address: Ipv6Addr| Self::of(address.into())).map_err(|_| BadHost::Address);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::of(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        check_name(&name)?;
        Ok(Self::Name(name))
    }

    /// An IPv4 address in the form of IPv6 is that IPv4 address.
    fn of(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

fn check_name(name: &str) -> Result<(), BadHost> {
    if name.is_empty() {
        return Err(BadHost::Empty);
    }
    if !name.is_ascii() {
        return Err(BadHost::NotAscii);
    }
    let fits = |label: &str| !label.is_empty() && label.len() <= LONGEST_LABEL;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.len() > LONGEST_NAME || !name.split('.').all(|label| fits(label) && label.chars().all(plain)) {
        return Err(BadHost::Name);
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|c| c.is_ascii_digit()) || last.starts_with("0x");
    if is_number { Err(BadHost::Address) } else { Ok(()) }
}

/// Why a text is not a host that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    /// Nothing is there.
    #[error("it is empty")]
    Empty,
    /// Letters that names on the network do not have.
    #[error("a name on the network has ASCII letters only")]
    NotAscii,
    /// Other characters, or too long.
    #[error("it is not the name of a host")]
    Name,
    /// Looks like an address and is none.
    #[error("it is not an address as they are written in full")]
    Address,
    /// Not a port.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// A star that would stand for too much.
    #[error("a star stands only at the front, for all names below one of at least two parts")]
    Star,
    /// More than a host.
    #[error("it is more than a host and a port")]
    NotOnlyAHost,
}

/// One entry of the list of hosts that a command may reach: `name`, `*.name`, `address`, each with or without `:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    host: Host,
    /// Are the names below it meant, and not it itself?
    below: bool,
    port: Option<u16>,
}

impl AllowedHost {
    /// Reads an entry.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        if text.contains(['/', '@', '?', '#']) {
            return Err(BadHost::NotOnlyAHost);
        }
        let (host, port) = split_port(text)?;
        let Some(name) = host.strip_prefix('*') else {
            return Ok(Self { host: Host::parse(host)?, below: false, port });
        };
        match name.strip_prefix('.').map(Host::parse) {
            Some(Ok(Host::Name(name))) if name.contains('.') => Ok(Self { host: Host::Name(name), below: true, port }),
            _ => Err(BadHost::Star),
        }
    }

    /// Does it let this host and port through?
    pub fn admits(&self, host: &Host, port: u16) -> bool {
        let same = match (&self.host, host) {
            (Host::Name(end), Host::Name(name)) if self.below => {
                name.strip_suffix(end.as_str()).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
            }
            (listed, asked) => listed == asked,
        };
        same && self.port.map_or_else(|| USUAL_PORTS.contains(&port), |only| only == port)
    }

    /// Is this machine meant by it?
    pub fn is_this_machine(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        }
    }

    /// The entry that would let a host and port through, as it is written.
    pub fn for_it(host: &Host, port: u16) -> Self {
        Self { host: host.clone(), below: false, port: (!USUAL_PORTS.contains(&port)).then_some(port) }
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.below { "*." } else { "" };
        write!(f, "{star}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// A text such as `host:80`, `[::1]:80` or `host`, in its two parts.
///
/// # Errors
/// When what stands behind the last `:` is not a port.
pub fn split_port(text: &str) -> Result<(&str, Option<u16>), BadHost> {
    // An IPv6 address without brackets has its own colons and no port.
    let in_brackets = text.starts_with('[');
    if !in_brackets && text.matches(':').count() > 1 {
        return Ok((text, None));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !in_brackets || host.ends_with(']') => {
            let digits = !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit());
            let port = port.parse().ok().filter(|port| digits && *port > 0).ok_or(BadHost::Port)?;
            Ok((host, Some(port)))
        }
        _ => Ok((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(entry: &str, host: &str, port: u16) -> bool {
        AllowedHost::parse(entry).unwrap().admits(&Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_name_admits_itself_at_the_usual_ports() {
        for (host, port, expected) in [
            ("example.com", 443, true),
            ("example.com", 80, true),
            ("EXAMPLE.com.", 443, true),
            ("example.com", 8080, false),
            ("a.example.com", 443, false),
            ("notexample.com", 443, false),
            ("example.com.evil.net", 443, false),
        ] {
            assert_eq!(admits("Example.com", host, port), expected, "{host}:{port}");
        }
        assert!(admits("example.com:8080", "example.com", 8080) && !admits("example.com:8080", "example.com", 443));
    }

    #[test]
    fn a_star_admits_what_is_below_and_not_the_name_itself() {
        for (host, expected) in [
            ("a.example.com", true),
            ("a.b.example.com", true),
            ("example.com", false),
            ("aexample.com", false),
            ("a.example.com.evil.net", false),
        ] {
            assert_eq!(admits("*.example.com", host, 443), expected, "{host}");
        }
    }

    #[test]
    fn an_address_is_one_whichever_way_it_is_written() {
        assert!(admits("[::1]:80", "0:0:0:0:0:0:0:1", 80));
        assert!(admits("127.0.0.1", "[::ffff:127.0.0.1]", 80));
        assert!(!admits("127.0.0.1", "localhost", 80) && !admits("localhost", "127.0.0.1", 80));
        for odd in ["127.1", "2130706433", "0x7f.0.0.1", "0x7f000001", "127.0.0.0x1", "1.2.3.4.5", "[127.0.0.1]"] {
            assert_eq!(Host::parse(odd), Err(BadHost::Address), "{odd}");
        }
    }

    #[test]
    fn what_is_no_entry_says_why() {
        for (text, why) in [
            ("", BadHost::Empty),
            ("*", BadHost::Star),
            ("*.com", BadHost::Star),
            ("*.10.0.0.1", BadHost::Star),
            ("a.*.com", BadHost::Name),
            ("https://example.com", BadHost::NotOnlyAHost),
            ("user@example.com", BadHost::NotOnlyAHost),
            ("exa mple.com", BadHost::Name),
            ("a..b", BadHost::Name),
            ("bücher.example", BadHost::NotAscii),
            ("example.com:0", BadHost::Port),
            ("example.com:+80", BadHost::Port),
            ("example.com:65536", BadHost::Port),
            ("example.com:", BadHost::Port),
        ] {
            assert_eq!(AllowedHost::parse(text), Err(why), "{text}");
        }
    }

    #[test]
    fn the_entry_that_would_help_admits_what_was_asked() {
        for (host, port, written) in
            [("a.b", 443, "a.b"), ("a.b", 81, "a.b:81"), ("::1", 81, "[::1]:81"), ("10.0.0.1", 80, "10.0.0.1")]
        {
            let host = Host::parse(host).unwrap();
            let entry = AllowedHost::for_it(&host, port);
            assert_eq!(entry.to_string(), written);
            assert!(AllowedHost::parse(written).unwrap().admits(&host, port), "{written}");
        }
    }
}
