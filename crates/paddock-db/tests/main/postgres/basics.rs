//! What goes in comes out.

use paddock_db::DbError;
use paddock_db::postgres_testing::Database;

use super::{COUNTERS, soon};

#[test]
fn what_was_written_is_read() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    let changed = db.write(soon(), |tx| tx.execute("UPDATE counter SET n = $1 WHERE id = $2", &[&7_i64, &1_i64]));
    assert_eq!(changed.unwrap(), 1);
    let n: i64 = db
        .read(soon(), |tx| Ok::<_, DbError>(tx.query_one("SELECT n FROM counter WHERE id = $1", &[&1_i64])?.get(0)))
        .unwrap();
    assert_eq!(n, 7);
}
