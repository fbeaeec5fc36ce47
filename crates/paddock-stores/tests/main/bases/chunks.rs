//! Large contents in chunks.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn stage(base: &dyn BaseStore, chunks: &[&[u8]]) -> Vec<u64> {
    with_call(|call| base.stage(call, chunks)).unwrap()
}

fn collect(base: &dyn BaseStore, older_than: u64) -> u64 {
    with_call(|call| base.collect_chunks(call, older_than)).unwrap()
}

fn put_chunks(base: &dyn BaseStore, key: &str, ids: &[u64], keep: bool) -> (Commit, Row) {
    let mut row = None;
    let at = commit(base, &space(), |rows| {
        row = Some(rows.put(key, &chunked(ids, 8), keep)?);
        Ok(())
    });
    (at, row.unwrap())
}

/// What a chunk holds; nothing when it is gone.
fn chunk(base: &dyn BaseStore, id: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = look(base, &space(), Moment::Now, |rows| {
        bytes.clear();
        rows.chunk(id, 0..u64::MAX, &mut bytes)
    });
    read.ok().map(|()| bytes)
}

pub(super) fn chunks_are_put_in_order_and_read_by_range(fresh: &dyn Fresh) {
    let base = fresh.handle();
    // More than one transaction takes.
    let large = vec![7; 3 << 20];
    let ids = stage(&*base, &[b"0123456789", &large, &large, b"", &large, b"last"]);
    let (_, row) = put_chunks(&*base, "f", &ids, false);
    let body = row.body.unwrap();
    assert!(body.chunked);
    look(&*base, &space(), Moment::Now, |rows| {
        assert_eq!(rows.chunks(body, 0..u64::MAX)?, ids);
        assert_eq!(rows.chunks(body, 2..4)?, &ids[2..4]);
        assert_eq!(rows.chunks(body, 5..9)?, &ids[5..]);
        assert!(rows.chunks(body, 6..9)?.is_empty());
        let mut bytes = b"+".to_vec();
        rows.chunk(ids[0], 3..5, &mut bytes)?;
        rows.chunk(ids[0], 8..99, &mut bytes)?;
        rows.chunk(ids[0], 10..99, &mut bytes)?;
        rows.chunk(ids[5], 0..u64::MAX, &mut bytes)?;
        rows.chunk(ids[4], (3 << 20) - 1..u64::MAX, &mut bytes)?;
        assert_eq!(bytes, b"+3489last\x07");
        // What is chunked is not read along.
        let mut none = Vec::new();
        assert_eq!(rows.get_small("f", 0..9, &mut none)?.as_ref(), Some(&row));
        assert!(none.is_empty());
        Ok(())
    })
    .unwrap();
    // A chunk may be there more than once, and none at all.
    let (_, twice) = put_chunks(&*base, "g", &[ids[0], ids[5], ids[0]], false);
    let (_, none) = put_chunks(&*base, "h", &[], false);
    look(&*base, &space(), Moment::Now, |rows| {
        assert_eq!(rows.chunks(twice.body.unwrap(), 0..9)?, [ids[0], ids[5], ids[0]]);
        assert!(rows.chunks(none.body.unwrap(), 0..9)?.is_empty());
        Ok(())
    })
    .unwrap();
    assert!(stage(&*base, &[]).is_empty());
}

pub(super) fn only_old_chunks_that_nobody_names_are_collected(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let ids = stage(&*base, &[b"named", b"shared", b"unnamed", b"moved"]);
    let (_, row) = put_chunks(&*base, "f", &[ids[0], ids[1]], false);
    put_chunks(&*base, "g", &[ids[1]], false);
    let (_, moved) = put_chunks(&*base, "h", &[ids[3]], false);
    commit(&*base, &space(), |rows| {
        rows.put("moved", &sharing(&moved), false)?;
        rows.remove("h", false)
    });
    assert_eq!(collect(&*base, 3_600_000), 0);
    assert_eq!(chunk(&*base, ids[2]).as_deref(), Some(&b"unnamed"[..]));
    assert_eq!(collect(&*base, 0), 1);
    assert_eq!(chunk(&*base, ids[2]), None);
    // A change of one chunk names the others again.
    let next = stage(&*base, &[b"new"]);
    put_chunks(&*base, "f", &[next[0], ids[1]], false);
    assert!(!ids.contains(&next[0]));
    commit(&*base, &space(), |rows| rows.remove("g", false));
    assert_eq!(collect(&*base, 0), 1);
    assert_eq!(chunk(&*base, ids[0]), None);
    for (id, held) in [(ids[1], &b"shared"[..]), (ids[3], b"moved"), (next[0], b"new")] {
        assert_eq!(chunk(&*base, id).as_deref(), Some(held));
    }
    assert!(look(&*base, &space(), Moment::Now, |rows| rows.chunks(row.body.unwrap(), 0..9)).is_err());
    with_call(|call| base.drop_namespace(call, &space())).unwrap();
    assert_eq!(collect(&*base, 0), 3);
    assert_eq!(collect(&*base, 0), 0);
}

