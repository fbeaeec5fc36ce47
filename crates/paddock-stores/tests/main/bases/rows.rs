//! Rows as they are now.

use paddock_core::ErrorKind;

use super::*;

pub(super) fn what_is_put_is_got(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let mut put = Vec::new();
    commit(&*base, &space(), |rows| {
        let link = NewRow { kind: RowKind::Link, ..file(b"to/there") };
        let whiteout = NewRow { kind: RowKind::Whiteout, ..dir() };
        let opaque = NewRow { kind: RowKind::OpaqueDir, mode: 0o7777, modified: i64::MAX, ..dir() };
        put = vec![
            ("d", rows.put("d", &dir(), false)?),
            ("d/empty", rows.put("d/empty", &file(b""), false)?),
            ("d/file", rows.put("d/file", &file(b"some text"), false)?),
            ("d/gone", rows.put("d/gone", &whiteout, false)?),
            ("d/link", rows.put("d/link", &link, false)?),
            ("d/opaque", rows.put("d/opaque", &opaque, false)?),
            ("é ☃", rows.put("é ☃", &file(b"\0\xff"), false)?),
        ];
        // Inside, what was put is there already.
        assert_eq!(rows.get("d/file")?.as_ref(), Some(&put[2].1));
        Ok(())
    });
    look(&*base, &space(), Moment::Now, |rows| {
        for (key, row) in &put {
            assert_eq!(rows.get(key)?.as_ref(), Some(row), "{key}");
            let mut bytes = Vec::new();
            assert_eq!(rows.get_small(key, 0..100, &mut bytes)?.as_ref(), Some(row), "{key}");
            assert_eq!(bytes.len() as u64, if row.kind == RowKind::File { row.len } else { 0 }, "{key}");
        }
        let mut target = Vec::new();
        rows.inline(put[4].1.body.unwrap(), 0..u64::MAX, &mut target)?;
        assert_eq!(target, b"to/there");
        assert_eq!(rows.get("d/none")?, None);
        assert_eq!(rows.get_small("none", 0..9, &mut Vec::new())?, None);
        assert_eq!(rows.get("")?, None);
        Ok(())
    })
    .unwrap();
    assert_eq!(names(&*base, &space(), Moment::Now, "d"), ["empty", "file", "gone", "link", "opaque"]);
    assert_eq!(names(&*base, &space(), Moment::Now, ""), ["d", "é ☃"]);
}

pub(super) fn ranges_past_the_end_are_cut_off(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let (_, row) = put(&*base, &space(), "f", "0123456789", false);
    let body = row.body.unwrap();
    for (range, expected) in [
        (0..10, "0123456789"),
        (3..5, "34"),
        (8..99, "89"),
        (10..12, ""),
        (50..60, ""),
        (4..4, ""),
        (2..u64::MAX, "23456789"),
    ] {
        let (mut whole, mut part) = (b"before".to_vec(), b"before".to_vec());
        look(&*base, &space(), Moment::Now, |rows| {
            rows.get_small("f", range.clone(), &mut whole)?;
            rows.inline(body, range.clone(), &mut part)
        })
        .unwrap();
        assert_eq!(whole, format!("before{expected}").into_bytes(), "{range:?}");
        assert_eq!(part, whole, "{range:?}");
    }
}

