//! What git itself puts into a repository, where it cannot make anything run.
//!
//! The guarded names of git would keep a command from `git init`, `clone`, `remote add` and `commit`. So what a command did there
//! is looked at: a new repository may have hooks that are samples, and a config may hold, or change, keys that are known
//! not to execute. What is taken over from a fork is looked at in the same way, whoever guarded the fork when it was written.
//! This is a list of what is harmless, and everything else stays guarded: a key that nobody thought of, and any way of
//! writing the file that this reader does not take.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use crate::alter::{Alter, Alteration};
use crate::call::Call;
use crate::names::is_spelling_of;
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::repository::is_called_so;
use crate::scope::OpKind;
use crate::store::Kind;
use crate::unfinished;
use crate::vfs::Vfs;

/// The largest config that is looked at.
const MAX_CONFIG: u64 = 64 * 1024;
/// The directory of a repository.
const REPOSITORY: &str = ".git";

/// Says which hashes a repository has, and with that how its index is read: only a new repository may say so.
const OBJECT_FORMAT: &str = "objectformat";

/// Keys that cannot make git run anything, whatever their value. A star stands for any name between quotes.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "abbrev",
            "quotepath",
            "sharedrepository",
            "compression",
            "sparsecheckout",
            "sparsecheckoutcone",
        ],
    ),
    ("extensions", &[OBJECT_FORMAT]),
    ("user", &["name", "email"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags"]),
    ("merge", &["conflictstyle", "ff"]),
    ("rebase", &["autostash", "autosquash"]),
    ("commit", &["verbose"]),
    ("color", &["ui"]),
    ("gc", &["auto"]),
    ("lfs", &["repositoryformatversion"]),
    ("remote *", &["url", "pushurl", "fetch", "tagopt", "prune", "promisor", "partialclonefilter"]),
    ("branch *", &["remote", "merge", "rebase", "description", "pushremote"]),
    ("submodule *", &["url", "active", "branch", "path", "shallow"]),
];

/// Values by section and key, in the order in which they stand.
pub(crate) type Settings = BTreeMap<(String, String), Vec<String>>;

impl Vfs {
    /// Is this change of a guarded name one that git makes and that cannot make anything run?
    pub(crate) fn is_harmless_for_git(&self, call: &Call<'_>, path: &LogicalPath, how: &Alter) -> bool {
        let Some((index, rel)) = self.route(path) else { return false };
        let names: Vec<&str> = rel.names().collect();
        match (names.as_slice(), how) {
            ([.., dir, "hooks"], Alter::MakeDir) if is_called_so(dir) => self.is_new(call, path, 1),
            ([.., dir, "hooks", name], Alter::Write { .. } | Alter::Take(_))
                if is_called_so(dir) && name.ends_with(".sample") =>
            {
                self.is_new(call, path, 2)
            }
            ([above @ .., "config"], Alter::Write { content, .. }) => {
                self.is_a_repository(call, path, index, above) && self.config_is_harmless(call, path, content)
            }
            ([above @ .., dir, name], Alter::Write { content, .. }) if unfinished::is_one(dir, name) => {
                content.len() as u64 <= MAX_CONFIG
                    && unfinished::is_harmless(name, content)
                    && self.is_free(index, above)
            }
            ([above @ .., dir, name], Alter::Delete) if unfinished::is_one(dir, name) => self.is_free(index, above),
            _ => false,
        }
    }

    /// May a person take this back? What a command was let do, an undo takes away or puts back; what it puts back was there
    /// before any agent could change it.
    pub(crate) fn is_gits_own(&self, call: &Call<'_>, path: &LogicalPath, how: &Alter) -> bool {
        let Some((index, rel)) = self.route(path) else { return false };
        let names: Vec<&str> = rel.names().collect();
        match (names.as_slice(), how) {
            // A directory of this name is no file that leads git elsewhere.
            ([.., REPOSITORY], Alter::Delete | Alter::Truncate(_)) => {
                let looked = self.workspaces[index].mount.store.stat(call, &self.place(index, rel));
                looked.is_ok_and(|meta| meta.kind == Kind::Dir)
            }
            (
                [above @ .., "hooks" | "config"] | [above @ .., "hooks", _],
                Alter::Delete | Alter::Restore(_) | Alter::Truncate(_),
            )
            | ([above @ .., "remotes" | "branches"], Alter::Delete) => self.is_a_repository(call, path, index, above),
            ([above @ .., dir, name], Alter::Delete | Alter::Restore(_) | Alter::Truncate(_))
                if unfinished::is_one(dir, name) =>
            {
                self.is_free(index, above)
            }
            _ => false,
        }
    }

    /// Is a directory called as a repository is, or one that no other guarded name holds?
    fn is_a_repository(&self, call: &Call<'_>, path: &LogicalPath, index: usize, dir: &[&str]) -> bool {
        let is_inside = dir.iter().any(|name| is_spelling_of(name, REPOSITORY));
        let rel = dir.join("/");
        dir.last().is_some_and(|name| is_called_so(name))
            || !is_inside && self.is_gits(call, path, index, RelPath(&rel)).unwrap_or(false)
    }

    /// Does no guarded name hold this directory as a whole?
    fn is_free(&self, index: usize, dir: &[&str]) -> bool {
        self.workspaces[index].names.guarded(RelPath(&dir.join("/")), true).is_none()
    }

    /// Is the repository, so many names above the path, not there yet?
    fn is_new(&self, call: &Call<'_>, path: &LogicalPath, up: usize) -> bool {
        let repository = std::iter::successors(Some(path.clone()), LogicalPath::parent).nth(up);
        let Some((index, rel)) = repository.as_ref().and_then(|path| self.route(path)) else { return false };
        let looked = self.workspaces[index].mount.store.stat(call, &self.place(index, rel));
        looked.is_err_and(|e| *e.kind() == crate::error::ErrorKind::NotFound)
    }

    fn config_is_harmless(&self, call: &Call<'_>, path: &LogicalPath, new: &[u8]) -> bool {
        let Some((index, rel)) = self.route(path) else { return false };
        let Some(old) = self.config_there(call, index, rel) else { return false };
        match (read(&old), read(new)) {
            (Some(old), Some(new)) => changed(&old, &new).all(|(key, values)| {
                is_harmless(key, values)
                    && (key.1 != OBJECT_FORMAT || old.is_empty())
                    && (!matches!(key.1.as_str(), "url" | "pushurl")
                        || values.iter().all(|address| self.may_be_reached(path, address)))
            }),
            _ => false,
        }
    }

    /// How many bytes a hash has in the repository of this directory, which may be that of a linked worktree: as the changes leave it.
    pub(crate) fn hash_of(&self, call: &Call<'_>, dir: &LogicalPath, repositories: &Repositories) -> usize {
        let worktrees = dir.parent().filter(|above| above.name().is_some_and(|name| is_spelling_of(name, "worktrees")));
        // Git asks only the shared config, so one that lies in a worktree's own directory says nothing.
        let asked = worktrees.map_or_else(|| Some(dir.clone()), |above| above.parent());
        let told = asked.and_then(|dir| {
            let changed = repositories.formats.iter().find(|(changed, _)| *changed == dir).map(|(_, hash)| *hash);
            changed.or_else(|| {
                let (index, rel) = self.route(&dir)?;
                let config = RelPathBuf::parse(&format!("{rel}/config")).ok()?;
                let there = self.config_there(call, index, config.as_rel())?;
                (!there.is_empty()).then(|| hash_in(&there))
            })
        });
        told.unwrap_or(SHA1)
    }

    /// May the agent see where this leads, if it is on this machine? A person's `git fetch` brings along what is there.
    fn may_be_reached(&self, config: &LogicalPath, address: &str) -> bool {
        let is_elsewhere = |address: &str| {
            address.contains("://") && !address.starts_with("file://")
                || address.split('/').next().is_some_and(|host| host.contains(':') && !address.starts_with("file://"))
        };
        if is_elsewhere(address) {
            return true;
        }
        let local = address.strip_prefix("file://").unwrap_or(address);
        let Some(worktree) = config.parent().and_then(|repository| repository.parent()) else { return false };
        let is_seen = |path: &LogicalPath| {
            let near = self.route(config).map(|(index, _)| index);
            self.judge(OpKind::Read, path).allowed()
                && (local.starts_with('/') || self.route(path).map(|(index, _)| index) == near)
        };
        LogicalPath::parse(local, &worktree).is_ok_and(|path| is_seen(&path))
    }

    /// The config as it is; empty where there is none, nothing where it cannot be had.
    fn config_there(&self, call: &Call<'_>, index: usize, rel: RelPath<'_>) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.workspaces[index].mount.store.read(call, &self.place(index, rel), 0..MAX_CONFIG, &mut bytes) {
            Ok(meta) if meta.kind == Kind::File && meta.len <= MAX_CONFIG => Some(bytes),
            Err(e) if *e.kind() == crate::error::ErrorKind::NotFound => Some(Vec::new()),
            _ => None,
        }
    }
}

