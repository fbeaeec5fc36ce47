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
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        if scheme == "file" {
            return if authority.is_empty() {
                Self::local(&format!("/{path}"), text)
            } else {
                refuse("a file is on this machine")
            };
        }
        if host.is_empty()
            || host.starts_with('-')
            || user.is_some_and(|user| user.starts_with('-'))
            || text.contains(' ')
        {
            return refuse("it has no host that can be reached");
        }
        if user.is_some_and(|user| user.contains(':')) {
            return refuse("a word that opens it stands in it; put that into a secret");
        }
        let url = text.to_owned();
        match scheme {
            "https" => Ok(Self::Web { url, origin: format!("https://{host}") }),
            "http" if is_here(host) => Ok(Self::Web { url, origin: format!("http://{host}") }),
            "http" => refuse("http is used only on this machine; write https"),
            "ssh" | "git+ssh" | "ssh+git" => Ok(Self::Other { url, protocol: "ssh" }),
            "git" => Ok(Self::Other { url, protocol: "git" }),
            _ => refuse("only https, ssh, git and file are used"),
        }
    }

    /// `HOST:PATH`, as ssh writes it, or a path.
    fn without_scheme(text: &str) -> Result<Self> {
        let colon = text.find(':').filter(|colon| text.find('/').is_none_or(|slash| *colon < slash));
        let Some(colon) = colon else { return Self::local(text, text) };
        let host = text[..colon].rsplit('@').next().unwrap_or_default();
        if host.is_empty() || host.starts_with('-') || text.starts_with('-') || text[colon + 1..].starts_with('-') {
            let why = "it has no host that can be reached";
            return Err(ProjectError::BadAddress { address: without_words(text), why });
        }
        Ok(Self::Other { url: text.to_owned(), protocol: "ssh" })
    }

    fn local(path: &str, text: &str) -> Result<Self> {
        let refuse = |_| ProjectError::BadAddress { address: without_words(text), why: "nothing is there" };
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

/// Is a host, perhaps with a port, this machine?
fn is_here(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
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
        ] {
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
