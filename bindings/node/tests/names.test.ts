/** Names of tools: Paddock's, those that deepagents' models are used to, or one's own; in schemas, texts and calls alike. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { createWorkspacesMiddleware, physicalStore } from "../esm/index.js";
import type { MountConfig, ToolNames } from "../esm/index.js";
import { at, directory, play } from "./support/agents.js";

const mounts = (scope: MountConfig["scope"]): MountConfig[] => {
  return [{ prefix: "/w", scope, store: physicalStore(directory({ "a.txt": "one\ntwo\n" })) }];
};

function middleware(toolNames: ToolNames, scope: MountConfig["scope"] = "READ_WRITE") {
  return [createWorkspacesMiddleware({ mounts: mounts(scope), toolNames })];
}

test("deepagents: ls, glob, grep and the others, with the arguments its models use", async () => {
  const { model, answers } = await play(middleware("deepagents"), [
    { name: "ls", args: { path: "/w" } },
    { name: "read_file", args: { file_path: "/w/a.txt", offset: 1, limit: 1 } },
    { name: "write_file", args: { file_path: "/w/b.txt", content: "b" } },
    { name: "edit_file", args: { file_path: "/w/b.txt", old_string: "b", new_string: "c" } },
    { name: "glob", args: { pattern: "*.txt", path: "/w" } },
    { name: "grep", args: { pattern: "two", path: "/w" } },
  ]);
  for (const name of ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]) assert.ok(at(model.names(), 0).includes(name), name);
  for (const name of ["list_dir", "find_files", "search_files"]) assert.ok(!at(model.names(), 0).includes(name), name);
  assert.deepEqual(answers.map(({ status, text }) => status === "success" ? "success" : text), Array(6).fill("success"));
  assert.equal(at(answers, 0).name, "ls");
  assert.match(at(answers, 5).text, /two/u);
  assert.doesNotMatch(at(model.turns, 0).system, /list_dir|search_files|find_files/u);
});

test("deepagents: what is hidden under its new name is guarded too", async () => {
  const { model, answers } = await play(middleware("deepagents", "WRITE_ONLY"), [{ name: "grep", args: { pattern: "two", path: "/w" } }]);
  assert.ok(!at(model.names(), 0).includes("grep"));
  assert.equal(at(answers, 0).status, "error");
  assert.doesNotMatch(at(answers, 0).text, /two\n/u);
});

test("names of one's own, in everything the model reads", async () => {
  const { model, answers } = await play(middleware({ read_file: "open_document" }), [
    { name: "open_document", args: { path: "/w/a.txt", limit: 1 } },
    { name: "open_document", args: { pathh: "x" } },
  ]);
  assert.ok(at(model.names(), 0).includes("open_document"));
  assert.ok(!at(model.names(), 0).includes("read_file"));
  assert.equal(at(answers, 0).status, "success");
  assert.doesNotMatch(at(answers, 1).text, /read_file/u);
});

test("names that cannot be are refused when the middleware is made", () => {
  const impossible: Record<string, string>[] = [
    { no_such_tool: "x" },
    { read_file: "write_file" },
    { read_file: "" },
    { read_file: "two words" },
  ];
  for (const toolNames of impossible) {
    assert.throws(() => createWorkspacesMiddleware({ mounts: [], toolNames }), Error, JSON.stringify(toolNames));
  }
});
