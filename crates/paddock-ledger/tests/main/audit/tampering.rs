//! What somebody does to the database without the key, and what is found of it.

use paddock_core::Audit;
use paddock_ledger::audit::Finding::{self, *};

use super::{Ground, main, record};

/// Chain 1 has six rows and is closed, chain 3 has four; the register has an entry for each opening and closing.
fn two_chains(ground: &Ground) {
    ground.write_chain(6);
    ground.write_chain(4);
    let report = ground.verify();
    assert!(report.is_ok(), "{report:?}");
    assert_eq!((report.chains, report.rows), (2, 10));
}

const ROW: &str =
    "seq, at, kind, call, agent, person, tool, workspace, path, outcome, reason, risk, bytes, took_us, prev, hash";

/// What is done, and what is found.
fn manipulations() -> Vec<(&'static str, String, Vec<Finding>)> {
    let mut table: Vec<(&str, String, Vec<Finding>)> = Vec::new();
    let mut row = |name, sql: &str, findings: &[Finding]| table.push((name, sql.to_owned(), findings.to_vec()));
    let changed = [Changed { chain: 1, seq: 3 }];
    for column in [
        "at = at + 1",
        "kind = 1",
        "kind = 99",
        "agent = 'other'",
        "person = 'bob'",
        "person = NULL",
        "person = ''",
        "tool = 'other'",
        "workspace = ''",
        "path = '/ws/other'",
        "outcome = 'denied'",
        "reason = 'scope'",
        "risk = 3",
        "risk = 9",
        "bytes = 11",
        "took_us = -1",
        "prev = hash",
        "hash = prev",
        "call = hash",
    ] {
        row(column, &format!("UPDATE audit_row SET {column} WHERE chain = 1 AND seq = 3"), &changed);
    }
    row(
        "a person put into a row of an agent",
        "UPDATE audit_row SET person = 'bob' WHERE chain = 1 AND seq = 4",
        &[Changed { chain: 1, seq: 4 }],
    );
    row(
        "a row changed with the hashes of its neighbours copied",
        "UPDATE audit_row SET agent = 'x', prev = (SELECT hash FROM audit_row WHERE chain = 1 AND seq = 2), \
         hash = (SELECT prev FROM audit_row WHERE chain = 1 AND seq = 4) WHERE chain = 1 AND seq = 3",
        &changed,
    );
    row(
        "the first row removed",
        "DELETE FROM audit_row WHERE chain = 1 AND seq = 1",
        &[Removed { chain: 1, from: 1, to: 1 }],
    );
    row(
        "rows removed from within",
        "DELETE FROM audit_row WHERE chain = 1 AND seq IN (3, 4)",
        &[Removed { chain: 1, from: 3, to: 4 }],
    );
    row(
        "a row removed and the others renumbered",
        "DELETE FROM audit_row WHERE chain = 1 AND seq = 3; \
         UPDATE audit_row SET seq = -seq WHERE chain = 1 AND seq > 3; \
         UPDATE audit_row SET seq = -seq - 1 WHERE chain = 1 AND seq < 0",
        &[Removed { chain: 1, from: 3, to: 3 }],
    );
    row(
        "the tail cut off",
        "DELETE FROM audit_row WHERE chain = 1 AND seq > 4",
        &[CutOff { chain: 1, from: 5, to: 6 }],
    );
    row("all rows cut off", "DELETE FROM audit_row WHERE chain = 1", &[CutOff { chain: 1, from: 1, to: 6 }]);
    row(
        "two rows exchanged",
        "UPDATE audit_row SET seq = 100 WHERE chain = 1 AND seq = 2; \
         UPDATE audit_row SET seq = 2 WHERE chain = 1 AND seq = 5; \
         UPDATE audit_row SET seq = 5 WHERE chain = 1 AND seq = 100",
        &[
            Reordered { chain: 1, seq: 3, found_at: 3 },
            Reordered { chain: 1, seq: 4, found_at: 4 },
            Reordered { chain: 1, seq: 2, found_at: 5 },
        ],
    );
    row(
        "the last rows moved on, in order",
        "UPDATE audit_row SET seq = seq + 100 WHERE chain = 1 AND seq > 4",
        &[Reordered { chain: 1, seq: 5, found_at: 105 }],
    );
    row(
        "two neighbours exchanged",
        "UPDATE audit_row SET seq = 100 WHERE chain = 1 AND seq = 3; \
         UPDATE audit_row SET seq = 3 WHERE chain = 1 AND seq = 4; \
         UPDATE audit_row SET seq = 4 WHERE chain = 1 AND seq = 100",
        &[Reordered { chain: 1, seq: 3, found_at: 4 }],
    );
    let copy = |from: u64, to: u64| {
        format!(
            "INSERT INTO audit_row(chain, {ROW}) SELECT 1, {to}{} FROM audit_row WHERE chain = 1 AND seq = {from}",
            ROW.trim_start_matches("seq")
        )
    };
    row("a row put in at the end", &copy(2, 7), &[Inserted { chain: 1, seq: 7 }]);
    row(
        "a forged row put in, the others renumbered",
        &format!(
            "UPDATE audit_row SET seq = -seq WHERE chain = 1 AND seq > 3; \
             UPDATE audit_row SET seq = -seq + 1 WHERE chain = 1 AND seq < 0; {}; \
             UPDATE audit_row SET path = '/forged' WHERE chain = 1 AND seq = 4",
            copy(3, 4)
        ),
        &[Inserted { chain: 1, seq: 4 }],
    );
    row(
        "a row of another chain in the place of one",
        "DELETE FROM audit_row WHERE chain = 1 AND seq = 2; UPDATE audit_row SET chain = 1 WHERE chain = 3 AND seq = 2",
        &[Changed { chain: 1, seq: 2 }, Removed { chain: 3, from: 2, to: 2 }],
    );
    row(
        "the tail cut off and the head told so",
        "DELETE FROM audit_row WHERE chain = 3 AND seq > 2; UPDATE audit_head SET count = 2, \
         hash = (SELECT hash FROM audit_row WHERE chain = 3 AND seq = 2) WHERE chain = 3",
        &[HeadChanged { chain: 3 }],
    );
    row("a head opened again", "UPDATE audit_head SET closed = 0 WHERE chain = 1", &[HeadChanged { chain: 1 }]);
    row("a head removed", "DELETE FROM audit_head WHERE chain = 1", &[HeadRemoved { chain: 1 }]);
    row(
        "a whole chain removed",
        "DELETE FROM audit_row WHERE chain = 1; DELETE FROM audit_head WHERE chain = 1",
        &[ChainRemoved { chain: 1 }],
    );
    row(
        "a whole chain removed, and its entries with it",
        "DELETE FROM audit_row WHERE chain = 1; DELETE FROM audit_head WHERE chain = 1; \
         DELETE FROM audit_register WHERE chain = 1",
        &[Removed { chain: 0, from: 1, to: 2 }],
    );
    row(
        "the last chain removed, its entries and the head of the register with it",
        "DELETE FROM audit_row WHERE chain = 3; DELETE FROM audit_head WHERE chain = 3; \
         DELETE FROM audit_register WHERE chain = 3; DELETE FROM audit_head WHERE chain = 0",
        &[HeadRemoved { chain: 0 }, RolledBack { chain: 0, seen: 4, found: 0 }],
    );
    row(
        "a chain invented",
        "INSERT INTO audit_head(chain, nonce, key, at, count, hash, closed, mac) \
         SELECT 9, nonce, key, at, count, hash, closed, mac FROM audit_head WHERE chain = 1",
        &[ChainInserted { chain: 9 }, HeadChanged { chain: 9 }],
    );
    row("an entry changed", "UPDATE audit_register SET count = 5 WHERE seq = 2", &[Changed { chain: 0, seq: 2 }]);
    row("the register cut off", "DELETE FROM audit_register WHERE seq = 4", &[CutOff { chain: 0, from: 4, to: 4 }]);
    row(
        "the register emptied",
        "DELETE FROM audit_register; DELETE FROM audit_head; DELETE FROM audit_row",
        &[RolledBack { chain: 0, seen: 4, found: 0 }],
    );
    row(
        "a copy before the first row",
        &copy(1, 0),
        &[Reordered { chain: 1, seq: 1, found_at: 0 }, Inserted { chain: 1, seq: 1 }],
    );
    row(
        "a chain under a number that nothing has",
        "UPDATE audit_row SET chain = -3 WHERE chain = 3 AND seq = 4",
        &[CutOff { chain: 3, from: 4, to: 4 }, Strays { count: 1 }],
    );
    row(
        "an entry before the first",
        "UPDATE audit_register SET seq = 0 WHERE seq = 1",
        &[Removed { chain: 0, from: 1, to: 1 }, ChainInserted { chain: 1 }, Strays { count: 1 }],
    );
    row(
        "a row in the register's chain",
        "UPDATE audit_row SET chain = 0 WHERE chain = 3 AND seq = 4",
        &[CutOff { chain: 3, from: 4, to: 4 }, Strays { count: 1 }],
    );
    row("another key pretended", "UPDATE audit_head SET key = nonce WHERE chain = 0", &[OtherKey { chain: 0 }]);
    table
}

