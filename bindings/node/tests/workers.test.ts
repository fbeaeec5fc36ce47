/** Workers: each may load the package, and one that is ended in the middle of its calls takes nothing along. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { openWorkspaces, physicalStore } from "../esm/index.js";
import { directory, isNode } from "./support/agents.js";

const ROUNDS = 5;

/** Calls without end, on a directory and on a store of its own, beside the map. */
const BUSY = `
  const { parentPort, workerData } = require("node:worker_threads");
  Promise.all(workerData.modules.map((url) => import(url))).then(async ([{ openWorkspaces }, { physicalStore }]) => {
    const port = { read: async () => "x", write: async () => {}, edit: async () => 1, list: async () => ["f"] };
    const workspaces = openWorkspaces({
      mounts: [
        { prefix: "/d", scope: "READ_ONLY", store: physicalStore(workerData.directory) },
        { prefix: "/p", scope: "READ_ONLY", store: port },
      ],
    });
    const calls = ["/d/a.txt", "/p/f", "/p/f"];
    for (let round = 0; ; round += 1) {
      await Promise.all([workspaces.map(), ...calls.map((path) => workspaces.call("read_file", { path }))]);
      if (round === 20) parentPort.postMessage("busy");
    }
  });
`;

/** One that is in the middle of its calls. */
async function busy(workerData: object): Promise<Worker> {
  const worker = new Worker(BUSY, { eval: true, workerData });
  await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  return worker;
}

// The workers of Bun and Deno are their own, and load no addon twice.
if (isNode) {
  test("workers that are ended in the middle of their calls leave the process whole", async () => {
    const place = directory({ "a.txt": "a" });
    // The two that make the calls, and none of LangChain, which takes each worker a second to load.
    const modules = ["../esm/workspaces.js", "../esm/stores.js"].map((name) => new URL(name, import.meta.url).href);
    const workerData = { modules, directory: place };
    for (let round = 0; round < ROUNDS; round += 1) {
      const workers = await Promise.all(Array.from({ length: 3 }, () => busy(workerData)));
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    const workspaces = openWorkspaces({ mounts: [{ prefix: "/d", scope: "READ_ONLY", store: physicalStore(place) }] });
    assert.equal(await workspaces.run("read_file", { path: "/d/a.txt" }), "a");
  });
}
