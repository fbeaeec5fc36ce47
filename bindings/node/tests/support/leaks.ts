/**
 * Makes very many calls and prints, for each kind of them, by how much the memory grew: one JSON line per kind. A program of its
 * own, since a test runner keeps things of its own about every promise.
 */
import { InMemoryStore } from "@langchain/langgraph-checkpoint";

import { baseStore, openWorkspaces, physicalStore } from "../../esm/index.js";
import type { StorePort } from "../../esm/index.js";
import { directory, MapStore } from "./agents.js";

const AT_ONCE = 50;
const content = "x".repeat(32 * 1024);
const collect: unknown = Reflect.get(globalThis, "gc") ?? Reflect.get(Object(Reflect.get(globalThis, "Bun")), "gc");

async function settled(): Promise<{ heap: number; rss: number }> {
  for (let round = 0; round < 4; round += 1) {
    if (typeof collect === "function") collect(true);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

async function many(calls: number, call: (number: number) => Promise<unknown>): Promise<void> {
  for (let done = 0; done < calls; done += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => call(done + number)));
  }
}

/** What may stay, as a share of what the calls moved. A call that kept its content would leave all of it. */
const SHARE = 0.2;
/** What an allocator may keep for itself. */
const SLACK = 48 * 1024 * 1024;

/**
 * By how much the memory grew. What is only not collected yet, or kept by an allocator for the next time, does not grow again: where
 * it was too much the calls are made once more, and a call that leaves something behind leaves it each time.
 */
async function measure(what: string, calls: number, call: (number: number) => Promise<unknown>): Promise<void> {
  const moved = calls * content.length;
  await many(calls / 2, call);
  let grown = { heap: Number.NaN, rss: Number.NaN };
  for (let round = 0; round < 4; round += 1) {
    const before = await settled();
    await many(calls, call);
    const after = await settled();
    grown = { heap: after.heap - before.heap, rss: after.rss - before.rss };
    if (grown.heap < moved * SHARE && grown.rss < moved * SHARE + SLACK) break;
  }
  console.log(JSON.stringify({ what, calls, moved, ...grown, flat: grown.heap < moved * SHARE && grown.rss < moved * SHARE + SLACK }));
}

/** A store whose `read` does this. */
function reading(read: StorePort["read"]): StorePort {
  const store = new MapStore();
  store.read = read;
  return store;
}

function over(store: StorePort, timeLimit = 20_000) {
  return openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store }], timeLimit });
}

const answering = over(new MapStore({ "a.txt": content }));
await measure("reads from an object's store", 2_000, () => answering.call("read_file", { path: "/w/a.txt" }));

const langgraph = openWorkspaces({
  mounts: [{ prefix: "/w", scope: "READ_WRITE", store: baseStore(new InMemoryStore(), ["w"]) }],
});
await measure("writes to a LangGraph store", 2_000, (number) => langgraph.call("write_file", { path: `/w/${number % 10}`, content }));

const rejecting = over(reading(() => Promise.reject(new Error(content))));
await measure("a store that rejects", 2_000, () => rejecting.call("read_file", { path: "/w/a.txt" }));

const throwing = over(reading(() => { throw new Error(content); }));
await measure("a store that throws", 2_000, () => throwing.call("read_file", { path: "/w/a.txt" }));

const silent = over(reading(() => new Promise(() => content)), 5);
await measure("a store that never answers", 500, () => silent.call("write_file", { path: "/w/a.txt", content }));

const place = directory({ "a.txt": content });
await measure("Workspaces made anew for each call", 2_000, () =>
  openWorkspaces({
    mounts: [
      { prefix: "/w", scope: "READ_WRITE", store: new MapStore({ "a.txt": content }) },
      { prefix: "/d", scope: "READ_ONLY", store: physicalStore(place) },
    ],
  }).call("read_file", { path: "/w/a.txt" }),
);
