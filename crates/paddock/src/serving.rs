//! The command line of `paddock mcp` by itself: what an MCP client starts, again and again, and waits for.
//!
//! Describing every command takes longer than doing what this one does before its first answer. So the line is first
//! tried with this command alone. It must never understand a line otherwise than the whole command line does: the same
//! options, the same command, and whatever is not understood here is left to the whole one, which tells why.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::cli::{Cli, Command, Global, Mcp};

#[derive(Debug, Parser)]
#[command(name = "paddock")]
struct Serving {
    #[command(flatten)]
    global: Global,

    #[command(subcommand)]
    command: Only,
}

#[derive(Debug, Subcommand)]
enum Only {
    Mcp(Mcp),
}

/// The command line, where it asks to serve an MCP client and for nothing else.
pub(crate) fn understood(words: impl IntoIterator<Item = OsString>) -> Option<Cli> {
    let words: Vec<OsString> = words.into_iter().collect();
    if !words.iter().skip(1).any(|word| word == "mcp") {
        return None;
    }
    let Serving { global, command: Only::Mcp(mcp) } = Serving::try_parse_from(words).ok()?;
    Some(Cli { global, command: Command::Mcp(mcp) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn it_is_understood_as_the_whole_command_line_does() {
        for line in [
            "paddock mcp",
            "paddock --home /h mcp --config c.toml",
            "paddock mcp --agent reviewer --log debug",
            "paddock --config=c.toml mcp",
            "paddock mcp docs:ro src",
            "paddock --home mcp mcp",
            "paddock mcp -- mcp",
        ] {
            let quick = understood(words(line)).unwrap_or_else(|| panic!("\"{line}\" is not understood"));
            let whole = Cli::try_parse_from(words(line)).unwrap();
            assert_eq!(format!("{quick:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_whole_command_line() {
        for line in [
            "paddock",
            "mcp",
            "paddock check",
            "paddock tool mcp",
            "paddock --home mcp init",
            "paddock mcp --help",
            "paddock --version mcp",
            "paddock mcp --no-such-option",
            "paddock mcp --log loud",
        ] {
            assert!(understood(words(line)).is_none(), "{line}");
        }
    }
}
