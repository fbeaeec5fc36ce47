//! What happened to a path or in a call, and taking it back.
