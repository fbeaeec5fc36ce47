//! What goes out and comes in again is what it was.

use std::collections::BTreeSet;

use paddock_core::CallId;
use paddock_ledger::history::CallState;
use paddock_projects::import::{Import, Limits};
use proptest::prelude::*;

use crate::world::{GROUNDS, Node, Tree, World, as_git_has_it, file, path, sample, tree};

#[test]
fn a_zip_comes_in_as_it_went_out_on_every_store_and_one_undo_takes_it_back() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let (_, archive) = world.zip("/p/project");
    for ground in GROUNDS {
        let at = format!("{ground}/deep/copy");
        let before = world.tree(ground);
        let told = world.unzip(&at, &archive).unwrap();
        assert_eq!((told.files, told.links, told.directories, told.replaced), (7, 2, 4, 0), "{told:?}");
        assert_eq!(world.tree(&at), sample(), "{ground}");
        assert_eq!(world.zip(&at).1, archive, "{ground}");
        let recorded = world.history.find_call(&told.call).unwrap();
        assert_eq!(recorded.state, CallState::Completed);
        assert_eq!(world.heard().last().unwrap(), &("import".to_owned(), "done".to_owned()));
        world.undo(&told.call);
        assert_eq!(world.tree(ground), before, "{ground}");
    }
    assert_eq!(world.waiting(), 0);
}

#[test]
fn modes_and_large_contents_survive() {
    let world = World::new();
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    let content = tree(&[
        ("large", Node::File(0o640, large)),
        ("locked", Node::Dir(0o750)),
        ("locked/inside", Node::File(0o444, b"x".to_vec())),
        ("tool", Node::File(0o755, vec![0; 70_000])),
    ]);
    world.plant("/p/project", &content);
    let (_, archive) = world.zip("/p/project");
    for ground in GROUNDS {
        let at = format!("{ground}/copy");
        world.unzip(&at, &archive).unwrap();
        assert_eq!(world.tree(&at), content, "{ground}");
    }
}

#[test]
fn an_empty_directory_is_filled_and_another_only_when_asked() {
    let world = World::new();
    world.plant("/p/source", &sample());
    let (_, archive) = world.zip("/p/source");
    for ground in GROUNDS {
        let at = format!("{ground}/there");
        world.plant(&at, &Tree::new());
        let told = world.unzip(&at, &archive).unwrap();
        world.undo(&told.call);
        assert_eq!(world.tree(&at), Tree::new());
        assert!(world.tree(ground).contains_key("there"), "the directory was there before");
        let mine = tree(&[
            ("README.md", Node::File(0o600, b"mine".to_vec())),
            ("own", file("own")),
            ("bin", Node::Dir(0o755)),
            ("bin/run", Node::Link("../own".to_owned())),
        ]);
        world.plant(&at, &mine);
        let refused = world.unzip(&at, &archive).unwrap_err();
        assert!(refused.to_string().contains("is not empty"), "{refused}");
        let merged = world.unzip_with(&at, &archive, Import { merge: true, ..Import::default() }).unwrap();
        assert_eq!(merged.replaced, 2);
        let mut expected = sample();
        expected.insert("own".to_owned(), file("own"));
        assert_eq!(world.tree(&at), expected, "{ground}");
        world.undo(&merged.call);
        assert_eq!(world.tree(&at), mine, "{ground}");
    }
}

#[test]
fn a_directory_and_a_file_do_not_take_each_others_place() {
    let world = World::new();
    world.plant("/p/source", &tree(&[("a", Node::Dir(0o755)), ("a/b", file("b"))]));
    let (_, archive) = world.zip("/p/source");
    let merge = Import { merge: true, ..Import::default() };
    for ground in GROUNDS {
        for mine in [tree(&[("a", file("file"))]), tree(&[("a", Node::Dir(0o755)), ("a/b", Node::Dir(0o755))])] {
            let at = format!("{ground}/{}", CallId::next());
            world.plant(&at, &mine);
            let refused = world.unzip_with(&at, &archive, merge).unwrap_err();
            assert!(refused.to_string().contains("in the way"), "{refused}");
            assert_eq!(world.tree(&at), mine);
        }
        // Through a link nothing is written.
        let at = format!("{ground}/{}", CallId::next());
        let mine = tree(&[("a", Node::Link("real".to_owned())), ("real", Node::Dir(0o755))]);
        world.plant(&at, &mine);
        world.unzip_with(&at, &archive, merge).unwrap_err();
        assert_eq!(world.tree(&at), mine);
    }
}

