//! `paddock token`: what agents and programs come in with over HTTP.

use paddock_core::visible;
use paddock_desk::access::{self, Access};
use paddock_desk::{Desk, Project, moment, workspaces};
use serde_json::json;

use crate::cli::{Global, Token};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};

pub(crate) fn run(global: &Global, options: &Token, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let access = Access::of(&desk)?;
    match options {
        Token::New(new) => {
            let agent = match new.api {
                true => None,
                false => Some(workspaces::agent_named(&desk, Some(global.agent().as_str()))?.as_str().to_owned()),
            };
            let new_token =
                access::NewToken { name: new.name.clone(), agent, read_only: new.read_only, days: new.days };
            let made = access.make_token(&new_token)?;
            if new.json {
                printer.json(&json!(made))?;
            } else {
                printer.line(&made.secret)?;
                printer::tell(format_args!(
                    "{} {}; it is not shown again, and `paddock token revoke {}` ends it",
                    visible(&made.token.name),
                    opens(&made.token),
                    made.token.id
                ));
            }
        }
        Token::List(list) => {
            let tokens = access.tokens()?;
            if list.json {
                printer.json(&json!(tokens))?;
            } else {
                tokens.iter().try_for_each(|token| printer.line(line(token, printer)))?;
            }
        }
        Token::Revoke(revoked) => {
            access.revoke(&revoked.id)?;
            printer.line(format_args!("revoked {}", visible(&revoked.id)))?;
        }
    }
    Ok(Ended::Done)
}

fn opens(token: &access::Token) -> String {
    match &token.agent {
        Some(agent) => format!("speaks for agent {agent} over MCP"),
        None if token.read_only => "may look through the API".to_owned(),
        None => "opens the API".to_owned(),
    }
}

fn line(token: &access::Token, printer: &Printer) -> String {
    let used = token.last_used.as_deref().map_or_else(|| "never used".to_owned(), moment::reshown);
    let mut notes = String::new();
    if let Some(expires) = &token.expires {
        notes.push_str(&format!("  (ends {})", moment::reshown(expires)));
    }
    if token.revoked.is_some() {
        notes.push_str("  (revoked)");
    }
    let id = printer.look(Look::Strong, &token.id);
    format!("{id}  {:<20}  {:<32}  {used}{notes}", visible(&token.name), opens(token))
}
