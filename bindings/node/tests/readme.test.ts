/** The example of the README, run as it is written: it says what the README says. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import "./support/agents.js";

const here = dirname(fileURLToPath(import.meta.url));
const readme = readFileSync(join(here, "../README.md"), "utf8");

/** The first block of this language. */
function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "u").exec(readme)?.[1];
  assert.ok(found, `the README has a block of ${language}`);
  return found;
}

test("the complete example does what the README shows", () => {
  // Beside the package itself, so that its name means what it will mean to who installs it.
  const place = join(here, "readme");
  mkdirSync(place, { recursive: true });
  const program = join(place, `example-${process.pid}.mjs`);
  writeFileSync(program, block("ts"));
  const run = "deno" in process.versions ? ["run", "--allow-all", "--no-check", program] : [program];
  assert.equal(execFileSync(process.execPath, run, { encoding: "utf8" }), block("text"));
});

test("what the README shows of the API is there", async () => {
  const main: object = await import("../esm/index.js");
  const commands: object = await import("../esm/commands.js");
  for (const [, name] of readme.matchAll(/\b((?:create|open|from|physical|virtual|base|overlay)[A-Z]\w+)\(/gu)) {
    if (name === undefined || name === "createAgent") continue;
    assert.ok(name in main || name in commands, name);
  }
});