/// What is known of repositories while a set of changes is judged.
#[derive(Debug, Default)]
pub(crate) struct Repositories {
    /// How many bytes a hash has in those whose config the set writes.
    formats: Vec<(LogicalPath, usize)>,
    /// Directories that were looked at, by Workspace, and whether they are git's.
    seen: RefCell<HashMap<(usize, String), bool>>,
}

impl Repositories {
    pub(crate) fn of(alterations: &[Alteration]) -> Self {
        let config = |alteration: &Alteration| match &alteration.how {
            Alter::Write { content, .. } if alteration.path.name() == Some("config") => {
                Some((alteration.path.parent()?, hash_in(content)))
            }
            _ => None,
        };
        Self { formats: alterations.iter().filter_map(config).collect(), seen: RefCell::default() }
    }

    /// Whether a directory is git's; it is looked at once for all that lies in it.
    pub(crate) fn remembered(&self, workspace: usize, dir: &str, look: impl FnOnce() -> bool) -> bool {
        let key = (workspace, dir.to_owned());
        if let Some(is_one) = self.seen.borrow().get(&key) {
            return *is_one;
        }
        let is_one = look();
        self.seen.borrow_mut().insert(key, is_one);
        is_one
    }
}

const SHA1: usize = 20;
const SHA256: usize = 32;

