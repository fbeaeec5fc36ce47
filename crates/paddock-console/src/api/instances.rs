//! The conversations of agents.

use crate::endpoint::Endpoint;

pub(crate) fn endpoints() -> Vec<Endpoint> {
    Vec::new()
}
