//! `paddock share`: the links to published projects.

use paddock_core::visible;
use paddock_desk::shares::{self, Shares};
use paddock_desk::{Desk, Project, moment};
use serde_json::json;

use super::publish::base;
use crate::cli::{Global, Share};
use crate::failure::Ended;
use crate::printer::{Look, Printer};

pub(crate) fn run(global: &Global, options: &Share, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let shares = Shares::of(&desk)?;
    match options {
        Share::List(list) => {
            let all = shares.all(&base(&desk, list.url.as_deref())?)?;
            if list.json {
                printer.json(&json!(all))?;
            } else {
                all.iter().try_for_each(|share| printer.line(line(share, printer)))?;
            }
        }
        Share::Revoke(revoked) => {
            shares.revoke(&revoked.id)?;
            printer.line(format_args!("revoked {}", visible(&revoked.id)))?;
        }
    }
    Ok(Ended::Done)
}

fn line(share: &shares::Share, printer: &Printer) -> String {
    let id = printer.look(Look::Strong, &share.id[..8]);
    let most = share.max_uses.map(|most| format!(" of {most}")).unwrap_or_default();
    let word = if share.password { ", with a password" } else { "" };
    let state = match share.state {
        "open" => format!("until {}{word}  {}", moment::reshown(&share.expires), share.link),
        state => printer.look(Look::Faint, state.replace('_', " ")),
    };
    format!("{id}  {}  {}  visitors: {}{most}  {state}", visible(&share.name), visible(&share.path), share.uses)
}
