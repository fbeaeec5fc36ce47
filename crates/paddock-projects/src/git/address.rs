//! Where a repository is: read once, strictly, so that no text becomes an option or a helper of git's.

use std::path::{Path, PathBuf};

use paddock_core::visible;

use crate::error::{ProjectError, Result};
use crate::host;

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// `https://…`, or `http://…` on this machine.
    Web {
        /// As it is given to git.
        url: String,
        /// Scheme, host and port: what opens one host opens no other.
        origin: String,
    },
    /// `ssh://…`, `HOST:PATH` or `git://…`.
    Other { url: String, protocol: &'static str },
    /// A repository or a bundle on this machine.
    Local(PathBuf),
}

/// Why an address is refused.
const NO_HOST: &str = "it has no host that can be reached";
const OPENS: &str = "a word that opens it stands in it; put that into a secret";
const LIKE_OPTION: &str = "its path begins like an option";

/// What stands before the path: read so narrowly that no other program can find another host in it.
struct Authority<'a> {
    /// The host, with its brackets and its port, where it has them.
    place: &'a str,
    /// The host alone, without brackets.
    host: &'a str,
}

impl<'a> Authority<'a> {
    /// `USER@HOST:PORT`, of which only the host has to be there.
    fn parse(text: &'a str) -> Result<Self, &'static str> {
        let place = match text.split_once('@') {
            Some((user, _)) if user.contains(':') => return Err(OPENS),
            Some((user, place)) if is_user(user) => place,
            Some(_) => return Err("its user name holds a character that is not used"),
            None => text,
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => rest.split_once(']').filter(|(host, _)| is_numbered(host)).ok_or(NO_HOST)?,
            None => {
                let (host, port) = place.split_at(place.find(':').unwrap_or(place.len()));
                if !is_host(host) {
                    return Err(NO_HOST);
                }
                (host, port)
            }
        };
        if port.is_empty() || port.strip_prefix(':').is_some_and(is_port) {
            Ok(Self { place, host })
        } else {
            Err("its port is no number of a port")
        }
    }

    /// Is it this machine?
    fn is_here(&self) -> bool {
        self.host == "localhost" || self.host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

fn is_user(user: &str) -> bool {
    !user.is_empty() && !user.starts_with('-') && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && !host.starts_with('-') && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
}

/// What stands in brackets: a number of the sixth version.
fn is_numbered(host: &str) -> bool {
    host.bytes().all(|b| b.is_ascii_hexdigit() || b == b':') && host.parse::<std::net::Ipv6Addr>().is_ok()
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

impl Address {
    /// Reads an address as a person writes it.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let refuse = |why| Err(ProjectError::BadAddress { address: without_words(text), why });
        if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace() && c != ' ') {
            return refuse("it is empty or holds a character that no address has");
        }
        if text.contains("::") && text.find("::") < text.find('/').or(Some(usize::MAX)) {
            return refuse("it names a program that git would run");
        }
        let Some((scheme, rest)) = text.split_once("://") else { return Self::without_scheme(text) };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if scheme == "file" {
            return if authority.is_empty() {
                Self::local(&format!("/{path}"), text)
            } else {
                refuse("a file is on this machine")
            };
        }
        let authority = match Authority::parse(authority) {
            Ok(_) if text.contains([' ', '\\']) => return refuse("it holds a character that no address has"),
            Ok(_) if path.starts_with('-') => return refuse(LIKE_OPTION),
            Ok(authority) => authority,
            Err(why) => return refuse(why),
        };
        let (url, place) = (text.to_owned(), authority.place);
        match scheme {
            "https" => Ok(Self::Web { url, origin: format!("https://{place}") }),
            "http" if authority.is_here() => Ok(Self::Web { url, origin: format!("http://{place}") }),
            "http" => refuse("http is used only on this machine; write https"),
            "ssh" | "git+ssh" | "ssh+git" => Ok(Self::Other { url, protocol: "ssh" }),
            "git" => Ok(Self::Other { url, protocol: "git" }),
            _ => refuse("only https, ssh, git and file are used"),
        }
    }

    /// `HOST:PATH`, as ssh writes it, or a path.
    fn without_scheme(text: &str) -> Result<Self> {
        let colon = text.find(':').filter(|colon| text.find('/').is_none_or(|slash| *colon < slash));
        let refuse = |why| Err(ProjectError::BadAddress { address: without_words(text), why });
        let Some(colon) = colon else {
            return if text.starts_with('-') { refuse(LIKE_OPTION) } else { Self::local(text, text) };
        };
        let path = &text[colon + 1..];
        match Authority::parse(&text[..colon]) {
            Ok(_) if path.starts_with('-') => refuse(LIKE_OPTION),
            Ok(_) if path.is_empty() => refuse("it names no repository of its host"),
            Ok(_) => Ok(Self::Other { url: text.to_owned(), protocol: "ssh" }),
            Err(why) => refuse(why),
        }
    }

    fn local(path: &str, text: &str) -> Result<Self> {
        let refuse = |_| ProjectError::NothingThere { path: visible(text) };
        host::absolute(Path::new(path)).map(Self::Local).map_err(refuse)
    }

    /// As git takes it, after `--`.
    pub(crate) fn argument(&self) -> std::ffi::OsString {
        match self {
            Self::Web { url, .. } | Self::Other { url, .. } => url.into(),
            Self::Local(path) => path.into(),
        }
    }

    /// The only protocol that git may use for it.
    pub(crate) fn protocol(&self) -> &'static str {
        match self {
            Self::Web { origin, .. } if origin.starts_with("http:") => "http",
            Self::Web { .. } => "https",
            Self::Other { protocol, .. } => protocol,
            Self::Local(_) => "file",
        }
    }

    /// For messages.
    pub(crate) fn shown(&self) -> String {
        without_words(&self.argument().to_string_lossy())
    }
}

/// An address without what stands before its host.
fn without_words(text: &str) -> String {
    let shown = match text.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) =
                rest.split_once('/').map_or((rest, None), |(authority, path)| (authority, Some(path)));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let path = path.map(|path| format!("/{path}")).unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => text.to_owned(),
    };
    visible(&shown)
}

