//! A project in a temporary directory, served for real.
//!
//! The project has two agents. `main` perceives `/project` (RO, the project's directory), `/project/workspace` (RW, with a quota of
//! 64 MiB), `/notes` (RW, Virtual) and `/drop` (WO); `reviewer` perceives `/code` (RO). `.env` and `*.secret` are hidden everywhere.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use paddock_console::{ServeOptions, serve};
use paddock_desk::access::NewToken;
use paddock_desk::{Desk, Places, Project, access::Access};
use paddock_tools::Control;
use serde_json::Value;

use crate::http::Request;

const CONFIG: &str = r#"
name = "served"
base = "/project"

[[workspace]]
prefix = "/project"
scope = "READ_ONLY"
mount = { physical = "." }
hide = [".env", "*.secret"]

[[workspace]]
prefix = "/project/workspace"
scope = "READ_WRITE"
mount = { physical = "workspace" }
hide = [".env", "*.secret"]
quota = { bytes = "64 MiB", files = 200000 }

[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
hide = [".env", "*.secret"]

[[workspace]]
prefix = "/drop"
scope = "WRITE_ONLY"
mount = { physical = "../drop" }
hide = [".env", "*.secret"]

[agents.reviewer]
[[agents.reviewer.workspace]]
prefix = "/code"
scope = "READ_ONLY"
mount = { physical = "code" }
hide = [".env", "*.secret"]
"#;

/// A served project.
pub(crate) struct Served {
    /// Removed at the end.
    _place: tempfile::TempDir,
    /// The project's directory.
    pub(crate) root: PathBuf,
    pub(crate) desk: Arc<Desk>,
    pub(crate) address: SocketAddr,
    session: String,
}

impl Served {
    /// The project as the module says, signed in.
    pub(crate) fn start() -> Self {
        Self::with(CONFIG)
    }

    /// As [`Self::start`], with more lines of configuration behind.
    pub(crate) fn start_with(more: &str) -> Self {
        Self::with(&format!("{CONFIG}\n{more}"))
    }

    /// A project of this configuration, signed in.
    pub(crate) fn with(config: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        for directory in ["workspace", "../drop", "code", "src"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("paddock.toml"), config).unwrap();
        std::fs::write(root.join("src/lib.rs"), "pub fn one() -> u32 {\n    1\n}\n").unwrap();
        std::fs::write(root.join(".env"), "KEY=hidden-value\n").unwrap();
        std::fs::write(root.join("workspace/hello.txt"), "hello\n").unwrap();
        std::fs::write(root.join("workspace/.env"), "KEY=hidden-value\n").unwrap();
        std::fs::write(root.join("code/a.txt"), "for the reviewer\n").unwrap();
        let places = Places {
            home: Some(place.path().join("home")),
            config: Some(root.join("paddock.toml")),
            ..Places::default()
        };
        let desk = Arc::new(Desk::work(Project::find(&places).unwrap()).unwrap());
        let (address, session) = serve_and_sign_in(&desk);
        Self { _place: place, root, desk, address, session }
    }

    /// A request of the person who signed in, from a page of the console.
    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        let mut request = self.stranger(method, target).header("cookie", &self.session);
        if !matches!(method, "GET" | "HEAD") {
            request = request.header("sec-fetch-site", "same-origin");
        }
        request
    }

    /// A request of nobody.
    pub(crate) fn stranger(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    pub(crate) fn get(&self, target: &str) -> Request {
        self.request("GET", target)
    }

    /// A form of a page, sent.
    pub(crate) fn form(&self, target: &str, fields: &[(&str, &str)]) -> Request {
        self.request("POST", target).form(fields)
    }

    /// The secret of a new token for the API.
    pub(crate) fn token(&self, name: &str, read_only: bool) -> String {
        self.make_token(serde_json::json!({ "name": name, "read_only": read_only }))
    }

    /// The secret of a new token that speaks for an agent at `/mcp`.
    pub(crate) fn agent_token(&self, agent: &str) -> String {
        self.make_token(serde_json::json!({ "name": agent, "agent": agent }))
    }

    fn make_token(&self, new: Value) -> String {
        let new: NewToken = serde_json::from_value(new).unwrap();
        Access::of(&self.desk).unwrap().make_token(&new).unwrap().secret
    }

    /// What a tool of the agent answers, as the agent reads it.
    pub(crate) fn tool(&self, agent: &str, tool: &str, arguments: Value) -> String {
        let agent = paddock_core::AgentName::parse(agent).unwrap();
        let toolbox = self.desk.toolbox(&agent).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        toolbox.call(tool, arguments, &Control::for_at_most(Duration::from_secs(60))).text()
    }

    /// The cookie of the person who signed in.
    pub(crate) fn session(&self) -> String {
        self.session.clone()
    }

    /// The secret of a new sign-in link.
    pub(crate) fn link(&self) -> String {
        Access::of(&self.desk).unwrap().link().unwrap()
    }

    /// Another server on the same project, as another process would be.
    pub(crate) fn again(&self) -> Self {
        let desk = Arc::new(Desk::work(self.desk.project().clone()).unwrap());
        let (address, session) = serve_and_sign_in(&desk);
        Self { _place: tempfile::tempdir().unwrap(), root: self.root.clone(), desk, address, session }
    }

    /// A file of the project's directory.
    pub(crate) fn file(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }
}

/// Serves on a thread of its own until the process of the tests ends.
fn serve_and_sign_in(desk: &Arc<Desk>) -> (SocketAddr, String) {
    let (told, begun) = mpsc::channel();
    let serving = Arc::clone(desk);
    std::thread::spawn(move || {
        let options = ServeOptions { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0, hosts: Vec::new() };
        let ended = serve(serving, &options, |listening| told.send(listening.clone()).unwrap(), || {});
        if let Err(error) = ended {
            panic!("{error}");
        }
    });
    let listening = begun.recv().unwrap();
    let link = listening.sign_in.strip_prefix(&listening.url).unwrap();
    let signed_in = Request::new(listening.address, "GET", link);
    let cookie = signed_in.head("set-cookie").expect("the link signs in");
    (listening.address, cookie.split(';').next().unwrap().to_owned())
}
