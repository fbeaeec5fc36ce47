//! The conditions of a request, as its headers say them: entity tags are versions.

use axum::http::{HeaderMap, HeaderName, header};
use paddock_core::Version;
use paddock_desk::{Failure, Result};

/// What must be there for a change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    /// Anything, or nothing.
    None,
    /// Nothing.
    Absent,
    /// Something.
    Present,
    /// One of these versions. One that is none of ours is never there.
    OneOf(Vec<Version>),
}

impl Condition {
    /// Of a change.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self> {
        let (same, other) = (list(headers, &header::IF_MATCH), list(headers, &header::IF_NONE_MATCH));
        match (same, other) {
            (None, None) => Ok(Self::None),
            (None, Some(tags)) if tags == ["*"] => Ok(Self::Absent),
            (Some(tags), None) if tags == ["*"] => Ok(Self::Present),
            (Some(tags), None) => Ok(Self::OneOf(tags.iter().filter_map(|tag| strong(tag)).collect())),
            _ => {
                let text = "a change takes If-Match, or If-None-Match: *, and not both";
                Err(Failure::misused(text, "leave one of them out"))
            }
        }
    }
}

/// A version as an entity tag.
pub(super) fn tag(version: &str) -> String {
    format!("\"{version}\"")
}

/// Has whoever asks this version already?
pub(super) fn is_known(headers: &HeaderMap, version: &str) -> bool {
    let tags = list(headers, &header::IF_NONE_MATCH).unwrap_or_default();
    tags.iter().any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag(version))
}

/// Does whoever asks want another version only?
pub(super) fn is_unwanted(headers: &HeaderMap, version: &str) -> bool {
    list(headers, &header::IF_MATCH)
        .is_some_and(|tags| !tags.iter().any(|known| known == "*" || *known == tag(version)))
}

/// May a part be sent, for what the others are that whoever asks has?
pub(super) fn range_holds(headers: &HeaderMap, version: &str) -> bool {
    // A date as a condition is never exact enough.
    headers.get(header::IF_RANGE).is_none_or(|given| given.to_str().is_ok_and(|given| given == tag(version)))
}

fn strong(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('"')?.strip_suffix('"')?)
}

fn list(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let mut given = headers.get_all(name).iter().peekable();
    given.peek()?;
    // What cannot be read is a tag that nothing has.
    let texts = given.map(|value| value.to_str().unwrap_or("?").to_owned()).collect::<Vec<_>>();
    Some(texts.iter().flat_map(|text| text.split(',')).map(|tag| tag.trim().to_owned()).collect())
}
