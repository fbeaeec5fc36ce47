//! The attacks of the threat model's "Paths and files", run against the Physical Store through a
//! Vfs. Each has its honest twin: the same act without the malice succeeds.

mod bombs;
mod hard_links;
mod links;
mod lost_update;
mod moving;
mod names;
mod nested;
mod pen;
mod races;
mod special;