/// How many bytes a hash has where this is the config. One that only a person can have written is read line by line.
fn hash_in(config: &[u8]) -> usize {
    let is_long = |value: &str| value.trim().trim_matches('"').eq_ignore_ascii_case("sha256");
    let told = match read(config) {
        Some(settings) => settings
            .get(&("extensions".to_owned(), OBJECT_FORMAT.to_owned()))
            .and_then(|values| values.last())
            .is_some_and(|value| is_long(value)),
        None => String::from_utf8_lossy(config).lines().any(|line| {
            let told = line.trim().split_once('=');
            told.is_some_and(|(key, value)| key.trim().eq_ignore_ascii_case(OBJECT_FORMAT) && is_long(value))
        }),
    };
    if told { SHA256 } else { SHA1 }
}

/// Keys whose values are not the same in both, with the values they have now.
fn changed<'a>(
    old: &'a Settings,
    new: &'a Settings,
) -> impl Iterator<Item = (&'a (String, String), &'a [String])> + 'a {
    let differs = |(key, values): &(&(String, String), &Vec<String>)| old.get(*key) != Some(*values);
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key, [].as_slice()));
    new.iter().filter(differs).map(|(key, values)| (key, values.as_slice())).chain(gone)
}

fn is_harmless((section, key): &(String, String), values: &[String]) -> bool {
    let named = section.split_once(' ').map_or_else(|| section.clone(), |(kind, _)| format!("{kind} *"));
    let known = HARMLESS.iter().any(|(known, keys)| *known == named && keys.contains(&key.as_str()));
    known
        && match key.as_str() {
            "url" | "pushurl" | "remote" | "pushremote" => values.iter().all(|value| may_lead_to(value)),
            "fetch" => values.iter().all(|value| may_be_fetched(value)),
            _ => true,
        }
}

