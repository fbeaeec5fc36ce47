//! Chores of the repository: test, tidy, bench, soak.

fn main() {}
