//! Uploads of a plain form: for browsers without the modules, which send each file by itself.
//!
//! Each file is its own call, as there. One that is there already is left alone: a form cannot ask.

use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::response::{IntoResponse, Response};
use paddock_core::Expect;
use paddock_desk::files::{self, Receiving, Spot};
use paddock_desk::{Failure, Result};
use tokio::time::timeout;

use super::{At, address, spot_of};
use crate::api::Incoming;
use crate::connection::SILENCE;
use crate::pages::{OfAgent, Visit, back, refused, visit};
use crate::shared::{Shared, on_a_thread};

pub(super) async fn form(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let asked = Request::from_parts(parts.clone(), axum::body::Body::empty());
    let visit = match visit::<At, OfAgent>(shared, asked).await {
        Ok((visit, _)) => visit,
        Err(response) => return *response,
    };
    let Ok(fields) = Multipart::from_request(Request::from_parts(parts, body), &()).await else {
        return refused(visit, Failure::misused("the form brings no files", "choose some and send it again")).await;
    };
    match taken(&visit, fields).await {
        Ok((to, told)) => back(&to, &told).into_response(),
        Err(failure) => refused(visit, failure).await,
    }
}

/// Puts each file of the form into the directory.
async fn taken(visit: &Visit<At, OfAgent>, mut fields: Multipart) -> Result<(String, String)> {
    let directory = spot_of(visit)?;
    let broken = |_| Failure::failed("the form broke off", "send it again");
    let mut count = 0;
    while let Some(mut field) = timeout(SILENCE, fields.next_field()).await.map_err(|_| too_slow())?.map_err(broken)? {
        let name = field.file_name().unwrap_or_default().to_owned();
        if field.name() != Some("files") || name.is_empty() {
            continue;
        }
        let (spot, mut incoming) = begun(visit, &directory, &name).await?;
        while let Some(piece) = timeout(SILENCE, field.chunk()).await.map_err(|_| too_slow())?.map_err(broken)? {
            incoming.push(&piece).await?;
        }
        let received = incoming.whole().await?;
        on_a_thread(move || files::put(&spot, received, Expect::Absent)).await?;
        count += 1;
    }
    let told = match count {
        0 => "No file was chosen.".to_owned(),
        1 => "One file is uploaded.".to_owned(),
        count => format!("{count} files are uploaded."),
    };
    Ok((address(directory.agent.as_str(), directory.path.as_str()), told))
}

fn too_slow() -> Failure {
    Failure::failed("nothing came for too long", "send it again")
}

async fn begun(visit: &Visit<At, OfAgent>, directory: &Spot, name: &str) -> Result<(Spot, Incoming)> {
    if name.contains('/') || matches!(name, "." | "..") {
        return Err(Failure::misused("that is no name of a file", "rename it before it is sent"));
    }
    let spot = directory.at(&format!("{}/{name}", directory.path.as_str().trim_end_matches('/')))?;
    let shared = visit.shared.clone();
    on_a_thread(move || {
        let receiving = Receiving::begin(&shared.desk, &spot, None)?;
        Ok((spot, Incoming::new(receiving)))
    })
    .await
}
