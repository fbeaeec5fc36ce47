//! The tokens that agents and programs come in with.

use axum::http::Method;
use paddock_desk::Result;
use paddock_desk::access::{MadeToken, NewToken, Token};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// Which token.
#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    /// Its id.
    id: String,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/tokens", "Every token, never its secret", list),
        json(Method::POST, "/api/v1/tokens", "Make a token; its secret is shown this once", make),
        json(Method::DELETE, "/api/v1/tokens/{id}", "End a token now", revoke),
    ]
}

fn list(asked: &Asked) -> Result<Vec<Token>> {
    asked.shared.access.tokens()
}

fn make(asked: &Asked<Nothing, Nothing, NewToken>) -> Result<MadeToken> {
    asked.by_a_person("paddock token new")?;
    asked.shared.access.make_token(&asked.body)
}

fn revoke(asked: &Asked<Id>) -> Result<Nothing> {
    asked.by_a_person("paddock token revoke")?;
    asked.shared.revoke_token(&asked.path.id).map(|()| Nothing {})
}