const TABLES: [&str; 3] = ["row", "head", "register"];

fn each_is_found(ground: &Ground) {
    two_chains(ground);
    for table in TABLES {
        ground.sql(&format!("CREATE TABLE kept_{table} AS SELECT * FROM audit_{table}"));
    }
    let log = ground.open();
    for (name, sql, expected) in manipulations() {
        ground.sql(&sql);
        assert_eq!(log.verify().unwrap().findings, expected, "{name}");
        for table in TABLES {
            ground.sql(&format!("DELETE FROM audit_{table}; INSERT INTO audit_{table} SELECT * FROM kept_{table}"));
        }
        assert!(log.verify().unwrap().is_ok(), "{name}, taken back");
    }
}

#[test]
fn each_manipulation_is_found_in_sqlite() {
    each_is_found(&Ground::sqlite());
}

#[test]
fn each_manipulation_is_found_in_postgres() {
    each_is_found(&Ground::postgres());
}

/// An older head with its own signature is put back, and the rows after it removed: only who saw the newer one can tell.
#[test]
fn a_closed_chain_put_back_to_an_older_state_of_its_own_is_found() {
    for ground in Ground::both() {
        let log = ground.open();
        for n in 0..3 {
            log.record(&record(&main(), "read", &format!("/{n}"), false)).unwrap();
        }
        log.flush().unwrap();
        ground.sql("CREATE TABLE kept AS SELECT * FROM audit_head WHERE chain = 1");
        log.record(&record(&main(), "read", "/secret", false)).unwrap();
        log.close().unwrap();
        ground.sql(
            "DELETE FROM audit_row WHERE seq > 3; DELETE FROM audit_head WHERE chain = 1; \
             INSERT INTO audit_head SELECT * FROM kept",
        );
        assert_eq!(ground.findings(), [CutOff { chain: 1, from: 4, to: 4 }]);
    }
}