/// Does what is fetched go where only what was fetched is? Elsewhere it takes the place of branches of one's own.
fn may_be_fetched(reference: &str) -> bool {
    let to = reference.split_once(':').map_or("", |(_, to)| to);
    to.is_empty() || to.starts_with("refs/remotes/") || to.starts_with("refs/tags/")
}

/// Is it one that `git cherry-pick` and `git revert` note for going on?
pub(crate) fn is_option(key: &str) -> bool {
    const OPTIONS: [&str; 14] = [
        "no-commit",
        "edit",
        "allow-empty",
        "allow-empty-message",
        "keep-redundant-commits",
        "drop-redundant-commits",
        "signoff",
        "record-origin",
        "allow-ff",
        "mainline",
        "strategy",
        "strategy-option",
        "allow-rerere-auto",
        "default-msg-cleanup",
    ];
    OPTIONS.contains(&key)
}

/// May git be sent there? To another machine, to a remote by its name, or to a repository on this one, as `git clone`
/// writes it; but not into a `.git`, where nobody sees a repository, whose hooks run when somebody pushes to it.
fn may_lead_to(address: &str) -> bool {
    // "helper::address", and any other kind of address, start a program called git-remote-helper.
    if address.starts_with('-') || address.contains("::") {
        return false;
    }
    let local = match address.split_once("://") {
        Some(("https" | "http" | "ssh" | "git", there)) => return !there.starts_with('-'),
        // What is written with "%" is read by git and not here.
        Some(("file", local)) if !local.contains('%') => local,
        Some(_) => return false,
        None => address,
    };
    !local.split('/').any(|name| is_spelling_of(name, REPOSITORY))
}

/// Reads a config as git writes it; nothing where it holds anything else.
pub(crate) fn read(config: &[u8]) -> Option<Settings> {
    let text = std::str::from_utf8(config).ok()?;
    if text.len() as u64 > MAX_CONFIG || text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let mut settings = Settings::new();
    let mut section = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(header) = line.strip_prefix('[') {
            section = Some(read_header(header)?);
            continue;
        }
        // A line that goes on, or a value with marks in it, is read differently by git.
        if line.contains(['\\', '"', ';', '#']) {
            return None;
        }
        let (key, value) = line.split_once('=').map_or((line, "true"), |(key, value)| (key.trim(), value.trim()));
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return None;
        }
        let name = (section.clone()?, key.to_ascii_lowercase());
        settings.entry(name).or_default().push(value.to_owned());
    }
    Some(settings)
}

