//! What a command changed and a person agreed to later: made as it was kept, without running the command again.
//!
//! It is the agent's change: judged under the policy of the day, recorded and undoable as if the command had ended now. Where
//! something else has changed meanwhile nothing of it is made, it is let go of, and whoever asked is told.

use paddock_core::{Effect, Held, Holding, Operation, Ran, Risk};
use serde_json::{Value, json};

use super::{listed, messages};
use crate::answer::{Answer, Piece, Verdict};
use crate::boundary::Context;
use crate::failure::Failure;
use crate::output::Shown;

/// What is kept of the command's own answer.
pub(super) fn kept_answer(ran: &Ran, shown: &Shown, noted: &str) -> String {
    json!({ "text": shown.text, "exit_code": ran.exit, "ended_by": ran.ended_by, "noted": noted }).to_string()
}

/// Makes it.
pub(crate) fn make(cx: &Context<'_>, held: Held) -> Result<Answer, Failure> {
    // Where this process dies half-way, the next one takes back what it made.
    let commands = cx.policy().commands.as_ref();
    cx.is_under_way(commands.and_then(|commands| commands.runner.making(cx.call().id)));
    let Held { id, of, path, alterations, told, by, token } = held;
    cx.brings(token);
    cx.notes_as_before(serde_json::from_str::<Value>(&told).unwrap_or_default()["noted"].as_str().unwrap_or_default());
    let holding = Holding { alterations: &alterations, told: &told, of: Some(&of) };
    let mut effects: Vec<Effect> = Vec::new();
    let operation = Operation::Commit { path, alterations: alterations.clone() };
    let done = cx.perform_holding(operation, Some(holding), |plan| {
        effects = plan.effects().to_vec();
        Ok(Risk::High.into())
    });
    match done {
        Ok(_) => Ok(made(&id, &told, &by).and(Piece::Text(listed("Changed", &effects))).with("paths", effects.len())),
        // Somebody else makes it, or has made it.
        Err(failure @ Failure::Refused(_)) if failure.reason() == "token_used" => Err(failure),
        Err(Failure::Refused(refused)) => {
            let reason = messages::reason_of_command(&cx.policy().vfs, &refused);
            let left = cx.take_back().is_err();
            cx.policy().vfs.gate().let_go(&id, &cx.redactor().text(reason_only(&reason)));
            Ok(not_made(&id, &reason, left))
        }
        Err(failure) => Err(failure),
    }
}

/// The answer of a command whose change was held, once it is made.
pub(crate) fn made(id: &str, told: &str, by: &str) -> Answer {
    let told: Value = serde_json::from_str(told).unwrap_or_default();
    let exit = told["exit_code"].as_i64().unwrap_or_default();
    let by = if by.is_empty() { "a person" } else { by };
    let verdict = if exit == 0 && told["ended_by"].is_null() { Verdict::Done } else { Verdict::Failed };
    let text = told["text"].as_str().unwrap_or_default();
    let summary = format!(
        "Exit code {exit}. This command ran before; {by} approved what it changed ({id}), and that is made now. It was not run \
         again."
    );
    let answer = Answer::of(verdict, text).and(Piece::Text(summary));
    answer.with("exit_code", exit).with("output_bytes", text.len()).with("approval", id)
}

/// A reason as it stands after a colon.
fn reason_only(reason: &str) -> &str {
    reason.trim_start_matches("This call was not let through: ").trim_end_matches('.')
}

fn not_made(id: &str, reason: &str, left: bool) -> Answer {
    let outcome = if left {
        "Perhaps only a part of it was made; a person can see and take back what was with `paddock log` and `paddock undo`."
    } else {
        "Nothing of it was made, and it is let go of."
    };
    let text = format!(
        "❌ ERROR: What this command changed was approved ({id}) and cannot be made any more: {}. {outcome} The command can be \
         run again.",
        reason_only(reason)
    );
    Answer::of(Verdict::Failed, text).with("error", "conflict").with("approval", id)
}

/// That the changes of other commands still wait.
pub(super) fn still_waiting(count: usize) -> String {
    let what = match count {
        1 => "The change of an earlier command still waits for a person and is",
        _ => "The changes of earlier commands still wait for a person and are",
    };
    format!("{what} not among the files.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_waits_and_several_wait() {
        assert_eq!(
            still_waiting(1),
            "The change of an earlier command still waits for a person and is not among the files."
        );
        assert_eq!(
            still_waiting(2),
            "The changes of earlier commands still wait for a person and are not among the files."
        );
    }
}
