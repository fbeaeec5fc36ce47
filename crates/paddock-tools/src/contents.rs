//! What a call finds at a path, and what it would leave there: for whoever is asked about it, and for how much it takes away.
//!
//! What was there is read as the person in charge may read it, so hidden names stay hidden.

use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use paddock_core::{Alter, Call, Effect, Holding, LogicalPath, Operation, Outcome, Refused, edit};
use serde_json::{Map, Value};

use crate::arguments::EditFile;
use crate::person::Person;

/// The contents that a call is about.
pub(crate) struct Contents<'a> {
    person: Person<'a>,
    /// The call that looks; nothing where a person does.
    call: Option<&'a Call<'a>>,
    tool: &'static str,
    given: &'a Map<String, Value>,
    /// What a command made of each path; nothing where none did anything yet.
    made: Option<HashMap<&'a LogicalPath, Vec<&'a Alter>>>,
    /// The largest that anybody looks at, in bytes. What is larger comes with one byte more than that.
    most: usize,
}

impl<'a> Contents<'a> {
    /// Those of a call with these arguments, and of what a command changed already.
    pub(crate) fn of(
        person: Person<'a>,
        tool: &'static str,
        given: &'a Map<String, Value>,
        holding: Option<Holding<'a>>,
        most: usize,
    ) -> Self {
        let made = holding.map(|holding| {
            let mut made: HashMap<&LogicalPath, Vec<&Alter>> = HashMap::new();
            for alteration in holding.alterations {
                made.entry(&alteration.path).or_default().push(&alteration.how);
            }
            made
        });
        Self { person, call: None, tool, given, made, most }
    }

    /// The same, looked at within a call.
    pub(crate) fn within(self, call: &'a Call<'a>) -> Self {
        Self { call: Some(call), ..self }
    }

    /// Whether there is anything to read, without reading any of it.
    pub(crate) fn look(&self, effect: &Effect) -> Result<(), Refused> {
        self.read(effect, 0..0).map(drop)
    }

    /// What is there now.
    pub(crate) fn before(&self, effect: &Effect) -> Result<Vec<u8>, Refused> {
        self.read(effect, 0..self.most as u64 + 1)
    }

    /// A part of what is there now.
    pub(crate) fn part(&self, effect: &Effect, range: Range<u64>) -> Result<Vec<u8>, Refused> {
        self.read(effect, range)
    }

    fn read(&self, effect: &Effect, range: Range<u64>) -> Result<Vec<u8>, Refused> {
        let read = Operation::Read { path: effect.path.clone(), range };
        let found = match self.call {
            Some(call) => self.person.look_within(call, read),
            None => self.person.look(read),
        };
        match found? {
            Outcome::Read { bytes, .. } => Ok(bytes),
            _ => Err(Refused::Misuse { path: effect.path.clone(), why: "it is nothing that can be read" }),
        }
    }

    /// What would be there, from the arguments of the call or from what a command left.
    pub(crate) fn after(&self, effect: &Effect, old: &[u8]) -> Option<Vec<u8>> {
        if self.made.is_some() {
            return part_of(self.altered(effect)?, 0..self.most as u64 + 1);
        }
        let content = self.given.get("content").and_then(Value::as_str);
        match self.tool {
            "write_file" => content.map(|text| text.as_bytes().to_vec()),
            "append_file" => content.map(|text| [old, text.as_bytes()].concat()),
            "edit_file" => {
                let args: EditFile = serde_json::from_value(Value::Object(self.given.clone())).ok()?;
                edit(old, &args.replacements().ok()?).ok().map(|(new, _)| new)
            }
            _ => None,
        }
    }

    /// How long that would be, without looking at it; nothing where that is not known.
    pub(crate) fn len_after(&self, effect: &Effect) -> Option<u64> {
        match self.altered(effect) {
            Some(made) => Some(made.bytes() as u64),
            None => self.written().map(|text| text.len() as u64),
        }
    }

    /// A part of what would be there, however large it is as a whole; nothing where [`Self::len_after`] knows nothing.
    pub(crate) fn part_after(&self, effect: &Effect, range: Range<u64>) -> Option<Vec<u8>> {
        match self.altered(effect) {
            Some(how) => part_of(how, range),
            None => self.written().map(|text| within(text.as_bytes(), range)),
        }
    }

    /// What a file is written anew with.
    fn written(&self) -> Option<&'a str> {
        self.given.get("content").and_then(Value::as_str).filter(|_| self.tool == "write_file")
    }

    /// What a command made of a path, with what is in it.
    pub(crate) fn altered(&self, effect: &Effect) -> Option<&'a Alter> {
        self.made_of(effect, brings_content)
    }

    pub(crate) fn made_of(&self, effect: &Effect, is_meant: impl Fn(&Alter) -> bool) -> Option<&'a Alter> {
        self.made.as_ref()?.get(&effect.path)?.iter().copied().find(|how| is_meant(how))
    }
}

/// A part of what a change of a command brings in.
fn part_of(how: &Alter, range: Range<u64>) -> Option<Vec<u8>> {
    match how {
        Alter::Write { content, .. } => Some(within(content, range)),
        Alter::Take(staged) => {
            let len = staged.len().min(range.end).saturating_sub(range.start);
            let mut content = vec![0; usize::try_from(len).ok()?];
            staged.file().read_exact_at(&mut content, range.start).ok()?;
            Some(content)
        }
        // A link is in its place.
        Alter::Link { .. } => Some(Vec::new()),
        _ => None,
    }
}

fn within(content: &[u8], range: Range<u64>) -> Vec<u8> {
    let clip = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
    content[clip(range.start)..clip(range.end)].to_vec()
}

pub(crate) fn brings_content(how: &Alter) -> bool {
    matches!(how, Alter::Write { .. } | Alter::Take(_) | Alter::Link { .. })
}
