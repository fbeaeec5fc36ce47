//! The `paddock` command line.

fn main() {}
