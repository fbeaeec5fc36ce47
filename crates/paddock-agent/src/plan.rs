//! The plan as a file that a person can read: `todo.md`, a checklist with the state of each step.
//!
//! Read strictly enough that a step is never lost, and written the same way each time. Who may write it is decided elsewhere: the Interpreter and
//! the Planner, and no tool call of the run.

use std::fmt::Write as _;

use paddock_core::visible;

use crate::state::{StepState, StepStatus};

/// The most steps of one plan.
pub const MOST_STEPS: usize = 200;
/// The longest description of a step, in bytes.
const LONGEST: usize = 2000;

/// Why an answer is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// No checklist in it.
    #[error("there is no step in it: each is a line that begins with \"- [ ] \"")]
    NoSteps,
    /// More than anybody looks through.
    #[error("it has {0} steps, more than {MOST_STEPS}")]
    TooMany(usize),
}

/// The steps of a checklist in Markdown: `- [ ] do this`. Everything else is for people.
///
/// # Errors
/// When there is none, or there are too many.
pub fn parse(text: &str) -> Result<Vec<String>, BadPlan> {
    let steps: Vec<String> = text.lines().filter_map(step).collect();
    match steps.len() {
        0 => Err(BadPlan::NoSteps),
        n if n > MOST_STEPS => Err(BadPlan::TooMany(n)),
        _ => Ok(steps),
    }
}

fn step(line: &str) -> Option<String> {
    let line = line.trim_start();
    let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| numbered(line))?;
    let text = item.trim_start().strip_prefix('[')?;
    let mut chars = text.chars();
    chars.next().filter(|mark| " xX~!?".contains(*mark))?;
    let text = chars.as_str().strip_prefix(']')?.trim();
    let text = &text[..text.floor_char_boundary(LONGEST)];
    (!text.is_empty()).then(|| text.to_owned())
}

fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() { None } else { rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")) }
}

/// Marks whose plan a file is.
#[must_use]
pub fn header(thread: &str) -> String {
    format!("<!-- plan of thread {thread}; Paddock keeps it, agents only read it -->")
}

/// The plan of a thread as its file.
#[must_use]
pub fn render(thread: &str, prompt: &str, steps: &[&StepState]) -> String {
    let mut text = format!("{}\n# Plan\n\n", header(thread));
    for line in prompt.lines() {
        let _ = writeln!(text, "> {}", visible(line));
    }
    text.push('\n');
    for step in steps {
        let mark = match step.status {
            StepStatus::Pending => ' ',
            StepStatus::Running => '~',
            StepStatus::Done => 'x',
            StepStatus::Failed => '!',
            StepStatus::Blocked => '?',
        };
        let _ = write!(text, "- [{mark}] {} ({}", visible(&step.description), step.id);
        if step.tries > 0 {
            let _ = write!(text, ", failed {} of {}", step.tries, step.max_tries);
        }
        text.push_str(")\n");
        if let (StepStatus::Failed | StepStatus::Blocked, Some(error)) = (step.status, &step.last_error) {
            let _ = writeln!(text, "  - {}", visible(error.lines().next().unwrap_or_default()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checklist_is_a_plan_in_each_of_its_ways() {
        let text =
            "Here is the plan:\n\n- [ ] read the file\n* [x] fix it\n1. [ ] test\n2) [~] tell\n- no step\n- [ ]   \n";
        assert_eq!(parse(text).unwrap(), ["read the file", "fix it", "test", "tell"]);
    }

    #[test]
    fn what_has_no_steps_or_too_many_is_no_plan() {
        assert_eq!(parse("I would rather not."), Err(BadPlan::NoSteps));
        assert_eq!(parse(&"- [ ] x\n".repeat(201)), Err(BadPlan::TooMany(201)));
    }

    #[test]
    fn a_plan_shows_the_state_of_each_step() {
        let mut steps =
            [StepState::new("s1", "read", 3), StepState::new("s2", "write", 3), StepState::new("s3", "tell", 3)];
        steps[0].status = StepStatus::Done;
        (steps[1].status, steps[1].tries, steps[1].last_error) = (StepStatus::Failed, 3, Some("no space\nleft".into()));
        let text = render("t-1", "fix it\nplease", &steps.iter().collect::<Vec<_>>());
        assert_eq!(
            text,
            "<!-- plan of thread t-1; Paddock keeps it, agents only read it -->\n# Plan\n\n> fix it\n> please\n\n\
             - [x] read (s1)\n- [!] write (s2, failed 3 of 3)\n  - no space\n- [ ] tell (s3)\n"
        );
        assert_eq!(parse(&text).unwrap().len(), 3);
    }
}
