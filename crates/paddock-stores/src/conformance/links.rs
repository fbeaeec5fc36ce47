//! Symbolic links: what they lead to is judged, and they lead nowhere else.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{AccessScope, DenyRule, ErrorKind, Expect, Kind};

use super::world::{browse, denied, error, search};
use super::{Fixture, Space, World};

/// A world, where the Store can hold links at all.
fn world_with_links(fixture: &Fixture) -> Option<World> {
    fixture.can().links.then(|| fixture.world())
}

pub fn a_link_reads_as_what_it_leads_to(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/real", "content");
    world.link("direct", "d/real");
    world.link("chain", "direct");
    world.link("dir", "d");
    world.link("sub/up", "../d/real");
    for path in ["/w/direct", "/w/chain", "/w/dir/real", "/w/sub/up"] {
        assert_eq!(world.text(path), "content", "{path}");
    }
}

pub fn a_link_is_listed_as_one_and_not_gone_into(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/f", "needle\n");
    world.link("l", "d");
    world.link("loop", ".");
    let found = world.browse(&browse("/w")).unwrap().found;
    let told: Vec<(&str, Kind)> = found.iter().map(|f| (f.path, f.kind)).collect();
    let expected = [("/w/d", Kind::Dir), ("/w/d/f", Kind::File), ("/w/l", Kind::Link), ("/w/loop", Kind::Link)];
    assert_eq!(told, expected);
    assert_eq!(world.search("/w", "needle"), ["/w/d/f:1:needle"]);
}

pub fn a_listing_or_search_may_start_at_a_link(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/f", "needle\n");
    world.link("l", "d");
    world.link("g", "d/f");
    assert_eq!(world.list("/w/l"), ["/w/d/f"]);
    assert_eq!(world.search("/w/l", "needle"), ["/w/d/f:1:needle"]);
    assert_eq!(world.search("/w/g", "needle"), ["/w/d/f:1:needle"]);
}

pub fn a_link_that_leads_out_or_in_circles_is_refused(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.link("out", "../../etc/passwd");
    world.link("up", "..");
    world.link("self", "self");
    world.link("ping", "pong");
    world.link("pong", "ping");
    for path in ["/w/out", "/w/up", "/w/up/x", "/w/self", "/w/ping", "/w/ping/x"] {
        assert_eq!(error(world.read_part(path, 0..1)), ErrorKind::LinkEscapes, "read {path}");
        assert_eq!(error(world.try_write(path, "x", Expect::Any)), ErrorKind::LinkEscapes, "write {path}");
        assert_eq!(error(world.browse(&browse(path))), ErrorKind::LinkEscapes, "list {path}");
        assert_eq!(error(world.search_for(path, &search("x"))), ErrorKind::LinkEscapes, "search {path}");
    }
}

pub fn a_link_to_nothing_reads_as_nothing_and_is_written_where_it_leads(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.link("l", "new/file");
    assert_eq!(error(world.read_part("/w/l", 0..1)), ErrorKind::NotFound);
    world.write("/w/l", "x");
    assert_eq!(world.text("/w/new/file"), "x");
    assert_eq!(world.browse(&browse("/w")).unwrap().found.get(0).unwrap().kind, Kind::Link, "the link is still one");
}

pub fn a_change_through_a_link_changes_what_it_leads_to(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/f", "a\n");
    world.link("l", "d/f");
    world.link("dir", "d");
    world.write("/w/l", "b\n");
    world.append("/w/l", "c\n").unwrap();
    world.edit("/w/dir/f", "b", "d").unwrap();
    world.write("/w/dir/new", "n");
    world.make_dir("/w/dir/sub").unwrap();
    assert_eq!(world.text("/w/d/f"), "d\nc\n");
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f", "/w/d/new", "/w/d/sub", "/w/dir", "/w/l"]);
}

pub fn a_delete_takes_the_link_and_not_what_it_leads_to(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/f", "x");
    world.link("l", "d");
    world.link("gone/inner", "../d");
    world.delete("/w/l").unwrap();
    world.delete_all("/w/gone").unwrap();
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f"]);
}

pub fn a_link_in_a_linked_directory_goes_and_moves_as_itself(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/real", "x");
    world.link("d/one", "../real");
    world.link("d/two", "../real");
    world.link("to-d", "d");
    world.delete("/w/to-d/one").unwrap();
    world.rename("/w/to-d/two", "/w/d/moved").unwrap();
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/moved", "/w/real", "/w/to-d"]);
    assert_eq!(world.text("/w/d/moved"), "x");
}

