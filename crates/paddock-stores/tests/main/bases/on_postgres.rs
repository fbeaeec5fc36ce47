//! What is of PostgreSQL alone: namespaces that change beside each other.

use super::*;

/// Rows of all tables, and the references that bodies count.
fn left(fresh: &OnPostgres) -> (i64, i64) {
    let db = fresh.0.open(&[PostgresBase::SCHEMA]);
    let soon = Instant::now() + Duration::from_secs(60);
    let counted = db.read(soon, |tx| {
        let row = tx.query_one(
            "SELECT (SELECT count(*) FROM living) + (SELECT count(*) FROM past) + (SELECT count(*) FROM pin) \
             + (SELECT count(*) FROM dropped), (SELECT coalesce(sum(refs), 0)::bigint FROM body)",
            &[],
        )?;
        Ok::<_, paddock_db::DbError>((row.get(0), row.get(1)))
    });
    counted.unwrap()
}

#[test]
fn nothing_is_left_in_the_tables_of_what_is_gone() {
    let fresh = OnPostgres::new();
    let base = fresh.handle();
    let (at, row) = put(&*base, &space(), "f", "one", true);
    commit(&*base, &space(), |rows| {
        rows.put("g", &sharing(&row), true)?;
        rows.put("f", &file(b"two"), true).map(drop)
    });
    assert_eq!(left(&fresh), (3, 3));
    with_call(|call| base.pin(call, &space(), "fork")).unwrap();
    commit(&*base, &space(), |rows| {
        rows.remove("f", false)?;
        rows.remove("g", false)?;
        rows.forget("f", at)
    });
    with_call(|call| base.unpin(call, &space(), "fork")).unwrap();
    assert_eq!(left(&fresh), (0, 0));
}

#[test]
fn chunks_that_go_in_with_a_change_go_with_it_too() {
    let fresh = OnPostgres::new();
    let base = fresh.handle();
    let put = |fails: bool| {
        with_call(|call| {
            base.write(call, &space(), &mut |rows| {
                let ids = rows.stage(&[b"one", b"two"])?.unwrap();
                rows.put("f", &chunked(&ids, 6), true)?;
                if fails { own_failure() } else { Ok(()) }
            })
        })
    };
    let chunks = || paddock_db::postgres_testing::ask(&fresh.0.url(), "SELECT count(*) FROM paddock.chunk").unwrap();
    assert!(put(true).is_err());
    assert_eq!(chunks(), "0");
    put(false).unwrap();
    assert_eq!(chunks(), "2");
}

/// Several namespaces share one content, take it and let it go at once: it is counted right in the end, and nobody
/// ever finds it gone who still names it.
#[test]
fn a_content_that_namespaces_share_is_counted_right() {
    let fresh = OnPostgres::new();
    let base = fresh.handle();
    let (_, row) = put(&*base, &space(), "f", "shared", false);
    let spaces: Vec<Namespace> =
        (0..4).map(|number| Namespace::new(["sharer".to_owned(), number.to_string()])).collect();
    std::thread::scope(|scope| {
        for namespace in &spaces {
            scope.spawn(|| {
                let base = fresh.handle();
                for _ in 0..20 {
                    commit(&*base, namespace, |rows| rows.put("f", &sharing(&row), false).map(drop));
                    assert_eq!(text(&*base, namespace, Moment::Now, "f").as_deref(), Some("shared"));
                    commit(&*base, namespace, |rows| rows.remove("f", false));
                }
            });
        }
    });
    assert_eq!(left(&fresh), (1, 1));
}

/// All who share a content let go of it at once: who counts down finds that another has done so meanwhile.
#[test]
fn a_content_goes_when_all_let_go_at_once() {
    let fresh = OnPostgres::new();
    let spaces: Vec<Namespace> =
        (0..6).map(|number| Namespace::new(["sharer".to_owned(), number.to_string()])).collect();
    let bases: Vec<_> = spaces.iter().map(|_| fresh.handle()).collect();
    for _ in 0..12 {
        let (_, row) = put(&*bases[0], &spaces[0], "f", "shared", false);
        for (namespace, base) in spaces.iter().zip(&bases).skip(1) {
            commit(&**base, namespace, |rows| rows.put("f", &sharing(&row), false).map(drop));
        }
        let together = std::sync::Barrier::new(spaces.len());
        std::thread::scope(|scope| {
            for (namespace, base) in spaces.iter().zip(&bases) {
                scope.spawn(|| {
                    together.wait();
                    commit(&**base, namespace, |rows| rows.remove("f", false));
                });
            }
        });
        assert_eq!(left(&fresh), (0, 0));
    }
}

#[test]
fn a_chunk_that_was_collected_cannot_be_named() {
    chunks::a_chunk_that_was_collected_cannot_be_named(&OnPostgres::new());
}

#[test]
fn collecting_beside_writers_and_readers_takes_nothing_that_is_named() {
    chunks::collecting_beside_writers_and_readers_takes_nothing_that_is_named(&OnPostgres::new());
}
