//! Hard links to a file outside: readable unless denied, and never written through.

use std::fs;

use paddock_core::{AccessScope, ErrorKind};
use paddock_stores::HardLinks;

use super::pen::{Pane, Pen, SECRET, kind};

fn linked(hard_links: HardLinks) -> Pen {
    let pane = Pane { prefix: "/w", scope: AccessScope::ReadWrite, host: "", hide: &[] };
    let pen = Pen::with(&[pane], hard_links);
    for name in ["written", "appended", "edited", "read"] {
        fs::hard_link(pen.outside("secret.txt"), pen.inside(name)).unwrap();
    }
    fs::write(pen.inside("single"), "single").unwrap();
    pen
}

#[test]
fn a_write_leaves_the_outside_inode_alone() {
    let pen = linked(HardLinks::Read);
    let before = pen.outside_state();
    pen.write("/w/written", "mine").unwrap();
    pen.append("/w/appended", "mine").unwrap();
    pen.edit("/w/edited", "SECRET", "mine").unwrap();
    assert_eq!(pen.outside_state(), before);
    assert_eq!(pen.read("/w/written").unwrap(), "mine");
    assert_eq!(pen.read("/w/appended").unwrap(), format!("{SECRET}\nmine"));
    assert_eq!(pen.read("/w/edited").unwrap(), "mine-OF-THE-HOST\n");
}

#[test]
fn reading_is_possible_by_default_and_refused_when_denied() {
    let pen = linked(HardLinks::Read);
    assert!(pen.read("/w/read").unwrap().contains(SECRET));
    let pen = linked(HardLinks::Deny);
    assert_eq!(kind(pen.read("/w/read")), ErrorKind::HardLinked);
    assert_eq!(kind(pen.edit("/w/edited", "SECRET", "x")), ErrorKind::HardLinked);
    assert_eq!(pen.search("/w", "SECRET").unwrap(), []);
    assert_eq!(kind(pen.search("/w/read", "SECRET")), ErrorKind::HardLinked);
    assert_eq!(pen.read("/w/single").unwrap(), "single");
    assert_eq!(pen.search("/w", "single").unwrap().len(), 1);
}
