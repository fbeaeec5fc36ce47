//! Looking into the audit.

use std::time::Duration;

use paddock_core::{AgentName, Audit, CallRecord, LogicalPath};
use paddock_ledger::audit::{Cursor, Filter, Kind};

use super::{Ground, effect, main, record};

fn some_rows(ground: &Ground) {
    let log = ground.open();
    let (main, other) = (main(), AgentName::parse("other").unwrap());
    let workspace = LogicalPath::parse("/docs", &LogicalPath::top()).unwrap();
    for (agent, tool, path) in [
        (&main, "read", "/docs"),
        (&main, "write", "/docs/a"),
        (&other, "read", "/docs/a/b"),
        (&other, "list", "/docsy"),
    ] {
        log.record(&CallRecord { workspace: Some(&workspace), ..record(agent, tool, path, false) }).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    log.record(&CallRecord { by: Some("alice"), outcome: "denied", ..record(&main, "read", "", false) }).unwrap();
    log.close().unwrap();
}

#[test]
fn rows_are_found_by_each_part_of_a_filter() {
    for ground in Ground::both() {
        some_rows(&ground);
        let log = ground.open();
        let everything = log.query(&Filter::default()).unwrap().rows;
        assert_eq!(everything.len(), 5);
        let count = |filter: Filter| log.query(&filter).unwrap().rows.len();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(count(Filter { agent: text("other"), ..Filter::default() }), 2);
        assert_eq!(count(Filter { by: text("alice"), ..Filter::default() }), 1);
        assert_eq!(count(Filter { workspace: text("/docs"), ..Filter::default() }), 4);
        assert_eq!(count(Filter { path: text("/docs"), ..Filter::default() }), 3, "not /docsy");
        assert_eq!(count(Filter { path: text("/docs/a/"), ..Filter::default() }), 2);
        assert_eq!(count(Filter { path: text("/"), ..Filter::default() }), 4);
        assert_eq!(count(Filter { outcome: text("denied"), ..Filter::default() }), 1);
        assert_eq!(count(Filter { tool: text("read"), agent: text("main"), ..Filter::default() }), 2);
        assert_eq!(count(Filter { call: Some(everything[1].call), ..Filter::default() }), 1);
        let (second, fourth) = (everything[1].at, everything[3].at);
        assert_eq!(count(Filter { since: Some(second), until: Some(fourth - 1), ..Filter::default() }), 2);
        assert_eq!(count(Filter { limit: Some(0), ..Filter::default() }), 0);
    }
}

#[test]
fn pages_follow_one_another_without_loss() {
    for ground in Ground::both() {
        ground.write_chain(7);
        ground.write_chain(4);
        let log = ground.open();
        let (mut seen, mut filter) = (Vec::new(), Filter { limit: Some(3), ..Filter::default() });
        loop {
            let page = log.query(&filter).unwrap();
            seen.extend(page.rows);
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, log.query(&Filter::default()).unwrap().rows);
        assert_eq!(seen.len(), 11);
        let last = log.tail(&Filter::default(), 3).unwrap();
        assert_eq!(last, seen[8..]);
    }
}

#[test]
fn whoever_looks_backwards_loses_nothing_either() {
    for ground in Ground::both() {
        ground.write_chain(7);
        let log = ground.open();
        effect(&log, "/ws/begun-and-ended").unwrap();
        log.flush().unwrap();
        let all = log.query(&Filter::default()).unwrap().rows;
        let (mut seen, mut filter) = (Vec::new(), Filter::default());
        loop {
            let page = log.tail(&filter, 3).unwrap();
            let Some(first) = page.first() else { break };
            filter.before = Some(Cursor::behind(first));
            seen.splice(0..0, page);
        }
        assert_eq!(seen, all);
        let ended = log.tail(&Filter { ended: true, ..Filter::default() }, 100).unwrap();
        let expected: Vec<_> = all.into_iter().filter(|row| row.kind != Kind::Intent).collect();
        assert!(ended.len() < seen.len());
        assert_eq!(ended, expected);
    }
}

#[test]
fn calls_are_counted_by_how_they_ended() {
    for ground in Ground::both() {
        some_rows(&ground);
        let log = ground.open();
        let day = 24 * 3600 * 1000;
        let counted = |since: i64| {
            let mut by_outcome = std::collections::BTreeMap::new();
            for count in log.counts(since, day).unwrap() {
                assert_eq!(count.from % day, 0);
                *by_outcome.entry(count.outcome).or_insert(0) += count.count;
            }
            by_outcome.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(counted(0), [("denied".to_owned(), 1), ("done".to_owned(), 4)]);
        let last = log.query(&Filter::default()).unwrap().rows[4].at;
        assert_eq!(counted(last), [("denied".to_owned(), 1)]);
        assert_eq!(counted(last + 1), []);
    }
}

#[test]
fn who_follows_sees_each_row_once_whoever_writes_it() {
    for ground in Ground::both() {
        ground.write_chain(3);
        let reader = ground.open();
        let mut follow = reader.follow().unwrap();
        assert!(reader.poll(&mut follow).unwrap().is_empty());
        let (first, second) = (ground.open(), ground.open());
        let mut seen = Vec::new();
        for n in 0..5 {
            effect(&first, &format!("/ws/first/{n}")).unwrap();
            seen.extend(reader.poll(&mut follow).unwrap());
            effect(&second, &format!("/ws/second/{n}")).unwrap();
        }
        ground.write_chain(2);
        drop(first);
        seen.extend(reader.poll(&mut follow).unwrap());
        assert!(reader.poll(&mut follow).unwrap().is_empty());
        effect(&second, "/ws/last").unwrap();
        drop(second);
        seen.extend(reader.poll(&mut follow).unwrap());
        assert_eq!(seen.len(), 2 * 5 * 2 + 2 + 2);
        let mut places: Vec<_> = seen.iter().map(|row| (row.chain, row.seq)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), seen.len());
        assert_eq!(seen.last().unwrap().path, "/ws/last");
    }
}

#[test]
fn an_export_has_every_row_with_its_hashes_in_a_stable_order() {
    for ground in Ground::both() {
        ground.write_chain(600);
        let log = ground.open();
        let mut out = Vec::new();
        assert_eq!(log.export(&mut out).unwrap(), 600);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 600);
        let keys = "chain seq at kind call agent tool workspace path outcome reason risk bytes took_us prev hash";
        let mut from = 0;
        for key in keys.split(' ') {
            let at = lines[1].find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} in {}", lines[1]));
            assert!(at >= from, "{key}");
            from = at;
        }
        let rows: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[1]["prev"], rows[0]["hash"]);
        assert_eq!((&rows[1]["kind"], &rows[1]["risk"]), (&"outcome".into(), &"low".into()));
        assert_eq!(rows[1]["call"].as_str().unwrap().len(), 26);
    }
}
