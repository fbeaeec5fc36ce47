//! The service over HTTP on a real socket, asked by hand: what no well-behaved client would send is sent too.

mod bodies;
mod bounds;
mod site;
mod streams;
mod who;
