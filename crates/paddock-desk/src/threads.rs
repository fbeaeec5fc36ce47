//! The runs of agents.
