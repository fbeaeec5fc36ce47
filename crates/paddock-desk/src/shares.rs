//! Published projects: links that end.
