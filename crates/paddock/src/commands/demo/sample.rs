//! The sample project of the demo: seed layout, in a temporary directory that is gone at the end.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::host;

/// What no answer may ever hold.
pub(crate) const SECRET: &str = "sk-demo-1234";

const FILES: &[(&str, &str)] = &[
    ("src/App.tsx", "export default function App() {\n  return <h1>Hola</h1>;\n}\n"),
    ("package.json", "{\n  \"name\": \"mi-proyecto\",\n  \"private\": true\n}\n"),
    ("backend-orchestrator/orchestrator.ts", "export function run() {\n  // the heart of the application\n}\n"),
    ("supabase/schema.sql", "create table memoria (id int);\n"),
    ("memoria/notas.md", "# Notas\n\n- recordar todo\n"),
    ("memoria/ideas.md", "# Ideas\n"),
    (".env", "API_KEY=sk-demo-1234\n"),
];

/// A project on the host's disk, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Sample {
    directory: tempfile::TempDir,
}

impl Sample {
    /// Lays it out and runs `init` in it.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("paddock-demo-").tempdir().map_err(|error| {
            Failure::failed(format!("no temporary directory: {error}"), "set TMPDIR to a directory that you may write")
        })?;
        let sample = Self { directory };
        host::lay_out(&sample.project(), FILES)?;
        paddock_config::init(&sample.project(), "mi-proyecto")
            .map_err(|error| Failure::failed(&error, error.hint()))?;
        Ok(sample)
    }

    /// The Project Root.
    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().join("mi-proyecto")
    }

    /// The configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.project().join(paddock_config::CONFIG_FILE)
    }

    /// A System Root of its own: the demo leaves the person's alone.
    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("system")
    }

    /// Keeps it, and says where it is.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.directory.disable_cleanup(true);
        let project: &Path = &self.project();
        project.to_owned()
    }
}
