//! Where a service is: an address that a key may be sent to.
//!
//! Over plain HTTP anybody on the way reads the key and the conversation, so it is taken for this machine alone, unless a person says otherwise.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

/// The address of a service, without a `/` at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

/// Why an address is none for a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It is no address of the web.
    #[error("the base_url \"{0}\" is no address of a service")]
    NoAddress(String),
    /// A name or a password stands in it. They are not repeated here.
    #[error("the base_url of \"{0}\" has a user or a password in it")]
    HasUser(String),
    /// It would go over the network in the clear.
    #[error("the base_url \"{0}\" is plain HTTP to another machine")]
    Plain(String),
}

impl BadUrl {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoAddress(_) => "write it like https://host.example/v1, without a query",
            Self::HasUser(_) => "keep the key as a secret, and name it as the model's key",
            Self::Plain(_) => "use https://, or an address of this machine such as http://127.0.0.1:11434/v1",
        }
    }
}

impl BaseUrl {
    /// Reads an address. `plain_http` is a person's word that the network is trusted with key and conversation.
    ///
    /// # Errors
    /// When it is none that a key may be sent to.
    pub fn parse(text: &str, plain_http: bool) -> Result<Self, BadUrl> {
        let no_address = || BadUrl::NoAddress(shown(text));
        let uri: Uri = text.trim().parse().map_err(|_| no_address())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(no_address()) };
        if authority.as_str().contains('@') {
            return Err(BadUrl::HasUser(authority.host().to_owned()));
        }
        if uri.query().is_some() || text.contains('#') || authority.host().is_empty() {
            return Err(no_address());
        }
        match scheme {
            "https" => {}
            "http" if plain_http || is_this_machine(authority.host()) => {}
            "http" => return Err(BadUrl::Plain(text.to_owned())),
            _ => return Err(no_address()),
        }
        Ok(Self(format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/'))))
    }

    /// The address with a path of the protocol after it; a `/v1` that both have stands once.
    pub(super) fn with(&self, path: &str) -> String {
        let base = if path.starts_with("/v1/") { self.0.trim_end_matches("/v1") } else { &self.0 };
        format!("{base}{path}")
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What can be repeated of a text that may hold a password.
fn shown(text: &str) -> String {
    text.rsplit_once('@').map_or(text, |(_, after)| after).split(['?', '#']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_a_key_may_be_sent_to() {
        for good in ["https://a.example/v1/", "http://127.0.0.1:11434/v1", "http://localhost:1", "http://[::1]:8000/v1"]
        {
            let url = BaseUrl::parse(good, false).unwrap();
            assert_eq!(url.to_string(), good.trim_end_matches('/'));
        }
        let plain = [
            "http://a.example/v1",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example",
            "http://10.0.0.1",
        ];
        for plain in plain {
            assert_eq!(BaseUrl::parse(plain, false), Err(BadUrl::Plain(plain.to_owned())));
            assert!(BaseUrl::parse(plain, true).is_ok());
        }
        for bad in ["", "a.example", "ftp://a.example", "https://", "https://a.example/?key=x", "file:///etc/passwd"] {
            assert!(matches!(BaseUrl::parse(bad, true), Err(BadUrl::NoAddress(_))), "{bad}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for text in ["https://me:hunter2@a.example/v1", "https://me:hunter2@a example", "https://a.example/?k=hunter2"]
        {
            let error = BaseUrl::parse(text, true).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn a_version_that_both_name_stands_once() {
        let of = |base: &str, path| BaseUrl::parse(base, false).unwrap().with(path);
        assert_eq!(of("https://a.example/v1", "/v1/messages"), "https://a.example/v1/messages");
        assert_eq!(of("https://a.example", "/v1/messages"), "https://a.example/v1/messages");
        assert_eq!(of("https://a.example/v1", "/chat/completions"), "https://a.example/v1/chat/completions");
    }
}
