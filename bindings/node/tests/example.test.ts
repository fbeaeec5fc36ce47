/** The example with two agents, run as a program. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import "./support/agents.js";

const PROGRAM = fileURLToPath(new URL("../.examples/two-agents.js", import.meta.url));

test("two agents: a draft above read-only code, private notes, and the project as it was", () => {
  const run = "deno" in process.versions ? ["run", "--allow-all", "--no-check", PROGRAM] : [PROGRAM];
  const said = execFileSync(process.execPath, run, { encoding: "utf8" });
  const lines = said.trim().split("\n").map((line) => line.split(") ")[0]);
  assert.deepEqual(lines.slice(0, -1), [
    "coder: edit_file (success",
    "coder: write_file (error",
    "coder: read_file (success",
    "planner: search_files (success",
    "planner: write_file (success",
    "planner: ask_coder (success",
    "planner: write_file (error",
  ]);
  assert.match(said, /coder: read_file \(success\) export const greet = \(\) => "hello";/u);
  assert.match(said, /on disk: export const greet = \(\) => "helo";/u);
});
