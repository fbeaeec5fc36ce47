//! The configuration as it is in effect, with where each value comes from.
