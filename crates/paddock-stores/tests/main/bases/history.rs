//! What was there before: asked for, pinned, forgotten.

use super::*;

fn at(base: &dyn BaseStore, commit: Commit, key: &str) -> Option<String> {
    text(base, &space(), Moment::At(commit), key)
}

fn pin(base: &dyn BaseStore, name: &str) -> Commit {
    with_call(|call| base.pin(call, &space(), name)).unwrap()
}

fn unpin(base: &dyn BaseStore, name: &str) {
    with_call(|call| base.unpin(call, &space(), name)).unwrap();
}

pub(super) fn what_was_asked_for_is_kept_until_forgotten(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let (first, one) = put(&*base, &space(), "f", "one", true);
    let (second, two) = put(&*base, &space(), "f", "two", true);
    let third = commit(&*base, &space(), |rows| rows.remove("f", true));
    let past = |commit| look(&*base, &space(), Moment::Now, |rows| rows.past("f", commit)).unwrap();
    assert_eq!((past(first), past(second), past(third)), (Some(one.clone()), Some(two.clone()), None));
    assert_eq!((now(&*base, "f"), past(Commit(0))), (None, None));
    // What was never there, and what lives, cannot be forgotten.
    put(&*base, &space(), "g", "lives", true);
    commit(&*base, &space(), |rows| {
        rows.forget("f", Commit(0))?;
        rows.forget("none", first)?;
        rows.forget("g", Commit(99))?;
        rows.forget("f", third)?;
        rows.forget("f", first)
    });
    assert_eq!((past(first), past(second)), (None, Some(two.clone())));
    assert_eq!((holds(&*base, one.body.unwrap()), holds(&*base, two.body.unwrap())), (false, true));
    assert_eq!(now(&*base, "g").as_deref(), Some("lives"));
    let (_, not_asked) = put(&*base, &space(), "h", "x", false);
    put(&*base, &space(), "h", "y", false);
    assert!(!holds(&*base, not_asked.body.unwrap()));
}

