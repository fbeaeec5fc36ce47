//! Projects in a Workspace: templates, what there is, taking in and taking home; and shares.
//!
//! An archive that comes in waits in a file without a name; one that goes out is sent while it is written, through a channel that holds a few
//! pieces. What fails before the first piece is a problem; what fails later breaks the connection off, so that nobody takes a part
//! for the whole. Remotes are elsewhere: over HTTP no repository of the server's own disk can be named.

mod intake;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::pin::Pin;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use futures_core::Stream;
use paddock_desk::FailureKind::{Busy, Conflict, Missing};
use paddock_desk::projects::{self, Arriving, Format, ProjectsShown, RemoteNamed, Taking};
use paddock_desk::shares::{NewShare, Share};
use paddock_desk::{Desk, Failure, FailureKind, Result};
use paddock_projects::export::Pushed;
use paddock_projects::import::Imported;
use paddock_projects::{Created, Progress, Template, Watch, unwatched};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::files;
use crate::endpoint::{Answers, Asked, Endpoint, Nothing, Waits, acting, json, path_of, query_of, raw};
use crate::outflow::Outlet;
use crate::problem::Problem;
use crate::shared::{Shared, Who, on_a_thread};

/// How much is gathered before it is written or sent.
const PIECE: usize = 256 * 1024;
/// How many pieces wait for a slow reader.
const AHEAD: usize = 2;

/// Which directory.
#[derive(Debug, Deserialize, JsonSchema)]
struct OfProject {
    /// The agent whose Workspace it is in.
    agent: String,
    /// Its path, without the slash at the beginning.
    path: String,
}

impl OfProject {
    fn path(&self) -> Result<String> {
        if self.path.split('/').any(|name| matches!(name, "." | "..")) {
            return Err(Failure::misused("\".\" and \"..\" are no names", "write the path as it is listed"));
        }
        Ok(format!("/{}", self.path))
    }
}

/// Which projects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfAgent {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// With sizes? Every file is looked at then.
    #[serde(default)]
    sizes: bool,
    /// Behind this project: the `next` of the page before.
    #[serde(default)]
    after: Option<String>,
    /// At most so many; 100 where nothing is said, and never more than 500.
    #[serde(default)]
    limit: Option<usize>,
}

/// A project that is to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewProject {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// The template's name.
    template: String,
    /// Where to; nothing may be there yet.
    path: String,
}

/// What is taken in from a remote.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FromGit {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// Where to.
    path: String,
    /// From where.
    remote: RemoteNamed,
    /// How.
    #[serde(default)]
    taking: Taking,
}

/// What is pushed to a remote.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToGit {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// The project.
    path: String,
    /// Where to.
    remote: RemoteNamed,
    /// Also what its `.gitignore` files name.
    #[serde(default)]
    include_ignored: bool,
}

/// As what a project goes home.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HowExported {
    /// `zip` or `bundle`.
    #[serde(default)]
    format: Format,
    /// Also what its `.gitignore` files name.
    #[serde(default)]
    include_ignored: bool,
}

/// Which share.
#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    /// Its id.
    id: String,
}

/// Which shares.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfShares {
    /// Behind this one: the `id` of the last that was seen.
    #[serde(default)]
    after: Option<String>,
    /// At most so many; 100 where nothing is said, and never more than 1000.
    #[serde(default)]
    limit: Option<usize>,
}

/// How what comes in or goes out can fail: there are few of them at once, too.
const IN_AND_OUT: &[FailureKind] = &[Missing, Conflict, Busy];

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let imported = |generator: &mut SchemaGenerator| generator.subschema_for::<Imported>();
    let upload = raw::<OfProject, Taking>(
        Method::PUT,
        "/api/v1/import/{agent}/{*path}",
        "Take in a Zip as a project: all of it or nothing",
        Answers::Json(imported),
        put(upload),
    );
    let export = raw::<OfProject, HowExported>(
        Method::GET,
        "/api/v1/export/{agent}/{*path}",
        "A project as a Zip or a Git bundle, written while it is read",
        Answers::Other("application/octet-stream"),
        get(export),
    );
    vec![
        json(Method::GET, "/api/v1/templates", "What a project can start from", templates),
        json(
            Method::GET,
            "/api/v1/projects",
            "A page of an agent's projects, with the Workspaces that hold them",
            list,
        )
        .failing(&[Missing, Conflict]),
        json(Method::POST, "/api/v1/projects", "Make a project from a template", new).failing(&[Missing, Conflict]),
        Endpoint { takes_file: true, ..upload.failing(IN_AND_OUT) },
        json(Method::POST, "/api/v1/import", "Take in what is on a branch of a remote", from_git).failing(IN_AND_OUT),
        export.failing(IN_AND_OUT),
        json(Method::POST, "/api/v1/push", "Push a project as one commit to a branch of a remote", to_git)
            .failing(IN_AND_OUT),
        json(Method::GET, "/api/v1/shares", "The shares, the newest first", shares).failing(&[Missing]),
        json(Method::POST, "/api/v1/shares", "Publish a project under a link of its own", share).failing(&[Missing]),
        json(Method::DELETE, "/api/v1/shares/{id}", "End a share now", revoke),
    ]
}

