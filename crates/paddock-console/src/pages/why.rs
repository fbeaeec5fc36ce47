//! Ask for a path and an operation, see what decides.

use axum::Router;

use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
}
