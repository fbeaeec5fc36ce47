//! `paddock serve` as a document shows it: in the background of its block, under the usual address for the reader.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::World;

/// What it says last, once it listens.
const LAST: &str = "Ctrl-C ends it.";
const USUAL: &str = "127.0.0.1:7433";

/// A server that ends with its block.
pub(super) struct Served {
    child: Child,
    address: String,
}

impl Served {
    /// Starts it with a shell that is given, and tells what it printed up to where it listens.
    pub(super) fn start(world: &World, shell: impl Fn(&str) -> Command, command: &str) -> (Self, String) {
        let said = world.path().join("served");
        let output = fs::File::create(&said).unwrap();
        let mut starting = shell(&format!("exec {command} --port 0"));
        starting.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let mut child = starting.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(120);
        while !fs::read_to_string(&said).unwrap().contains(LAST) {
            let ended = child.try_wait().unwrap();
            let told = || fs::read_to_string(&said).unwrap();
            assert!(ended.is_none() && Instant::now() < end, "`{command}` does not listen: {}", told());
            thread::sleep(Duration::from_millis(20));
        }
        let mut reading = Command::new("cat");
        reading.arg(&said);
        let told = world.run(reading, "").stdout;
        let address = told.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
        let server = Self { child, address };
        let shown = server.shown(&told);
        (server, shown)
    }

    /// A command of the document, for the server that is here.
    pub(super) fn meant(&self, command: &str) -> String {
        command.replace(USUAL, &self.address)
    }

    /// What was printed, as the document shows it.
    pub(super) fn shown(&self, told: &str) -> String {
        told.replace(&self.address, USUAL)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