pub(super) fn chunks_named_by_the_past_stay_until_it_is_forgotten(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let ids = stage(&*base, &[b"one", b"two"]);
    let (first, _) = put_chunks(&*base, "f", &ids[..1], true);
    with_call(|call| base.pin(call, &space(), "fork")).unwrap();
    put_chunks(&*base, "f", &ids[1..], true);
    commit(&*base, &space(), |rows| rows.remove("f", false));
    assert_eq!(collect(&*base, 0), 1);
    commit(&*base, &space(), |rows| rows.forget("f", first));
    assert_eq!(collect(&*base, 0), 0);
    assert_eq!(chunk(&*base, ids[0]).as_deref(), Some(&b"one"[..]));
    with_call(|call| base.unpin(call, &space(), "fork")).unwrap();
    assert_eq!(collect(&*base, 0), 1);
}

pub(super) fn many_chunks_are_collected(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let chunks: Vec<&[u8]> = vec![b"chunk"; 300];
    let ids = stage(&*base, &chunks);
    for (at, some) in ids.chunks(10).enumerate().filter(|(at, _)| at % 2 == 0) {
        put_chunks(&*base, &format!("d/{at}"), some, false);
    }
    assert_eq!(collect(&*base, 0), 150);
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(chunk(&*base, *id).is_some(), at / 10 % 2 == 0, "{at}");
    }
}

pub(super) fn a_chunk_that_was_collected_cannot_be_named(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let ids = stage(&*base, &[b"a", b"b", b"c"]);
    collect(&*base, 0);
    let next = stage(&*base, &[b"d"]);
    assert!(ids.iter().all(|id| *id < next[0]), "a number is not given twice");
    for list in [&ids[..], &[ids[1], next[0]], &[next[0], next[0] + 1]] {
        let refused =
            with_call(|call| base.write(call, &space(), &mut |rows| rows.put("f", &chunked(list, 3), true).map(drop)));
        assert_eq!(refused.unwrap_err().kind(), &ErrorKind::Io, "{list:?}");
    }
    assert_eq!(now(&*base, "f"), None);
}

/// Writers that name old chunks again, readers and collectors at once: no row ever names a chunk that is not there.
pub(super) fn collecting_beside_writers_and_readers_takes_nothing_that_is_named(fresh: &dyn Fresh) {
    let done = AtomicBool::new(false);
    let round = |base: &dyn BaseStore, number: u64| {
        let key = format!("f{}", number % 3);
        let ids = with_call(|call| base.stage(call, &[&number.to_be_bytes()])).unwrap();
        // With no grace at all what was just staged may be collected before it is named; then it is said so.
        let _ = with_call(|call| {
            base.write(call, &space(), &mut |rows| {
                rows.advance()?;
                let old = rows.get(&key)?.and_then(|row| row.body);
                let mut list = old.map_or(Ok(Vec::new()), |body| rows.chunks(body, 0..3))?;
                list.insert(0, ids[0]);
                rows.put(&key, &chunked(&list, 8), false).map(drop)
            })
        });
    };
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let base = fresh.handle();
            while !done.load(Ordering::Relaxed) {
                with_call(|call| base.collect_chunks(call, 0)).unwrap();
            }
        });
        let reader = scope.spawn(|| {
            let base = fresh.handle();
            while !done.load(Ordering::Relaxed) {
                look(&*base, &space(), Moment::Now, |rows| check_chunks(rows, "f0")).unwrap();
            }
        });
        let write = |start: u64| {
            let base = fresh.handle();
            (start..120).step_by(2).for_each(|number| round(&*base, number));
        };
        let writers = [0, 1].map(|start| scope.spawn(move || write(start)));
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        collector.join().unwrap();
        reader.join().unwrap();
    });
    let base = fresh.handle();
    for key in ["f0", "f1", "f2"] {
        look(&*base, &space(), Moment::Now, |rows| check_chunks(rows, key)).unwrap();
    }
}

fn check_chunks(rows: &dyn Rows, key: &str) -> Result<()> {
    let Some(body) = rows.get(key)?.and_then(|row| row.body) else { return Ok(()) };
    for id in rows.chunks(body, 0..9)? {
        rows.chunk(id, 0..9, &mut Vec::new())?;
    }
    Ok(())
}
