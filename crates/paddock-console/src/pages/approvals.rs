//! The inbox: what waits for a person.

use axum::Router;

use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
}
