//! What an agent may take away unasked because it is its own, and what only looks so.

use super::history_world::World;

/// A project of a person: what is in it was there before the agent came.
fn with_project() -> World {
    let world = World::new();
    world.make_dir("/w/proj");
    for file in ["proj/m1.py", "proj/m2.py"] {
        world.store.plant(file, "a person's");
    }
    world
}

#[test]
fn what_a_move_brings_from_another_workspace_is_whose_it_was() {
    let world = with_project();
    world.rename("/w/proj", "/o/trash");
    assert!(!world.is_own("/o/trash/m1.py") && !world.is_own("/o/trash/m2.py"));
    world.append("/o/trash/m1.py", " and the agent's");
    assert!(!world.is_own("/o/trash/m1.py"), "adding to it makes it nobody else's");
    world.rename("/o/trash/m2.py", "/w/m2.py");
    assert!(!world.is_own("/w/m2.py"), "nor does the way back");
    // Its twin: the agent's own stays that.
    world.write("/w/d/e/own.py", "the agent's");
    world.make_dir("/w/d/empty");
    world.rename("/w/d", "/o/d");
    assert!(world.is_own("/o/d/e/own.py") && world.is_own("/o/d/empty"));
    world.rename("/o/d/e/own.py", "/w/own.py");
    assert!(world.is_own("/w/own.py"));
    world.edit("/w/own.py", "agent", "model");
    assert!(world.is_own("/w/own.py"));
}

#[test]
fn what_somebody_changed_before_it_was_brought_elsewhere_is_theirs() {
    let world = World::new();
    world.write("/w/d/own.py", "the agent's");
    world.store.plant("d/own.py", "and a person's");
    world.rename("/w/d", "/o/d");
    assert!(!world.is_own("/o/d/own.py"));
}

#[test]
fn a_directory_that_takes_the_place_of_another_makes_nothing_in_it_the_agents_own() {
    let world = with_project();
    world.write("/w/q/m1.py", "the agent's");
    world.write("/w/q/sub/x", "the agent's");
    assert!(world.is_own("/w/q/m1.py"));
    world.rename("/w/q", "/w/q0");
    world.rename("/w/proj", "/w/q");
    assert!(!world.is_own("/w/q/m1.py"));
    world.append("/w/q/m1.py", " and the agent's");
    assert!(!world.is_own("/w/q/m1.py"), "the last row is the agent's, and what it made is elsewhere");
    // Its twin: what it makes there from now on is its own.
    world.write("/w/q/m3.py", "new");
    world.append("/w/q/m3.py", " and more");
    assert!(world.is_own("/w/q/m3.py"));
}

#[test]
fn what_an_agent_changed_after_somebody_else_had_is_not_its_own() {
    let world = World::new();
    for at in ["/w/a", "/w/b", "/w/c", "/w/own"] {
        world.write(at, "the agent's");
    }
    for file in ["a", "b", "c"] {
        world.store.plant(file, "a person's, who saw it");
    }
    world.append("/w/a", "more");
    world.write("/w/b", "anew");
    world.edit("/w/c", "person", "reader");
    for at in ["/w/a", "/w/b", "/w/c"] {
        assert!(!world.is_own(at), "{at}");
        world.append(at, " and again");
        assert!(!world.is_own(at), "{at}, however often");
    }
    world.append("/w/own", "more");
    world.edit("/w/own", "more", "less");
    world.write("/w/own", "anew");
    assert!(world.is_own("/w/own"));
}

#[test]
fn what_stands_where_the_agent_deleted_its_own_is_not_its_own() {
    let world = World::new();
    world.make_dir("/w/d");
    world.delete("/w/d");
    world.store.plant_directory("d");
    assert!(!world.is_own("/w/d"));
    world.delete("/w/d");
    world.make_dir("/w/d");
    assert!(world.is_own("/w/d"));
}
