//! What was measured, for the terminal and for the results page.

use std::time::Duration;

use crate::rounds::Compared;

/// One row of the results.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) against: String,
    pub(crate) base: String,
    pub(crate) ours: String,
    pub(crate) ratio: String,
    pub(crate) wanted: String,
}

/// Everything measured in one run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
}

impl Report {
    pub(crate) fn compared(&mut self, what: &str, against: &str, compared: Compared, wanted: Option<&str>) {
        self.push(Row {
            what: what.to_owned(),
            against: against.to_owned(),
            base: shown(compared.base),
            ours: shown(compared.ours),
            ratio: format!("{:.2}×", compared.ratio()),
            wanted: wanted.unwrap_or("").to_owned(),
        });
    }

    pub(crate) fn measured(&mut self, what: &str, took: Duration, wanted: Option<&str>) {
        self.push(Row {
            what: what.to_owned(),
            against: String::new(),
            base: String::new(),
            ours: shown(took),
            ratio: String::new(),
            wanted: wanted.unwrap_or("").to_owned(),
        });
    }

    #[allow(clippy::print_stderr)]
    pub(crate) fn push(&mut self, row: Row) {
        eprintln!("{}: {} {} {} {}", row.what, row.base, row.ours, row.ratio, row.wanted);
        self.rows.push(row);
    }
}

fn shown(time: Duration) -> String {
    format!("{time:.2?}")
}
