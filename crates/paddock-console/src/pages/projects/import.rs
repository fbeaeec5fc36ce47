//! The form that brings a Zip: its fields first, then the archive, which is taken as it comes.

use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::response::{IntoResponse, Response};
use paddock_desk::projects::Taking;
use paddock_desk::{Failure, Result};
use paddock_projects::import::Imported;
use tokio::time::timeout;

use crate::api::Archive;
use crate::connection::SILENCE;
use crate::endpoint::Nothing;
use crate::pages::parts::{counted, in_url};
use crate::pages::{OfAgent, back, refused, visit};
use crate::shared::Shared;

pub(super) async fn upload(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let asked = Request::from_parts(parts.clone(), axum::body::Body::empty());
    let visit = match visit::<Nothing, OfAgent>(shared, asked).await {
        Ok((visit, _)) => visit,
        Err(response) => return *response,
    };
    let Ok(fields) = Multipart::from_request(Request::from_parts(parts, body), &()).await else {
        return refused(visit, Failure::misused("the form brings no archive", "choose one and send it again")).await;
    };
    match taken(visit.shared.clone(), fields).await {
        Ok((agent, imported)) => {
            let told = format!("{} is there, with {}.", imported.path, counted(imported.files, "file"));
            back(&format!("/projects?agent={}", in_url(&agent)), &told).into_response()
        }
        Err(failure) => refused(visit, failure).await,
    }
}

async fn taken(shared: Shared, mut fields: Multipart) -> Result<(String, Imported)> {
    let broken = |_| Failure::failed("the form broke off", "send it again");
    let slow = |_| Failure::failed("nothing came for too long", "send it again");
    let (mut agent, mut path, mut taking) = (String::new(), String::new(), Taking::default());
    while let Some(mut field) = timeout(SILENCE, fields.next_field()).await.map_err(slow)?.map_err(broken)? {
        match field.name().unwrap_or_default() {
            "archive" => {
                let mut archive = Archive::begin(&shared, &agent, &path, taking).await?;
                while let Some(piece) = timeout(SILENCE, field.chunk()).await.map_err(slow)?.map_err(broken)? {
                    archive.push(&piece).await?;
                }
                let imported = archive.import(shared, agent.clone(), path, taking).await?;
                return Ok((agent, imported));
            }
            "agent" => agent = short(&mut field).await?,
            "path" => path = short(&mut field).await?,
            "merge" => taking.merge = true,
            "unwrap" => taking.unwrap = true,
            _ => {}
        }
    }
    Err(Failure::misused("the form brings no archive", "choose one and send it again"))
}

/// A field that is no file.
async fn short(field: &mut axum::extract::multipart::Field<'_>) -> Result<String> {
    const MOST: usize = 8 * 1024;
    let mut text = Vec::new();
    while let Ok(Ok(Some(piece))) = timeout(SILENCE, field.chunk()).await {
        text.extend_from_slice(&piece);
        if text.len() > MOST {
            return Err(Failure::misused("a field of the form is too long", "load the page again"));
        }
    }
    String::from_utf8(text).map_err(|_| Failure::misused("a field of the form is no text", "load the page again"))
}