pub(super) fn children_come_in_the_order_of_their_bytes_page_by_page(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let expected = ["A", "B", "Z", "a", "a b", "a-b", "a.b", "a_b", "aa", "b", "z", "É", "é", "😀"];
    commit(&*base, &space(), |rows| {
        for name in expected.iter().rev() {
            rows.put(&format!("d/{name}"), &file(name.as_bytes()), false)?;
            rows.put(&format!("d/{name}/below"), &file(b""), false)?;
            rows.put(&format!("d{name}"), &file(b""), false)?;
        }
        Ok(())
    });
    for limit in [1, 3, 100] {
        let mut seen: Vec<String> = Vec::new();
        loop {
            let after = seen.last().cloned();
            let page = look(&*base, &space(), Moment::Now, |rows| rows.children("d", after.as_deref(), limit)).unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            seen.extend(page.into_iter().map(|(name, _)| name));
        }
        assert_eq!(seen, expected, "pages of {limit}");
    }
    let none = look(&*base, &space(), Moment::Now, |rows| rows.children("d", None, 0)).unwrap();
    assert!(none.is_empty());
    let after = look(&*base, &space(), Moment::Now, |rows| rows.children("d", Some("a_"), 2)).unwrap();
    assert_eq!(after.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a_b", "aa"]);
}

/// As long as a path may be, and different at its end alone. Letters that do not repeat, since some databases
/// would press them together.
pub(super) fn long_paths_are_kept_apart(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let mut dice = 7_u64;
    let mut letters = |count: usize| -> String {
        let mut letter = || {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (dice >> 33) as u8 % 26)
        };
        (0..count).map(|_| letter()).collect()
    };
    let deep: Vec<String> = (0..15).map(|_| letters(250)).collect();
    let (deep, name) = (deep.join("/"), letters(255));
    let keys = [format!("{deep}/a/{name}"), format!("{deep}/b/{name}"), format!("{deep}/b/{name}x")];
    commit(&*base, &space(), |rows| {
        for key in &keys {
            rows.put(key, &file(key.as_bytes()), false)?;
        }
        Ok(())
    });
    for key in &keys {
        assert_eq!(now(&*base, key).as_ref(), Some(key));
    }
    assert_eq!(names(&*base, &space(), Moment::Now, &format!("{deep}/b")), [name.clone(), format!("{name}x")]);
    let at = commit(&*base, &space(), |rows| rows.remove(&keys[0], true));
    assert_eq!(text(&*base, &space(), Moment::At(Commit(at.0 - 1)), &keys[0]).as_ref(), Some(&keys[0]));
    let before = names(&*base, &space(), Moment::At(Commit(at.0 - 1)), &format!("{deep}/a"));
    assert_eq!(before, [name]);
}

pub(super) fn a_change_that_fails_leaves_nothing(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let (at, row) = put(&*base, &space(), "kept", "one", false);
    let failed = with_call(|call| {
        base.write(call, &space(), &mut |rows| {
            rows.advance()?;
            rows.put("kept", &file(b"two"), true)?;
            rows.put("new", &file(b"three"), true)?;
            rows.set_usage(paddock_core::Usage { bytes: 9, files: 9 })?;
            own_failure()
        })
    });
    assert_eq!(failed.unwrap_err().kind(), &ErrorKind::Stale);
    assert_eq!(now(&*base, "kept").as_deref(), Some("one"));
    assert_eq!(now(&*base, "new"), None);
    look(&*base, &space(), Moment::Now, |rows| {
        assert_eq!(rows.usage()?, paddock_core::Usage::default());
        assert_eq!(rows.past("kept", at)?, Some(row.clone()));
        Ok(())
    })
    .unwrap();
    with_call(|call| {
        base.write(call, &space(), &mut |rows| {
            assert_eq!(rows.head(), at);
            Ok(())
        })
    })
    .unwrap();
    let failed = look(&*base, &space(), Moment::Now, |_| own_failure::<()>());
    assert_eq!(failed.unwrap_err().kind(), &ErrorKind::Stale);
}

pub(super) fn shared_content_goes_with_the_last_row(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let (_, row) = put(&*base, &space(), "a", "shared", false);
    let body = row.body.unwrap();
    // Two more rows, then the first is moved, as a rename does it.
    commit(&*base, &space(), |rows| {
        rows.put("b", &sharing(&row), false)?;
        rows.put("c", &sharing(&row), false)?;
        let moved = rows.put("d", &sharing(&row), false)?;
        assert_eq!(moved, row);
        rows.remove("a", false)
    });
    assert_eq!(now(&*base, "a"), None);
    for (removed, left) in [("b", true), ("d", true), ("c", false)] {
        assert_eq!(now(&*base, removed).as_deref(), Some("shared"));
        commit(&*base, &space(), |rows| rows.remove(removed, false));
        assert_eq!(holds(&*base, body), left, "without {removed}");
    }
}

