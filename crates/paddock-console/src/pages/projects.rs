//! Projects: what there is and how large, templates, import, export, and the shares of what is published.

mod import;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::projects::{self, ProjectsShown, RemoteNamed, Taking};
use paddock_desk::shares::{NewShare, Share, USUAL_DAYS};
use paddock_desk::{Failure, Result, past, workspaces};
use paddock_projects::export::Pushed;
use paddock_projects::{Project, Template, unwatched};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Question, counted, icon, in_url, path_in_url, quota, shown, time};
use super::{Done, OfAgent, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

/// The most projects of one page: each of their files is looked at.
const LISTED: usize = 50;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/projects", get(|shared, request| show(shared, request, page)))
        .route("/projects/new", post(|shared, request| act::<Nothing, _>(shared, request, make)))
        .route("/projects/import", post(import::upload).layer(axum::extract::DefaultBodyLimit::disable()))
        .route("/projects/import-git", post(|shared, request| act::<Nothing, _>(shared, request, from_git)))
        .route("/projects/push", post(|shared, request| act::<Nothing, _>(shared, request, push)))
        .route("/projects/publish", post(|shared, request| act::<Nothing, _>(shared, request, publish)))
        .route("/projects/shares/{id}/revoke", post(|shared, request| act::<Id, Nothing>(shared, request, revoke)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    id: String,
}

/// Which page of the lists. A form sends what is not filled in as an empty text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Asked {
    /// Projects behind this path.
    #[serde(default)]
    after: Option<String>,
    /// Shares behind this one.
    #[serde(default)]
    shares_after: Option<String>,
}

fn page(visit: &Visit<Nothing, Asked>) -> Result<Page> {
    let desk = &visit.shared.desk;
    let agent = workspaces::agent_named(desk, visit.agent.as_deref())?;
    let agent = agent.as_str();
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (after, shares_after) = (given(&visit.query.after), given(&visit.query.shares_after));
    let mut listed = projects::list(desk, Some(agent), true, after.as_deref(), Some(LISTED))?;
    listed.workspaces.sort_by_key(|workspace| is_fork(&workspace.prefix));
    listed.projects.sort_by_key(|project| is_fork(&project.workspace));
    let templates = projects::templates(desk)?;
    let shares = visit.shared.shares.list(&visit.shared.base, shares_after.as_deref(), Some(LISTED))?;
    // A fork is for trying: what is begun anew belongs beside it.
    let place = listed.workspaces.first().map(|workspace| format!("{}/", workspace.prefix.trim_end_matches('/')));
    Ok(Page::new(
        "Projects",
        html! {
            header.page-head { div { h1 { "Projects" } p.lede { "Directories of " (agent) "'s read-write Workspaces." } } }
            @match place {
                None => div.empty { (icon("projects")) h2 { "No Workspace can hold a project" } p { "A project needs a read-write Workspace in paddock.toml." } }
                Some(place) => {
                    (storage(&listed))
                    (those(agent, &listed, after.is_some()))
                    (starts(agent, &templates, &place))
                    (imports(agent, &place))
                }
            }
            (all_shares(agent, &shares, shares_after.is_some()))
        },
    ))
}

/// What is tried stands behind what lasts.
fn is_fork(prefix: &str) -> bool {
    prefix.starts_with("/forks/")
}

/// What each Workspace holds, and which part of it each project is.
fn storage(listed: &ProjectsShown) -> Markup {
    let largest = listed.projects.iter().filter_map(|project| project.size).map(|size| size.bytes).max().unwrap_or(0);
    html! {
        section.card #storage aria-labelledby="h-storage" data-live="files" {
            header { h2 #h-storage { "Storage" } }
            div.card-body.stack {
                @for workspace in &listed.workspaces {
                    div.stack {
                        h3.path { (shown(&workspace.prefix)) }
                        (quota(workspace))
                        dl.bars {
                            @for project in listed.projects.iter().filter(|project| project.workspace == workspace.prefix) {
                                (bar(project, largest))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn bar(project: &Project, largest: u64) -> Markup {
    let bytes = project.size.map_or(0, |size| size.bytes);
    let width = bytes.saturating_mul(100).checked_div(largest).unwrap_or(0);
    html! {
        div {
            dt.path { (shown(&project.path)) }
            dd {
                svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" { rect.track width="100" height="8" {} rect.bar width=(width) height="8" {} }
                span { (past::size(bytes)) }
            }
        }
    }
}

/// The way to the first and the next page of a list.
fn pager(agent: &str, field: &str, is_later: bool, next: Option<&str>) -> Markup {
    let own = format!("/projects?agent={}", in_url(agent));
    html! {
        @if is_later || next.is_some() {
            nav.pager aria-label="Pages" {
                @if is_later { a.button.small rel="first" href=(own) { "First" } } @else { span {} }
                @if let Some(next) = next { a.button.small rel="next" href={ (own) "&" (field) "=" (in_url(next)) } { "More" } }
            }
        }
    }
}

fn those(agent: &str, listed: &ProjectsShown, is_later: bool) -> Markup {
    html! {
        section.card #projects aria-labelledby="h-projects" data-live="files" {
            header { h2 #h-projects { "Projects" } }
            @if listed.projects.is_empty() {
                div.empty { (icon("projects")) h3 { "There is no project yet" } p { "Start one from a template below, or import one." } }
            } @else {
                table.table {
                    caption.sr { "Projects" }
                    thead { tr { th scope="col" { "Project" } th scope="col" { "Kind" } th.number scope="col" { "Files" } th.number scope="col" { "Size" } th scope="col" { span.sr { "Acts" } } } }
                    tbody data-key-list { @for (at, project) in listed.projects.iter().enumerate() { (row(agent, at, project)) } }
                }
            }
            (pager(agent, "after", is_later, listed.next.as_deref()))
        }
    }
}

fn row(agent: &str, at: usize, project: &Project) -> Markup {
    let export =
        |format: &str| format!("/api/v1/export/{}{}?format={format}", in_url(agent), path_in_url(&project.path));
    let dialog = format!("publish-{at}");
    html! {
        tr data-key-item tabindex="-1" {
            th scope="row" data-label="Project" { a.path href={ "/files" (path_in_url(&project.path)) "?agent=" (in_url(agent)) } data-key="Enter" { (shown(&project.path)) } }
            td data-label="Kind" { span.label { (project.kind) } }
            td.number data-label="Files" { (project.size.map_or(0, |size| size.files)) }
            td.number data-label="Size" { (past::size(project.size.map_or(0, |size| size.bytes))) }
            td.actions {
                a.button.small href=(export("zip")) download { "Zip" span.sr { " of " (project.name) } }
                a.button.small href=(export("bundle")) download { "Git bundle" span.sr { " of " (project.name) } }
            }
        }
        tr { td colspan="5" {
            details.more { summary { "Publish " (shown(&project.path)) } (publish_form(agent, &dialog, project)) }
            details.more { summary { "Push " (shown(&project.path)) } (push_form(agent, &dialog, project)) }
        } }
    }
}

fn publish_form(agent: &str, id: &str, project: &Project) -> Markup {
    html! {
        form.stack method="post" action="/projects/publish" {
            input type="hidden" name="agent" value=(agent);
            input type="hidden" name="path" value=(project.path);
            @if !project.has_index { p.note.warn { "It has no index.html: visitors have to know the names of its files." } }
            div.field { label for={ (id) "-days" } { "Days until it ends" } input id={ (id) "-days" } name="days" type="number" min="1" max="365" value=(USUAL_DAYS) required; }
            div.field { label for={ (id) "-pw" } { "Password, if any" } input id={ (id) "-pw" } name="password" type="password" minlength="8" autocomplete="new-password"; }
            div.field { label for={ (id) "-max" } { "Visitors at most, if bounded" } input id={ (id) "-max" } name="max_uses" type="number" min="1"; }
            button.button.primary { "Publish" }
        }
    }
}

fn push_form(agent: &str, id: &str, project: &Project) -> Markup {
    html! {
        form.stack method="post" action="/projects/push" {
            input type="hidden" name="agent" value=(agent);
            input type="hidden" name="path" value=(project.path);
            div.field { label for={ (id) "-url" } { "Address" } input id={ (id) "-url" } name="url" required placeholder="https://host/path.git"; }
            div.field { label for={ (id) "-branch" } { "Branch, if not main" } input id={ (id) "-branch" } name="branch"; }
            div.field { label for={ (id) "-secret" } { "Secret that opens it, by name" } input id={ (id) "-secret" } name="secret"; }
            label.check { input type="checkbox" name="include_ignored" value="true"; " With what .gitignore leaves out" }
            button.button.primary { "Push" span.sr { " " (project.name) } }
        }
    }
}

fn starts(agent: &str, templates: &[Template], place: &str) -> Markup {
    html! {
        section aria-labelledby="h-templates" {
            h2 #h-templates { "Start from a template" }
            div.grid.three { @for (at, template) in templates.iter().enumerate() {
                section.card aria-labelledby={ "t-" (at) } {
                    header { h3 id={ "t-" (at) } { (shown(&template.title)) } }
                    div.card-body.stack {
                        p { (shown(&template.description)) }
                        form.stack method="post" action="/projects/new" {
                            input type="hidden" name="agent" value=(agent);
                            input type="hidden" name="template" value=(template.name);
                            div.field { label for={ "t-" (at) "-path" } { "Path" } input id={ "t-" (at) "-path" } name="path" required value={ (place) (template.name.replace(['/', '@'], "-")) }; }
                            button.button.primary { "Start" span.sr { " " (template.title) } }
                        }
                    }
                }
            } }
        }
    }
}

fn imports(agent: &str, place: &str) -> Markup {
    html! {
        section.card aria-labelledby="h-import" {
            header { h2 #h-import { "Import" } }
            div.card-body.grid.two {
                form.stack method="post" enctype="multipart/form-data" action="/projects/import" {
                    h3 { "A Zip" }
                    input type="hidden" name="agent" value=(agent);
                    div.field { label for="i-path" { "Path" } input #i-path name="path" required value={ (place) "imported" }; }
                    label.check { input type="checkbox" name="merge" value="true"; " Merge into what is there" }
                    label.check { input type="checkbox" name="unwrap" value="true"; " Without the one directory around it" }
                    div.field { label for="i-file" { "Archive" } input #i-file name="archive" type="file" accept=".zip,application/zip" required; }
                    button.button { (icon("import")) "Import the Zip" }
                }
                form.stack method="post" action="/projects/import-git" {
                    h3 { "A Git repository" }
                    input type="hidden" name="agent" value=(agent);
                    div.field { label for="g-path" { "Path" } input #g-path name="path" required value={ (place) "cloned" }; }
                    div.field { label for="g-url" { "Address" } input #g-url name="url" required placeholder="https://host/path.git"; }
                    div.field { label for="g-branch" { "Branch, if not its own" } input #g-branch name="branch"; }
                    div.field { label for="g-secret" { "Secret that opens it, by name" } input #g-secret name="secret" aria-describedby="g-hint"; p.hint #g-hint { "Stored with paddock secret set NAME." } }
                    button.button { (icon("import")) "Import from Git" }
                }
            }
        }
    }
}

fn all_shares(agent: &str, shares: &[Share], is_later: bool) -> Markup {
    let next = shares.last().filter(|_| shares.len() == LISTED).map(|last| last.id.as_str());
    html! {
        section.card #shares aria-labelledby="h-shares" {
            header { h2 #h-shares { "Shares" } }
            @if shares.is_empty() {
                div.empty { (icon("publish")) h3 { "Nothing is published" } p { "A share shows a project under an address of its own, until it ends." } }
            } @else {
                table.table {
                    caption.sr { "Shares" }
                    thead { tr { th scope="col" { "Share" } th scope="col" { "State" } th.number scope="col" { "Visitors" } th scope="col" { "Last used" } th scope="col" { "Ends" } th scope="col" { span.sr { "Acts" } } } }
                    tbody data-key-list { @for share in shares { (share_row(share)) } }
                }
            }
            (pager(agent, "shares_after", is_later, next))
        }
    }
}

fn share_row(share: &Share) -> Markup {
    let is_open = share.state == "open";
    let revoke = Question {
        id: format!("revoke-{}", share.id),
        action: &format!("/projects/shares/{}/revoke", share.id),
        question: html! { "Revoke this share? Its link shows nothing from now on." },
        yes: "Revoke",
    };
    html! {
        tr data-key-item tabindex="-1" {
            th scope="row" data-label="Share" { (shown(&share.name)) " " span.path { (shown(&share.path)) } @if share.password { " " span.label { "password" } } }
            td data-label="State" { span.label { (share.state.replace('_', " ")) } }
            td.number data-label="Visitors" { (share.uses) @if let Some(most) = share.max_uses { " of " (most) } }
            td data-label="Last used" { @match &share.last_used { Some(used) => (time(used)), None => "never" } }
            td data-label="Ends" { (time(&share.expires)) }
            td.actions {
                @if is_open {
                    a.button.small href=(share.link) target="_blank" rel="noopener noreferrer" { "Open" span.sr { " " (share.name) } }
                    button.button.small type="button" data-copy=(share.link) { "Copy link" span.sr { " of " (share.name) } }
                }
                @if share.revoked.is_none() {
                    (revoke.behind("danger small", &html! { "Revoke" span.sr { " " (share.name) } }, &html! {}))
                }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
struct Make {
    agent: String,
    template: String,
    path: String,
}

fn make(visit: &Visit, form: Make) -> Result<Done> {
    let Make { agent, template, path } = form;
    let made = projects::new(&visit.shared.desk, Some(&agent), &template, &path, &mut unwatched)?;
    Ok(back(&agent, format!("{} is there, with {}.", made.path, counted(made.files, "file"))))
}

fn back(agent: &str, told: String) -> Done {
    Done::Back { to: format!("/projects?agent={}", in_url(agent)), told }
}

#[derive(Debug, Deserialize)]
struct FromGit {
    agent: String,
    path: String,
    url: String,
    branch: String,
    secret: String,
}

fn from_git(visit: &Visit, form: FromGit) -> Result<Done> {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let remote = RemoteNamed { url: form.url, branch: some(form.branch), secret: some(form.secret), user: None };
    let desk = &visit.shared.desk;
    let taken = crate::api::take_from_git(desk, &visit.who, Some(&form.agent), &form.path, Taking::default(), &remote)?;
    Ok(back(&form.agent, format!("{} is there, with {}.", taken.path, counted(taken.files, "file"))))
}

#[derive(Debug, Deserialize)]
struct Push {
    agent: String,
    path: String,
    url: String,
    #[serde(default)]
    branch: String,
    #[serde(default)]
    secret: String,
    #[serde(default)]
    include_ignored: Option<String>,
}

fn push(visit: &Visit, form: Push) -> Result<Done> {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let remote = RemoteNamed { url: form.url, branch: some(form.branch), secret: some(form.secret), user: None };
    let how = (&remote, form.include_ignored.is_some());
    let desk = &visit.shared.desk;
    let pushed = crate::api::push_to_git(desk, &visit.who, Some(&form.agent), &form.path, how, &mut unwatched)?;
    Ok(back(&form.agent, said(&form.path, &pushed)))
}

fn said(path: &str, pushed: &Pushed) -> String {
    let Pushed { branch, address, exported, unchanged } = pushed;
    match unchanged {
        true => format!("{branch} of {address} holds the same as {path} already."),
        false => format!("Pushed {} of {path} to {branch} of {address}.", counted(exported.files, "file")),
    }
}

#[derive(Deserialize)]
struct Publish {
    agent: String,
    path: String,
    days: u32,
    password: String,
    max_uses: String,
}

fn publish(visit: &Visit, form: Publish) -> Result<Done> {
    let number =
        |text: &str| text.parse().map_err(|_| Failure::misused("that is no number of visitors", "say 1 or more"));
    let new = NewShare {
        agent: Some(form.agent.clone()),
        path: form.path,
        name: None,
        days: Some(form.days),
        password: Some(form.password).filter(|password| !password.is_empty()),
        max_uses: Some(form.max_uses.trim()).filter(|text| !text.is_empty()).map(number).transpose()?,
    };
    let made = visit.shared.shares.make(&visit.shared.desk, &new, &visit.shared.base)?;
    Ok(Done::Page(Box::new(Page::new(
        "Published",
        html! {
            header.page-head { div { h1 { (shown(&made.name)) " is published" } p.lede { "Whoever has this link may look, until " (time(&made.expires)) "." } } }
            div.card { div.card-body.stack {
                pre.terminal { (made.link) }
                div.actions {
                    button.button type="button" data-copy=(made.link) { "Copy link" }
                    a.button href=(made.link) target="_blank" rel="noopener noreferrer" { "Open" }
                    a.button href={ "/projects?agent=" (in_url(&form.agent)) } { "Back to the projects" }
                }
            } }
        },
    ))))
}

fn revoke(visit: &Visit<Id, OfAgent>, _: Nothing) -> Result<Done> {
    visit.shared.shares.revoke(&visit.path.id)?;
    Ok(Done::Back { to: "/projects".to_owned(), told: "The share is revoked.".to_owned() })
}
