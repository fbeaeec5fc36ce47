/** More than ten thousand calls, to stores that answer and to stores that misbehave: nothing of them stays. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./support/leaks.js", import.meta.url));
/** What may stay, as a share of what the calls moved. A call that kept its content would leave all of it. */
const SHARE = 0.2;

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
    const number = (name: string): number => Number(Reflect.get(line, name));
    calls += number("calls") * 1.5;
    assert.ok(number("heap") < number("moved") * SHARE, `the heap: ${JSON.stringify(line)}`);
    assert.ok(number("rss") < number("moved") * SHARE + 48 * 1024 * 1024, `the process: ${JSON.stringify(line)}`);
  }
  assert.ok(calls >= 10_000);
});