pub(super) fn a_row_put_again_with_its_own_content_keeps_it(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let (_, row) = put(&*base, &space(), "f", "content", false);
    for keep in [false, true, false] {
        // As a change of its mode does it.
        commit(&*base, &space(), |rows| rows.put("f", &NewRow { mode: 0o600, ..sharing(&row) }, keep).map(drop));
        assert_eq!(now(&*base, "f").as_deref(), Some("content"));
    }
    let (at, _) = put(&*base, &space(), "f", "other", false);
    assert!(holds(&*base, row.body.unwrap()), "one of them was asked for");
    commit(&*base, &space(), |rows| rows.forget("f", Commit(at.0 - 3)));
    assert!(!holds(&*base, row.body.unwrap()));
    assert_eq!(now(&*base, "f").as_deref(), Some("other"));
}

pub(super) fn versions_are_never_given_twice(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let mut last = 0;
    for (namespace, name) in [("one", "a"), ("two", "a"), ("one", "a"), ("one", "b"), ("two", "b"), ("one", "a")] {
        let namespace = Namespace::new([namespace]);
        let (_, row) = put(&*base, &namespace, name, "x", false);
        assert!(row.version > last, "{} after {last}", row.version);
        // The highest is gone, and is not given again.
        commit(&*base, &namespace, |rows| rows.remove(name, false));
        last = row.version;
        let mut made = None;
        commit(&*base, &namespace, |rows| {
            made = Some(rows.put("dir", &dir(), false)?);
            Ok(())
        });
        assert!(made.as_ref().unwrap().version > last);
        last = made.unwrap().version;
        with_call(|call| base.drop_namespace(call, &namespace)).unwrap();
    }
}

pub(super) fn two_handles_see_each_other_and_count_on(fresh: &dyn Fresh) {
    let (one, two) = (fresh.handle(), fresh.handle());
    let count = |base: &dyn BaseStore| {
        commit(base, &space(), |rows| {
            let mut bytes = Vec::new();
            rows.get_small("count", 0..99, &mut bytes)?;
            let count: u32 = String::from_utf8(bytes).unwrap().parse().unwrap_or_default();
            rows.put("count", &file((count + 1).to_string().as_bytes()), false).map(drop)
        });
    };
    std::thread::scope(|scope| {
        for base in [&one, &two, &one, &two] {
            scope.spawn(|| (0..25).for_each(|_| count(&**base)));
        }
    });
    assert_eq!(now(&*one, "count").as_deref(), Some("100"));
    assert_eq!(now(&*two, "count").as_deref(), Some("100"));
    // Dropped by one and made again: the other must not go on with what it knew.
    with_call(|call| one.drop_namespace(call, &space())).unwrap();
    assert_eq!(now(&*two, "count"), None);
    put(&*one, &space(), "count", "again", false);
    assert_eq!(now(&*two, "count").as_deref(), Some("again"));
    count(&*two);
    assert_eq!(now(&*one, "count").as_deref(), Some("1"));
}

pub(super) fn a_look_belongs_to_one_moment(fresh: &dyn Fresh) {
    let (base, other) = (fresh.handle(), fresh.handle());
    commit(&*base, &space(), |rows| {
        rows.put("a", &file(b"old"), false)?;
        rows.put("b", &file(b"old"), false).map(drop)
    });
    let mut first = true;
    look(&*base, &space(), Moment::Now, |rows| {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        rows.get_small("a", 0..9, &mut a)?;
        if std::mem::take(&mut first) {
            commit(&*other, &space(), |rows| {
                rows.put("a", &file(b"new"), false)?;
                rows.put("b", &file(b"new"), false)?;
                rows.put("c", &file(b"new"), false).map(drop)
            });
        }
        rows.get_small("b", 0..9, &mut b)?;
        assert_eq!(a, b);
        assert_eq!(rows.children("", None, 9)?.len(), if a == b"old" { 2 } else { 3 });
        Ok(())
    })
    .unwrap();
    assert_eq!(now(&*base, "b").as_deref(), Some("new"));
}

pub(super) fn a_call_out_of_time_does_nothing(fresh: &dyn Fresh) {
    let base = fresh.handle();
    put(&*base, &space(), "f", "there", false);
    with_deadline(Duration::ZERO, |call| {
        let late = base.read(call, &space(), Moment::Now, &mut |_| panic!("looked"));
        assert_eq!(late.unwrap_err().kind(), &ErrorKind::TimedOut);
        let late = base.write(call, &space(), &mut |_| panic!("changed"));
        assert_eq!(late.unwrap_err().kind(), &ErrorKind::TimedOut);
    });
}
