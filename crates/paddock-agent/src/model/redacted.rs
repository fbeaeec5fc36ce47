//! A model whose answers hold no value of a secret: what it says is kept, shown and acted on.
//!
//! The one way in which a run asks its model, so nothing of an answer gets past it.

use std::sync::Arc;

use paddock_state::Redactor;
use serde_json::Value;

use super::{Model, ModelAnswer, ModelError, Question};

/// Another model, with secrets taken out of what it says.
pub(crate) struct RedactedModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) redactor: Redactor,
}

impl Model for RedactedModel {
    fn name(&self) -> String {
        self.model.name()
    }

    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        if self.redactor.is_empty() {
            return self.model.ask(question, heard);
        }
        // A value may come in two pieces: where there are secrets, words are heard when all of them are there.
        let mut answer = self.model.ask(question, &mut |_| {})?;
        self.redactor.text_in_place(&mut answer.content);
        for call in &mut answer.tool_calls {
            self.redactor.text_in_place(&mut call.name);
            let mut arguments = Value::Object(std::mem::take(&mut call.arguments));
            self.redactor.json(&mut arguments);
            if let Value::Object(arguments) = arguments {
                call.arguments = arguments;
            }
        }
        heard(&answer.content);
        Ok(answer)
    }
}
