//! The guarded names: paths that make a host run code later. One row each.
//!
//! An agent that may write a project can plant code that a *person* runs tomorrow by opening an
//! editor or typing `git status`. These names are therefore read-only at any depth, in every scope
//! that writes, unless a Workspace lists them under `unguard`. Ordinary project files that are
//! code by nature (`package.json`, `Makefile`) are not here: writing those is the agent's work.

/// One guarded name: what `unguard` calls it, what it covers, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct GuardedName {
    /// The name that `unguard` takes.
    pub name: &'static str,
    /// What it covers, in gitignore syntax; everything below a match is covered too.
    pub(crate) patterns: &'static [&'static str],
    /// Who runs it.
    pub why: &'static str,
}

const GIT: &str = "git runs what it names";
const HOOKS: &str = "git runs what it names as hooks, once they are switched on";
const EDITOR: &str = "an editor runs what it names when the project is opened";
const AGENT: &str = "an agent program takes its tools, hooks and rules from it";
const SHELL: &str = "a shell runs it when it starts";
const DEBUGGER: &str = "a debugger runs it when it starts";
const LOGIN: &str = "the system runs it at login or on a schedule";
const REMOTE: &str = "it decides who may log in, and what runs then";

const fn row(name: &'static str, patterns: &'static [&'static str], why: &'static str) -> GuardedName {
    GuardedName { name, patterns, why }
}

/// The name of the row that covers a *file* called `.git`, which points git at another place.
pub(crate) const GIT_FILE: &str = ".git";

/// Directories under which guarded names lie. No link may be put in their place.
pub(crate) const WAYS: [&str; 10] =
    [".git", ".github", ".hg", ".sl", ".jj", "_darcs", ".config", ".local", ".vscode", "mise"];

/// Every guarded name.
pub const GUARDED: &[GuardedName] = &[
    // Only as a file ("gitdir: …"): a directory of this name is covered by the rows below.
    row(GIT_FILE, &[], "a file of this name sends git to another repository"),
    // Submodules lie below "modules", of a linked worktree below "modules" of its own. Not at any depth: a branch may be
    // called "hooks" or "config", and is a file below "refs" and "logs".
    // People call bare repositories "name.git", and one beside its worktrees ".bare". What has another name is looked at.
    row(
        ".git/config",
        &[
            // Where old versions kept their remotes, which later ones still read. What a submodule knows of its remotes'
            // branches is excepted, so this stands before every other row that guards something there.
            "**/{*.git,.bare}/remotes/*",
            "**/{*.git,.bare}/branches/*",
            "**/{*.git,.bare}/modules/**/remotes/*",
            "**/{*.git,.bare}/modules/**/branches/*",
            "**/{*.git,.bare}/worktrees/*/modules/**/remotes/*",
            "**/{*.git,.bare}/worktrees/*/modules/**/branches/*",
            "!**/{*.git,.bare}/modules/**/refs/remotes/*",
            "!**/{*.git,.bare}/worktrees/*/modules/**/refs/remotes/*",
            "**/{*.git,.bare}/config",
            "**/{*.git,.bare}/config.worktree",
            "**/{*.git,.bare}/modules/**/config",
            "**/{*.git,.bare}/modules/**/config.worktree",
            "**/{*.git,.bare}/worktrees/*/config",
            "**/{*.git,.bare}/worktrees/*/config.worktree",
            "**/{*.git,.bare}/worktrees/*/modules/**/config",
            "**/{*.git,.bare}/worktrees/*/modules/**/config.worktree",
        ],
        GIT,
    ),
    row(
        ".git/hooks",
        &[
            "**/{*.git,.bare}/hooks",
            "**/{*.git,.bare}/modules/**/hooks",
            "**/{*.git,.bare}/worktrees/*/hooks",
            "**/{*.git,.bare}/worktrees/*/modules/**/hooks",
        ],
        GIT,
    ),
    row(
        ".git/commondir",
        &[
            "**/{*.git,.bare}/**/commondir",
            "**/{*.git,.bare}/worktrees/*/gitdir",
            "**/{*.git,.bare}/modules/**/worktrees/*/gitdir",
            "**/{*.git,.bare}/worktrees/*/modules/**/gitdir",
        ],
        GIT,
    ),
    // No pattern: git itself changes these in every command, so what a command or a fork left in them is read, and only file tools
    // are kept out of git's directories as a whole.
    row(".git/index", &[], "git follows what is in its own directory; git itself changes it, in commands"),
    row(
        ".git/rebase-merge",
        &[
            "**/{*.git,.bare}/**/rebase-merge/git-rebase-todo",
            "**/{*.git,.bare}/**/rebase-merge/git-rebase-todo.backup",
            "**/{*.git,.bare}/**/rebase-merge/author-script",
            "**/{*.git,.bare}/**/rebase-apply/author-script",
            "**/{*.git,.bare}/**/sequencer/todo",
        ],
        "git runs what it names when somebody goes on with a rebase",
    ),
    // Beside "objects" and "refs" it makes any directory a repository, whose "config" and "hooks" then count. It is
    // excepted where git writes one, and there "objects" is guarded, or what counts is guarded by the rows above.
    row(
        "HEAD",
        &[
            "HEAD",
            "!**/.git/HEAD",
            "!**/.git/modules/**/HEAD",
            "!**/.git/logs/HEAD",
            "!**/.git/sequencer/HEAD",
            "!**/.git/refs/remotes/*/HEAD",
            "!**/.git/logs/refs/remotes/*/HEAD",
            "!**/.git/worktrees/*/HEAD",
            "!**/.git/worktrees/*/logs/HEAD",
            "!**/.git/worktrees/*/sequencer/HEAD",
            "!**/.git/worktrees/*/modules/**/HEAD",
            "**/.git/logs/objects",
            "**/.git/sequencer/objects",
            "**/.git/refs/remotes/*/objects",
            "**/.git/logs/refs/remotes/*/objects",
            "**/.git/worktrees/*/objects",
            "**/.git/worktrees/*/logs/objects",
            "**/.git/worktrees/*/sequencer/objects",
        ],
        "git takes a directory that holds it for a repository",
    ),
    row(".husky", &[".husky", ".huskyrc", ".huskyrc.*", "husky.config.js"], HOOKS),
    row(".githooks", &[".githooks", ".git-hooks", ".overcommit.yml"], HOOKS),
    row(".pre-commit-config.yaml", &[".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml"], HOOKS),
    row(
        "lefthook.yml",
        &[
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            "lefthook-local.*",
            ".lefthook.*",
            ".lefthook-local.*",
            ".lefthook",
            ".lefthook-local",
            "**/.config/lefthook.*",
        ],
        HOOKS,
    ),
    row(
        ".hg",
        &[
            "**/.hg/hgrc",
            "**/.hg/hgrc-not-shared",
            "**/.hg/sharedpath",
            ".hgrc",
            "**/.config/hg",
            "**/.sl/config",
            "**/.sl/sharedpath",
            "**/.config/sapling",
        ],
        "Mercurial or Sapling runs what it names",
    ),
    row(
        ".jj",
        &[
            "**/.jj/repo/config.toml",
            "**/.jj/repo/config-id",
            "**/.jj/workspace-config.toml",
            "**/.jj/workspace-config-id",
            ".jjconfig.toml",
            "**/.config/jj",
        ],
        "Jujutsu runs what it names",
    ),
    row("_darcs", &["**/_darcs/prefs/defaults", "**/_darcs/prefs/prefs"], "Darcs runs what it names"),
    row(".gitconfig", &[".gitconfig", "**/.config/git/config"], GIT),
    row(
        ".envrc",
        &[
            ".envrc",
            ".mise",
            ".mise.toml",
            ".mise.*.toml",
            "mise.toml",
            "mise.*.toml",
            "**/mise/config.toml",
            "**/mise/config.*.toml",
            "**/mise/conf.d",
            "**/.config/mise",
            "**/.config/mise.toml",
            "**/.config/mise.*.toml",
            "**/.config/direnv",
            ".direnvrc",
            ".autoenv",
            ".autoenv.zsh",
            ".autoenv_leave.zsh",
            ".rvmrc",
            ".shadowenv.d",
        ],
        "direnv or its like runs it when a shell enters the directory",
    ),
    row(
        ".vscode",
        &[
            ".vscode",
            "*.code-workspace",
            ".theia",
            ".vs",
            ".fleet",
            ".vscode-server",
            ".cursor-server",
            "**/.config/Code",
            "**/.config/Cursor",
            "**/.config/VSCodium",
            ".bsp",
            ".externalToolBuilders",
        ],
        EDITOR,
    ),
    row(".devcontainer", &[".devcontainer", ".devcontainer.json", ".gitpod.yml", "**/.idx/dev.nix"], EDITOR),
    row(".idea", &[".idea"], EDITOR),
    row(".zed", &[".zed", "**/.config/zed"], EDITOR),
    row(
        ".vimrc",
        &[".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".gvimrc", ".lvimrc", ".vim", ".nvim", "**/.config/nvim"],
        EDITOR,
    ),
    row(".helix", &[".helix", "**/.config/helix"], EDITOR),
    row(
        ".emacs",
        &[
            ".emacs",
            ".emacs.el",
            ".emacs.d",
            ".dir-locals.el",
            ".dir-locals-2.el",
            "**/.config/emacs",
            ".doom.d",
            "**/.config/doom",
            ".spacemacs",
        ],
        EDITOR,
    ),
    row(".mcp.json", &[".mcp.json"], AGENT),
    row(".claude", &[".claude", ".claude.json"], AGENT),
    row(".codex", &[".codex"], AGENT),
    row(".cursor", &[".cursor", ".cursorrules"], AGENT),
    row(".gemini", &[".gemini"], AGENT),
    row(
        ".github/hooks",
        &[
            "**/.github/hooks",
            "**/.github/agents",
            "**/.github/chatmodes",
            "**/.github/prompts",
            "**/.github/instructions",
            "**/.github/copilot-instructions.md",
        ],
        AGENT,
    ),
    row(".windsurf", &[".windsurf", ".windsurfrules", ".codeium"], AGENT),
    row(".continue", &[".continue", ".continuerc.json"], AGENT),
    row(".opencode", &[".opencode", "opencode.json", "opencode.jsonc"], AGENT),
    row(
        ".agents",
        &[
            ".roo",
            ".cline",
            ".clinerules",
            ".kiro",
            ".amazonq",
            ".aider.conf.yml",
            ".goose",
            ".agents",
            ".crush.json",
            "crush.json",
            ".crush",
            ".qwen",
            ".factory",
            ".junie",
            ".trae",
            ".augment",
            "**/.config/goose",
            ".kilocode",
            ".amp",
            ".copilot",
            ".openhands",
            ".grok",
            ".agent",
            ".rovodev",
            ".antigravity",
            ".void",
        ],
        AGENT,
    ),
    row(
        ".bashrc",
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".bash_completion",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            "*.zwc",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".xonshrc",
            "**/.config/fish",
            ".inputrc",
            ".xprofile",
            ".xinitrc",
            ".xsessionrc",
            ".xsession",
            ".pam_environment",
            "**/.config/nushell",
            "**/.config/powershell",
            "**/.config/elvish",
            ".oh-my-zsh",
            ".tmux.conf",
            "**/.config/tmux",
            ".wezterm.lua",
            "**/.config/wezterm",
            "**/.config/kitty",
        ],
        SHELL,
    ),
    row(
        ".gdbinit",
        &[
            ".gdbinit",
            ".gdbearlyinit",
            "**/.config/gdb",
            ".lldbinit",
            ".pdbrc",
            ".perldb",
            ".byebugrc",
            ".jdbrc",
            "jdb.ini",
        ],
        DEBUGGER,
    ),
    row(
        ".Rprofile",
        &[
            ".Rprofile",
            ".Renviron",
            ".RData",
            ".iex.exs",
            ".ghci",
            ".ocamlinit",
            ".irbrc",
            ".pryrc",
            ".octaverc",
            ".ipython",
        ],
        "an interpreter runs it when it starts in the directory",
    ),
    row(
        ".config/autostart",
        &[
            "**/.config/autostart",
            "**/.config/systemd",
            "**/.config/environment.d",
            "**/.local/share/systemd",
            "**/.config/i3",
            "**/.config/sway",
            "**/.config/hypr",
        ],
        LOGIN,
    ),
    row(".ssh", &[".ssh"], REMOTE),
];
