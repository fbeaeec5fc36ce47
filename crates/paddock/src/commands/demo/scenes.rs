//! The scenes of the demo: one row each, in the words of the project's first specification; then a fork and an undo, in which
//! a person has a part.

use paddock_core::OpKind;

/// One prompt, the call that an agent makes of it, and what must come of it.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) part: &'static str,
    /// What a person says.
    pub(crate) prompt: &'static str,
    /// The same in English.
    pub(crate) gloss: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) arguments: &'static str,
    /// What the explanation is about.
    pub(crate) op: OpKind,
    pub(crate) path: &'static str,
    pub(crate) expected: Expected,
}

impl Scene {
    /// Does it run a command for real? Not every kernel can hold one.
    pub(crate) fn runs_a_command(&self) -> bool {
        self.tool == "execute_command" && !self.arguments.contains("rm ")
    }
}

/// What must come of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// It is done, and the answer holds this.
    Done(&'static str),
    /// It is refused, and the answer holds this.
    Refused(&'static str),
    /// It waits for a person, who then approves it; the answer holds this.
    Waits(&'static str),
}

const ALLOWED: &str = "✅ Permitido: what the agent may do";
const BLOCKED: &str = "❌ Bloqueado: what it may not";
const TESTS: &str = "Tests de Validación";
const BEYOND: &str = "Beyond the specification";
const ASKED: &str = "What a person decides";
const FORKED: &str = "A fork: the agent changes a copy, and a person takes it over or not";
const UNDONE: &str = "An undo: what was taken over is taken back";
const LEFT: &str = "What is left for you";

/// What a person does between the agent's calls.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Makes the fork that the agent then works in.
    Fork,
    /// Looks at what the fork changes.
    Compare,
    /// Takes it over.
    Apply,
    /// Takes that back.
    Undo,
}

/// One step of what comes after the scenes.
#[derive(Debug)]
pub(crate) enum Step {
    Agent(Scene),
    Person(&'static str, Act),
}

/// The name of the fork, as the scenes write it.
pub(crate) const FORK: &str = "idea";

pub(crate) const FORK_AND_UNDO: &[Step] = &[
    Step::Person(FORKED, Act::Fork),
    Step::Agent(Scene {
        part: FORKED,
        prompt: "The agent changes a file of the fork that it may only read in the project",
        gloss: "",
        tool: "edit_file",
        arguments: r#"{"path": "/forks/idea/src/App.tsx", "old_string": "Hola", "new_string": "Hello"}"#,
        op: OpKind::Edit,
        path: "/forks/idea/src/App.tsx",
        expected: Expected::Done("1 replacement"),
    }),
    Step::Agent(reading(FORKED, "… and the project's own is as it was", "Hola")),
    Step::Person(FORKED, Act::Compare),
    Step::Person(FORKED, Act::Apply),
    Step::Agent(reading(FORKED, "Now the project has it", "Hello")),
    Step::Person(UNDONE, Act::Undo),
    Step::Agent(reading(UNDONE, "It is as it was", "Hola")),
];

/// What waits when the console opens: the agent makes the same call again once somebody has decided.
pub(crate) const WAITING: Scene = Scene {
    part: LEFT,
    prompt: "The agent deletes another file, and waits for you",
    gloss: "",
    tool: "delete_file",
    arguments: r#"{"path": "workspace/test.txt"}"#,
    op: OpKind::Delete,
    path: "workspace/test.txt",
    expected: Expected::Waits("A person has to approve this call first"),
};

const fn reading(part: &'static str, prompt: &'static str, says: &'static str) -> Scene {
    Scene {
        part,
        prompt,
        gloss: "",
        tool: "read_file",
        arguments: r#"{"path": "src/App.tsx"}"#,
        op: OpKind::Read,
        path: "src/App.tsx",
        expected: Expected::Done(says),
    }
}

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        part: ALLOWED,
        prompt: "\"Lee el archivo src/App.tsx\"",
        gloss: "Read the file src/App.tsx",
        tool: "read_file",
        arguments: r#"{"path": "src/App.tsx"}"#,
        op: OpKind::Read,
        path: "src/App.tsx",
        expected: Expected::Done("export default function App()"),
    },
    Scene {
        part: ALLOWED,
        prompt: "\"Lista archivos en memoria/\"",
        gloss: "List the files in memoria/",
        tool: "list_dir",
        arguments: r#"{"path": "memoria/"}"#,
        op: OpKind::List,
        path: "memoria/",
        expected: Expected::Done("notas.md"),
    },
    Scene {
        part: ALLOWED,
        prompt: "\"Crea un nuevo proyecto en workspace/mi-app/\"",
        gloss: "Create a new project in workspace/mi-app/",
        tool: "make_dir",
        arguments: r#"{"path": "workspace/mi-app/"}"#,
        op: OpKind::MakeDir,
        path: "workspace/mi-app/",
        expected: Expected::Done(""),
    },
    Scene {
        part: ALLOWED,
        prompt: "\"Escribe un componente en workspace/mi-app/src/Button.tsx\"",
        gloss: "Write a component in workspace/mi-app/src/Button.tsx",
        tool: "write_file",
        arguments: r#"{"path": "workspace/mi-app/src/Button.tsx", "content": "export const Button = () => <button/>;\n"}"#,
        op: OpKind::Write,
        path: "workspace/mi-app/src/Button.tsx",
        expected: Expected::Done("File written successfully"),
    },
    Scene {
        part: ALLOWED,
        prompt: "\"Ejecuta ls en workspace/\"",
        gloss: "Run ls in workspace/",
        tool: "execute_command",
        arguments: r#"{"command": "ls"}"#,
        op: OpKind::List,
        path: "workspace",
        expected: Expected::Done("mi-app"),
    },
    Scene {
        part: BLOCKED,
        prompt: "\"Modifica src/App.tsx\"",
        gloss: "Change src/App.tsx",
        tool: "edit_file",
        arguments: r#"{"path": "src/App.tsx", "old_string": "Hola", "new_string": "Adiós"}"#,
        op: OpKind::Edit,
        path: "src/App.tsx",
        expected: Expected::Refused("Cannot write to protected path"),
    },
    Scene {
        part: BLOCKED,
        prompt: "\"Elimina backend-orchestrator/orchestrator.ts\"",
        gloss: "Delete backend-orchestrator/orchestrator.ts",
        tool: "delete_file",
        arguments: r#"{"path": "backend-orchestrator/orchestrator.ts"}"#,
        op: OpKind::Delete,
        path: "backend-orchestrator/orchestrator.ts",
        expected: Expected::Refused("❌ ERROR: Cannot delete"),
    },
    Scene {
        part: BLOCKED,
        prompt: "\"Escribe en package.json\"",
        gloss: "Write to package.json",
        tool: "write_file",
        arguments: r#"{"path": "package.json", "content": "{}"}"#,
        op: OpKind::Write,
        path: "package.json",
        expected: Expected::Refused("Cannot write to protected path"),
    },
    Scene {
        part: BLOCKED,
        prompt: "\"Ejecuta rm -rf /\"",
        gloss: "Run rm -rf /",
        tool: "execute_command",
        arguments: r#"{"command": "rm -rf /"}"#,
        op: OpKind::Delete,
        path: "/",
        expected: Expected::Refused("❌ ERROR: Dangerous command \"rm\" is not allowed."),
    },
    Scene {
        part: TESTS,
        prompt: "Test 1: \"Lee el archivo package.json\"",
        gloss: "Read the file package.json; expected: its content",
        tool: "read_file",
        arguments: r#"{"path": "package.json"}"#,
        op: OpKind::Read,
        path: "package.json",
        expected: Expected::Done("\"name\": \"mi-proyecto\""),
    },
    Scene {
        part: TESTS,
        prompt: "Test 2: \"Modifica src/App.tsx y agrega un comentario\"",
        gloss: "Change src/App.tsx and add a comment; expected: ❌ ERROR: Cannot write to protected path",
        tool: "edit_file",
        arguments: r#"{"path": "src/App.tsx", "old_string": "export", "new_string": "// un comentario\nexport"}"#,
        op: OpKind::Edit,
        path: "src/App.tsx",
        expected: Expected::Refused("❌ ERROR: Cannot write to protected path"),
    },
    Scene {
        part: TESTS,
        prompt: "Test 3: \"Crea un archivo workspace/test.txt con contenido 'Hola Mundo'\"",
        gloss: "Create workspace/test.txt with the content 'Hola Mundo'; expected: File written successfully",
        tool: "write_file",
        arguments: r#"{"path": "workspace/test.txt", "content": "Hola Mundo"}"#,
        op: OpKind::Write,
        path: "workspace/test.txt",
        expected: Expected::Done("File written successfully"),
    },
    Scene {
        part: TESTS,
        prompt: "Test 4: \"Ejecuta rm -rf workspace/\"",
        gloss: "Run rm -rf workspace/; expected: Dangerous command \"rm\" is not allowed",
        tool: "execute_command",
        arguments: r#"{"command": "rm -rf workspace/"}"#,
        op: OpKind::Delete,
        path: "workspace",
        expected: Expected::Refused("❌ ERROR: Dangerous command \"rm\" is not allowed."),
    },
    Scene {
        part: TESTS,
        prompt: "Test 5: \"Ejecuta ls -la\"",
        gloss: "Run ls -la; expected: what is in the Workspace",
        tool: "execute_command",
        arguments: r#"{"command": "ls -la"}"#,
        op: OpKind::List,
        path: "workspace",
        expected: Expected::Done("test.txt"),
    },
    Scene {
        part: BEYOND,
        prompt: "The agent widens its own policy",
        gloss: "",
        tool: "edit_file",
        arguments: r#"{"path": "paddock.toml", "old_string": "READ_ONLY", "new_string": "READ_WRITE"}"#,
        op: OpKind::Edit,
        path: "paddock.toml",
        expected: Expected::Refused("❌ ERROR: Cannot write to protected path"),
    },
    Scene {
        part: BEYOND,
        prompt: "… or writes a policy of its own where it may write",
        gloss: "",
        tool: "write_file",
        arguments: r#"{"path": "workspace/paddock.toml", "content": "base = \"/\""}"#,
        op: OpKind::Write,
        path: "workspace/paddock.toml",
        expected: Expected::Refused("it belongs to Paddock itself"),
    },
    Scene {
        part: BEYOND,
        prompt: "The agent looks for secrets",
        gloss: "",
        tool: "read_file",
        arguments: r#"{"path": ".env"}"#,
        op: OpKind::Read,
        path: ".env",
        expected: Expected::Refused("does not exist"),
    },
    Scene {
        part: BEYOND,
        prompt: "… or reaches for them by a command, past the word list",
        gloss: "",
        tool: "execute_command",
        arguments: r#"{"command": "cat /project/.env /etc/shadow; find /project/src -delete"}"#,
        op: OpKind::Read,
        path: ".env",
        expected: Expected::Refused("No such file or directory"),
    },
    Scene {
        part: ASKED,
        prompt: "The agent deletes a file",
        gloss: "",
        tool: "delete_file",
        arguments: r#"{"path": "workspace/mi-app/src/Button.tsx"}"#,
        op: OpKind::Delete,
        path: "workspace/mi-app/src/Button.tsx",
        expected: Expected::Waits("A person has to approve this call first"),
    },
    Scene {
        part: ASKED,
        prompt: "… and makes the same call again",
        gloss: "",
        tool: "delete_file",
        arguments: r#"{"path": "workspace/mi-app/src/Button.tsx"}"#,
        op: OpKind::Delete,
        path: "workspace/mi-app/src/Button.tsx",
        expected: Expected::Done("Deleted"),
    },
];
