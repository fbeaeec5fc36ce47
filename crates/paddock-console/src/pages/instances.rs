//! The conversations of agents.

use axum::Router;

use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
}
