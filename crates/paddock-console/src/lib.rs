//! The HTTP API, the web console and published projects.
//!
//! Owns what is served over HTTP. It must never touch a Store past the Vfs.
