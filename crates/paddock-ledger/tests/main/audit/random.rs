//! Any single thing done to any row is found.

use paddock_db::rusqlite::{Connection, types::Value};
use paddock_ledger::audit::AuditLog;
use proptest::prelude::*;

use super::Ground;

#[derive(Debug, Clone)]
enum Act {
    Set { row: usize, column: usize, value: Val },
    Remove { row: usize },
    Exchange { one: usize, other: usize },
    Copy { from: usize, to: u64 },
}

#[derive(Debug, Clone)]
enum Val {
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

const ROWS: u64 = 12;
const COLUMNS: [&str; 16] = [
    "chain",
    "seq",
    "at",
    "kind",
    "call",
    "agent",
    "tool",
    "workspace",
    "path",
    "outcome",
    "reason",
    "risk",
    "bytes",
    "took_us",
    "prev",
    "hash",
];

fn act() -> impl Strategy<Value = Act> {
    let value = prop_oneof![
        prop_oneof![-3i64..20, any::<i64>()].prop_map(Val::Number),
        "[a-c/]{0,3}".prop_map(Val::Text),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Val::Bytes),
    ];
    let row = 0..2 * ROWS as usize;
    prop_oneof![
        4 => (row.clone(), 0..COLUMNS.len(), value).prop_map(|(row, column, value)| Act::Set { row, column, value }),
        1 => row.clone().prop_map(|row| Act::Remove { row }),
        2 => (row.clone(), row.clone()).prop_map(|(one, other)| Act::Exchange { one, other }),
        1 => (row, 0..40u64).prop_map(|(from, to)| Act::Copy { from, to }),
    ]
}

/// Does it; false when the database did not let it, or nothing changed by it.
fn done(conn: &Connection, act: &Act) -> bool {
    let chain = |row: usize| if row < ROWS as usize { 1 } else { 3 };
    let seq = |row: usize| (row as u64 % ROWS + 1).cast_signed();
    let before = everything(conn);
    let outcome = match act {
        Act::Set { row, column, value } => {
            let value = match value {
                Val::Number(n) => Value::Integer(*n),
                Val::Text(text) => Value::Text(text.clone()),
                Val::Bytes(bytes) => Value::Blob(bytes.clone()),
            };
            let sql = format!("UPDATE audit_row SET {} = ?1 WHERE chain = ?2 AND seq = ?3", COLUMNS[*column]);
            conn.execute(&sql, (value, chain(*row), seq(*row)))
        }
        Act::Remove { row } => {
            conn.execute("DELETE FROM audit_row WHERE chain = ?1 AND seq = ?2", (chain(*row), seq(*row)))
        }
        Act::Exchange { one, other } => {
            let to = "UPDATE audit_row SET chain = ?1, seq = ?2 WHERE chain = ?3 AND seq = ?4";
            conn.execute(to, (77, 1, chain(*one), seq(*one))).unwrap();
            conn.execute(to, (chain(*one), seq(*one), chain(*other), seq(*other))).unwrap();
            conn.execute(to, (chain(*other), seq(*other), 77, 1))
        }
        Act::Copy { from, to } => conn.execute(
            &format!(
                "INSERT INTO audit_row SELECT chain, ?1, {} FROM audit_row WHERE chain = ?2 AND seq = ?3",
                COLUMNS[2..].join(", ")
            ),
            (to.cast_signed(), chain(*from), seq(*from)),
        ),
    };
    outcome.is_ok() && everything(conn) != before
}

fn everything(conn: &Connection) -> Vec<Vec<Value>> {
    let mut statement = conn.prepare("SELECT * FROM audit_row ORDER BY chain, seq").unwrap();
    let rows = statement.query_map((), |row| (0..COLUMNS.len()).map(|column| row.get(column)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// The database of a ground with two chains, and a copy to put back.
fn prepared() -> (Ground, AuditLog) {
    let ground = Ground::sqlite();
    ground.write_chain(ROWS);
    ground.write_chain(ROWS);
    let log = ground.open();
    assert!(log.verify().unwrap().is_ok());
    (ground, log)
}

#[test]
fn any_single_act_on_the_rows_is_found() {
    let (ground, log) = prepared();
    let conn = Connection::open(ground.database()).unwrap();
    conn.execute_batch("CREATE TABLE kept AS SELECT * FROM audit_row").unwrap();
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(act in act())| {
        if done(&conn, &act) {
            prop_assert!(!log.verify().unwrap().is_ok(), "{act:?}");
        }
        conn.execute_batch("DELETE FROM audit_row; INSERT INTO audit_row SELECT * FROM kept").unwrap();
        prop_assert!(log.verify().unwrap().is_ok());
    });
}
