/** Thousands of calls to stores that answer, and ten thousand to stores that misbehave in each way: nothing of them stays. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { isRecord } from "../esm/shapes.js";
import { at } from "./support/agents.js";

const PROGRAM = fileURLToPath(new URL("./support/leaks.js", import.meta.url));
const MISBEHAVING = ["throws", "rejects", "gives nonsense", "never answers"];

/** How this runtime runs a program that can call the collector. */
function command(): string[] {
  if ("deno" in process.versions) return ["run", "--allow-all", "--no-check", "--v8-flags=--expose-gc", PROGRAM];
  return "bun" in process.versions ? ["run", PROGRAM] : ["--expose-gc", PROGRAM];
}

/** What the program tells of one kind of calls. */
function toldOf(line: string): Record<string, unknown> {
  const told: unknown = JSON.parse(line);
  assert.ok(isRecord(told), line);
  return told;
}

test("ten thousand calls to a store that misbehaves are each answered, and leave the heap and the process as they were", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, command(), { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const kinds = stdout.trim().split("\n").map(toldOf);
  for (const { what, calls, verdicts, flat } of kinds) {
    const answered = Object.entries(Object(verdicts));
    assert.equal(answered.length, 1, `${what}: ${JSON.stringify(verdicts)}`);
    const [verdict, made] = at(answered, 0);
    assert.equal(verdict, MISBEHAVING.some((how) => String(what).endsWith(how)) ? "failed" : "done", String(what));
    assert.ok(Number(made) >= Number(calls), String(what));
    assert.equal(flat, true, stdout);
  }
  for (const how of MISBEHAVING) {
    assert.equal(kinds.find(({ what }) => what === `an object that ${how}`)?.["calls"], 10_000, how);
    assert.ok(kinds.some(({ what }) => what === `a LangGraph store that ${how}`), how);
  }
});
