// A sample project on the host's disk with its own System Root, worked on by the real command line.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const BINARY = process.env.PADDOCK_BINARY;

export const CONFIGURATION = `name = "orchard"
base = "/project"

[[workspace]]
prefix = "/project"
scope = "READ_ONLY"
mount = { physical = "." }
hide = [".env", ".env.*"]

[[workspace]]
prefix = "/project/workspace"
scope = "READ_WRITE"
mount = { physical = "workspace" }
quota = { bytes = "64 MiB", files = 5000 }

[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
quota = { bytes = "1 MiB" }

[[workspace]]
prefix = "/outbox"
scope = "WRITE_ONLY"
mount = { virtual = "outbox" }

[agents.reviewer]
[[agents.reviewer.workspace]]
prefix = "/code"
scope = "READ_ONLY"
mount = { physical = "." }
hide = [".env", ".env.*"]

[commands]

[approvals]
above = "medium"

[[approvals.rule]]
tool = "write_file"
path = "/project/workspace/migrations/**"
risk = "high"
why = "schema changes are reviewed"
`;

const FILES = {
  "src/App.tsx": "export function App() {\n  return <h1>Orchard</h1>;\n}\n",
  "README.md": "# Orchard\n\nA *small* shop.\n\n- apples\n- pears\n",
  ".env": "SECRET=not-for-pages\n",
  "workspace/app.py": 'def greet(name):\n    """Says hello."""\n    return f"hello {name}"\n\n\nprint(greet("world"))\n',
  "workspace/notes.md": "# Notes\n\nSee <script>window.stolen = 1</script> and [a link](javascript:window.stolen=2).\n",
  "workspace/old/report.txt": "last year\n",
  "workspace/migrations/1.sql": "create table apples (id integer);\n",
};

/** A project, laid out and worked on, and the commands of the person who owns it. */
export class Project {
  constructor() {
    this.top = mkdtempSync(join(tmpdir(), "paddock-browser-"));
    this.directory = join(this.top, "orchard");
    this.write("paddock.toml", CONFIGURATION);
    for (const [path, text] of Object.entries(FILES)) this.write(path, text);
  }

  /** A file on the host's disk, past Paddock. */
  write(path, content) {
    const file = join(this.directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  /** The command line; resolves to what it printed and how it ended, whatever that is. */
  run(...words) {
    const { promise, resolve } = Promise.withResolvers();
    const options = { cwd: this.directory, env: this.env(), timeout: 60_000 };
    execFile(BINARY, ["--home", join(this.top, "system"), ...words], options, (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? 1) : 0, stdout, stderr });
    });
    return promise;
  }

  /** A command that must succeed; its output. */
  async must(...words) {
    const { code, stdout, stderr } = await this.run(...words);
    if (code !== 0) throw new Error(`paddock ${words.join(" ")} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  /** A tool call, as the agent makes it. Ends with 0 when done, 1 when denied, 3 when a person has to decide. */
  tool(name, args, agent = "main") {
    return this.run("--agent", agent, "tool", name, JSON.stringify(args));
  }

  /** A tool call that has to be done: without it nothing that follows can be as expected. */
  async done(name, args, agent) {
    const { code, stdout, stderr } = await this.tool(name, args, agent);
    if (code !== 0) throw new Error(`${name} ${JSON.stringify(args)} ended with ${code}: ${stderr}${stdout}`);
  }

  /** What two agents did before anybody looked: done, denied, waiting, in a fork. */
  async work() {
    const calls = [
      ["list_dir", { path: "/project" }],
      ["read_file", { path: "/project/README.md" }],
      ["read_file", { path: "/code/src/App.tsx" }, "reviewer"],
      ["write_file", { path: "/project/workspace/orders.py", content: "ORDERS = []\n" }],
      ["append_file", { path: "/project/workspace/orders.py", content: "\n\ndef add(order):\n    ORDERS.append(order)\n" }],
      ["write_file", { path: "/notes/plan.md", content: "# Plan\n\n1. Orders\n2. Stock\n" }],
      ["write_file", { path: "/outbox/weekly.txt", content: "Apples sold: 12\n" }],
      ["write_file", { path: "/project/src/App.tsx", content: "hacked" }],
      ["read_file", { path: "/project/.env" }],
    ];
    for (const [tool, args, agent] of calls) await this.tool(tool, args, agent);
    await this.tool("write_file", { path: "/project/workspace/migrations/2.sql", content: "alter table apples add column price integer;\n" });
    await this.tool("delete_file", { path: "/project/workspace/old", recursive: true });
    await this.script(
      "Write the release note",
      { node: "planner", content: "- [ ] read what is there\n- [ ] write the note" },
      { content: "I read what is there.", tool_calls: [{ name: "read_file", arguments: { path: "/project/README.md" } }] },
      { content: "It is a small shop." },
      { content: "", tool_calls: [{ name: "write_file", arguments: { path: "/project/workspace/release.md", content: "# Release\n\nOrders can be added.\n" } }] },
      { content: "The note is written." },
    );
    await this.script(
      "Keep stock",
      { node: "planner", content: "- [ ] add the column\n- [ ] tell" },
      { content: "", tool_calls: [{ name: "write_file", arguments: { path: "/project/workspace/migrations/3.sql", content: "alter table apples add column stock integer;\n" } }] },
      { content: "Stock is kept now." },
      { content: "Done." },
    );
    await this.must("fork", "/project/workspace", "faster-greeting");
    await this.tool("edit_file", { path: "/forks/faster-greeting/app.py", old_string: 'f"hello {name}"', new_string: '"hello " + name' });
    await this.tool("write_file", { path: "/forks/faster-greeting/CHANGES.md", content: "The greeting is faster.\n" });
  }

  /** A whole run of an agent, with the answers of its model given; ends with 0 when done, 3 when a person has to decide. */
  script(task, ...answers) {
    const file = join(this.top, `script-${task.replaceAll(" ", "-")}.jsonl`);
    writeFileSync(file, answers.map((answer) => `${JSON.stringify(answer)}\n`).join(""));
    return this.run("run", task, "--model", `script:${file}`, "--no-wait");
  }

  /** Starts the console on a free port; resolves once it listens. */
  async serve() {
    const server = spawn(BINARY, ["--home", join(this.top, "system"), "serve", "--port", "0", "--json"], {
      cwd: this.directory,
      env: this.env(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let complaints = "";
    server.stderr.on("data", (text) => (complaints = (complaints + text).slice(-4000)));
    const { promise, resolve, reject } = Promise.withResolvers();
    createInterface({ input: server.stdout }).once("line", (line) => resolve(JSON.parse(line)));
    server.once("exit", (code) => reject(new Error(`paddock serve ended with ${code}: ${complaints}`)));
    const listening = await promise;
    const stop = () => new Promise((done) => { server.removeAllListeners("exit"); server.once("exit", done); server.kill("SIGTERM"); });
    return { ...listening, stop, complaints: () => complaints };
  }

  remove() {
    rmSync(this.top, { recursive: true, force: true });
  }

  env() {
    const { PADDOCK_HOME: _, ...rest } = process.env;
    return { ...rest, HOME: this.top, NO_COLOR: "1" };
  }
}
