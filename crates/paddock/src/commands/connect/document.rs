//! A client's file as a document whose places can be looked at and changed, everything else staying as it was written.
//!
//! JSON as clients write it has comments and trailing commas; TOML has comments and an order. Both are changed in their
//! syntax trees (`json.rs`, `toml.rs`), so that what nobody touched keeps its bytes. It must never guess: a text that does
//! not parse is refused with its line, and so is a key that stands there twice.

use serde_json::Value;

use super::json::Json;
use super::toml::Toml;
use super::wish::At;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, with comments where the client takes them.
    Json,
    Toml,
}

/// Why a text is no document, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

/// A place that cannot be reached or changed, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InTheWay(pub(crate) String);

impl InTheWay {
    /// Something else stands where a table or a list is needed.
    pub(crate) fn at(at: &[String], needed: &str) -> Self {
        Self(format!("\"{}\" is there and is no {needed}", at.join(".")))
    }

    /// One key has two values, and which of them the client takes is its own business.
    pub(crate) fn twice(at: &[String]) -> Self {
        Self(format!("\"{}\" is there twice", at.join(".")))
    }
}

/// What can be done with a document. What is made on the way to a place is answered, so that it can be taken back.
pub(crate) trait Document {
    /// The text as it is now.
    fn text(&self) -> String;
    /// What stands at a place.
    fn get(&self, at: &[String]) -> Result<Option<Value>, InTheWay>;
    /// Puts a value, in place of what is there.
    fn put(&mut self, at: &[String], value: &Value) -> Result<Vec<At>, InTheWay>;
    /// Adds an item to the end of a list.
    fn add(&mut self, at: &[String], item: &Value) -> Result<Vec<At>, InTheWay>;
    /// Removes what stands at a place.
    fn remove(&mut self, at: &[String]);
    /// Removes one item of a list.
    fn take(&mut self, at: &[String], item: &Value);
    /// Is there a table or a list with nothing in it, not even a comment?
    fn is_hollow(&self, at: &[String]) -> bool;
    /// Is nothing left, not even a comment?
    fn is_empty(&self) -> bool;
}

/// Reads a text; an empty one is an empty document.
pub(crate) fn parse(format: Format, text: &str) -> Result<Box<dyn Document>, Broken> {
    Ok(match format {
        Format::Json => Box::new(Json::parse(text)?),
        Format::Toml => Box::new(Toml::parse(text)?),
    })
}
