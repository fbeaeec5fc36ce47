//! Files: browsing, preview, history, upload.

use axum::Router;

use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
}
