/** Programs beside this one, each in a process of its own. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What became of a program. */
export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program of this directory in the runtime that runs the tests. */
export function runProgram(name: string, environment: Record<string, string>): Ended {
  const program = fileURLToPath(new URL(name, import.meta.url));
  const run = "deno" in process.versions ? ["run", "--allow-all", "--no-check", program] : [program];
  return spawnSync(process.execPath, run, { encoding: "utf8", env: { ...process.env, ...environment } });
}