pub fn a_move_takes_the_link_itself(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/f", "x");
    world.link("l", "d");
    world.rename("/w/l", "/w/m").unwrap();
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f", "/w/m"]);
    assert_eq!(world.text("/w/m/f"), "x");
    assert_eq!(error(world.rename("/w/d/f", "/w/m")), ErrorKind::AlreadyExists);
}

pub fn a_link_tells_where_it_leads_and_is_not_followed(fixture: &Fixture) {
    let Some(world) = world_with_links(fixture) else { return };
    world.write("/w/d/f", "content");
    world.link("l", "d/f");
    world.link("sub/out", "../../nowhere");
    world.link("dir", "d");
    world.link("d/inner", "f");
    assert_eq!(world.leads_to("/w/l").unwrap(), "d/f");
    assert_eq!(world.leads_to("/w/sub/out").unwrap(), "../../nowhere", "nobody follows it");
    assert_eq!(world.leads_to("/w/dir/inner").unwrap(), "f", "links on the way are followed");
    assert_eq!(world.facts("/w/l").unwrap().kind, Kind::Link);
    assert_eq!(world.facts("/w/l").unwrap().len, 3, "its length is that of its text");
    assert_eq!(world.facts("/w/dir/f").unwrap().len, 7);
    world.rename("/w/l", "/w/d/m").unwrap();
    assert_eq!(world.leads_to("/w/d/m").unwrap(), "d/f", "it moves as it is written");
    assert_eq!(error(world.leads_to("/w/none")), ErrorKind::NotFound);
    assert!(matches!(error(world.leads_to("/w/d/f")), ErrorKind::Unsupported(_)), "a file leads nowhere");
}

pub fn where_a_link_leads_is_told_only_where_it_may_be_read(fixture: &Fixture) {
    if !fixture.can().links {
        return;
    }
    let world = fixture.world_of(&[Space::at("/w").scope(AccessScope::WriteOnly).hide(&["secret"])]);
    world.link("l", "d");
    assert_eq!(denied(world.leads_to("/w/l")), DenyRule::Scope);
    assert_eq!(denied(world.facts("/w/l")), DenyRule::Scope);
    let world = fixture.world_of(&[Space::at("/w").hide(&["secret", "vault"])]);
    world.seed(0, "vault/f", "s");
    world.link("secret", "d");
    world.link("to-dir", "vault");
    assert_eq!(denied(world.leads_to("/w/secret")), DenyRule::Hidden);
    assert_eq!(denied(world.facts("/w/secret")), DenyRule::Hidden);
    assert_eq!(denied(world.facts("/w/to-dir/f")), DenyRule::Hidden, "by way of a link neither");
}

pub fn a_link_to_a_hidden_name_is_as_hidden(fixture: &Fixture) {
    if !fixture.can().links {
        return;
    }
    let world = fixture.world_of(&[Space::at("/w").hide(&["secret"])]);
    world.seed(0, "secret/f", "s");
    world.link("to-file", "secret/f");
    world.link("to-dir", "secret");
    for path in ["/w/to-file", "/w/to-dir/f", "/w/to-dir"] {
        assert_eq!(denied(world.read_part(path, 0..1)), DenyRule::Hidden, "{path}");
        assert_eq!(denied(world.search_for(path, &search("s"))), DenyRule::Hidden, "{path}");
    }
    assert_eq!(denied(world.try_write("/w/to-file", "x", Expect::Any)), DenyRule::Hidden);
    assert_eq!(denied(world.browse(&browse("/w/to-dir"))), DenyRule::Hidden);
    assert_eq!(world.held(0, "secret/f").as_deref(), Some("s"));
}

pub fn a_link_into_a_nested_workspace_is_judged_there(fixture: &Fixture) {
    if !fixture.can().links {
        return;
    }
    let world = fixture.world_of(&[Space::at("/w"), Space::at("/w/in").scope(AccessScope::ReadOnly)]);
    world.seed(0, "in/f", "shadowed");
    world.seed(1, "f", "inner");
    world.link("l", "in/f");
    assert_eq!(world.text("/w/l"), "inner");
    assert_eq!(denied(world.try_write("/w/l", "x", Expect::Any)), DenyRule::Scope);
    assert_eq!(world.held(0, "in/f").as_deref(), Some("shadowed"));
    assert_eq!(world.held(1, "f").as_deref(), Some("inner"));
}
