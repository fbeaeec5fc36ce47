//! The conversations of agents.
