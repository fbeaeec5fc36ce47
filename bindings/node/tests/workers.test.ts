/** Workers: each may load the package, and one that is ended in the middle of its calls takes nothing along. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { openWorkspaces, physicalStore } from "../esm/index.js";
import { directory } from "./support/agents.js";

const ROUNDS = 5;
const isNode = !("Bun" in globalThis) && !("Deno" in globalThis);

/** Calls without end, on a directory and on a store of its own, beside the map. */
const BUSY = `
  const { parentPort, workerData } = require("node:worker_threads");
  import(workerData.package).then(async ({ openWorkspaces, physicalStore }) => {
    const port = { read: async () => "x", write: async () => {}, edit: async () => 1, list: async () => ["f"] };
    const workspaces = openWorkspaces({
      mounts: [
        { prefix: "/d", scope: "READ_ONLY", store: physicalStore(workerData.directory) },
        { prefix: "/p", scope: "READ_ONLY", store: port },
      ],
    });
    parentPort.postMessage("busy");
    const calls = ["/d/a.txt", "/p/f", "/p/f"];
    for (;;) await Promise.all([workspaces.map(), ...calls.map((path) => workspaces.call("read_file", { path }))]);
  });
`;

test("workers that are ended in the middle of their calls leave the process whole", { skip: !isNode && "Node's workers" }, async () => {
  const place = directory({ "a.txt": "a" });
  const workerData = { package: new URL("../esm/index.js", import.meta.url).href, directory: place };
  for (let round = 0; round < ROUNDS; round += 1) {
    const workers = Array.from({ length: 3 }, () => new Worker(BUSY, { eval: true, workerData }));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
    await new Promise((resolve) => setTimeout(resolve, 30));
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/d", scope: "READ_ONLY", store: physicalStore(place) }] });
  assert.equal(await workspaces.run("read_file", { path: "/d/a.txt" }), "a");
});
