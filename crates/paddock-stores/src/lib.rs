//! Stores: Physical, and the one in memory that tests compare with.
