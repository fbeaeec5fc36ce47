//! The arguments that a person puts in the place of the agent's: as options, or in an editor.

use paddock_core::visible;
use paddock_desk::approvals::ApprovalShown;
use serde_json::{Map, Value};

use crate::cli::ApprovalEdit;
use crate::failure::Failure;
use crate::host;

pub(super) fn edited(approval: &ApprovalShown, options: &ApprovalEdit) -> anyhow::Result<Map<String, Value>> {
    if let Some(text) = &options.arguments {
        return object(text);
    }
    if !approval.arguments_whole {
        return Err(Failure::misused(
            "these arguments hold secrets, which are not kept",
            "write all of them with --arguments",
        ));
    }
    let mut arguments = object(&approval.arguments.to_string())?;
    if options.set.is_empty() {
        let text = format!("{:#}\n", Value::Object(arguments));
        let text = host::edited_text(&text).map_err(|error| {
            let hint = "set $EDITOR, or use --arguments or --set";
            Failure::failed(format!("the arguments could not be edited: {error}"), hint)
        })?;
        return object(&text);
    }
    for pair in &options.set {
        let Some((name, value)) = pair.split_once('=') else {
            let message = format!("\"{}\" is not KEY=VALUE", visible(pair));
            return Err(Failure::misused(message, "write --set path=workspace/old.txt"));
        };
        // What is a text stays one, also where it looks like something else.
        let text = || Value::String(value.to_owned());
        let value = match arguments.get(name) {
            Some(Value::String(_)) => text(),
            _ => serde_json::from_str(value).unwrap_or_else(|_| text()),
        };
        arguments.insert(name.to_owned(), value);
    }
    Ok(arguments)
}

fn object(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::misused("the arguments are not a JSON object", "write {\"path\": …}")),
        Err(error) => Err(Failure::misused(format!("the arguments are not JSON: {error}"), "write {\"path\": …}")),
    }
}
