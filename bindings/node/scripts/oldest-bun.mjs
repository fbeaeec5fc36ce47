/**
 * Runs the compiled suite in the oldest Bun that `engines` promises, fetched for it.
 *
 * It has no `node:test` yet, so a few lines stand in for it, in a copy of the tests; and what those lines register belongs to the first
 * file of a process, so each file gets its own.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HOME = fileURLToPath(new URL("..", import.meta.url));
const TESTS = join(HOME, ".tests-oldest");
const STAND_IN = `import { test as add } from "bun:test";
export function test(name, options, run = options) {
  (options.skip ? add.skip : add)(name, () => run());
}
`;

const oldest = JSON.parse(readFileSync(join(HOME, "package.json"), "utf8")).engines.bun.replace(">=", "");
const place = mkdtempSync(join(tmpdir(), "paddock-bun-"));
try {
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--prefix", place, `bun@${oldest}`], { stdio: "inherit" });
  cpSync(join(HOME, ".tests"), TESTS, { recursive: true });
  writeFileSync(join(TESTS, "node-test.js"), STAND_IN);
  const files = readdirSync(TESTS).filter((name) => name.endsWith(".test.js")).sort();
  // What a test sets in its environment no addon sees in Bun.
  const env = { ...process.env, PADDOCK_HOME: join(place, "home") };
  const failed = files.filter((name) => {
    const file = join(TESTS, name);
    writeFileSync(file, readFileSync(file, "utf8").replace('"node:test"', '"./node-test.js"'));
    const bun = join(place, "node_modules/.bin/bun");
    return spawnSync(bun, ["test", "--timeout", "600000", file], { cwd: HOME, env, stdio: "inherit" }).status !== 0;
  });
  console.log(failed.length === 0 ? `all of ${files.length} files pass in Bun ${oldest}` : `in Bun ${oldest} fail: ${failed.join(", ")}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  rmSync(TESTS, { recursive: true, force: true });
  rmSync(place, { recursive: true, force: true });
}
