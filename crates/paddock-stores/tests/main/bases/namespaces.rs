//! Namespaces: nothing of one is ever seen in another.

use paddock_core::Usage;

use super::*;

pub(super) fn tuples_match_exactly(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let tuples: Vec<Vec<&str>> = vec![
        vec!["a1"],
        vec!["a10"],
        vec!["a"],
        vec!["A1"],
        vec!["a", "b"],
        vec!["a/b"],
        vec!["a\\sb"],
        vec!["a\\", "b"],
        vec!["a", "b", ""],
        vec!["", "a", "b"],
        vec![""],
        vec!["", ""],
        vec![],
        vec!["\\e"],
        vec!["a\0b"],
        vec!["a\\0b"],
        vec!["\\numbers"],
        vec!["%"],
        vec!["a_"],
        vec!["é"],
        vec!["e\u{301}"],
    ];
    for (at, tuple) in tuples.iter().enumerate() {
        put(&*base, &Namespace::new(tuple.clone()), "f", &at.to_string(), true);
    }
    for (at, tuple) in tuples.iter().enumerate() {
        let namespace = Namespace::new(tuple.clone());
        assert_eq!(text(&*base, &namespace, Moment::Now, "f"), Some(at.to_string()), "{tuple:?}");
        // Had two the same rows, one of them would have come at a second commit.
        assert_eq!(put(&*base, &namespace, "g", "x", true).0, Commit(2), "{tuple:?}");
    }
    with_call(|call| base.drop_namespace(call, &Namespace::new(["a"]))).unwrap();
    assert_eq!(text(&*base, &Namespace::new(["a", "b"]), Moment::Now, "f").as_deref(), Some("4"));
    assert_eq!(text(&*base, &Namespace::new(["a1"]), Moment::Now, "f").as_deref(), Some("0"));
}

pub(super) fn what_is_dropped_is_gone_and_a_new_one_is_empty(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let mut bodies = Vec::new();
    for round in 0..250 {
        let (_, row) = put(&*base, &space(), &format!("d/{}", round % 130), "text", true);
        bodies.push(row.body.unwrap());
    }
    with_call(|call| base.pin(call, &space(), "fork")).unwrap();
    with_call(|call| base.drop_namespace(call, &space())).unwrap();
    assert!(bodies.iter().all(|body| !holds(&*base, *body)));
    assert!(names(&*base, &space(), Moment::Now, "d").is_empty());
    assert!(names(&*base, &space(), Moment::At(Commit(200)), "d").is_empty());
    // Nothing of the old one counts on: neither its commits nor its pins.
    let (at, _) = put(&*base, &space(), "d/0", "one", false);
    assert_eq!(at, Commit(1));
    assert_eq!(names(&*base, &space(), Moment::Now, "d"), ["0"]);
    let (pinned, row) = put(&*base, &space(), "d/0", "two", false);
    assert_eq!(text(&*base, &space(), Moment::At(at), "d/0"), None);
    assert_eq!(with_call(|call| base.pin(call, &space(), "fork")).unwrap(), pinned);
    assert!(holds(&*base, row.body.unwrap()));
    // Dropping what is not there is no error.
    with_call(|call| base.drop_namespace(call, &Namespace::new(["never"]))).unwrap();
}

pub(super) fn dropping_leaves_the_content_that_others_share(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let (one, two) = (Namespace::new(["one"]), Namespace::new(["two"]));
    let (_, row) = put(&*base, &one, "f", "shared", false);
    commit(&*base, &two, |rows| rows.put("f", &sharing(&row), false).map(drop));
    with_call(|call| base.drop_namespace(call, &one)).unwrap();
    assert_eq!(text(&*base, &two, Moment::Now, "f").as_deref(), Some("shared"));
    with_call(|call| base.drop_namespace(call, &two)).unwrap();
    assert!(!holds(&*base, row.body.unwrap()));
}

pub(super) fn usage_is_kept(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let usage = |namespace: &Namespace| look(&*base, namespace, Moment::Now, |rows| rows.usage()).unwrap();
    assert_eq!(usage(&space()), Usage::default());
    let held = Usage { bytes: 1 << 40, files: 7 };
    commit(&*base, &space(), |rows| {
        rows.set_usage(held)?;
        assert_eq!(rows.usage()?, held);
        Ok(())
    });
    assert_eq!(usage(&space()), held);
    assert_eq!(usage(&Namespace::new(["other"])), Usage::default());
    put(&*base, &space(), "f", "x", false);
    assert_eq!(usage(&space()), held);
}
