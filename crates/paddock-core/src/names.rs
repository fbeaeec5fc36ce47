//! Which names a Workspace hides, guards, or keeps as Paddock's own.
//!
//! Hidden names are invisible in every operation. Guarded names may be read and never changed.
//! Paddock's own files (its configuration, schema, binary) may never be changed, and nothing lifts
//! that. All three compare without regard to case, to Unicode composition and to characters that are
//! not seen, so that a file system that folds any of them cannot be used to reach the same file by
//! another spelling.

use std::sync::OnceLock;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

use crate::first_look::FirstLook;
use crate::groups::{has_open_class, written_out};
use crate::guarded::{GIT_FILE, GUARDED, GuardedName, WAYS};
use crate::path::{RelPath, RelPathBuf};
use crate::repository::is_called_so;
use crate::workspace::Origin;

/// The names that are Paddock's own wherever they stand: its configuration and the schema of it.
pub const OWN_NAMES: [&str; 2] = ["paddock.toml", ".paddock.schema.json"];

/// What the names of temporary files and directories begin with. No agent may use such a name.
pub const TEMP_PREFIX: &str = ".paddock-tmp-";

/// A pattern under `hide`, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HidePattern {
    /// The pattern, in gitignore syntax.
    pub text: String,
    /// Where a person wrote it.
    pub origin: Origin,
}

impl HidePattern {
    /// As it is compiled: in one spelling, each alternative of a group by itself.
    fn texts(&self) -> impl Iterator<Item = String> {
        let text = fold(&self.text);
        written_out(&text).unwrap_or_else(|| vec![text]).into_iter()
    }
}

/// A pattern or name that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameRuleError {
    /// Not gitignore syntax.
    #[error("\"{pattern}\" under hide is not a valid pattern: {why}")]
    BadPattern {
        /// The pattern as written.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// Not a row of the guarded list.
    #[error("\"{0}\" under unguard is not a guarded name")]
    UnknownGuard(String),
}

/// The name rules of one Workspace, compiled.
#[derive(Debug, Clone)]
pub struct NameRules {
    hide: Vec<HidePattern>,
    hidden: Option<Hidden>,
    first_look: FirstLook,
    guards: Guards,
    unguard: Vec<String>,
    own: Vec<String>,
    mounts: Vec<String>,
}

impl Default for NameRules {
    fn default() -> Self {
        Self {
            hide: Vec::new(),
            hidden: None,
            first_look: FirstLook::default(),
            guards: Guards::Standard,
            unguard: Vec::new(),
            own: Vec::new(),
            mounts: Vec::new(),
        }
    }
}

impl NameRules {
    /// Compiles the rules. `own` holds Paddock's own files, relative to the Mount.
    pub fn new(hide: Vec<HidePattern>, unguard: &[String], own: &[RelPathBuf]) -> Result<Self, NameRuleError> {
        for pattern in &hide {
            let Some(each) = written_out(&pattern.text) else {
                let why = "a group in it does not end, or stands for too much";
                return Err(bad_pattern(&pattern.text, &why));
            };
            if each.iter().any(|text| text.trim() != text || text.is_empty()) {
                return Err(bad_pattern(&pattern.text, &"it is empty, or begins or ends with a space"));
            }
            if each.iter().any(|text| has_open_class(text)) {
                return Err(bad_pattern(&pattern.text, &"a class in it does not end"));
            }
        }
        let hidden = if hide.is_empty() { None } else { Some(Hidden::new(&hide)?) };
        if let Some(unknown) = unguard.iter().find(|name| !GUARDED.iter().any(|row| row.name == **name)) {
            return Err(NameRuleError::UnknownGuard(unknown.clone()));
        }
        let guards = if unguard.is_empty() { Guards::Standard } else { Guards::Fewer(compile_guards(unguard)?) };
        let own = own.iter().map(|path| fold(path.as_str())).collect();
        let first_look = first_look_of(&hide);
        Ok(Self { hide, hidden, first_look, guards, unguard: unguard.to_vec(), own, mounts: Vec::new() })
    }

