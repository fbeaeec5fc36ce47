//! An answer that is being put together from its pieces.
//!
//! It becomes an answer only when it is whole: the service said that it ends, and every call has a name and an object of arguments.

use paddock_core::CallId;
use serde_json::{Map, Value};

use crate::model::{ModelAnswer, ModelError, ToolCall, Usage};

/// Stands at the end of words that a service cut off.
const CUT: &str = "\n\n(the answer was cut off here: it reached the longest one that the model gives)";
/// A service that counts no tokens has them guessed: bytes for each.
const BYTES_PER_TOKEN: u64 = 4;

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model) enum Finish {
    /// It is whole.
    Whole,
    /// It reached the longest there is.
    Cut,
    /// The service keeps it back.
    Withheld(String),
}

/// A call that is being put together.
#[derive(Debug, Clone, Default)]
struct DraftCall {
    key: u64,
    id: String,
    name: String,
    arguments: String,
}

/// What has come of an answer.
#[derive(Debug, Default)]
pub(in crate::model) struct Draft {
    pub(in crate::model) content: String,
    calls: Vec<DraftCall>,
    pub(in crate::model) usage: Option<Usage>,
    pub(in crate::model) finish: Option<Finish>,
    /// The service said that nothing more comes.
    pub(in crate::model) over: bool,
}

/// A call whose arguments are none: the model can be told.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::model) struct BadCall {
    pub(in crate::model) name: String,
    pub(in crate::model) why: String,
    /// The words beside it.
    pub(in crate::model) content: String,
    pub(in crate::model) usage: Usage,
}

impl BadCall {
    pub(in crate::model) fn error(&self) -> ModelError {
        ModelError::Malformed(format!("it called \"{}\" with arguments that {}", self.name, self.why))
    }
}

impl Draft {
    /// A piece of the call with this key.
    pub(in crate::model) fn call(&mut self, key: u64, id: Option<&str>, name: Option<&str>, arguments: &str) {
        let at = self.calls.iter().position(|call| call.key == key).unwrap_or_else(|| {
            self.calls.push(DraftCall { key, ..DraftCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        // Some services repeat both in every piece.
        for (known, said) in [(&mut call.id, id), (&mut call.name, name)] {
            if let Some(said) = said.filter(|_| known.is_empty()) {
                said.clone_into(known);
            }
        }
        call.arguments.push_str(arguments);
    }

    /// The key of the call that pieces without one belong to: the last, or a new one where this piece begins one.
    pub(in crate::model) fn key_without_index(&self, id: Option<&str>) -> u64 {
        let last = self.calls.last();
        let begins = id.is_some_and(|id| last.is_none_or(|call| call.id != id));
        last.map_or(0, |call| call.key + u64::from(begins))
    }

    /// Is all of it there?
    pub(in crate::model) fn is_whole(&self) -> bool {
        self.over || self.finish.is_some()
    }

    /// The answer; else what is wrong with one of its calls. `asked` is the size of the question.
    pub(in crate::model) fn answer(self, asked: usize) -> Result<Result<ModelAnswer, BadCall>, ModelError> {
        if let Some(Finish::Withheld(why)) = self.finish {
            return Err(ModelError::Refused {
                status: 200,
                message: format!("the service keeps the answer back ({why})"),
            });
        }
        let usage = self.usage.unwrap_or_else(|| self.guess(asked));
        let Self { mut content, calls, finish, .. } = self;
        let cut = finish == Some(Finish::Cut);
        let mut tool_calls = Vec::new();
        for call in calls {
            match whole(&call, cut) {
                Ok(whole) => tool_calls.push(whole),
                Err(why) => return Ok(Err(BadCall { name: call.name, why, content, usage })),
            }
        }
        if cut {
            content.push_str(CUT);
        }
        Ok(Ok(ModelAnswer { content, tool_calls, usage, cost: None }))
    }

    fn guess(&self, asked: usize) -> Usage {
        let said =
            self.content.len() + self.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
        let tokens = |bytes: usize| (bytes as u64).div_ceil(BYTES_PER_TOKEN);
        Usage { input_tokens: tokens(asked), output_tokens: tokens(said), ..Usage::default() }
    }
}

fn whole(call: &DraftCall, cut: bool) -> Result<ToolCall, String> {
    let arguments = arguments(&call.arguments)
        .map_err(|why| if cut { "were cut off at the longest answer that the model gives".to_owned() } else { why })?;
    if call.name.is_empty() {
        return Err("belong to no tool: the call has no name".to_owned());
    }
    let id = if call.id.is_empty() { format!("call-{}", CallId::next()) } else { call.id.clone() };
    Ok(ToolCall { id, name: call.name.clone(), arguments })
}

fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("are not a JSON object".to_owned()),
        Err(error) => Err(format!("are not JSON ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_arguments(pieces: &[&str], finish: Finish) -> Result<ModelAnswer, BadCall> {
        let mut draft = Draft { finish: Some(finish), ..Draft::default() };
        pieces.iter().for_each(|piece| draft.call(0, Some("id"), Some("t"), piece));
        draft.answer(400).unwrap()
    }

    #[test]
    fn arguments_are_an_object_or_the_call_is_named() {
        let answer = with_arguments(&["{\"a\"", ":1}"], Finish::Whole).unwrap();
        assert_eq!(answer.tool_calls[0].arguments["a"], 1);
        assert!(with_arguments(&[""], Finish::Whole).unwrap().tool_calls[0].arguments.is_empty());
        for (bad, why) in [("[1]", "not a JSON object"), ("{\"a\":", "not JSON"), ("null", "not a JSON object")] {
            let bad = with_arguments(&[bad], Finish::Whole).unwrap_err();
            assert!(bad.name == "t" && bad.why.contains(why), "{bad:?}");
        }
        assert!(with_arguments(&["{\"a\":"], Finish::Cut).unwrap_err().why.contains("cut off"));
    }

    #[test]
    fn what_is_cut_off_or_kept_back_is_told_and_tokens_are_guessed() {
        let draft = Draft { content: "words".into(), finish: Some(Finish::Cut), ..Draft::default() };
        let answer = draft.answer(400).unwrap().unwrap();
        assert!(answer.content.starts_with("words") && answer.content.contains("cut off here"));
        assert_eq!(answer.usage, Usage { input_tokens: 100, output_tokens: 2, ..Usage::default() });
        let kept = Draft { finish: Some(Finish::Withheld("filter".into())), ..Draft::default() };
        assert!(matches!(kept.answer(0), Err(ModelError::Refused { status: 200, .. })));
    }

    #[test]
    fn a_call_without_an_id_gets_one_and_pieces_without_an_index_find_their_call() {
        let mut draft = Draft::default();
        for (id, piece) in [(Some("x"), "{\"n\":"), (None, "1}"), (Some("y"), "{\"n\":2}")] {
            draft.call(draft.key_without_index(id), id, Some("t"), piece);
        }
        draft.call(9, None, Some("t"), "");
        let calls = draft.answer(0).unwrap().unwrap().tool_calls;
        assert_eq!((&calls[0].arguments["n"], &calls[1].arguments["n"]), (&1.into(), &2.into()));
        assert!(calls[2].id.starts_with("call-"));
    }
}
