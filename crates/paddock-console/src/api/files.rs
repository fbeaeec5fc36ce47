//! Files: listing, reading with ranges, conditional writing, searching.

use crate::endpoint::Endpoint;

pub(crate) fn endpoints() -> Vec<Endpoint> {
    Vec::new()
}
