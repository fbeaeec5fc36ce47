//! The word list: a courteous first look at a command, before the kernel holds it.
//!
//! It tells an agent early, and in plain words, that a command is not wanted here. It is **not** the boundary: a word
//! can be spelled in ways that no reader of text sees (`$(echo r)m`, `base64 -d | sh`), and whatever gets past it meets
//! the sandbox. So what does not parse, or is too large or too tangled to be read quickly, is simply not refused here.
//!
//! The shell's grammar is `rable`'s: a parser for bash in safe Rust with one dependency. The others that were weighed:
//! `brush-parser` brings some thirty crates along, `tree-sitter-bash` reads hostile text in C, `yash-syntax` is GPL.

mod arguments;
mod syntax;

/// The words of the original list, refused unless the configuration says otherwise.
pub const WORDS: &[&str] = &["rm", "rmdir", "del", "format", "dd"];

/// How many texts within texts (`sh -c "sh -c …"`) are opened.
const NESTING: usize = 8;

/// A longer text is not read.
const LONGEST: usize = 64 * 1024;

/// The first refused word that a text for the shell would run.
///
/// ```
/// use paddock_exec::courtesy::{refused_in_text, WORDS};
/// assert_eq!(refused_in_text("ls && sudo /bin/rm -rf x", WORDS).as_deref(), Some("rm"));
/// assert_eq!(refused_in_text("git rm x; echo rm", WORDS), None);
/// ```
pub fn refused_in_text(text: &str, words: &[impl AsRef<str>]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    // On a thread of its own: the depth of a parse is bounded by the parser, for a stack of this size.
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(64 * 1024 * 1024);
        let reading = builder.spawn_scoped(scope, || Reader { words: &words }.text(text, NESTING)).ok()?;
        reading.join().ok().flatten()
    })
}

/// The first refused word that a program with its arguments would run.
pub fn refused_in_arguments(arguments: &[impl AsRef<str>], words: &[impl AsRef<str>]) -> Option<String> {
    let quoted: Vec<String> =
        arguments.iter().map(|argument| format!("'{}'", argument.as_ref().replace('\'', r"'\''"))).collect();
    refused_in_text(&quoted.join(" "), words)
}

/// Looks for words.
struct Reader<'a> {
    words: &'a [&'a str],
}

/// A word of a command: what it says, or nothing where only the shell could tell.
type Word = Option<String>;

impl Reader<'_> {
    fn text(&self, text: &str, nesting: usize) -> Option<String> {
        let nesting = nesting.checked_sub(1)?;
        if text.len() > LONGEST || is_tangled(text) {
            return None;
        }
        let nodes = rable::parse(text, false).ok()?;
        nodes.iter().find_map(|node| self.node(node, nesting))
    }

    fn is_refused(&self, name: &str) -> bool {
        self.words.contains(&name)
    }
}

/// The parser reads a substitution again for each one that it stands in, so their number and the length are bounded
/// together.
fn is_tangled(text: &str) -> bool {
    let marks = text.bytes().filter(|byte| matches!(byte, b'(' | b'`')).count();
    marks.saturating_mul(marks).saturating_mul(text.len()) > 8 * 1024 * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        refused_in_text(text, WORDS)
    }

    #[test]
    fn the_word_is_found_wherever_the_shell_would_run_it() {
        for text in [
            "rm -rf workspace/",
            "/bin/rm x",
            "./tools/rm x",
            "ls; rm x",
            "true && rm x",
            "false || rm x",
            "ls | rm",
            "sleep 1 & rm x",
            "(cd a; rm x)",
            "{ rm x; }",
            "! rm x",
            "time rm x",
            "if true; then rm x; fi",
            "for i in 1 2; do rm $i; done",
            "while rm x; do :; done",
            "case a in a) rm x;; esac",
            "f() { rm x; }; f",
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"a $(rm x) b\"",
            "a=$(rm x)",
            "diff <(rm a) b",
            "cat > $(rm x)",
            "[[ $(rm x) == a ]]",
            "echo ${a:-$(rm x)}",
            "echo $(( $(rm x) ))",
            "cat <<EOF\n$(rm x)\nEOF",
            "sh <<'EOF'\nrm x\nEOF",
            "sh -c 'rm x'",
            "bash -euc \"ls; rm x\"",
            "sh -c \"sh -c 'rm x'\"",
            "eval rm x",
            "eval 'rm x'",
            "env rm x",
            "env -i A=1 -u B rm x",
            "env -S 'rm x'",
            "A=1 rm x",
            "command rm x",
            "exec rm x",
            "exec -a name rm x",
            "nohup rm x",
            "sudo rm x",
            "sudo -u root -E rm x",
            "nice -n 5 rm x",
            "timeout -s KILL 5 rm x",
            "setsid rm x",
            "stdbuf -oL rm x",
            "find . | xargs rm",
            "xargs -0 -n 1 -I {} rm {}",
            "find . -name a -exec rm {} +",
            "find . -execdir /bin/rm {} ;",
            "busybox rm x",
            "toybox rm x",
            "'rm' x",
            "\"rm\" x",
            "r\\m x",
            "r''m x",
            "$'rm' x",
            "$'\\x72m' x",
            "{rm,-rf,x}",
            "dd if=/dev/zero of=x",
            "rmdir x",
        ] {
            let word = refused(text);
            assert!(word.as_deref().is_some_and(|word| WORDS.contains(&word)), "{text:?} gave {word:?}");
        }
    }

    #[test]
    fn what_only_names_the_word_is_not_refused() {
        for text in [
            "ls -la",
            "echo rm",
            "git rm x",
            "npm run format",
            "grep rm file",
            "cat rm",
            "man rm",
            "cargo format",
            "docker run --rm x",
            "echo 'rm -rf x' > notes.md",
            "cat <<'EOF'\nrm x\n$(rm y)\nEOF",
            "# rm x",
            "farm x",
            "rmx",
            "./rm.sh",
            "env",
            "sudo -l",
            "xargs",
            "sh script rm",
            "find . -name rm",
            "",
            "if",
            "rm 'unclosed",
        ] {
            assert_eq!(refused(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_only_the_shell_can_tell_is_left_to_the_sandbox() {
        for text in ["$(echo r)m x", "base64 -d a | sh", "$X x", "find . -delete", ": > x", "python3 -c 'import os'"] {
            assert_eq!(refused(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_list_is_the_callers() {
        assert_eq!(refused_in_text("rm x", &["curl"]), None);
        assert_eq!(refused_in_text("sh -c 'curl x'", &["curl"]).as_deref(), Some("curl"));
        assert_eq!(refused_in_arguments(&["sh", "-c", "rm 'it'"], WORDS).as_deref(), Some("rm"));
        assert_eq!(refused_in_arguments(&["echo", "it's; rm x"], WORDS), None);
    }

    #[test]
    fn a_tangled_text_costs_nothing() {
        for (open, close) in [("$(", ")"), ("(", ")"), ("{ ", "; }"), ("if a; then ", "; fi"), ("\"$(", ")\"")] {
            for depth in [20, 400, 3000] {
                let _ = refused(&format!("{}rm{}", open.repeat(depth), close.repeat(depth)));
            }
        }
        assert_eq!(refused(&format!("rm {}", "x".repeat(LONGEST))), None);
    }
}
