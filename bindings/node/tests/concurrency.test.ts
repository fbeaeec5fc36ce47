/** Fifty edits at once on one file: none is lost, whatever Store it lies in, and however often that is opened. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { test } from "node:test";

import { HumanMessage } from "@langchain/core/messages";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { createAgent } from "langchain";

import { baseStore, createWorkspacesMiddleware, openWorkspaces, overlayStore, physicalStore, virtualStore } from "../esm/index.js";
import type { MountConfig, MountsFunction, StorePort, Workspaces } from "../esm/index.js";
import { at, directory, isNode, MapStore, toolMessages } from "./support/agents.js";
import { ScriptedModel } from "./support/model.js";

const EDITS = 50;
const postgres = process.env["PADDOCK_TEST_POSTGRES"];

/** A LangGraph store whose every answer takes a turn of the event loop, so that edits really interleave. */
class SlowStore extends InMemoryStore {
  override async get(...given: Parameters<InMemoryStore["get"]>): ReturnType<InMemoryStore["get"]> {
    await new Promise((resolve) => setImmediate(resolve));
    return super.get(...given);
  }
}

type Opening = () => MountConfig["store"];

/** Files of somebody else's, behind an object that is made anew each time it is opened, and says which files it keeps. */
function identified(identity: string, kept: StorePort): Opening {
  return () => ({
    identity,
    read: (path) => kept.read(path),
    write: (path, content) => kept.write(path, content),
    edit: (path, oldStr, newStr) => kept.edit(path, oldStr, newStr),
    list: (path) => kept.list(path),
  });
}

/** Each kind of Store in a place of its own; opened again it is another object on the same files. */
const fresh = `${process.pid}-${Date.now()}`;
const STORES: [string, (place: string) => Opening][] = [
  ["a LangGraph InMemoryStore", () => opening(new SlowStore(), (store) => baseStore(store, ["edits"]))],
  ["an object that says which it is", (place) => identified(`edits ${place}`, new MapStore())],
  ["SQLite in a file", () => opening(`sqlite:${join(directory(), "files.db")}`, (url) => virtualStore({ url, namespace: ["edits"] }))],
  ["a database in memory", (place) => () => virtualStore({ url: "memory", namespace: ["edits", fresh, place] })],
  ["a directory", () => opening(directory(), physicalStore)],
  [
    "an overlay",
    (place) => opening(directory(), (lower) => overlayStore(physicalStore(lower), virtualStore({ url: "memory", namespace: ["over", fresh, place] }))),
  ],
];
if (isNode && postgres) STORES.push(["PostgreSQL", (place) => () => virtualStore({ url: postgres, namespace: ["edits", fresh, place] })]);

function opening<T>(files: T, open: (files: T) => MountConfig["store"]): Opening {
  return () => open(files);
}

/** The Mount of a Store that is opened once; and by a function, which opens it anew for each call. */
const WAYS: [string, (open: Opening) => MountConfig[] | MountsFunction][] = [
  ["", (open) => mounted(open)],
  [", opened anew for each call,", (open) => () => mounted(open)],
];

function mounted(open: Opening): MountConfig[] {
  return [{ prefix: "/w", scope: "READ_WRITE", store: open() }];
}

const CASES = STORES.flatMap(([name, make]) => WAYS.map(([how, mount]): [string, Opening, typeof mount] => [`${name}${how}`, make(how), mount]));
CASES.push(["an object with the four methods", opening(new MapStore(), (store) => store), mounted]);

for (const [name, open, mount] of CASES) {
  test(`${EDITS} concurrent edits on ${name} lose nothing`, async () => {
    const mounts = mount(open);
    const content = Array.from({ length: EDITS }, (_, number) => `line ${number} open\n`).join("");
    const model = new ScriptedModel()
      .ask({ name: "write_file", args: { path: "/w/list.txt", content } })
      .ask(
        ...Array.from({ length: EDITS }, (_, number) => {
          return { name: "edit_file", args: { path: "/w/list.txt", old_string: `line ${number} open`, new_string: `line ${number} done` } };
        }),
      )
      .say("done");
    const agent = createAgent({ model, middleware: [createWorkspacesMiddleware({ mounts })] });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    const answers = toolMessages(messages);
    assert.equal(answers.length, EDITS + 1);
    for (const answer of answers) assert.equal(answer.status, "success", answer.text);
    const text = await openWorkspaces({ mounts: mounted(open) }).run("read_file", { path: "/w/list.txt" });
    assert.equal(text.split("\n").filter((line) => line.endsWith(" done")).length, EDITS);
    assert.equal(at(text.split("\n"), 0), "line 0 done");
  });
}

/** More calls than there are threads. */
const MANY = 700;

function stuck(store: MountConfig["store"]): Workspaces {
  return openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store }], timeLimit: 60_000 });
}

const never = new MapStore();
never.read = () => new Promise(() => {});
const kept = stuck(never);
const STUCK: [string, () => Workspaces][] = [
  ["", () => kept],
  [", in Workspaces that are made anew for each call,", () => stuck(never)],
  [", and is made anew for each call,", () => stuck(identified("never", never)())],
];

for (const [how, open] of STUCK) {
  test(`a Store that never answers${how} does not keep other agents waiting`, async () => {
    const other = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(directory({ "a.txt": "a" })) }] });
    const { signal, abort } = aborting();
    let ended = 0;
    const waiting = Array.from({ length: MANY }, () => open().call("read_file", { path: "/w/a" }, { signal }).finally(() => (ended += 1)));
    assert.equal(await other.run("read_file", { path: "/w/a.txt" }), "a");
    assert.equal(ended, 0, "all of the others still wait");
    abort();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.reason, "cancelled");
  });
}

/** A signal for very many listeners, of which no runtime warns. */
function aborting(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return { signal: controller.signal, abort: () => controller.abort() };
}