    /// With the places, relative to this Mount, of other Mounts: this agent's, or anybody's.
    #[must_use]
    pub fn with_mounts(mut self, mounts: &[RelPathBuf]) -> Self {
        self.mounts = mounts.iter().map(|path| fold(path.as_str())).collect();
        self
    }

    /// The same, with these patterns too.
    pub fn also_hiding(self, more: Vec<HidePattern>) -> Result<Self, NameRuleError> {
        if more.is_empty() {
            return Ok(self);
        }
        let hide: Vec<HidePattern> = self.hide.into_iter().chain(more).collect();
        let (hidden, first_look) = (Some(Hidden::new(&hide)?), first_look_of(&hide));
        Ok(Self { hide, hidden, first_look, ..self })
    }

    /// The pattern that hides this path or a directory above it.
    pub fn hidden(&self, rel: RelPath<'_>) -> Option<&HidePattern> {
        if self.hidden.is_none() || !self.first_look.may_match(rel.as_str()) {
            return None;
        }
        // Every directory on the way counts: nothing below a hidden one can be shown again.
        rel.ancestors().find_map(|path| self.hides_entry(path.as_str()))
    }

    /// The pattern that hides this very entry, its directory being known to be visible.
    pub fn hides_entry(&self, rel: &str) -> Option<&HidePattern> {
        let hidden = self.hidden.as_ref()?;
        let name = rel.rsplit_once('/').map_or(rel, |(_, name)| name);
        if !self.first_look.may_match_name(name) {
            return None;
        }
        // Cannot be compiled after all: then everything is hidden rather than nothing.
        let Some(matcher) = hidden.matcher() else { return self.hide.first() };
        let found = |path: &str| match matcher.matched(path, true) {
            // Whichever pattern it was: that one matched is what hides it.
            ignore::Match::Ignore(glob) => {
                let is_it = |p: &&HidePattern| p.texts().any(|text| text.trim() == glob.original().trim());
                self.hide.iter().find(is_it).or(self.hide.first())
            }
            _ => None,
        };
        if rel.is_ascii() { found(rel) } else { found(&fold(rel)) }
    }

