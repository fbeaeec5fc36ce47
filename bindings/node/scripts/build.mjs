// Compiles ts/ twice: to esm/ as it is, and to cjs/ from a copy that says "commonjs", so that each form gets types of its own.
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const compile = (project) => {
  const { status } = spawnSync(process.execPath, [tsc, "-p", project, "--noEmitOnError"], { cwd: here, stdio: "inherit" });
  if (status !== 0) process.exit(1);
};
const commonjs = `${JSON.stringify({ type: "commonjs" })}\n`;

for (const made of ["esm", "cjs", "cjs-source"]) rmSync(join(here, made), { recursive: true, force: true });

compile("tsconfig.json");

cpSync(join(here, "ts"), join(here, "cjs-source"), { recursive: true });
writeFileSync(join(here, "cjs-source/package.json"), commonjs);
writeFileSync(
  join(here, "cjs-source/tsconfig.json"),
  JSON.stringify({ extends: "../tsconfig.json", compilerOptions: { rootDir: ".", outDir: "../cjs" }, include: ["."] }),
);
compile("cjs-source/tsconfig.json");
writeFileSync(join(here, "cjs/package.json"), commonjs);
rmSync(join(here, "cjs-source"), { recursive: true });
