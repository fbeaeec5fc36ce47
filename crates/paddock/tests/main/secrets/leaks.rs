//! A planted value is used in every way there is, and then looked for everywhere.
