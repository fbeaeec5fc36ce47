//! Names of public items, taken apart into their words.
//!
//! Owns what a public item is (a line of code that starts with `pub` and declares something) and how a name
//! splits. A field or a private name is not looked at: it is no part of the language that others speak.

use super::super::rust_text::RustText;
use super::super::script_text::ScriptText;
use super::Finding;
use super::words::{IN_NAMES, PROPER_NAMES};

const DECLARES: &[&str] = &["struct", "enum", "trait", "union", "fn", "mod", "type", "const", "static"];
const EXPORTS: &[&str] = &["class", "interface", "type", "function", "const", "let", "enum", "namespace"];
const BEFORE_EXPORTED: &[&str] = &["default", "declare", "abstract", "async"];
const BEFORE_FN: &[&str] = &["async", "unsafe", "extern", "const"];

pub(super) fn in_code(parsed: &RustText) -> Vec<Finding> {
    let lines = parsed.code_lines().filter(|(number, _)| !parsed.is_test(*number));
    let named = lines.filter_map(|(number, line)| public_name(line).map(|name| (number, name)));
    named.flat_map(|(number, name)| of_name(number, name)).collect()
}

/// What a script exports; its members and private names are its own affair.
pub(super) fn in_script(script: &ScriptText) -> Vec<Finding> {
    let lines = script.code.lines().enumerate();
    let named = lines.filter_map(|(at, line)| exported_name(line).map(|name| (at + 1, name)));
    named.flat_map(|(number, name)| of_name(number, name)).collect()
}

fn exported_name(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("export ")?.split_whitespace();
    let keyword = words.by_ref().find(|word| !BEFORE_EXPORTED.contains(word))?;
    words.next().filter(|_| EXPORTS.contains(&keyword)).map(leading_name).filter(|name| !name.is_empty())
}

fn public_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(limited) => limited.split_once(')')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace().peekable();
    let mut keyword = words.next()?;
    while BEFORE_FN.contains(&keyword) && words.peek().is_some_and(|next| *next == "fn" || BEFORE_FN.contains(next)) {
        keyword = words.next()?;
    }
    let name = words.next().filter(|_| DECLARES.contains(&keyword))?;
    Some(leading_name(name)).filter(|name| !name.is_empty())
}

fn leading_name(word: &str) -> &str {
    let end = word.find(|found: char| !found.is_alphanumeric() && found != '_').unwrap_or(word.len());
    &word[..end]
}

fn of_name(line: usize, name: &str) -> Vec<Finding> {
    let mut snake = format!("_{}_", snake_case(name));
    for proper in PROPER_NAMES {
        snake = snake.replace(&format!("_{proper}_"), "__");
    }
    let hits = IN_NAMES.iter().filter(|synonym| {
        snake.contains(&format!("_{}_", synonym.word)) || snake.contains(&format!("_{}s_", synonym.word))
    });
    hits.map(|synonym| Finding {
        line,
        word: synonym.word.to_owned(),
        instead: synonym.instead,
        context: name.to_owned(),
    })
    .collect()
}

fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_uppercase() && letters[at - 1] != '_';
        let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let starts = letter.is_uppercase() && at > 0 && letters[at - 1] != '_' && (after_small || before_small);
        if starts {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        in_code(&RustText::parse(source)).into_iter().map(|finding| finding.word).collect()
    }

    #[test]
    fn names_split_at_every_joint() {
        assert_eq!(snake_case("FSBackend"), "fs_backend");
        assert_eq!(snake_case("LocalFs2Root"), "local_fs2_root");
        assert_eq!(snake_case("mount_target"), "mount_target");
        assert_eq!(snake_case("MAX_ROOTS"), "max_roots");
    }

    #[test]
    fn every_kind_of_public_item_is_looked_at() {
        for item in [
            "pub struct FsBackend;",
            "pub(crate) enum AdapterKind {}",
            "    pub async fn check_permissions(&self) {}",
            "pub const fn rights() {}",
            "pub trait Binding<T> {}",
            "pub mod folders;",
            "pub type Target = u8;",
            "pub const ROOTS: u8 = 1;",
        ] {
            assert_eq!(words(item).len(), 1, "{item}");
        }
    }

    #[test]
    fn what_a_script_exports_is_looked_at() {
        let words = |source: &str| in_script(&ScriptText::parse(source)).len();
        for item in [
            "export class FsBackend {}",
            "export default async function makeAdapter() {}",
            "export interface Permissions<T> {}",
            "export type Target = string;",
            "export const ROOTS: number = 1;",
        ] {
            assert_eq!(words(item), 1, "{item}");
        }
        assert_eq!(
            words("const root = 1;\nexport function physicalStore(rootDir: string) {}\nexport * from \"./x.js\";"),
            0
        );
    }

    #[test]
    fn private_names_and_fields_are_not() {
        assert!(words("fn root() {}\nstruct Backend {\n    pub target: u8,\n}\n").is_empty());
    }

    #[test]
    fn proper_names_pass_and_do_not_hide_others() {
        assert!(words("pub struct SystemRoot;\npub fn project_root() {}\npub struct TargetId;\n").is_empty());
        assert_eq!(words("pub struct SystemRootAdapter;"), ["adapter"]);
    }

    #[test]
    fn parts_of_other_words_pass() {
        assert!(words("pub fn uproot() {}\npub fn retarget() {}\npub fn copyright() {}\n").is_empty());
    }
}
