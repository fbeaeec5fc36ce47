//! Names as people and tools really give them.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use super::Fixture;

pub fn unusual_names_are_ordinary(fixture: &Fixture) {
    let world = fixture.world();
    let longest = "n".repeat(255);
    let names = [
        "with space",
        " leading",
        "trailing ",
        "-rf",
        "--help",
        "[...slug]",
        "a..b",
        "...",
        "~",
        "*",
        "?",
        "a:b",
        "#",
        "größe",
        "日本語",
        "👩\u{200d}💻",
        "'quoted\"",
        "$HOME",
        "%2e%2e",
        "CON",
        ".hidden",
        "a;b|c&d",
        &longest,
    ];
    for name in names {
        let path = format!("/w/{name}/{name}");
        world.write(&path, name);
        assert_eq!(world.text(&path), name);
        world.append(&path, "!").unwrap();
        assert_eq!(world.list(&format!("/w/{name}")), std::slice::from_ref(&path));
        assert_eq!(world.search(&path, "!$"), [format!("{path}:1:{name}!")]);
        world.rename(&path, &format!("/w/{name}/moved")).unwrap();
        world.delete_all(&format!("/w/{name}")).unwrap();
    }
    assert_eq!(world.list("/w"), [""; 0]);
}

pub fn names_that_differ_in_case_or_composition_are_two(fixture: &Fixture) {
    let world = fixture.world();
    let names = ["readme", "README", "caf\u{e9}", "cafe\u{301}"];
    for name in names {
        world.write(&format!("/w/{name}"), name);
    }
    if world.list("/w").len() < names.len() {
        // A file system that folds them is an honest one; then they have to be one everywhere.
        return;
    }
    for name in names {
        assert_eq!(world.text(&format!("/w/{name}")), name);
    }
}

pub fn a_deep_path_works(fixture: &Fixture) {
    let world = fixture.world();
    let deep = format!("/w{}", "/d".repeat(200));
    world.write(&format!("{deep}/f"), "needle");
    assert_eq!(world.search("/w", "needle"), [format!("{deep}/f:1:needle")]);
    assert_eq!(world.list("/w").len(), 201);
    world.delete_all("/w/d").unwrap();
    assert_eq!(world.list("/w"), [""; 0]);
}

pub fn a_path_by_a_detour_is_the_same_path(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a/../b//./f", "x");
    assert_eq!(world.list("/w"), ["/w/b", "/w/b/f"]);
    assert_eq!(world.text("/w/none/../b/f"), "x");
}
