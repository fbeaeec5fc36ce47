//! `paddock login`: a new link to sign in to the console with.

use paddock_desk::access::Access;
use paddock_desk::{Desk, Project};
use serde_json::json;

use crate::cli::{Global, Login};
use crate::failure::Ended;
use crate::listening;
use crate::printer::{self, Printer};

pub(crate) fn run(global: &Global, options: &Login, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let access = Access::of(&desk)?;
    if options.sign_everybody_out {
        let ended = access.sign_everybody_out()?;
        printer::tell(format_args!("sessions ended: {ended}"));
    }
    let known = listening::url(desk.installation(), &desk.config_file()?);
    let url = options.url.as_deref().unwrap_or(&known).trim_end_matches('/');
    let link = format!("{url}/login/{}", access.link()?);
    if options.json {
        printer.json(&json!({ "sign_in": link }))?;
    } else {
        printer.line(&link)?;
        printer::tell("it opens the console of `paddock serve` once, within 15 minutes");
        if options.url.is_none() && !listening::answers(url) {
            printer::tell("nobody listens there now: start `paddock serve` first");
        }
    }
    Ok(Ended::Done)
}
