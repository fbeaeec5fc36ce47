//! Approvals and grants.

use crate::endpoint::Endpoint;

pub(crate) fn endpoints() -> Vec<Endpoint> {
    Vec::new()
}