    /// The guarded name that covers this path, given whether it is, or is to be, a directory.
    pub fn guarded(&self, rel: RelPath<'_>, directory: bool) -> Option<&'static GuardedName> {
        let is_git_file = rel.split_last().is_some_and(|(_, name)| !directory && is_spelling_of(name, GIT_FILE));
        if is_git_file && !self.lifts(GIT_FILE) {
            return GUARDED.iter().find(|row| row.name == GIT_FILE);
        }
        if !guards_first_look().may_match(rel.as_str()) {
            return None;
        }
        let folded = fold(rel.as_str());
        let guards = self.guards.matcher()?;
        RelPath(&folded).ancestors().find_map(|path| match guards.matched(path.as_str(), true) {
            ignore::Match::Ignore(glob) => row_of(glob.original()),
            _ => None,
        })
    }

    /// Is this a guarded name whose row is lifted?
    pub(crate) fn is_lifted(&self, rel: RelPath<'_>) -> bool {
        let standard = || NameRules::default().guarded(rel, false).is_some();
        !self.unguard.is_empty() && self.guarded(rel, false).is_none() && standard()
    }

    /// Is this row of the guarded names lifted?
    pub(crate) fn lifts(&self, row: &str) -> bool {
        self.unguard.iter().any(|name| name == row)
    }

    /// May no link stand here? Under these names lie guarded ones, and a link would put them where
    /// their real path does not show it.
    pub fn guarded_way(&self, rel: RelPath<'_>) -> Option<&'static GuardedName> {
        let on_the_way = |name: &str| WAYS.iter().any(|way| is_spelling_of(name, way)) || is_called_so(&fold(name));
        rel.names().any(on_the_way).then(|| GUARDED.iter().find(|row| row.name == GIT_FILE))?
    }

    /// Is another Mount here, or below? Whoever put a link here would choose what that one shows, when it is next opened.
    pub fn leads_to_a_mount(&self, rel: RelPath<'_>) -> bool {
        !self.mounts.is_empty() && {
            let folded = fold(rel.as_str());
            self.mounts.iter().any(|mount| RelPath(mount).is_within(RelPath(&folded)))
        }
    }

    /// Is this one of Paddock's own files, or below one? A file of the configuration's name counts
    /// anywhere: Paddock started in that directory would take its policy from it.
    pub fn own(&self, rel: RelPath<'_>) -> bool {
        if rel.names().any(|name| OWN_NAMES.iter().any(|own| is_spelling_of(name, own))) {
            return true;
        }
        !self.own.is_empty() && {
            let folded = fold(rel.as_str());
            self.own.iter().any(|own| RelPath(&folded).is_within(RelPath(own)))
        }
    }

    /// Is this a temporary file or directory of Paddock's, or below one?
    pub fn temporary(rel: RelPath<'_>) -> bool {
        let begins = |name: &str| match name.get(..TEMP_PREFIX.len()) {
            Some(start) if start.is_ascii() => start.eq_ignore_ascii_case(TEMP_PREFIX),
            _ => !name.is_ascii() && fold(name).starts_with(TEMP_PREFIX),
        };
        rel.names().any(begins)
    }

    /// Are the same names hidden and lifted?
    pub(crate) fn agree_with(&self, other: &Self) -> bool {
        let texts = |rules: &Self| rules.hide.iter().map(|p| p.text.clone()).collect::<std::collections::BTreeSet<_>>();
        let lifted = |rules: &Self| rules.unguard.iter().cloned().collect::<std::collections::BTreeSet<_>>();
        texts(self) == texts(other) && lifted(self) == lifted(other)
    }

    /// Everything the rules say, as a text: rules of one text decide alike.
    pub fn text(&self) -> String {
        let hide: Vec<&str> = self.hide.iter().map(|pattern| pattern.text.as_str()).collect();
        format!("{hide:?} {:?} {:?} {:?}", self.unguard, self.own, self.mounts)
    }

    /// The patterns under `hide`, as written.
    pub fn hide_patterns(&self) -> &[HidePattern] {
        &self.hide
    }
}

/// The patterns under `hide`, read at once, so that a wrong one is an error at its line, and compiled
/// when a name first has to be compared with them: a server that starts need not wait for it.
#[derive(Debug, Clone)]
struct Hidden {
    patterns: GitignoreBuilder,
    compiled: OnceLock<Option<Gitignore>>,
}

impl Hidden {
    fn new(hide: &[HidePattern]) -> Result<Self, NameRuleError> {
        Ok(Self { patterns: parse(texts(hide))?, compiled: OnceLock::new() })
    }

    fn matcher(&self) -> Option<&Gitignore> {
        self.compiled.get_or_init(|| self.patterns.build().ok()).as_ref()
    }
}

/// The compiled guarded list; the full one is shared by every Workspace.
#[derive(Debug, Clone)]
enum Guards {
    Standard,
    Fewer(Gitignore),
}

impl Guards {
    fn matcher(&self) -> Option<&Gitignore> {
        static STANDARD: OnceLock<Option<Gitignore>> = OnceLock::new();
        match self {
            Self::Fewer(matcher) => Some(matcher),
            // The table is fixed and compiled by the tests, so this is never nothing.
            Self::Standard => STANDARD.get_or_init(|| compile_guards(&[]).ok()).as_ref(),
        }
    }
}

fn first_look_of(hide: &[HidePattern]) -> FirstLook {
    let texts: Vec<String> = texts(hide).collect();
    FirstLook::at_the_last(texts.iter().map(String::as_str))
}

/// The patterns as they are compiled.
fn texts(hide: &[HidePattern]) -> impl Iterator<Item = String> {
    hide.iter().flat_map(|pattern| pattern.texts())
}

/// Of the whole guarded list: where names are lifted it says "perhaps" more often.
fn guards_first_look() -> &'static FirstLook {
    static LOOK: OnceLock<FirstLook> = OnceLock::new();
    LOOK.get_or_init(|| FirstLook::at_the_first(GUARDED.iter().flat_map(|row| row.patterns.iter().copied())))
}

fn compile_guards(unguard: &[String]) -> Result<Gitignore, NameRuleError> {
    let kept = GUARDED.iter().filter(|row| !unguard.iter().any(|name| name == row.name));
    compile(kept.flat_map(|row| row.patterns.iter().map(|p| (*p).to_owned())))
}

fn compile(patterns: impl Iterator<Item = String>) -> Result<Gitignore, NameRuleError> {
    parse(patterns)?.build().map_err(|e| bad_pattern("", &e))
}

/// Reads the patterns without compiling them, which takes far longer.
fn parse(patterns: impl Iterator<Item = String>) -> Result<GitignoreBuilder, NameRuleError> {
    let mut builder = GitignoreBuilder::new("");
    builder.case_insensitive(true).map_err(|e| bad_pattern("", &e))?;
    for pattern in patterns {
        builder.add_line(None, &pattern).map_err(|e| bad_pattern(&pattern, &e))?;
    }
    Ok(builder)
}

fn bad_pattern(pattern: &str, why: &dyn std::fmt::Display) -> NameRuleError {
    NameRuleError::BadPattern { pattern: pattern.to_owned(), why: why.to_string() }
}

fn row_of(pattern: &str) -> Option<&'static GuardedName> {
    GUARDED.iter().find(|row| row.patterns.contains(&pattern))
}

