//! What each call changed, and how to take it back.
