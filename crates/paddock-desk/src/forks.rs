//! Forks and overlays: listing, comparing, applying, discarding.
