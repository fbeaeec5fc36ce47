//! MCP at `/mcp`: the token says which agent asks; the rest is `paddock-mcp`'s.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use paddock_core::AgentName;
use paddock_desk::{Failure, Result};
use paddock_mcp::http::Agent;

use crate::guard::bearer;
use crate::problem::Problem;
use crate::shared::{Shared, on_a_thread};

/// The service, behind the check of its token.
pub(crate) fn service(shared: &Shared) -> Router {
    Router::new().fallback_service(shared.mcp.clone()).layer(from_fn_with_state(shared.clone(), of_token))
}

async fn of_token(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    let Some(secret) = bearer(request.headers()).map(str::to_owned) else { return refused() };
    match on_a_thread(move || agent(&shared, &secret)).await {
        Ok(Some(agent)) => {
            request.extensions_mut().insert(agent);
            next.run(request).await
        }
        Ok(None) => refused(),
        Err(failure) => Problem::from(&failure).into_response(),
    }
}

/// Whom a token speaks for.
fn agent(shared: &Shared, secret: &str) -> Result<Option<Agent>> {
    let Some(token) = shared.access.token(secret)? else { return Ok(None) };
    let Some(agent) = token.agent else { return Ok(None) };
    let agent = AgentName::parse(&agent).map_err(|error| Failure::misused(error, "make the token again"))?;
    Ok(Some(Agent::new(token.id, shared.desk.policy(&agent)?)))
}

fn refused() -> Response {
    let text = "this needs the token of an agent";
    let hint = "send Authorization: Bearer with a token of `paddock token new NAME --agent AGENT`";
    let problem = Problem::new(StatusCode::UNAUTHORIZED, "no-agent", text, Some(hint));
    ([(header::WWW_AUTHENTICATE, "Bearer")], problem).into_response()
}
