//! Letting go of old rows, so that it can be told from somebody taking them.

use paddock_ledger::audit::{AuditError, Filter, Finding, Pruned};

use super::{Ground, effect};

fn rows(ground: &Ground) -> usize {
    let log = ground.open();
    log.query(&Filter { limit: Some(1000), ..Filter::default() }).unwrap().rows.len()
}

#[test]
fn what_is_over_goes_and_a_signed_word_stays() {
    for ground in Ground::both() {
        ground.write_chain(3);
        ground.write_chain(4);
        let open = ground.open();
        effect(&open, "/ws/open").unwrap();
        assert_eq!(open.prune(0).unwrap(), Pruned::default(), "nothing is that old");
        let both = Pruned { chains: 2, rows: 7 };
        assert_eq!(open.prunable(i64::MAX).unwrap(), both);
        assert_eq!(open.prune(i64::MAX).unwrap(), both, "but for the chain that is written");
        let report = open.verify().unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!((report.chains, report.rows, report.pruned_chains, report.pruned_rows), (1, 2, 2, 7));
        assert_eq!(open.prune(i64::MAX).unwrap(), Pruned::default());
        effect(&open, "/ws/after").unwrap();
        open.close().unwrap();
        ground.write_chain(1);
        assert!(ground.verify().is_ok());
        assert_eq!(rows(&ground), 5);
    }
}

#[test]
fn a_chain_that_somebody_takes_is_still_missed() {
    for ground in Ground::both() {
        ground.write_chain(2);
        ground.write_chain(2);
        ground.open().prune(i64::MAX).unwrap();
        ground.write_chain(2);
        ground.sql("DELETE FROM audit_row WHERE chain > 4; DELETE FROM audit_head WHERE chain > 4");
        let findings = ground.findings();
        assert!(findings.iter().any(|finding| matches!(finding, Finding::ChainRemoved { .. })), "{findings:?}");
        assert!(matches!(ground.open().prune(i64::MAX), Err(AuditError::NotWhole)), "the evidence stays");
    }
}

/// The entry that says so is signed like every other.
#[test]
fn nobody_without_the_key_can_say_that_a_chain_was_pruned() {
    let ground = Ground::sqlite();
    ground.write_chain(2);
    ground.sql(
        "UPDATE audit_register SET event = 4 WHERE event = 2; \
         DELETE FROM audit_row WHERE chain = 1; DELETE FROM audit_head WHERE chain = 1",
    );
    let findings = ground.findings();
    assert!(findings.contains(&Finding::ChainRemoved { chain: 1 }), "{findings:?}");
}

#[test]
fn what_was_pruned_and_is_there_again_is_found_and_goes() {
    for ground in Ground::both() {
        ground.write_chain(3);
        ground.sql("CREATE TABLE kept AS SELECT * FROM audit_row; CREATE TABLE heads AS SELECT * FROM audit_head WHERE chain = 1");
        ground.open().prune(i64::MAX).unwrap();
        // As if it had been cut off, or as if somebody had put an older row back.
        ground.sql("INSERT INTO audit_row SELECT * FROM kept");
        assert_eq!(ground.findings(), [Finding::PrunedLeft { chain: 1 }]);
        ground.open().prune(0).unwrap();
        assert!(ground.verify().is_ok());
        ground.sql("INSERT INTO audit_head SELECT * FROM heads");
        let findings = ground.findings();
        assert!(findings.contains(&Finding::PrunedLeft { chain: 1 }), "{findings:?}");
    }
}

/// A process that is killed leaves its chain in the outside head of its machine, until the register closed it.
#[test]
fn what_a_machine_had_seen_of_a_pruned_chain_is_no_rollback() {
    let ground = Ground::sqlite();
    ground.write_chain(2);
    let outside = std::fs::read(ground.outside()).unwrap();
    let log = ground.open();
    effect(&log, "/ws/x").unwrap();
    log.close().unwrap();
    ground.open().prune(i64::MAX).unwrap();
    // An older head of the same key: it saw less, and nothing that is not vouched for.
    std::fs::write(ground.outside(), outside).unwrap();
    let report = ground.verify();
    assert!(report.is_ok(), "{report:?}");
}
