//! Check: crates depend only downwards, and the domain stays free of I/O and runtimes.
//!
//! Owns the order of the crates as one table, the same as in the architecture page. Development
//! dependencies are held to it too, but for what a row excepts: a test that needs the crate above mostly
//! tests the wrong crate.

use anyhow::Result;

use super::manifest::{self, Crate};
use crate::repo::Repo;

/// One crate, in the order of the table: it may depend only on crates in later rows.
struct Layer {
    name: &'static str,
    /// Crates below that it must still not know, except in its tests.
    never: &'static [&'static str],
    /// Crates above that its integration tests may still use.
    tests_may: &'static [&'static str],
    /// When given, everything else that it may depend on outside its tests.
    only: Option<&'static [&'static str]>,
}

const fn layer(name: &'static str) -> Layer {
    Layer { name, never: &[], tests_may: &[], only: None }
}

/// From the top down. A crate that is planned has its row already, so that its place is not invented later.
const LAYERS: &[Layer] = &[
    layer("paddock-bench"),
    layer("paddock"),
    layer("paddock-node"),
    layer("paddock-console"),
    layer("paddock-desk"),
    Layer { never: &["paddock-stores", "paddock-db"], ..layer("paddock-mcp") },
    layer("paddock-projects"),
    layer("paddock-agent"),
    layer("paddock-exec"),
    layer("paddock-fuse"),
    layer("paddock-tools"),
    layer("paddock-config"),
    layer("paddock-ledger"),
    layer("paddock-stores"),
    layer("paddock-state"),
    layer("paddock-db"),
    Layer {
        // The router and the guard are played on a real Store, not only on doubles.
        tests_may: &["paddock-stores"],
        // Pure computation only (of `ignore` and `globset`, the pattern matchers): no I/O, no runtime.
        only: Some(&[
            "chardetng",
            "encoding_rs",
            "globset",
            "ignore",
            "memchr",
            "serde",
            "sha1",
            "sha2",
            "thiserror",
            "unicode-normalization",
        ]),
        ..layer("paddock-core")
    },
];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for member in manifest::crates(repo)? {
        let place = format!("{}/Cargo.toml", member.directory);
        found.extend(of_crate(&member).into_iter().map(|complaint| format!("{place}: {complaint}")));
    }
    Ok(found)
}

fn of_crate(member: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    if member.name == "xtask" {
        let ours = member.all().filter(|name| is_ours(name));
        found.extend(ours.map(|name| format!("xtask must build without `{name}`, it checks it")));
        return found;
    }
    let Some(place) = place_of(&member.name) else {
        found.push(format!("`{}` has no row in LAYERS of xtask/src/tidy/dependencies.rs", member.name));
        return found;
    };
    found.extend(upwards(member, place));
    found.extend(forbidden(member, &LAYERS[place]));
    found
}

fn upwards(member: &Crate, place: usize) -> Vec<String> {
    let tests_may = |name: &str| LAYERS[place].tests_may.contains(&name) && !member.normal.contains(name);
    let ours = member.all().filter(|name| is_ours(name) && **name != member.name && !tests_may(name));
    let above = ours.filter(|name| place_of(name).is_none_or(|other| other <= place));
    above.map(|name| format!("depends upwards, on `{name}`; dependencies point down the table only")).collect()
}

fn forbidden(member: &Crate, layer: &Layer) -> Vec<String> {
    let known = member.normal.iter().filter(|name| layer.never.contains(&name.as_str()));
    let mut found: Vec<String> = known.map(|name| format!("must never know `{name}`")).collect();
    if let Some(only) = layer.only {
        let extra = member.normal.iter().filter(|name| !is_ours(name) && !only.contains(&name.as_str()));
        found.extend(extra.map(|name| {
            format!(
                "`{name}` is not among what it may depend on; if it does no I/O and needs no runtime, list it in LAYERS"
            )
        }));
    }
    found
}

fn is_ours(name: &str) -> bool {
    name == "paddock" || name.starts_with("paddock-")
}

fn place_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(name: &str, rest: &str) -> Vec<String> {
        of_crate(&Crate::parse("crates/x", &format!("[package]\nname = \"{name}\"\n{rest}")).unwrap())
    }

    #[test]
    fn downwards_is_fine() {
        let good = judged("paddock-stores", "[dependencies]\npaddock-core.workspace = true\nrustix = \"1\"\n");
        assert!(good.is_empty(), "{good:?}");
    }

    #[test]
    fn upwards_is_refused_in_every_kind_of_table() {
        for table in ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let found = judged("paddock-core", &format!("[{table}]\npaddock-tools.workspace = true\n"));
            assert!(found.iter().any(|complaint| complaint.contains("upwards")), "{table}: {found:?}");
        }
    }

    #[test]
    fn what_the_tests_may_use_the_crate_itself_may_not() {
        assert!(judged("paddock-core", "[dev-dependencies]\npaddock-stores.workspace = true\n").is_empty());
        assert_eq!(judged("paddock-core", "[dependencies]\npaddock-stores.workspace = true\n").len(), 1);
    }

    #[test]
    fn a_renamed_dependency_does_not_hide() {
        let found = judged("paddock-state", "[dependencies]\nc = { package = \"paddock-config\", path = \"../c\" }\n");
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn the_domain_takes_no_runtime() {
        let found = judged("paddock-core", "[dependencies]\ntokio = \"1\"\nthiserror = \"2\"\n");
        assert!(found.len() == 1 && found[0].contains("`tokio`"), "{found:?}");
        assert!(judged("paddock-core", "[dev-dependencies]\nproptest = \"1\"\n").is_empty());
    }

    #[test]
    fn the_transport_knows_no_concrete_store_but_its_tests_may() {
        assert_eq!(judged("paddock-mcp", "[dependencies]\npaddock-stores.workspace = true\n").len(), 1);
        assert!(judged("paddock-mcp", "[dev-dependencies]\npaddock-stores.workspace = true\n").is_empty());
    }

    #[test]
    fn a_crate_without_a_row_is_told_where_to_add_it() {
        let found = judged("paddock-new", "");
        assert!(found[0].contains("LAYERS"), "{found:?}");
    }

    #[test]
    fn xtask_knows_no_crate_of_ours() {
        assert_eq!(judged("xtask", "[dependencies]\npaddock-core = \"1\"\n").len(), 1);
    }
}
