//! Why something is allowed or denied, and which line would change that.
