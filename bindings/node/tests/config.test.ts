/** `fromConfig`: the Workspaces of a `paddock.toml`, per agent, followed when the file changes. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { createWorkspacesMiddleware, fromConfig, openWorkspaces } from "../esm/index.js";
import { at, directory, play } from "./support/agents.js";

const CONFIG = `
name = "sample"
base = "/project"

[[workspace]]
prefix = "/project"
scope = "READ_ONLY"
mount = { physical = "." }

[[workspace]]
prefix = "/project/workspace"
scope = "READ_WRITE"
mount = { physical = "workspace" }

[commands]

[agents.reviewer]
[[agents.reviewer.workspace]]
prefix = "/code"
scope = "READ_ONLY"
mount = { physical = "src" }
`;

function project(config = CONFIG): { place: string; file: string; home: string } {
  const place = directory({ "paddock.toml": config, "src/App.tsx": "app", "workspace/notes.md": "notes" });
  return { place, file: join(place, "paddock.toml"), home: directory() };
}

test("the default agent has its Workspaces, tools and map, and never commands", async () => {
  const { file, home, place } = project();
  const { model, answers } = await play([createWorkspacesMiddleware(fromConfig(file, { home }))], [
    { name: "read_file", args: { path: "src/App.tsx" } },
    { name: "write_file", args: { path: "workspace/test.txt", content: "t" } },
    { name: "write_file", args: { path: "src/App.tsx", content: "t" } },
    { name: "write_file", args: { path: "paddock.toml", content: "" } },
    { name: "execute_command", args: { command: "ls" } },
  ]);
  assert.ok(at(model.names(), 0).includes("delete_file"));
  assert.ok(!at(model.names(), 0).includes("execute_command"));
  assert.deepEqual(answers.map(({ status }) => status), ["success", "success", "error", "error", "error"]);
  assert.match(at(answers, 2).text, /protected path "\/project\/src\/App\.tsx"/u);
  assert.ok(existsSync(join(place, "workspace/test.txt")));
});

test("another agent has its own, and inherits nothing", async () => {
  const { file, home } = project();
  const { model, answers } = await play([createWorkspacesMiddleware(fromConfig(file, { agent: "reviewer", home }))], [
    { name: "read_file", args: { path: "/code/App.tsx" } },
    { name: "read_file", args: { path: "/project/src/App.tsx" } },
  ]);
  assert.deepEqual(at(model.names(), 0), ["find_files", "list_dir", "read_file", "search_files"]);
  assert.deepEqual(answers.map(({ status }) => status), ["success", "error"]);
  assert.doesNotMatch(at(model.turns, 0).system, /workspace/u);
});

test("a valid change of the file holds from the next turn on; an invalid one changes nothing", async () => {
  const { file, home } = project();
  const workspaces = openWorkspaces(fromConfig(file, { home }));
  assert.ok((await workspaces.tools()).some(({ name }) => name === "write_file"));
  writeFileSync(file, "this is = = no configuration");
  assert.ok((await workspaces.tools()).some(({ name }) => name === "write_file"));
  writeFileSync(file, CONFIG.replace("READ_WRITE", "READ_ONLY"));
  const names = async () => (await workspaces.tools()).map(({ name }) => name);
  // A file that was written this very moment may still be written to: it counts when it is quiet.
  const giveUp = Date.now() + 60_000;
  while (Date.now() < giveUp && (await names()).includes("write_file")) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(!(await names()).includes("write_file"));
});

test("a call that a person has to agree to is no success, and its artifact says so", async () => {
  const { file, home, place } = project();
  const { answers } = await play([createWorkspacesMiddleware(fromConfig(file, { home }))], [
    { name: "delete_file", args: { path: "workspace", recursive: true } },
    { name: "delete_file", args: { path: "workspace/notes.md" } },
  ]);
  for (const answer of answers) assert.equal(answer.status, "error");
  assert.equal(Reflect.get(at(answers, 1).artifact, "verdict"), "parked", at(answers, 1).text);
  assert.ok(existsSync(join(place, "workspace/notes.md")));
});

test("no file, a broken one and an unknown agent are refused when the middleware is made", () => {
  const { file, home } = project();
  assert.throws(() => createWorkspacesMiddleware(fromConfig(join(home, "absent.toml"), { home })), /absent\.toml/u);
  assert.throws(() => createWorkspacesMiddleware(fromConfig(file, { home, agent: "nobody" })), /nobody/u);
  const broken = project("prefix = ");
  assert.throws(() => createWorkspacesMiddleware(fromConfig(broken.file, { home })));
});
