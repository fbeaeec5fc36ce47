//! The configuration with its origins, and the doctor.

use crate::endpoint::Endpoint;

pub(crate) fn endpoints() -> Vec<Endpoint> {
    Vec::new()
}