pub(super) fn a_moment_shows_what_was_there(fresh: &dyn Fresh) {
    let base = fresh.handle();
    put(&*base, &space(), "d/a", "a1", true);
    put(&*base, &space(), "d/c", "c1", true);
    let third = put(&*base, &space(), "d/b", "b1", true).0;
    put(&*base, &space(), "d/a", "a2", true);
    let fifth = commit(&*base, &space(), |rows| {
        rows.remove("d/c", true)?;
        rows.put("d/e", &file(b"e1"), true).map(drop)
    });
    let sixth = put(&*base, &space(), "d/c", "c2", true).0;
    let seen = |commit| {
        let names = names(&*base, &space(), Moment::At(commit), "d");
        names.iter().map(|name| at(&*base, commit, &format!("d/{name}")).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(seen(Commit(0)), Vec::<String>::new());
    assert_eq!(seen(third), ["a1", "b1", "c1"]);
    assert_eq!(seen(Commit(4)), ["a2", "b1", "c1"]);
    assert_eq!(seen(fifth), ["a2", "b1", "e1"]);
    assert_eq!(seen(sixth), ["a2", "b1", "c2", "e1"]);
    assert_eq!(seen(Commit(1000)), ["a2", "b1", "c2", "e1"]);
    assert_eq!(at(&*base, fifth, "d/c"), None);
    for limit in 1..4 {
        let mut paged: Vec<String> = Vec::new();
        loop {
            let after = paged.last().cloned();
            let page = look(&*base, &space(), Moment::At(third), |rows| rows.children("d", after.as_deref(), limit));
            let page = page.unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page.into_iter().map(|(name, _)| name));
        }
        assert_eq!(paged, ["a", "b", "c"], "pages of {limit}");
    }
    // Asked about another moment than the one that is looked at.
    let row = look(&*base, &space(), Moment::At(third), |rows| rows.past("d/e", fifth)).unwrap();
    assert!(row.is_some());
}

pub(super) fn a_pin_keeps_what_nobody_asked_for(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let mut bodies = Vec::new();
    commit(&*base, &space(), |rows| {
        for file_number in 0..230 {
            let row = rows.put(&format!("d/{file_number}"), &file(b"before"), false)?;
            bodies.push(row.body.unwrap());
        }
        Ok(())
    });
    let pinned = pin(&*base, "fork");
    commit(&*base, &space(), |rows| {
        for file_number in 0..230 {
            match file_number % 2 {
                0 => rows.remove(&format!("d/{file_number}"), false)?,
                _ => rows.put(&format!("d/{file_number}"), &file(b"after"), false).map(|_| ())?,
            }
        }
        Ok(())
    });
    put(&*base, &space(), "d/1", "later", false);
    assert_eq!(names(&*base, &space(), Moment::At(pinned), "d").len(), 230);
    assert_eq!(at(&*base, pinned, "d/0").as_deref(), Some("before"));
    assert_eq!(at(&*base, pinned, "d/1").as_deref(), Some("before"));
    assert_eq!(at(&*base, Commit(pinned.0 + 1), "d/1"), None, "no pin fell into its life");
    commit(&*base, &space(), |rows| rows.forget("d/0", pinned));
    assert_eq!(at(&*base, pinned, "d/0").as_deref(), Some("before"), "the pin still needs it");
    unpin(&*base, "fork");
    assert!(names(&*base, &space(), Moment::At(pinned), "d").is_empty());
    assert!(bodies.iter().all(|body| !holds(&*base, *body)));
    assert_eq!(now(&*base, "d/1").as_deref(), Some("later"));
    assert_eq!(names(&*base, &space(), Moment::Now, "d").len(), 115);
}

pub(super) fn what_is_asked_for_outlives_the_pin(fresh: &dyn Fresh) {
    let base = fresh.handle();
    put(&*base, &space(), "f", "one", false);
    let pinned = pin(&*base, "fork");
    put(&*base, &space(), "f", "two", true);
    unpin(&*base, "fork");
    unpin(&*base, "never pinned");
    assert_eq!(at(&*base, pinned, "f").as_deref(), Some("one"));
    commit(&*base, &space(), |rows| rows.forget("f", pinned));
    assert_eq!(at(&*base, pinned, "f"), None);
}

pub(super) fn of_two_pins_each_keeps_its_own(fresh: &dyn Fresh) {
    let base = fresh.handle();
    put(&*base, &space(), "f", "one", false);
    put(&*base, &space(), "both", "both", false);
    let first = pin(&*base, "first");
    put(&*base, &space(), "f", "two", false);
    let second = pin(&*base, "second");
    put(&*base, &space(), "f", "three", false);
    put(&*base, &space(), "both", "other", false);
    unpin(&*base, "first");
    assert_eq!(at(&*base, first, "f"), None);
    assert_eq!(at(&*base, second, "f").as_deref(), Some("two"));
    assert_eq!(at(&*base, second, "both").as_deref(), Some("both"));
    unpin(&*base, "second");
    assert_eq!((at(&*base, second, "f"), at(&*base, second, "both")), (None, None));
}

pub(super) fn pinning_again_keeps_the_first(fresh: &dyn Fresh) {
    let base = fresh.handle();
    assert_eq!(pin(&*base, "empty"), Commit(0));
    let (first, _) = put(&*base, &space(), "f", "one", false);
    assert_eq!(pin(&*base, "fork"), first);
    let (second, _) = put(&*base, &space(), "f", "two", false);
    assert_eq!((pin(&*base, "fork"), pin(&*base, "other")), (first, second));
    assert_eq!(at(&*base, first, "f").as_deref(), Some("one"));
    let elsewhere = with_call(|call| base.pin(call, &Namespace::new(["elsewhere"]), "fork")).unwrap();
    assert_eq!(elsewhere, Commit(0));
}

pub(super) fn many_lives_of_one_name_are_one_name(fresh: &dyn Fresh) {
    let base = fresh.handle();
    put(&*base, &space(), "d/a", "a", false);
    commit(&*base, &space(), |rows| {
        for round in 0..200_u32 {
            rows.put("d/m", &file(round.to_string().as_bytes()), true)?;
            rows.advance()?;
        }
        Ok(())
    });
    put(&*base, &space(), "d/z", "z", false);
    assert_eq!(names(&*base, &space(), Moment::Now, "d"), ["a", "m", "z"]);
    assert_eq!(names(&*base, &space(), Moment::At(Commit(100)), "d"), ["a", "m"]);
    for commit in [2, 50, 201] {
        assert_eq!(at(&*base, Commit(commit), "d/m"), Some((commit - 2).to_string()));
    }
}

pub(super) fn a_row_changed_twice_in_a_commit_has_one_life(fresh: &dyn Fresh) {
    let base = fresh.handle();
    let first = put(&*base, &space(), "f", "one", true).0;
    let mut between = None;
    let second = commit(&*base, &space(), |rows| {
        between = rows.put("f", &file(b"two"), true)?.body;
        rows.remove("f", true)?;
        rows.put("f", &file(b"three"), true)?;
        rows.put("g", &file(b"short"), true)?;
        rows.remove("g", true)
    });
    assert!(!holds(&*base, between.unwrap()));
    assert_eq!(at(&*base, first, "f").as_deref(), Some("one"));
    assert_eq!(at(&*base, second, "f").as_deref(), Some("three"));
    assert_eq!(at(&*base, second, "g"), None);
    // Without a new commit the same one goes on.
    with_call(|call| base.write(call, &space(), &mut |rows| rows.put("f", &file(b"four"), true).map(drop))).unwrap();
    assert_eq!(at(&*base, second, "f").as_deref(), Some("four"));
    assert_eq!(at(&*base, first, "f").as_deref(), Some("one"));
}
