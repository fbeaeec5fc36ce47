//! The npm package beside what JavaScript programs have instead, measured in a process of Node by the scripts of `node/`.
//!
//! The scripts keep the clock and check the answers; what each round took comes back as JSON and is judged here like everything else.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::options::{Options, peer};
use crate::report::{Report, Wanted};
use crate::rounds::Samples;

const NOTE: &str = "\
    Work per second in one process of Node, one call at a time; more is better, and the ratio is ours divided by theirs. \
    `openWorkspaces` of `@paddock/langchain` (release addon, no ledger) beside `FilesystemBackend` of deepagents (`virtualMode`, the one \
    that keeps to a directory) and `fs/promises` with no check at all, on the same files in memory. deepagents searches with ripgrep \
    where it finds one on the path; npm brings none.";

/// Measures it where it is installed.
pub(crate) fn run(report: &mut Report, options: &Options) -> Result<()> {
    report.section("The npm package", NOTE);
    let Some(place) = &options.npm_package else {
        report.absent("all of it", "deepagents", options.why_missing(peer::NPM_PACKAGE));
        return Ok(());
    };
    rows(report, &measured(options, place)?)?;
    if options.ripgrep.is_none() {
        let why = options.why_missing(peer::RIPGREP);
        report.absent("find a text in all of them", "deepagents with ripgrep", why);
    }
    Ok(())
}

fn measured(options: &Options, place: &Path) -> Result<Value> {
    let mut command = Command::new("node");
    command.current_dir(place).arg("main.mjs").args(options.quick.then_some("--quick"));
    command.env("PADDOCK_BENCH_RIPGREP", options.ripgrep.clone().unwrap_or_default());
    let said = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("node does not start")?;
    ensure!(said.status.success(), "the scripts ended with {}; what they said is above", said.status);
    serde_json::from_slice(&said.stdout).context("the scripts say what they measured as JSON")
}

/// `[{"what", "against", "theirs": [seconds], "ours": [seconds], "wanted"?}]`
fn rows(report: &mut Report, told: &Value) -> Result<()> {
    for row in told.as_array().context("the scripts give a list")? {
        let text = |key: &str| row[key].as_str().with_context(|| format!("{row} has no \"{key}\""));
        let samples = |key: &str| samples(&row[key]).with_context(|| format!("\"{key}\" of {row} are no seconds"));
        let wanted = row["wanted"].as_f64().map(Wanted::AtLeast);
        report.faster(text("what")?, text("against")?, &samples("theirs")?, &samples("ours")?, wanted);
    }
    Ok(())
}

fn samples(rounds: &Value) -> Option<Samples> {
    let second = |value: &Value| Duration::try_from_secs_f64(value.as_f64()?).ok();
    let rounds = rounds.as_array()?.iter().map(second).collect::<Option<Vec<_>>>()?;
    (!rounds.is_empty()).then(|| Samples::of(rounds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_scripts_say_becomes_rows() {
        let mut report = Report::default();
        report.section("t", "n");
        let told = json!([
            { "what": "read", "against": "deepagents", "theirs": [0.02, 0.04, 0.03], "ours": [0.01], "wanted": 2 },
            { "what": "read", "against": "fs/promises", "theirs": [0.01], "ours": [0.02] },
        ]);
        rows(&mut report, &told).unwrap();
        let said: Vec<_> = report.sections[0].rows.iter().map(|row| (row.ratio.as_str(), row.mark())).collect();
        assert_eq!(said, [("3.00×", "✓"), ("0.50×", "")]);
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        for told in [
            json!({}),
            json!([{ "what": "read" }]),
            json!([{ "what": "a", "against": "b", "theirs": [], "ours": [1] }]),
        ] {
            let mut report = Report::default();
            assert!(rows(&mut report, &told).is_err(), "{told}");
        }
    }
}