/// `section]` or `section "name"]`, with nothing after it.
fn read_header(header: &str) -> Option<String> {
    let header = header.strip_suffix(']')?;
    let (kind, name) = match header.split_once(' ') {
        None => (header, None),
        Some((kind, name)) => (kind, Some(name.strip_prefix('"')?.strip_suffix('"')?)),
    };
    let is_plain = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_name = name.is_none_or(|name| !name.is_empty() && !name.contains(['"', '\\', ']', '[']));
    let kind = kind.to_ascii_lowercase();
    (is_plain && is_name).then(|| name.map_or_else(|| kind.clone(), |name| format!("{kind} {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLONED: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
        [remote \"origin\"]\n\turl = /project/workspace/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
        [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

    fn harmless(old: &str, new: &str) -> bool {
        let (Some(old), Some(new)) = (read(old.as_bytes()), read(new.as_bytes())) else { return false };
        changed(&old, &new).all(|(key, values)| is_harmless(key, values))
    }

    #[test]
    fn what_git_writes_by_itself_is_harmless() {
        assert!(harmless("", CLONED));
        assert!(harmless(CLONED, ""));
        assert!(harmless(CLONED, &format!("{CLONED}[user]\n\tname = A B\n\temail = a@b.example\n")));
    }

    #[test]
    fn a_key_that_can_execute_is_not_and_neither_is_one_that_nobody_knows() {
        for more in [
            "[core]\n\tfsmonitor = evil\n",
            "[core]\n\thooksPath = /project/workspace/h\n",
            "[core]\n\tsshCommand = evil\n",
            "[CORE]\n\tPager = evil\n",
            "[alias]\n\tst = !evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[include]\n\tpath = other\n",
            "[includeIf \"gitdir:/\"]\n\tpath = other\n",
            "[credential]\n\thelper = evil\n",
            "[submodule \"x\"]\n\tupdate = !evil\n",
            "[remote \"x\"]\n\turl = ext::evil\n",
            "[remote \"x\"]\n\tuploadpack = evil\n",
            "[remote \"x\"]\n\tvcs = evil\n",
            "[remote \"x\"]\n\tmirror = true\n",
            "[remote \"x\"]\n\tfetch = +refs/heads/*:refs/heads/*\n",
            "[remote \"x\"]\n\tpush = :refs/heads/theirs\n",
            "[branch \"x\"]\n\tremote = ext::evil\n",
            "[branch \"x\"]\n\tpushRemote = .git/x\n",
            "[diff]\n\texternal = evil\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[core \"x\"]\n\tbare = true\n",
            "[made.up]\n\tkey = 1\n",
        ] {
            assert!(!harmless(CLONED, &format!("{CLONED}{more}")), "{more}");
        }
    }

    #[test]
    fn git_is_sent_to_other_machines_and_to_repositories_that_can_be_seen() {
        for address in [
            "https://example.com/a/.git",
            "http://example.com/a",
            "ssh://git@example.com/a.git",
            "git://example.com/a",
            "git@example.com:a/b.git",
            "origin",
            ".",
            "../a",
            "/project/workspace/a.git",
            "file:///project/a",
        ] {
            assert!(may_lead_to(address), "{address}");
        }
        for address in [
            ".git/x",
            "./.git/x",
            "/project/.GIT/x",
            "../a/.g\u{200d}it/modules/b",
            "file:///project/.git/x",
            "file://localhost/project/%2egit/x",
            "ext::evil",
            "evil://example.com/a",
            "-evil",
            "ssh://-oProxyCommand=evil/a",
        ] {
            assert!(!may_lead_to(address), "{address}");
            assert!(!harmless(CLONED, &CLONED.replace("/project/workspace/a", address)), "{address}");
        }
    }

    #[test]
    fn a_key_that_can_execute_may_neither_change_nor_go() {
        let old = format!("{CLONED}[core]\n\tfsmonitor = mine\n");
        assert!(harmless(&old, &format!("{old}[user]\n\tname = x\n")));
        assert!(!harmless(&old, CLONED));
        assert!(!harmless(&old, &old.replace("mine", "evil")));
    }

    #[test]
    fn other_ways_of_writing_are_not_taken() {
        for config in [
            "[user]\n\tname = a\\\n[alias]\n",
            "[user] name = x\n",
            "[user\n]\nname = x\n",
            "[remote \"a\\\"]\n[alias] x = !evil\n\"]\n\turl = x\n",
            "name = before any section\n",
            "[user]\n\tname = \"a\n",
            "[user]\r\n\tname = a\r\n",
            "[user]\n\tname = a\0b\n",
        ] {
            assert_eq!(read(config.as_bytes()), None, "{config:?}");
        }
    }
}