fn templates(asked: &Asked) -> Result<Vec<Template>> {
    projects::templates(&asked.shared.desk)
}

fn list(asked: &Asked<Nothing, OfAgent>) -> Result<ProjectsShown> {
    let OfAgent { agent, sizes, after, limit } = &asked.query;
    projects::list(&asked.shared.desk, agent.as_deref(), *sizes, after.as_deref(), *limit)
}

fn new(asked: &Asked<Nothing, Nothing, NewProject>) -> Result<Created> {
    let NewProject { agent, template, path } = &asked.body;
    projects::new(&asked.shared.desk, agent.as_deref(), template, path, &mut unwatched)
}

fn from_git(asked: &Asked<Nothing, Nothing, FromGit>) -> Result<Imported> {
    let FromGit { agent, path, remote, taking } = &asked.body;
    let mut watch = while_somebody_waits(&asked.waits);
    take_watched(&asked.shared.desk, &asked.who, agent.as_deref(), path, *taking, remote, &mut watch)
}

/// Takes in what is on a branch of a remote that is elsewhere.
pub(crate) fn take_from_git(
    desk: &Desk,
    who: &Who,
    agent: Option<&str>,
    path: &str,
    taking: Taking,
    remote: &RemoteNamed,
) -> Result<Imported> {
    take_watched(desk, who, agent, path, taking, remote, &mut unwatched)
}

fn take_watched(
    desk: &Desk,
    who: &Who,
    agent: Option<&str>,
    path: &str,
    taking: Taking,
    remote: &RemoteNamed,
    watch: Watch<'_>,
) -> Result<Imported> {
    elsewhere(remote)?;
    opened_by_a_person(who, remote)?;
    let _place = intake::run()?;
    projects::import_git(desk, agent, path, taking, remote, watch)
}

fn to_git(asked: &Asked<Nothing, Nothing, ToGit>) -> Result<Pushed> {
    let ToGit { agent, path, remote, include_ignored } = &asked.body;
    let mut watch = while_somebody_waits(&asked.waits);
    push_to_git(&asked.shared.desk, &asked.who, agent.as_deref(), path, (remote, *include_ignored), &mut watch)
}

/// Pushes a project to a branch of a remote that is elsewhere.
pub(crate) fn push_to_git(
    desk: &Desk,
    who: &Who,
    agent: Option<&str>,
    path: &str,
    (remote, include_ignored): (&RemoteNamed, bool),
    watch: Watch<'_>,
) -> Result<Pushed> {
    elsewhere(remote)?;
    opened_by_a_person(who, remote)?;
    let _place = intake::run()?;
    projects::push(desk, agent, path, (remote, include_ignored), watch)
}

