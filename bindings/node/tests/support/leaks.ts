/**
 * Makes very many calls of each kind and prints, for each, what they came to and by how much the memory grew in their second half:
 * one JSON line per kind. A program of its own, since a test runner keeps things of its own about every promise.
 */
import { InMemoryStore } from "@langchain/langgraph-checkpoint";

import { baseStore, openWorkspaces, physicalStore } from "../../esm/index.js";
import type { Answer, LangGraphStore, MountConfig, StorePort, Workspaces } from "../../esm/index.js";
import { directory, MapStore } from "./agents.js";

const AT_ONCE = 100;
/** What each call moves: a thousand that left it behind would leave more than is allowed, wherever it lies. */
const content = "x".repeat(16 * 1024);
/** What a runtime may keep for itself, and an allocator. */
const SLACK = { heap: 1024 * 1024, rss: 12 * 1024 * 1024 };

/** A full collection. (To V8 an argument that is true means a small one, which leaves most where it is.) */
function collect(): void {
  const [ofV8, ofBun]: unknown[] = [Reflect.get(globalThis, "gc"), Reflect.get(Object(Reflect.get(globalThis, "Bun")), "gc")];
  if (typeof ofBun === "function") ofBun(true);
  else if (typeof ofV8 === "function") ofV8();
  else throw new Error("this runtime was not told to let programs collect");
}

interface Memory {
  heap: number;
  rss: number;
}

/** Collects until nothing more goes: what the addon holds is given up turn by turn. */
async function settled(): Promise<Memory> {
  let [least, rounds] = [Number.POSITIVE_INFINITY, 0];
  while (rounds < 5) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { heap } = memory();
    rounds = heap < least ? 0 : rounds + 1;
    least = Math.min(least, heap);
  }
  return memory();
}

function memory(): Memory {
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

type Calling = (number: number) => Promise<Answer>;

/** Makes half of the calls; what they came to is counted. */
async function half(calls: number, call: Calling, verdicts: Map<string, number>): Promise<Memory> {
  for (let done = 0; done < calls / 2; done += AT_ONCE) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => call(done + number)));
    for (const { verdict } of answers) verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
  }
  return settled();
}

/**
 * By how much the memory grew in the second half. What is only not collected yet, or kept by an allocator for the next time, does not
 * grow again: where it was too much another half is made, and a call that leaves something behind leaves it each time.
 */
async function measure(what: string, calls: number, call: Calling): Promise<void> {
  const verdicts = new Map<string, number>();
  let before = await half(calls, call, verdicts);
  for (let round = 1; ; round += 1) {
    const after = await half(calls, call, verdicts);
    const grown = { heap: after.heap - before.heap, rss: after.rss - before.rss };
    const flat = grown.heap < SLACK.heap && grown.rss < SLACK.rss;
    before = after;
    if (!flat && round < 8) continue;
    console.log(JSON.stringify({ what, calls, verdicts: Object.fromEntries(verdicts), ...grown, flat }));
    return;
  }
}

function over(store: MountConfig["store"], timeLimit = 60_000): Workspaces {
  return openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store }], timeLimit });
}

/** Reads and writes by turns. */
function using(workspaces: Workspaces): Calling {
  return (number) =>
    number % 2 === 0
      ? workspaces.call("read_file", { path: "/w/a.txt" })
      : workspaces.call("write_file", { path: `/w/${number % 10}.txt`, content });
}

/** All methods of it do this. */
function every<T extends object>(store: T, methods: string[], give: () => unknown): T {
  for (const method of methods) Reflect.set(store, method, give);
  return store;
}

function hostilePort(give: () => unknown): StorePort {
  return every(new MapStore(), ["read", "write", "edit", "list"], give);
}

function hostileStore(give: () => unknown): LangGraphStore {
  return every(new InMemoryStore(), ["get", "put", "delete", "search"], give);
}

await measure("an object that answers", 2_000, using(over(new MapStore({ "a.txt": content }))));

const langgraph = over(baseStore(new InMemoryStore(), ["w"]));
await langgraph.call("write_file", { path: "/w/a.txt", content });
await measure("a LangGraph store that answers", 2_000, using(langgraph));

const place = directory({ "a.txt": content });
await measure("Workspaces made anew for each call", 2_000, () =>
  openWorkspaces({
    mounts: [
      { prefix: "/w", scope: "READ_WRITE", store: new MapStore({ "a.txt": content }) },
      { prefix: "/d", scope: "READ_ONLY", store: physicalStore(place) },
    ],
  }).call("read_file", { path: "/w/a.txt" }),
);

/** What a store may do wrong, and how long its calls are waited for. */
const WRONG: [string, () => unknown, number?][] = [
  ["throws", () => { throw new Error(content); }],
  ["rejects", () => Promise.reject(new Error(content))],
  ["gives nonsense", () => Promise.resolve({ nonsense: [content] })],
  ["never answers", () => new Promise(() => content), 5],
];
for (const [how, give, timeLimit] of WRONG) {
  await measure(`an object that ${how}`, 10_000, using(over(hostilePort(give), timeLimit)));
  await measure(`a LangGraph store that ${how}`, 2_000, using(over(baseStore(hostileStore(give), ["w"]), timeLimit)));
}