/// One spelling for all that a file system may take for the same name: without regard to case (`ſ` is an `s`, `ß` two of
/// them), to composition, and to characters that are not seen. The matchers fold ASCII case by themselves, so that
/// ASCII paths need no copy.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().filter(|c| !is_unseen(*c)).flat_map(fold_case).nfc().collect()
}

/// Is this that name, which is of small ASCII letters, in some spelling?
pub(crate) fn is_spelling_of(name: &str, plain: &str) -> bool {
    if name.is_ascii() { name.eq_ignore_ascii_case(plain) } else { fold(name) == plain }
}

/// Through the capital letter, where letters meet that have no other way to each other. Only the dotless i, which has the
/// capital of another letter, is none but itself.
fn fold_case(c: char) -> impl Iterator<Item = char> {
    let is_itself = c == '\u{131}';
    let folded = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    is_itself.then_some(c).into_iter().chain(folded.filter(move |_| !is_itself))
}

/// Characters that ext4, f2fs and HFS+ pass over when they compare names: Unicode calls them "default ignorable".
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(hide: &[&str], unguard: &[&str], own: &[&str]) -> Result<NameRules, NameRuleError> {
        let hide = hide.iter().map(|p| HidePattern { text: (*p).to_owned(), origin: Origin::unknown() }).collect();
        let unguard: Vec<String> = unguard.iter().map(|n| (*n).to_owned()).collect();
        let own: Vec<RelPathBuf> = own.iter().map(|p| RelPathBuf::parse(p).unwrap()).collect();
        NameRules::new(hide, &unguard, &own)
    }

    #[test]
    fn the_way_to_another_mount_is_every_directory_above_it_and_itself() {
        let path = |text| RelPathBuf::parse(text).unwrap();
        let rules = NameRules::default().with_mounts(&[path("a/Data"), path("b")]);
        for on_the_way in ["", "a", "A", "a/data", "b", "B", "a/d\u{200d}ata"] {
            assert!(rules.leads_to_a_mount(RelPath(on_the_way)), "{on_the_way}");
        }
        for beside in ["a/data/x", "a/dat", "c", "b/x"] {
            assert!(!rules.leads_to_a_mount(RelPath(beside)), "{beside}");
        }
        assert!(!NameRules::default().leads_to_a_mount(RelPath("a")));
    }

    #[test]
    fn hidden_names_hide_at_any_depth_and_everything_below() {
        let rules = rules(&[".env", ".env.*", "/private/", "*.pem", "caf\u{e9}"], &[], &[]).unwrap();
        for hidden in [
            ".env",
            "a/b/.env",
            ".env.local",
            "private",
            "private/x/y",
            "k/server.pem",
            ".ENV",
            "cafe\u{301}/x",
            "CAF\u{c9}",
        ] {
            assert!(rules.hidden(RelPath(hidden)).is_some(), "{hidden}");
        }
        for shown in ["env", ".environment", "a/private", "pem", "x.pem.txt", ""] {
            assert!(rules.hidden(RelPath(shown)).is_none(), "{shown}");
        }
    }

    #[test]
    fn the_first_look_never_says_no_where_a_pattern_says_yes() {
        let patterns = [
            ".env",
            ".env.*",
            "*.pem",
            "id_rsa",
            "a/b",
            "/top",
            "x*y",
            "[ab]c",
            "*e",
            "?z",
            "\\!bang",
            "K",
            "caf\u{e9}",
        ];
        let names = [
            ".env",
            ".env.x",
            ".ENV",
            "k.pem",
            "K.PEM",
            "id_rsa",
            "a",
            "b",
            "top",
            "xy",
            "x12y",
            "ac",
            "bc",
            "cafe",
            "qz",
            "!bang",
            "k",
            "\u{212a}",
            "caf\u{e9}",
            "cafe\u{301}",
            "CAF\u{c9}",
            "plain",
            "main.rs",
        ];
        for pattern in patterns {
            let rules = rules(&[pattern], &[], &[]).unwrap();
            let unfiltered = NameRules { first_look: FirstLook::of_anything(), ..rules.clone() };
            for name in names.iter().chain(&["a/b", "x/a/b", "d/.env"]) {
                let rel = RelPath(name);
                assert_eq!(rules.hidden(rel), unfiltered.hidden(rel), "{pattern} and {name}");
            }
        }
    }

    #[test]
    fn each_alternative_of_a_group_is_a_pattern_by_itself() {
        let told = rules(&["{/secrets,conf/prod,logs/,*.{pem,key}}", "!{public.key,b}"], &[], &[]).unwrap();
        let hidden = |path| told.hidden(RelPath(path));
        for path in ["secrets", "secrets/y", "conf/prod", "logs", "a/logs/x", "a/b.pem", "x.KEY"] {
            assert_eq!(hidden(path).unwrap().text, "{/secrets,conf/prod,logs/,*.{pem,key}}", "{path}");
        }
        for path in ["a/secrets", "a/conf/prod", "conf", "public.key", "pem"] {
            assert!(hidden(path).is_none(), "{path}");
        }
        for bad in ["{a,b", "{a, b}", "{,a}", "{a,{b}", "[ab", "{a,[!}"] {
            assert!(rules(&[bad], &[], &[]).is_err(), "{bad}");
        }
    }

    /// Patterns as people might write them, groups and classes with slashes in them included.
    fn patterns() -> impl Strategy<Value = String> {
        let plain = prop_oneof![
            5 => "[abA.,]{1,2}",
            1 => Just("*".to_owned()),
            1 => Just("**/".to_owned()),
            1 => Just("?".to_owned()),
            2 => Just("/".to_owned()),
            1 => Just("[ab]".to_owned()),
            1 => Just("[!a]".to_owned()),
            1 => Just("[a/b]".to_owned()),
            1 => Just("\\a".to_owned()),
        ];
        let pieces = plain.prop_recursive(2, 12, 4, |inner| {
            let group =
                proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("{{{}}}", parts.join(",")));
            prop_oneof![group, (inner.clone(), inner).prop_map(|(one, other)| one + &other)]
        });
        proptest::collection::vec(pieces, 1..4).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_first_look_hides_and_shows_nothing_by_itself(
            patterns in proptest::collection::vec(patterns(), 1..3),
            paths in proptest::collection::vec("[abAB.,]{1,2}(/[abAB.,]{1,2}){0,2}", 30),
        ) {
            let texts: Vec<&str> = patterns.iter().map(String::as_str).collect();
            let Ok(rules) = rules(&texts, &[], &[]) else { return Ok(()) };
            let unfiltered = NameRules { first_look: FirstLook::of_anything(), ..rules.clone() };
            for path in paths.iter().filter(|path| path.split('/').all(|name| name != "." && name != "..")) {
                prop_assert_eq!(rules.hidden(RelPath(path)), unfiltered.hidden(RelPath(path)), "{:?} and {}", texts, path);
                prop_assert_eq!(rules.hides_entry(path), unfiltered.hides_entry(path), "{:?} and {}", texts, path);
            }
        }
    }

    #[test]
    fn the_first_look_never_says_no_where_a_guard_says_yes() {
        let matcher = Guards::Standard.matcher().unwrap();
        let mut matched = 0;
        for pattern in GUARDED.iter().flat_map(|row| row.patterns) {
            for (stars, git) in [("a/b/", "x.git"), ("", ".git"), ("c/", ".BARE")] {
                let path = pattern.replace("{*.git,.bare}", git).replace("**/", stars).replace('*', "z");
                for path in [path.clone(), path.to_uppercase(), format!("d/{path}"), path.replace('i', "\u{131}")] {
                    let guarded = matcher.matched(fold(&path), true).is_ignore();
                    assert!(!guarded || guards_first_look().may_match(&path), "{pattern}: {path}");
                    matched += usize::from(guarded);
                }
            }
        }
        assert!(matched > 1000, "{matched}");
        assert!(!guards_first_look().may_match("src/components/App.tsx"));
    }

    #[test]
    fn an_exception_shows_a_file_but_nothing_below_a_hidden_directory() {
        let rules = rules(&["*.key", "!public.key", "/vault", "!/vault/open.txt"], &[], &[]).unwrap();
        assert!(rules.hidden(RelPath("a.key")).is_some());
        assert!(rules.hidden(RelPath("public.key")).is_none());
        assert!(rules.hidden(RelPath("vault/open.txt")).is_some());
    }

    #[test]
    fn every_guarded_row_guards_itself_at_any_depth_and_can_be_lifted_alone() {
        let samples = [
            (".git", ".git"),
            (".git/hooks", "sub/.git/hooks/pre-commit"),
            (".git/hooks", ".git/modules/a/b/hooks/post-checkout"),
            (".git/config", ".git/config"),
            (".git/config", "x/.GIT/Config"),
            (".git/config", ".git/worktrees/w/config"),
            (".git/config", ".git/remotes/origin"),
            (".git/config", ".git/worktrees/w/modules/m/config"),
            (".git/config", ".git/worktrees/w/modules/a/b/modules/m/Config"),
            (".git/config", "x/.git/worktrees/w/modules/m/config.worktree"),
            (".git/config", ".git/modules/m/worktrees/w/config.worktree"),
            (".git/hooks", ".git/worktrees/w/modules/m/hooks/post-checkout"),
            (".git/hooks", ".git/worktrees/w/modules/a/modules/b/hooks"),
            (".git/commondir", ".git/worktrees/w/modules/m/commondir"),
            (".git/commondir", ".git/modules/m/worktrees/w/gitdir"),
            (".git/commondir", ".git/commondir"),
            (".git/commondir", ".git/modules/m/commondir"),
            (".git/rebase-merge", ".git/rebase-merge/git-rebase-todo"),
            (".git/rebase-merge", ".git/worktrees/w/rebase-merge/git-rebase-todo.backup"),
            (".git/rebase-merge", ".git/modules/a/b/rebase-apply/author-script"),
            (".git/rebase-merge", "b.git/sequencer/todo"),
            (".gitconfig", ".gitconfig"),
            (".envrc", "a/.envrc"),
            (".vscode", ".vscode/tasks.json"),
            ("HEAD", "docs/HEAD"),
            ("HEAD", ".git/x/HEAD"),
            ("HEAD", ".git/refs/heads/HEAD"),
            ("HEAD", "a/.git/logs/objects"),
            (".husky", "p/.husky/pre-commit"),
            (".githooks", ".githooks/pre-push"),
            (".pre-commit-config.yaml", ".pre-commit-config.yaml"),
            ("lefthook.yml", "lefthook.yml"),
            ("lefthook.yml", ".lefthook.yml"),
            ("lefthook.yml", ".lefthook/pre-commit/lint.sh"),
            (".hg", ".hg/hgrc"),
            (".hg", "home/.hgrc"),
            (".hg", ".config/hg/hgrc.d/more.rc"),
            (".hg", "a/.sl/config"),
            (".jj", ".jj/repo/config.toml"),
            (".jj", "x/.jj/workspace-config.toml"),
            ("_darcs", "x/_darcs/prefs/defaults"),
            (".git/config", ".git/modules/m/remotes/origin"),
            (".git/config", ".git/modules/a/b/branches/x"),
            (".git/config", ".git/worktrees/w/modules/m/remotes/origin"),
            (".git/config", ".git/worktrees/w/modules/m/branches/x"),
            (".git/hooks", ".git/modules/x/refs/remotes/hooks/update"),
            (".envrc", "mise/config.toml"),
            (".envrc", "a/mise/conf.d/x.toml"),
            (".envrc", ".mise.production.toml"),
            (".envrc", ".config/mise.toml"),
            (".envrc", "home/.config/direnv/direnvrc"),
            (".gdbinit", ".config/gdb/gdbearlyinit"),
            (".agents", ".crush.json"),
            (".agents", "p/crush.json"),
            (".agents", ".qwen/settings.json"),
            (".agents", ".factory/mcp.json"),
            (".agents", ".junie/mcp/mcp.json"),
            (".agents", "a/.trae/mcp.json"),
            (".agents", ".augment/rules/x.md"),
            (".idea", ".idea/workspace.xml"),
            (".mcp.json", ".mcp.json"),
            (".claude", ".claude/settings.json"),
            (".cursor", "p/.cursor/mcp.json"),
            (".bashrc", ".zshenv"),
            (".ssh", ".ssh/authorized_keys"),
        ];
        let all = rules(&[], &[], &[]).unwrap();
        for (row, path) in samples {
            assert_eq!(all.guarded(RelPath(path), false).map(|g| g.name), Some(row), "{path}");
            let lifted = rules(&[], &[row], &[]).unwrap();
            assert_eq!(lifted.guarded(RelPath(path), false), None, "{path} with {row} lifted");
        }
        for row in GUARDED {
            assert!(
                matches!(row.name, GIT_FILE | ".git/index") || !row.patterns.is_empty(),
                "{} covers something",
                row.name
            );
        }
    }

    #[test]
    fn ordinary_project_files_are_not_guarded() {
        let rules = rules(&[], &[], &[]).unwrap();
        for path in [
            "package.json",
            "Makefile",
            "conftest.py",
            ".gitignore",
            ".github/workflows/ci.yml",
            "docs/husky.md",
            "docs/lefthook.md",
            "hooks/pre-commit",
            "src/config",
            "git/hooks/x",
            "darcs/prefs/defaults",
            "src/mise/mod.rs",
            "promise/config.toml",
            "src/crush.rs",
            "qwen/settings.json",
            "src/hg/hgrc",
            ".hgignore",
        ] {
            assert_eq!(rules.guarded(RelPath(path), false), None, "{path}");
        }
        assert_eq!(rules.guarded(RelPath("new/.git"), true), None, "a directory may be made");
        for inside in [
            ".git/objects/ab/cd",
            ".git/HEAD",
            "a/.git/logs/HEAD",
            ".git/refs/remotes/origin/HEAD",
            ".git/logs/refs/remotes/origin/HEAD",
            ".git/modules/a/b/HEAD",
            ".git/worktrees/w/HEAD",
            ".git/worktrees/w/logs/HEAD",
            ".git/sequencer/head",
            ".git/branches",
            ".git/refs/heads/config",
            ".git/refs/heads/modules/m/config",
            ".git/refs/heads/worktrees/w/modules/hooks",
            ".git/logs/refs/heads/hooks/x",
            ".git/objects/hooks",
            ".git/worktrees/w/modules/m/HEAD",
            ".git/worktrees/w/modules/m/logs/HEAD",
            ".git/worktrees/w/modules/m/index",
            ".git/rebase-merge/head-name",
            ".git/rebase-apply/patch",
            ".git/sequencer/opts",
            ".git/modules/m/refs/remotes/origin/main",
            ".git/modules/m/logs/refs/remotes/origin/main",
            ".git/worktrees/w/modules/m/refs/remotes/origin",
            ".jj/repo/store/type",
            ".sl/store/requires",
            ".hg/store/00changelog.i",
            ".git/worktrees/w/logs/refs/heads/config",
        ] {
            assert_eq!(rules.guarded(RelPath(inside), false), None, "{inside}");
        }
    }

    /// What git asks for before it takes a directory for a repository, and what it would then run.
    #[test]
    fn where_a_head_is_excepted_no_repository_can_be_made_that_runs_anything() {
        let rules = rules(&[], &[], &[]).unwrap();
        let patterns = GUARDED.iter().find(|row| row.name == "HEAD").unwrap().patterns;
        let excepted: Vec<&str> =
            patterns.iter().filter_map(|p| p.strip_prefix("!**/")?.strip_suffix("/HEAD")).collect();
        assert!(excepted.len() > 5, "{excepted:?}");
        for dir in excepted {
            let dir = dir.replace("**", "deep/down").replace('*', "any");
            let guards = |name: &str| rules.guarded(RelPath(&format!("{dir}/{name}")), false).is_some();
            assert!(!guards("HEAD"), "{dir}");
            assert!(guards("commondir") && (guards("objects") || guards("config") && guards("hooks/update")), "{dir}");
        }
    }

    /// What ext4 and f2fs with case folding take for one name, by the tables of Unicode that they use.
    #[test]
    fn no_spelling_that_a_file_system_folds_is_another_name() {
        let rules = rules(&[".env", "*.pem", "stra\u{df}e"], &[], &[]).unwrap();
        let hides =
            [".e\u{200d}nv", ".env\u{fe0f}", "\u{2060}.ENV", "k.p\u{ad}em\u{e0100}", "STRASSE", "stra\u{1e9e}e"];
        for hidden in hides {
            assert!(rules.hidden(RelPath(hidden)).is_some(), "{hidden:?}");
        }
        for guarded in [
            ".g\u{200d}it/hooks/pre-commit",
            ".git/hook\u{17f}/pre-commit",
            ".ba\u{17f}hrc",
            ".git/con\u{fb01}g",
            ".\u{df}h/authorized_keys",
            ".vscod\u{65}\u{200b}/tasks.json",
            ".g\u{34f}it",
        ] {
            assert!(rules.guarded(RelPath(guarded), false).is_some(), "{guarded:?}");
        }
        assert!(rules.own(RelPath("paddoc\u{212a}.toml")) && rules.own(RelPath("paddock\u{200b}.toml")));
        assert!(rules.guarded_way(RelPath(".con\u{fb01}g")).is_some() && rules.guarded_way(RelPath(".jj")).is_some());
        assert!(rules.guarded_way(RelPath("B.git/x")).is_some() && rules.guarded_way(RelPath("git")).is_none());
        assert!(
            NameRules::temporary(RelPath(".paddoc\u{212a}-tmp-1")) && NameRules::temporary(RelPath(".paddock-tmp-é"))
        );
        // Letters that only look alike are others, and so are names that only begin alike.
        for other in [".g\u{131}t/hooks/x", ".\u{435}nv", ".bashrc\u{e9}", ".g\u{200d}itignore", "paddock.t\u{f6}ml"] {
            let rel = RelPath(other);
            let kept = rules.hidden(rel).is_some() || rules.guarded(rel, false).is_some() || rules.own(rel);
            assert!(!kept && !NameRules::temporary(rel), "{other:?}");
        }
    }

    #[test]
    fn a_fold_is_one_spelling_and_stays_it() {
        for (one, other) in
            [("CAFE\u{301}", "caf\u{e9}"), ("\u{3a3}\u{3c2}", "\u{3c3}\u{3a3}"), ("\u{212b}", "a\u{30a}")]
        {
            assert_eq!(fold(one), fold(other), "{one:?}");
            assert_eq!(fold(&fold(one)), fold(one), "{one:?}");
        }
    }

    #[test]
    fn own_files_are_kept_in_any_spelling() {
        let rules = rules(&[], &[], &["target/paddock"]).unwrap();
        for own in
            ["paddock.toml", "Paddock.TOML", "target/paddock", "Target/Paddock", "paddock.toml/x", "a/b/paddock.toml"]
        {
            assert!(rules.own(RelPath(own)), "{own}");
        }
        for other in ["target", "paddock.toml.bak", "paddock", ""] {
            assert!(!rules.own(RelPath(other)), "{other}");
        }
    }

    #[test]
    fn wrong_rules_are_named() {
        for bad in ["a{b", ".env ", " .env", "private/ ", ""] {
            assert!(matches!(rules(&[bad], &[], &[]), Err(NameRuleError::BadPattern { .. })), "{bad:?}");
        }
        assert_eq!(rules(&[], &["Makefile"], &[]).unwrap_err(), NameRuleError::UnknownGuard("Makefile".to_owned()));
    }
}
