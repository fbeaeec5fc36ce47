//! From the words of a command to the program that really runs: through `env`, `sudo`, `xargs` and their like.
//!
//! One row per program that runs another: which of its options take a value, and what stands before the command.

use rable::ast::{Node, NodeKind};

use super::{Reader, Word};

/// A program that runs the command in its arguments.
struct Runner {
    name: &'static str,
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// Words of its own before the command.
    own: usize,
    /// `NAME=value` may stand before the command.
    assigns: bool,
}

const fn runner(name: &'static str, with_value: &'static [&'static str]) -> Runner {
    Runner { name, with_value, own: 0, assigns: false }
}

const RUNNERS: &[Runner] = &[
    Runner { assigns: true, ..runner("env", &["-u", "--unset", "-C", "--chdir"]) },
    Runner {
        assigns: true,
        ..runner("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group"])
    },
    runner("doas", &["-u", "-C"]),
    runner("command", &[]),
    runner("builtin", &[]),
    runner("exec", &["-a"]),
    runner("nohup", &[]),
    runner("setsid", &[]),
    runner("time", &["-f", "-o"]),
    runner("nice", &["-n", "--adjustment"]),
    runner("ionice", &["-c", "-n", "-p", "-t"]),
    runner("stdbuf", &["-i", "-o", "-e"]),
    Runner { own: 1, ..runner("timeout", &["-s", "-k", "--signal", "--kill-after"]) },
    Runner { own: 1, ..runner("flock", &["-w", "-E"]) },
    Runner { own: 1, ..runner("chroot", &[]) },
    runner("watch", &["-n", "--interval"]),
    runner("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--max-args", "--max-procs", "--delimiter"]),
    runner("busybox", &[]),
    runner("toybox", &[]),
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"];

impl Reader<'_> {
    /// The first refused word that a simple command runs.
    pub(super) fn command(&self, words: &[Word], redirects: &[Node], nesting: usize) -> Option<String> {
        let mut words = words;
        loop {
            let (first, rest) = words.split_first()?;
            let name = first.as_deref()?.rsplit('/').next()?;
            if self.is_refused(name) {
                return Some(name.to_owned());
            }
            if SHELLS.contains(&name) {
                return self.shell(rest, redirects, nesting);
            }
            match name {
                "eval" => return self.text(&joined(rest)?, nesting),
                "find" => return self.find(rest, nesting),
                "env" => {
                    if let Some(text) = value_of(rest, &["-S", "--split-string"]) {
                        return self.text(text, nesting);
                    }
                }
                _ => {}
            }
            let runner = RUNNERS.iter().find(|runner| runner.name == name)?;
            words = behind(runner, rest)?;
        }
    }

    /// `sh -c TEXT`, and a shell that reads what stands in the command itself.
    fn shell(&self, words: &[Word], redirects: &[Node], nesting: usize) -> Option<String> {
        let is_text = |word: &Word| word.as_deref().is_some_and(|word| is_short_option(word) && word.contains('c'));
        if let Some(at) = words.iter().position(is_text) {
            let rest = words.get(at + 1..)?;
            let text = rest.iter().find(|word| !word.as_deref().is_some_and(is_short_option))?;
            return self.text(text.as_deref()?, nesting);
        }
        redirects.iter().find_map(|redirect| match &redirect.kind {
            NodeKind::HereDoc { content, .. } => self.text(content, nesting),
            _ => None,
        })
    }

    fn find(&self, words: &[Word], nesting: usize) -> Option<String> {
        let runs = |word: &Word| matches!(word.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        let starts = words.iter().enumerate().filter(|(_, word)| runs(word));
        starts.filter_map(|(at, _)| words.get(at + 1..)).find_map(|command| self.command(command, &[], nesting))
    }
}

fn is_short_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.len() > 1
}

/// The words from the command on.
fn behind<'a>(runner: &Runner, words: &'a [Word]) -> Option<&'a [Word]> {
    let mut own = runner.own;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(word) = word.as_deref() else { return words.get(at..) };
        if word == "--" {
            return words.get(at + 1 + own..);
        }
        if word.starts_with('-') && word.len() > 1 {
            at += if runner.with_value.contains(&word) { 2 } else { 1 };
        } else if runner.assigns && word.contains('=') {
            at += 1;
        } else if own > 0 {
            own -= 1;
            at += 1;
        } else {
            return words.get(at..);
        }
    }
    None
}

fn value_of<'a>(words: &'a [Word], options: &[&str]) -> Option<&'a str> {
    let at = words.iter().position(|word| word.as_deref().is_some_and(|word| options.contains(&word)))?;
    words.get(at + 1)?.as_deref()
}

fn joined(words: &[Word]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(Option::as_deref).collect();
    Some(words?.join(" "))
}