/// Goes on as long as somebody waits for the answer.
fn while_somebody_waits(waits: &Waits) -> impl FnMut(Progress<'_>) -> ControlFlow<()> {
    |_| if waits.still() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn elsewhere(remote: &RemoteNamed) -> Result<()> {
    if remote.is_elsewhere() {
        return Ok(());
    }
    let text = "over HTTP only a remote that is elsewhere can be named";
    Err(Failure::misused(text, "write https://HOST/PATH or ssh://HOST/PATH; the command line takes paths too"))
}

/// Whoever may name both a secret and a host could send any secret to their own: only a person may.
fn opened_by_a_person(who: &Who, remote: &RemoteNamed) -> Result<()> {
    match (who, &remote.secret) {
        (Who::Program(_), Some(_)) => Err(Failure::of(
            FailureKind::Denied,
            "a token opens no remote with a stored secret",
            "do it on the Projects page of the console, or with `paddock import` and `paddock export --push`",
        )),
        _ => Ok(()),
    }
}

fn shares(asked: &Asked<Nothing, OfShares>) -> Result<Vec<Share>> {
    asked.shared.shares.list(&asked.shared.base, asked.query.after.as_deref(), asked.query.limit)
}

fn share(asked: &Asked<Nothing, Nothing, NewShare>) -> Result<Share> {
    asked.shared.shares.make(&asked.shared.desk, &asked.body, &asked.shared.base)
}

fn revoke(asked: &Asked<Id>) -> Result<Nothing> {
    asked.shared.shares.revoke(&asked.path.id).map(|()| Nothing {})
}

async fn upload(State(shared): State<Shared>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    match taken(shared, &mut parts, body.into_data_stream()).await {
        Ok(imported) => axum::Json(imported).into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn taken(shared: Shared, parts: &mut Parts, mut body: BodyDataStream) -> Result<Imported, Problem> {
    let shared = acting(&shared, parts)?;
    let of: OfProject = path_of(parts).await?;
    let taking: Taking = query_of(parts)?;
    let told = |failure: Failure| Problem::from(&failure);
    let path = of.path().map_err(told)?;
    let mut archive = Archive::begin(&shared, &of.agent, &path, taking).await.map_err(told)?;
    while let Some(piece) = files::next(&mut body).await? {
        archive.push(&piece).await.map_err(told)?;
    }
    archive.import(shared, of.agent, path, taking).await.map_err(told)
}

/// An archive on its way in: written on threads of the pool, none of which is held while the client is waited for.
pub(crate) struct Archive {
    arriving: Option<Arriving>,
    gathered: Vec<u8>,
    kept: intake::Kept,
}

impl Archive {
    /// Before any of it is taken: what could not be put there is refused now.
    pub(crate) async fn begin(shared: &Shared, agent: &str, path: &str, taking: Taking) -> Result<Self> {
        let (shared, agent, path) = (shared.clone(), agent.to_owned(), path.to_owned());
        let arriving = on_a_thread(move || Arriving::begin(&shared.desk, Some(&agent), &path, taking)).await?;
        Ok(Self { arriving: Some(arriving), gathered: Vec::new(), kept: intake::Kept::begin()? })
    }

    pub(crate) async fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.kept.grow(piece.len() as u64)?;
        self.gathered.extend_from_slice(piece);
        if self.gathered.len() < PIECE { Ok(()) } else { self.write().await }
    }

    async fn write(&mut self) -> Result<()> {
        let (gathered, arriving) = (std::mem::take(&mut self.gathered), self.arriving.take());
        let mut arriving = arriving.ok_or_else(broken)?;
        self.arriving = Some(on_a_thread(move || arriving.push(&gathered).map(|()| arriving)).await?);
        Ok(())
    }

    /// Takes in what has arrived.
    pub(crate) async fn import(
        mut self,
        shared: Shared,
        agent: String,
        path: String,
        taking: Taking,
    ) -> Result<Imported> {
        self.write().await?;
        let (arriving, kept) = (self.arriving.take().ok_or_else(broken)?, self.kept);
        on_a_thread(move || {
            // Held as long as its bytes are, also when the client has left.
            let _kept = kept;
            let archive = arriving.whole()?;
            projects::import_zip(&shared.desk, Some(&agent), &path, taking, archive, &mut unwatched)
        })
        .await
    }
}

fn broken() -> Failure {
    Failure::of(FailureKind::Broken, "it broke off", "the log of `paddock serve` says why")
}

async fn export(State(shared): State<Shared>, request: Request) -> Response {
    match exported(shared, request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn exported(shared: Shared, request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let of: OfProject = path_of(&mut parts).await?;
    let how: HowExported = query_of(&parts)?;
    let path = of.path().map_err(|failure| Problem::from(&failure))?;
    let name = path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("project");
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let headers = [
        (header::CONTENT_TYPE, how.format.content_type().to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.{}\"", how.format.ending())),
    ];
    if parts.method == Method::HEAD {
        return Ok((headers, Body::empty()).into_response());
    }
    let reading = shared.clone();
    let feed = move |outlet| give_out(&reading, &of.agent, &path, &how, outlet);
    let mut from = match shared.outflow.begin(AHEAD, feed) {
        Ok(from) => from,
        Err(too_many) => return Ok(too_many.into_response()),
    };
    // What fails before anything was written can still be told.
    let first = match from.recv().await {
        Some(Ok(first)) => Some(first),
        Some(Err(failure)) => return Err(Problem::from(&failure)),
        None => return Err(Problem::from(&broken())),
    };
    Ok((headers, Body::from_stream(Pieces { first, rest: from })).into_response())
}

fn give_out(shared: &Shared, agent: &str, path: &str, how: &HowExported, to: Outlet<Result<Bytes>>) {
    let left = to.clone();
    let mut out = Sending { to, gathered: Vec::with_capacity(PIECE) };
    // Whoever went away wants no more of it.
    let mut watch = |_: Progress<'_>| if left.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let how = (how.format, how.include_ignored);
    let written = projects::export(&shared.desk, Some(agent), path, how, &mut out, &mut watch);
    let ended = written.and_then(|_| out.flush().map_err(Failure::from));
    if let Err(failure) = ended {
        let _ = left.send(Err(failure));
    }
}

/// Sends what is written, in pieces; waits while enough is on its way.
struct Sending {
    to: Outlet<Result<Bytes>>,
    gathered: Vec<u8>,
}

impl Sending {
    fn send(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.gathered, Vec::with_capacity(PIECE));
        self.to.send(Ok(piece.into()))
    }
}

impl Write for Sending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.gathered.len());
        self.gathered.extend_from_slice(&bytes[..taken]);
        if self.gathered.len() == PIECE {
            self.send()?;
        }
        Ok(taken)
    }

    /// Writers flush as they like; only what is whole or the end is sent.
    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

struct Pieces {
    first: Option<Bytes>,
    rest: mpsc::Receiver<Result<Bytes>>,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return std::task::Poll::Ready(Some(Ok(first)));
        }
        let piece = self.rest.poll_recv(context);
        piece.map(|piece| piece.map(|piece| piece.map_err(|failure| io::Error::other(failure.message().to_owned()))))
    }
}
