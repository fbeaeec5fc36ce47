//! Many processes that write at once, on PostgreSQL and on SQLite.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::helpers::{Helper, Job, duration};
use crate::options::{Options, peer};
use crate::report::{Report, grouped, time};
use crate::trees::Project;

const PROCESSES: [usize; 4] = [1, 2, 4, 8];
/// Files written by each.
const COUNT: usize = 500;
const ROUNDS: usize = 5;

/// Measures both databases.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    let place = project.scratch("writers")?;
    report.section(
        "Many processes",
        "New files of 4 KiB per second, by all processes together, each in a namespace of its own and one call after the other; \
         through the guard, not recorded. The server is on the same machine and keeps its defaults but for a small cache; it does not wait \
         for the disk (`fsync=off`), as SQLite does not with durability `process`.",
    );
    let mut places = vec![("SQLite", place.display().to_string())];
    places.extend(options.postgres.clone().map(|url| (peer::POSTGRES, url)));
    for (name, to) in places {
        let mut alone = None;
        for processes in PROCESSES {
            let rate = median(name, &to, processes, options.rounds(ROUNDS))?;
            let alone = *alone.get_or_insert(rate);
            let each = Duration::from_secs_f64(count(processes) / rate);
            let shown = format!("{}/s, {} each, {:.2}× of one", grouped(rate), time(each), rate / alone);
            report.noted(&format!("{name}, {processes} writing"), &shown);
        }
    }
    if options.postgres.is_none() {
        report.absent("all of it", peer::POSTGRES, options.why_missing(peer::POSTGRES));
    }
    Ok(())
}

/// Files per second, the middle one of some rounds.
fn median(name: &str, to: &str, processes: usize, rounds: usize) -> Result<f64> {
    let mut rates = Vec::new();
    for round in 0..rounds {
        let jobs = (0..processes).map(|process| Job::Write {
            to: to.to_owned(),
            name: format!("{name} {processes} {round} {process}"),
            count: COUNT,
        });
        let mut helpers = jobs.map(|job| Helper::start(&job)).collect::<Result<Vec<_>>>()?;
        let start = Instant::now();
        helpers.iter_mut().try_for_each(Helper::begin)?;
        for helper in helpers {
            duration(&helper.answer()?)?;
        }
        rates.push(count(processes * COUNT) / start.elapsed().as_secs_f64());
    }
    rates.sort_unstable_by(f64::total_cmp);
    Ok(rates.get(rates.len() / 2).copied().unwrap_or_default())
}

#[allow(clippy::cast_precision_loss)]
fn count(number: usize) -> f64 {
    number as f64
}
