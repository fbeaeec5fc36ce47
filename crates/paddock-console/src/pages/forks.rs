//! Forks: what they change, side by side; applying and discarding.

use axum::Router;

use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
}
