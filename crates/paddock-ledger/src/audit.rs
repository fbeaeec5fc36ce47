//! The audit of every call, denials included: rows in a chain that shows what was taken out of it.
