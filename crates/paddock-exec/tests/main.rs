//! The sandbox played as it is used: commands run, attacks tried, each as root and as an ordinary user.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub
)]

mod main {
    #[path = "../../../../tests/could_not_run.rs"]
    mod could_not_run;
    pub mod harness;

    mod changes;
    mod confined;
    mod hidden;
    mod leftovers;
    mod limited;
    mod network;
    mod proxy;
    mod running;
    mod work;
}