/// The same while its process lives: the outside head may not have seen it yet, but the process itself knows.
#[test]
fn a_living_chain_put_back_to_an_older_state_is_found_once_it_is_written_on() {
    for ground in Ground::both() {
        let log = ground.open();
        log.record(&record(&main(), "read", "/1", true)).unwrap();
        ground.sql("CREATE TABLE kept AS SELECT * FROM audit_head WHERE chain = 1");
        log.record(&record(&main(), "write", "/2", true)).unwrap();
        ground.sql(
            "DELETE FROM audit_row WHERE seq > 1; DELETE FROM audit_head WHERE chain = 1; \
             INSERT INTO audit_head SELECT * FROM kept",
        );
        log.record(&record(&main(), "write", "/3", true)).unwrap();
        log.close().unwrap();
        assert_eq!(ground.findings(), [CutOff { chain: 1, from: 2, to: 2 }]);
    }
}

#[test]
fn an_older_copy_of_the_whole_database_is_found_and_stays_found() {
    let ground = Ground::sqlite();
    ground.write_chain(3);
    let backup = ground.home().join("old.db");
    ground.sql(&format!("VACUUM INTO '{}'", backup.display()));
    ground.write_chain(3);
    assert!(ground.verify().is_ok());
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", ground.database().display()));
    }
    std::fs::copy(&backup, ground.database()).unwrap();
    assert_eq!(ground.findings(), [RolledBack { chain: 0, seen: 4, found: 2 }]);
    // Writing on, past where it was, must not hide it.
    for _ in 0..3 {
        ground.write_chain(1);
        assert!(ground.findings().iter().any(|found| matches!(found, RolledBack { chain: 0, seen: 4, .. })));
    }
    ground.open().accept().unwrap();
    let report = ground.verify();
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.accepted, 1);
    ground.write_chain(1);
    assert!(ground.verify().is_ok());
}

#[test]
fn a_removed_or_changed_outside_head_is_found_and_can_be_accepted() {
    let ground = Ground::sqlite();
    two_chains(&ground);
    let whole = std::fs::read_to_string(ground.outside()).unwrap();
    std::fs::write(ground.outside(), whole.replace("\"count\":4", "\"count\":2")).unwrap();
    assert_eq!(ground.findings(), [OutsideChanged]);
    ground.write_chain(1);
    assert_eq!(ground.findings(), [OutsideChanged], "writing on does not heal it");
    std::fs::remove_file(ground.outside()).unwrap();
    assert_eq!(ground.findings(), [OutsideMissing]);
    ground.write_chain(1);
    assert_eq!(ground.findings(), [OutsideMissing]);
    ground.open().accept().unwrap();
    assert!(ground.verify().is_ok());
}

#[test]
fn a_forged_register_is_not_continued() {
    let last_entry = "DELETE FROM audit_register WHERE seq = 4";
    let forged_head = "UPDATE audit_head SET count = 3, \
        hash = (SELECT hash FROM audit_register WHERE seq = 3) WHERE chain = 0";
    for forgery in [last_entry.to_owned(), format!("{last_entry}; {forged_head}")] {
        for ground in Ground::both() {
            two_chains(&ground);
            ground.sql(&forgery);
            let log = ground.open();
            assert!(log.record(&record(&main(), "write", "/a", true)).is_err());
            assert!(log.record(&record(&main(), "read", "/a", false)).is_ok());
            drop(log);
            assert!(!ground.findings().is_empty());
        }
    }
}

#[test]
fn a_great_many_changed_rows_are_counted_and_not_all_told() {
    let ground = Ground::sqlite();
    ground.write_chain(6000);
    ground.sql("UPDATE audit_row SET agent = 'x' WHERE seq <= 5000");
    let report = ground.verify();
    assert_eq!((report.findings.len(), report.more), (1000, 4000));
    assert_eq!(report.findings[999], Changed { chain: 1, seq: 1000 });
}