#[cfg(test)]
mod tests {
    use proptest::sample::select;

    use super::*;

    #[test]
    fn what_starts_a_program_or_is_an_option_is_no_address() {
        for bad in [
            "",
            "ext::sh -c evil",
            "ext::evil/x",
            "fd::17/foo",
            "--upload-pack=evil",
            "-x:y",
            "ssh://-oProxyCommand=evil/x",
            "host:-x",
            "https://-x/y",
            "https:///x",
            "http://example.com/x",
            "ftp://example.com/x",
            "https://user:word@example.com/x",
            "file://elsewhere/x",
            "https://exa mple.com/x",
            "https://example.com/\n",
            "/not/there",
            "user@-oX:y",
            "http://localhost?x@localhost:80.helper=!id;/x",
            "https://example.com?x@localhost/y",
            "https://example.com#x@localhost/y",
            "https://example.com?x",
            "https://example.com\\@localhost/x",
            "https://a@b@example.com/x",
            "https://@example.com/x",
            "https://a%40b@example.com/x",
            "https://example.com=x/y",
            "https://example.com%2f/y",
            "https://exam\"ple.com/y",
            "https://exämple.com/y",
            "https://example.com:/x",
            "https://example.com:80a/x",
            "https://example.com:+80/x",
            "https://example.com:99999/x",
            "https://[::1/x",
            "https://[::1]x/y",
            "https://[]/y",
            "https://[fe80::1%25eth0]/y",
            "ssh://[-oProxyCommand=evil]/x",
            "[-oProxyCommand=evil]:x",
            "[host:22]:x",
            "ssh://git@example.com/-x",
            "git@example.com:",
            "a@b@example.com:x",
            "git@exa=mple.com:x",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad:?}");
        }
    }

    /// Another reading of what stands before the path, by the whole text instead of by its parts: as RFC 3986 ends an authority.
    fn read_strictly(text: &str) -> Option<String> {
        let (scheme, rest) = text.split_once("://")?;
        let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
        let place = &authority[authority.rfind('@').map_or(0, |at| at + 1)..];
        Some(format!("{scheme}://{place}"))
    }

    const WORDS: &[&str] = &["localhost", "127.0.0.1", "[::1]", "a.b", "80", "helper", "-o", ""];
    const BETWEEN: &[&str] = &["@", "@", "?", "#", "/", ":", ":80", ".", "=", "\\", "%", ";", "!", " ", "'", ""];

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 4096, ..Default::default() })]

        /// Words with what could part them between, so that many are nearly addresses.
        #[test]
        fn what_is_accepted_has_one_origin_whoever_reads_it(
            scheme in select(vec!["http", "https", "ssh", "git"]),
            parts in proptest::collection::vec((select(WORDS.to_vec()), select(BETWEEN.to_vec())), 1..5),
        ) {
            let parts: String = parts.into_iter().flat_map(|(word, between)| [word, between]).collect();
            let text = format!("{scheme}://{parts}");
            let Ok(address) = Address::parse(&text) else { return Ok(()) };
            let strict = read_strictly(&text).unwrap();
            if let Address::Web { origin, url } = &address {
                proptest::prop_assert_eq!(origin, &strict);
                proptest::prop_assert_eq!(url, &text);
            }
            let place = strict.split_once("://").unwrap().1;
            proptest::prop_assert!(place.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b)), "{}", text);
            proptest::prop_assert!(!place.starts_with(['-', ':']) && !place.ends_with(':'), "{}", text);
        }
    }

    #[test]
    fn no_option_begins_a_place() {
        for bad in ["-oProxyCommand=evil", "ssh://-x@example.com/x"] {
            assert!(Address::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_message_holds_a_word_that_opens_a_remote() {
        let error = Address::parse("https://me:sesame@example.com/x").unwrap_err().to_string();
        assert!(error.contains("https://example.com/x") && !error.contains("sesame"), "{error}");
    }

    #[test]
    fn what_people_write_is_read() {
        let protocol = |text: &str| Address::parse(text).unwrap().protocol();
        assert_eq!(protocol("https://github.com/a/b.git"), "https");
        assert_eq!(protocol("http://127.0.0.1:8080/x"), "http");
        assert_eq!(protocol("http://[::1]:8080/x"), "http");
        assert_eq!(protocol("git@github.com:a/b.git"), "ssh");
        assert_eq!(protocol("ssh://git@example.com:22/a"), "ssh");
        assert_eq!(protocol("git://example.com/a"), "git");
        assert_eq!(protocol("/"), "file");
        assert_eq!(protocol("file:///"), "file");
        let Address::Web { origin, .. } = Address::parse("https://me@example.com:8443/a").unwrap() else { panic!() };
        assert_eq!(origin, "https://example.com:8443");
    }
}