#[test]
fn the_one_directory_around_everything_can_be_taken_off() {
    let world = World::new();
    world.plant("/p/outer", &Tree::new());
    world.plant("/p/outer/project", &sample());
    let (_, archive) = world.zip("/p/outer");
    world.unzip("/p/as-it-is", &archive).unwrap();
    assert!(world.tree("/p/as-it-is").contains_key("project/README.md"));
    let unwrap = Import { unwrap: true, ..Import::default() };
    world.unzip_with("/p/inner", &archive, unwrap).unwrap();
    assert_eq!(world.tree("/p/inner"), sample());
    // With two there is none to take off.
    world.plant("/p/outer", &tree(&[("second", file("x"))]));
    let (_, archive) = world.zip("/p/outer");
    world.unzip_with("/p/both", &archive, unwrap).unwrap();
    assert!(world.tree("/p/both").contains_key("project/README.md"));
}

/// Names that some tool somewhere gets wrong.
fn name() -> impl Strategy<Value = String> {
    let odd = [
        "a b",
        "...",
        "..a",
        "a..b",
        "[x]",
        "~",
        "-rf",
        "*.js",
        "CON",
        "\u{e4}\u{f6}",
        "日本",
        "'q'",
        "$HOME",
        "a;b",
        "#x",
        "!x",
        "HEAD.txt",
    ];
    prop_oneof!["[a-z][a-z0-9_.-]{0,6}", proptest::sample::select(odd.map(str::to_owned).to_vec()),]
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 0..200),
        Just(b"line\r\nline\n".to_vec()),
        (any::<u8>(), 60_000_usize..140_000).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

/// A tree whose names no host takes for one another.
fn any_tree() -> impl Strategy<Value = Tree> {
    let at = proptest::collection::vec(name(), 1..4);
    let mode = proptest::sample::select(vec![0o644_u32, 0o755, 0o600, 0o444, 0o640, 0o711, 0o777]);
    let node = prop_oneof![
        4 => (mode, content()).prop_map(|(mode, content)| Node::File(mode, content)),
        1 => Just(Node::Dir(0o755)),
        1 => name().prop_map(Node::Link),
    ];
    proptest::collection::vec((at, node), 0..12).prop_map(|nodes| {
        let mut tree = Tree::new();
        let mut folded = BTreeSet::new();
        for (at, node) in nodes {
            let whole = at.join("/");
            let ways: Vec<String> = (1..at.len()).map(|n| at[..n].join("/")).collect();
            let clashes = |way: &String| tree.get(way).is_some_and(|node| !matches!(node, Node::Dir(_)));
            if ways.iter().any(clashes) || tree.contains_key(&whole) {
                continue;
            }
            for way in ways.into_iter().chain([whole.clone()]) {
                folded.insert(way.to_lowercase());
                tree.entry(way).or_insert(Node::Dir(0o755));
            }
            tree.insert(whole, node);
        }
        tree
    })
}

/// What may be written and may leave, which a tree at random is not always.
fn is_allowed(world: &World, at: &str, tree: &Tree) -> bool {
    let person = world.person();
    tree.keys().all(|name| {
        let path = path(&format!("{at}/{name}"));
        person.vfs().judge(paddock_core::OpKind::Write, &path).allowed()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_project_comes_back_from_a_zip_as_it_was(tree in any_tree()) {
        let world = World::new();
        prop_assume!(is_allowed(&world, "/v/one", &tree));
        world.plant("/v/one", &tree);
        let (told, archive) = world.zip_with("/v/one", paddock_projects::export::Export { ignored: true });
        prop_assert!(told.left_out.is_empty(), "{:?}", told);
        for at in ["/v/two", "/p/two"] {
            let limits = Limits { ratio: 2_000, ..Limits::default() };
            world.unzip_with(at, &archive, Import { limits, ..Import::default() }).unwrap();
            prop_assert_eq!(world.tree(at), tree.clone());
            prop_assert_eq!(&world.zip_with(at, paddock_projects::export::Export { ignored: true }).1, &archive);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_project_comes_back_from_git_as_git_has_it(tree in any_tree()) {
        let world = World::new();
        prop_assume!(is_allowed(&world, "/v/one", &tree));
        prop_assume!(!as_git_has_it(&tree).is_empty());
        world.plant("/v/one", &tree);
        let bundle = crate::git_out::bundle_of(&world, "/v/one", true);
        prop_assert_eq!(std::fs::read(&bundle).unwrap(), std::fs::read(crate::git_out::bundle_of(&world, "/v/one", true)).unwrap());
        world.clone("/p/two", bundle.to_str().unwrap()).unwrap();
        prop_assert_eq!(world.tree("/p/two"), as_git_has_it(&tree));
    }
}
