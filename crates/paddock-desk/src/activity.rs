//! The audit as a person reads it.
