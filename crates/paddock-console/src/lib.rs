//! The HTTP side of Paddock: JSON API, web console, MCP at `/mcp`, published projects.
//!
//! [`serve`] listens for one project. Everything it shows or does is a function of `paddock-desk` or a call of the
//! agent's tools; nothing here decides what is allowed, or reaches a Store.
//!
//! A request passes, in this order: `guard` (which host, from which page, who asks), then an endpoint of `api`, a page, `/mcp`, or
//! the stream of `events`. API endpoints are rows of one table, from which the router and the OpenAPI document are both made.
//!
//! This crate must never answer a foreign host, show a page without the content security policy, or put what agents wrote into
//! HTML as anything but text.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod api;
mod assets;
mod connection;
mod endpoint;
mod events;
mod guard;
mod mcp;
mod metrics;
mod openapi;
mod outflow;
mod pages;
mod pieces;
mod problem;
mod published;
mod server;
mod shared;
mod sign_in;

pub use openapi::document as openapi;
pub use server::{Listening, ServeError, ServeOptions, serve};
