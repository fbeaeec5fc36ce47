//! What waits for a person, and deciding it.
