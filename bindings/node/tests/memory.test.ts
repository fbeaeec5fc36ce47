/** More than ten thousand calls, to stores that answer and to stores that misbehave: nothing of them stays. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./support/leaks.js", import.meta.url));

/** How this runtime runs a program that can call the collector. */
function command(): string[] {
  if ("deno" in process.versions) return ["run", "--allow-all", "--no-check", "--v8-flags=--expose-gc", PROGRAM];
  return "bun" in process.versions ? ["run", PROGRAM] : ["--expose-gc", PROGRAM];
}

test("ten thousand calls leave the heap and the process as they were", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, command(), { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const lines: unknown[] = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines.length, 6, stdout);
  let calls = 0;
  for (const line of lines) {
    assert.ok(typeof line === "object" && line !== null);
    calls += Number(Reflect.get(line, "calls")) * 1.5;
    assert.equal(Reflect.get(line, "flat"), true, JSON.stringify(line));
  }
  assert.ok(calls >= 10_000);
});
