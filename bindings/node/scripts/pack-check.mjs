// Packs the package and the addon of this platform as they would be published, installs both into an empty project, and runs the
// README's example there, as ESM and as CommonJS, and checks the types of both: what works here only because it lies in the repository fails now.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const staging = join(here, ".pack");
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const addon = readdirSync(here).find((name) => name.endsWith(".node"));
if (!addon) throw new Error("there is no addon; hint: npm run build:native");
const platform = addon.replace(/^paddock\./u, "").replace(/\.node$/u, "");
const npm = (directory, ...args) => execFileSync("npm", args, { cwd: directory, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const pack = (directory) => join(staging, npm(directory, "pack", "--silent", "--pack-destination", staging).trim().split("\n").at(-1));

rmSync(staging, { recursive: true, force: true });
mkdirSync(staging);

// The addon's own package, and the main one with all of them as optional dependencies (as `napi pre-publish` would write it).
const native = join(staging, "native");
cpSync(join(here, "npm", platform), native, { recursive: true });
cpSync(join(here, addon), join(native, addon));
const main = join(staging, "main");
for (const name of manifest.files) cpSync(join(here, name), join(main, name), { recursive: true });
const platforms = readdirSync(join(here, "npm")).map((name) => [`${manifest.name}-${name}`, manifest.version]);
const { devDependencies: _d, scripts: _s, allowScripts: _a, ...published } = manifest;
writeFileSync(join(main, "package.json"), JSON.stringify({ ...published, optionalDependencies: Object.fromEntries(platforms) }, null, 2));
const tarballs = [pack(native), pack(main)];

const project = mkdtempSync(join(tmpdir(), "paddock-pack-"));
// What npm would choose today is something else tomorrow, and does not always fit together: the project gets what the lock names.
const lock = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8")).packages;
const nameOf = (path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const installed = Object.keys(lock).filter((path) => path !== "").map(nameOf);
const peers = Object.keys(manifest.peerDependencies);
const pinned = (those) => Object.fromEntries(those.map((name) => [name, lock[`node_modules/${name}`].version]));
const overrides = pinned(installed.filter((name) => !peers.includes(name) && installed.indexOf(name) === installed.lastIndexOf(name)));
writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true, dependencies: pinned(peers), overrides }));
npm(project, "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline", ...tarballs);

const readme = readFileSync(join(project, "node_modules", manifest.name, "README.md"), "utf8");
const block = (language) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "u").exec(readme)[1];
const environment = { ...process.env, PADDOCK_HOME: mkdtempSync(join(tmpdir(), "paddock-home-")) };
const run = (file, text) => {
  writeFileSync(join(project, file), text);
  return execFileSync(process.execPath, [file], { cwd: project, encoding: "utf8", env: environment });
};
const said = run("example.mjs", block("ts"));
if (said !== block("text")) throw new Error(`the README's example said:\n${said}`);
const names = run(
  "example.cjs",
  `const main = require("${manifest.name}"); const commands = require("${manifest.name}/commands");
   console.log(typeof main.createWorkspacesMiddleware, typeof commands.createCommandsMiddleware);`,
);
if (names.trim() !== "function function") throw new Error(`CommonJS gave: ${names}`);

// The types that each form brings, as a strict TypeScript project sees them.
const consumer = `import { createAgent } from "langchain";
import { createWorkspacesMiddleware, fromConfig, physicalStore } from "${manifest.name}";
import type { AccessScope, MountConfig, StorePort, WorkspacesMiddlewareOptions } from "${manifest.name}";
import { createCommandsMiddleware } from "${manifest.name}/commands";
const scope: AccessScope = "READ_ONLY";
const port: StorePort = {
  read: async () => "", write: async () => undefined, edit: async () => 1, list: async () => [],
};
const mounts: MountConfig[] = [{ prefix: "/w", scope, store: physicalStore(".") }, { prefix: "/p", scope, store: port }];
const options: WorkspacesMiddlewareOptions = { mounts: ({ state, runtime }) => (state.messages.length && runtime.store ? mounts : []) };
export const agent = createAgent({ model: "x", middleware: [createWorkspacesMiddleware(options), createCommandsMiddleware({ mounts })] });
export const configured = createWorkspacesMiddleware(fromConfig("paddock.toml", { agent: "a" }));
// @ts-expect-error: there is no such Access Scope
export const wrong: AccessScope = "ALL";
`;
for (const name of ["consumer.mts", "consumer.cts"]) writeFileSync(join(project, name), consumer);
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"];
execFileSync(process.execPath, [tsc, ...strict, "consumer.mts", "consumer.cts"], { cwd: project, stdio: "inherit" });

rmSync(project, { recursive: true });
console.log(`packed and installed ${tarballs.map((file) => file.split("/").at(-1)).join(", ")}; the README's example works`);
