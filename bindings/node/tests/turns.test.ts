/** What a model is given in each turn: tools by the Access Scopes, and one Filesystem Map; and what stays of it: nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";

import { createWorkspacesMiddleware, physicalStore, virtualStore } from "../esm/index.js";
import type { AccessScope, MountConfig } from "../esm/index.js";
import { at, directory, play, playMounts } from "./support/agents.js";
import { ScriptedModel } from "./support/model.js";

const READING = ["find_files", "list_dir", "read_file", "search_files"];
const WRITING = ["append_file", "edit_file", "write_file"];
const ARRANGING = ["delete_file", "make_dir", "move_file"];

const PROVIDED: [AccessScope, string[]][] = [
  ["READ_ONLY", READING],
  ["WRITE_ONLY", WRITING],
  ["READ_WRITE", [...READING, ...WRITING, ...ARRANGING]],
];

for (const [scope, expected] of PROVIDED) {
  test(`a ${scope} Workspace gives exactly its tools`, async () => {
    const { model } = await playMounts([{ prefix: "/w", scope, store: physicalStore(directory()) }], []);
    assert.deepEqual(model.names(), [[...expected].sort()]);
    assert.match(at(model.turns, 0).system, /\/w/u);
  });
}

test("the tools are those of all Workspaces together", async () => {
  const mounts: MountConfig[] = [
    { prefix: "/code", scope: "READ_ONLY", store: physicalStore(directory()) },
    { prefix: "/out", scope: "WRITE_ONLY", store: physicalStore(directory()) },
  ];
  const { model } = await playMounts(mounts, []);
  assert.deepEqual(model.names(), [[...READING, ...WRITING].sort()]);
  assert.match(at(model.turns, 0).system, /\/code/u);
  assert.match(at(model.turns, 0).system, /\/out/u);
});

test("each tool carries the JSON Schema of the core", async () => {
  const { model } = await playMounts([{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(directory()) }], []);
  const read = at(model.turns, 0).tools.find(({ name }) => name === "read_file");
  const schema = JSON.stringify(read?.schema);
  for (const part of ['"type":"object"', '"path"', '"offset"', '"limit"', '"required":["path"]']) {
    assert.ok(schema.includes(part), `${part} is in ${schema}`);
  }
});

test("without Mounts there are no tools and no access, and the map says so", async () => {
  const { model, answers } = await playMounts([], [{ name: "read_file", args: { path: "/etc/passwd" } }]);
  assert.deepEqual(model.names(), [[], []]);
  assert.notEqual(at(model.turns, 0).system, "");
  assert.equal(at(answers, 0).status, "error");
  assert.doesNotMatch(at(answers, 0).text, /root:/u);
});

test("three turns: one map in each, none in the state, none in a checkpoint", async () => {
  const model = new ScriptedModel()
    .ask({ name: "list_dir", args: { path: "/w" } })
    .ask({ name: "list_dir", args: { path: "/w" } })
    .say("done");
  const checkpointer = new MemorySaver();
  const agent = createAgent({
    model,
    checkpointer,
    systemPrompt: "You are careful.",
    middleware: [
      createWorkspacesMiddleware({
        mounts: [{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(directory({ "a.txt": "a" })) }],
      }),
    ],
  });
  const config = { configurable: { thread_id: "t" } };
  const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] }, config);

  assert.equal(model.turns.length, 3);
  const map = at(model.turns, 0).system.replace("You are careful.", "").trim();
  assert.match(map, /\/w/u);
  for (const turn of model.turns) {
    assert.equal(turn.systemMessages, 1);
    assert.equal(turn.system.trim(), `You are careful.\n\n${map}`);
  }
  assert.deepEqual(messages.map((message) => message.type), ["human", "ai", "tool", "ai", "tool", "ai"]);
  let kept = 0;
  for await (const tuple of checkpointer.list(config)) {
    kept += 1;
    assert.ok(!JSON.stringify(tuple.checkpoint).includes(map.slice(0, 40)), "no checkpoint holds the map");
  }
  assert.ok(kept > 3);
});

test("files never enter the state by themselves: only what was read is in it", async () => {
  const store = virtualStore({ url: "memory", namespace: ["turns", "state"] });
  const content = "x".repeat(5_000);
  const { messages } = await playMounts([{ prefix: "/w", scope: "READ_WRITE", store }], [
    { name: "write_file", args: { path: "/w/a", content } },
    { name: "list_dir", args: { path: "/w" } },
  ]);
  const held = messages.filter((message) => message.type === "tool").map((message) => message.text).join("");
  assert.ok(!held.includes("xxxx"));
});

test("the agent's own system message stays in front, whatever its form", async () => {
  const middleware = createWorkspacesMiddleware({ mounts: [] });
  const { model } = await play([middleware], []);
  assert.equal(at(model.turns, 0).systemMessages, 1);
  const blocks = new ScriptedModel().say("done");
  const { SystemMessage } = await import("@langchain/core/messages");
  const systemPrompt = new SystemMessage({ content: [{ type: "text", text: "First." }, { type: "text", text: " Second." }] });
  await createAgent({ model: blocks, systemPrompt, middleware: [middleware] }).invoke({ messages: [new HumanMessage("go")] });
  assert.ok(at(blocks.turns, 0).system.startsWith("First. Second."));
  assert.ok(at(blocks.turns, 0).system.length > "First. Second.".length);
});
