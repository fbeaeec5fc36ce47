/** The package as ESM and as CommonJS: the same exports, one addon, and nothing that runs commands in the main one. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as esm from "../esm/index.js";
import * as esmCommands from "../esm/commands.js";
import { directory } from "./support/agents.js";

const require = createRequire(import.meta.url);

test("require and import give the same names", () => {
  const cjs: unknown = require("../cjs/index.js");
  assert.ok(typeof cjs === "object" && cjs !== null);
  const names = Object.keys(cjs).filter((name) => name !== "__esModule").sort();
  assert.deepEqual(names, Object.keys(esm).sort());
  for (const name of ["createWorkspacesMiddleware", "physicalStore", "virtualStore", "baseStore", "overlayStore", "fromConfig"]) {
    assert.ok(names.includes(name), name);
  }
});

test("what require gives works", async () => {
  const { openWorkspaces, physicalStore }: typeof esm = require("../cjs/index.js");
  const store = physicalStore(directory({ "a.txt": "from CommonJS" }));
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store }] });
  assert.equal(await workspaces.run("read_file", { path: "/w/a.txt" }), "from CommonJS");
});

test("commands are an export of their own", () => {
  assert.deepEqual(Object.keys(esmCommands), ["createCommandsMiddleware"]);
  assert.ok(!("createCommandsMiddleware" in esm));
  const cjs: unknown = require("../cjs/commands.js");
  assert.ok(typeof cjs === "object" && cjs !== null && "createCommandsMiddleware" in cjs);
});
