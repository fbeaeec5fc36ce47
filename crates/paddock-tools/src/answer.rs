//! What a tool call answers: pieces to read, facts for programs, and a verdict.
//!
//! Text stands in [`Answer::content`] once; [`Answer::structured`] holds facts about it (version,
//! counts, the next cursor) and never the text again.

use serde_json::{Map, Value};

/// The answer to one tool call. There is always one.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What the agent reads.
    pub content: Vec<Piece>,
    /// Facts for programs: version, counts, cursors.
    pub structured: Map<String, Value>,
    /// What became of the call.
    pub verdict: Verdict,
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// An image, as it is in the file.
    Image {
        /// Its media type.
        mime: &'static str,
        /// Its bytes.
        data: Vec<u8>,
    },
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was done.
    Done,
    /// The policy does not allow it.
    Denied,
    /// It was allowed and could not be done.
    Failed,
    /// The tool does not exist, or the arguments are not its own.
    Invalid,
    /// A person has to decide first; this names what they decide.
    Parked(String),
}

impl Verdict {
    /// Is it anything but done?
    pub fn is_error(&self) -> bool {
        *self != Self::Done
    }

    /// The word for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::Parked(_) => "parked",
        }
    }
}

impl Answer {
    /// An answer to a call that was done.
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self::of(Verdict::Done, text)
    }

    /// An answer with one piece of text.
    pub(crate) fn of(verdict: Verdict, text: impl Into<String>) -> Self {
        Self { content: Vec::new(), structured: Map::new(), verdict }.and(Piece::Text(text.into()))
    }

    /// With a further fact.
    #[must_use]
    pub(crate) fn with(mut self, fact: &str, value: impl Into<Value>) -> Self {
        self.structured.insert(fact.to_owned(), value.into());
        self
    }

    /// With something that is told before everything else.
    #[must_use]
    pub(crate) fn told_first(mut self, text: &str) -> Self {
        self.content.insert(0, Piece::Text(text.to_owned()));
        self
    }

    /// With a further piece, so that what Paddock says does not mix with what a file holds. An empty text is no piece: there are
    /// models that refuse one.
    #[must_use]
    pub(crate) fn and(mut self, piece: Piece) -> Self {
        if piece != Piece::Text(String::new()) {
            self.content.push(piece);
        }
        self
    }

    /// Is it anything but done?
    pub fn is_error(&self) -> bool {
        self.verdict.is_error()
    }

    /// All text of it, a line break between the pieces.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
