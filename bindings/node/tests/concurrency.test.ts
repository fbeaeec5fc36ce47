/** Fifty edits at once on one file: none is lost, whatever Store it lies in. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { test } from "node:test";

import { HumanMessage } from "@langchain/core/messages";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { createAgent } from "langchain";

import { baseStore, createWorkspacesMiddleware, openWorkspaces, overlayStore, physicalStore, virtualStore } from "../esm/index.js";
import type { MountConfig } from "../esm/index.js";
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

const fresh = `${process.pid}-${Date.now()}`;
const STORES: [string, () => MountConfig["store"]][] = [
  ["a LangGraph InMemoryStore", () => baseStore(new SlowStore(), ["edits"])],
  ["an object with the four methods", () => new MapStore()],
  ["SQLite in a file", () => virtualStore({ url: `sqlite:${join(directory(), "files.db")}`, namespace: ["edits"] })],
  ["a database in memory", () => virtualStore({ url: "memory", namespace: ["edits", fresh] })],
  ["a directory", () => physicalStore(directory())],
  ["an overlay", () => overlayStore(physicalStore(directory()), virtualStore({ url: "memory", namespace: ["over", fresh] }))],
];
if (isNode && postgres) STORES.push(["PostgreSQL", () => virtualStore({ url: postgres, namespace: ["edits", fresh] })]);

for (const [name, make] of STORES) {
  test(`${EDITS} concurrent edits on ${name} lose nothing`, async () => {
    const mounts: MountConfig[] = [{ prefix: "/w", scope: "READ_WRITE", store: make() }];
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
    const text = await openWorkspaces({ mounts }).run("read_file", { path: "/w/list.txt" });
    assert.equal(text.split("\n").filter((line) => line.endsWith(" done")).length, EDITS);
    assert.equal(at(text.split("\n"), 0), "line 0 done");
  });
}

test("a Store that never answers does not keep other agents waiting", async () => {
  const never = new MapStore();
  never.read = () => new Promise(() => {});
  const stuck = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store: never }], timeLimit: 60_000 });
  const other = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(directory({ "a.txt": "a" })) }] });
  const { signal, abort } = aborting();
  let ended = 0;
  const waiting = Array.from({ length: 700 }, () => stuck.call("read_file", { path: "/w/a" }, { signal }).finally(() => (ended += 1)));
  assert.equal(await other.run("read_file", { path: "/w/a.txt" }), "a");
  assert.equal(ended, 0, "all of the others still wait");
  abort();
  for (const answer of await Promise.all(waiting)) assert.equal(answer.reason, "cancelled");
});

/** A signal for very many listeners, of which no runtime warns. */
function aborting(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return { signal: controller.signal, abort: () => controller.abort() };
}
