/** Beside what else an agent has: other middleware, tools, people who decide, checkpoints, streams, subagents, signals. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, isCommand, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, humanInTheLoopMiddleware, todoListMiddleware, toolCallLimitMiddleware } from "langchain";

import { createWorkspacesMiddleware, physicalStore } from "../esm/index.js";
import type { MountConfig } from "../esm/index.js";
import { at, directory, MapStore, play, toolMessages } from "./support/agents.js";
import { ScriptedModel } from "./support/model.js";

function readWrite(rootDir: string): MountConfig[] {
  return [{ prefix: "/w", scope: "READ_WRITE", store: physicalStore(rootDir) }];
}

/** A tool of the agent's own. */
const weather = tool(({ city }: { city: string }) => `Sun over ${city}.`, {
  name: "weather",
  description: "the weather",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});

test("tools of the agent's own are offered beside ours and run as before", async () => {
  const model = new ScriptedModel()
    .ask({ name: "weather", args: { city: "Bern" } }, { name: "read_file", args: { path: "/w/a.txt" } })
    .say("done");
  const agent = createAgent({
    model,
    tools: [weather],
    middleware: [createWorkspacesMiddleware({ mounts: readWrite(directory({ "a.txt": "content" })) })],
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
  assert.ok(at(model.names(), 0).includes("weather"));
  const [first, second] = toolMessages(messages);
  assert.equal(first?.text, "Sun over Bern.");
  assert.match(second?.text ?? "", /content/u);
});

test("a tool that nobody has is LangChain's to answer", async () => {
  const { answers } = await play([createWorkspacesMiddleware({ mounts: [] })], [{ name: "fly", args: {} }]);
  assert.equal(at(answers, 0).status, "error");
  assert.match(at(answers, 0).text, /fly/u);
});

test("other middleware, before and after, sees our calls and their messages, and never a Command", async () => {
  const seen: string[] = [];
  const watch = (name: string) =>
    createMiddleware({
      name,
      wrapToolCall: async (request, handler) => {
        const result = await handler(request);
        assert.ok(!isCommand(result) && ToolMessage.isInstance(result));
        seen.push(`${name} ${request.toolCall.name} ${result.status}`);
        return result;
      },
    });
  const middleware = [watch("outer"), createWorkspacesMiddleware({ mounts: readWrite(directory()) }), watch("inner")];
  await play(middleware, [
    { name: "write_file", args: { path: "/w/a.txt", content: "a" } },
    { name: "write_file", args: { path: "/elsewhere/a.txt", content: "a" } },
  ]);
  assert.deepEqual(seen, [
    "inner write_file success",
    "outer write_file success",
    "inner write_file error",
    "outer write_file error",
  ]);
});

test("middleware of LangChain's own: the list of things to do, and a limit of calls", async () => {
  const model = new ScriptedModel()
    .ask({ name: "write_todos", args: { todos: [{ content: "read", status: "pending" }] } })
    .ask({ name: "list_dir", args: { path: "/w" } })
    .ask({ name: "list_dir", args: { path: "/w" } })
    .say("done");
  const agent = createAgent({
    model,
    middleware: [
      todoListMiddleware(),
      createWorkspacesMiddleware({ mounts: readWrite(directory({ "a.txt": "a" })) }),
      toolCallLimitMiddleware({ toolName: "list_dir", runLimit: 1, exitBehavior: "continue" }),
    ],
  });
  const { messages, todos } = await agent.invoke({ messages: [new HumanMessage("go")] });
  assert.equal(todos.length, 1);
  const answers = toolMessages(messages);
  assert.match(at(answers, 1).text, /a\.txt/u);
  assert.equal(at(answers, 2).status, "error");
});

test("a tool of one of our names is refused with what to do", async () => {
  const mine = tool(() => "mine", { name: "write_file", description: "mine", schema: { type: "object", properties: {} } });
  const mounts: MountConfig[] = [{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(directory()) }];
  const agent = createAgent({
    model: new ScriptedModel().say("done"),
    tools: [mine],
    middleware: [createWorkspacesMiddleware({ mounts })],
  });
  await assert.rejects(agent.invoke({ messages: [new HumanMessage("go")] }), /"write_file".*toolNames/u);
  const renamed = createAgent({
    model: new ScriptedModel().ask({ name: "write_file", args: {} }).say("done"),
    tools: [mine],
    middleware: [createWorkspacesMiddleware({ mounts, toolNames: { write_file: "save_document" } })],
  });
  const { messages } = await renamed.invoke({ messages: [new HumanMessage("go")] });
  assert.equal(at(toolMessages(messages), 0).text, "mine");
});

/** An agent whose writes a person decides about, stopped at the question. */
async function waiting(rootDir: string, path: string) {
  const model = new ScriptedModel().ask({ name: "write_file", args: { path, content: "asked" } }).say("done");
  const agent = createAgent({
    model,
    checkpointer: new MemorySaver(),
    middleware: [
      createWorkspacesMiddleware({ mounts: readWrite(rootDir) }),
      humanInTheLoopMiddleware({ interruptOn: { write_file: true } }),
    ],
  });
  const config = { configurable: { thread_id: "t" } };
  const stopped = await agent.invoke({ messages: [new HumanMessage("go")] }, config);
  assert.ok("__interrupt__" in stopped, "the run waits for a person");
  return {
    model,
    decide: async (decision: Record<string, unknown>) => {
      const { messages } = await agent.invoke(new Command({ resume: { decisions: [decision] } }), config);
      return toolMessages(messages);
    },
  };
}

test("human in the loop: nothing happens before the person approves, then it does", async () => {
  const inside = directory();
  const { decide, model } = await waiting(inside, "/w/a.txt");
  assert.ok(!existsSync(join(inside, "a.txt")));
  assert.equal(at(await decide({ type: "approve" }), 0).status, "success");
  assert.equal(readFileSync(join(inside, "a.txt"), "utf8"), "asked");
  assert.equal(model.turns.length, 2);
});

test("human in the loop: what a person edited is judged like any other call", async () => {
  const inside = directory();
  const out = await waiting(inside, "/w/a.txt");
  const escaped = await out.decide({
    type: "edit",
    editedAction: { name: "write_file", args: { path: "/w/../../etc/edited", content: "x" } },
  });
  assert.equal(at(escaped, 0).status, "error");
  const ok = await waiting(inside, "/w/a.txt");
  const edited = await ok.decide({
    type: "edit",
    editedAction: { name: "write_file", args: { path: "/w/b.txt", content: "edited" } },
  });
  assert.equal(at(edited, 0).status, "success");
  assert.equal(readFileSync(join(inside, "b.txt"), "utf8"), "edited");
  assert.ok(!existsSync(join(inside, "a.txt")));
});

test("human in the loop: what a person rejects does not happen", async () => {
  const inside = directory();
  const { decide } = await waiting(inside, "/w/a.txt");
  const answers = await decide({ type: "reject", message: "not now" });
  assert.equal(at(answers, 0).text, "not now");
  assert.ok(!existsSync(join(inside, "a.txt")));
});

test("human in the loop: an approval does not widen an Access Scope", async () => {
  const { decide } = await waiting(directory(), "/elsewhere/a.txt");
  assert.equal(at(await decide({ type: "approve" }), 0).status, "error");
});

test("a conversation goes on from its checkpoint, with the map of today", async () => {
  const model = new ScriptedModel()
    .ask({ name: "write_file", args: { path: "/w/a.txt", content: "remember" } })
    .say("first")
    .ask({ name: "read_file", args: { path: "/w/a.txt" } })
    .say("second");
  const middleware = [createWorkspacesMiddleware({ mounts: readWrite(directory()) })];
  const agent = createAgent({ model, middleware, checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "t" } };
  await agent.invoke({ messages: [new HumanMessage("write")] }, config);
  const { messages } = await agent.invoke({ messages: [new HumanMessage("read")] }, config);
  assert.match(at(toolMessages(messages), 1).text, /remember/u);
  assert.deepEqual(model.turns.map(({ systemMessages }) => systemMessages), [1, 1, 1, 1]);
  assert.equal(messages.filter((message) => message.type === "system").length, 0);
});

test("streams: updates, messages and tool events", async () => {
  const script = () => new ScriptedModel().ask({ name: "read_file", args: { path: "/w/a.txt" } }).say("done");
  const middleware = [createWorkspacesMiddleware({ mounts: readWrite(directory({ "a.txt": "streamed" })) })];
  const input = { messages: [new HumanMessage("go")] };

  const nodes: string[] = [];
  for await (const update of await createAgent({ model: script(), middleware }).stream(input, { streamMode: "updates" })) {
    nodes.push(...Object.keys(update));
  }
  assert.ok(nodes.includes("tools"));

  const texts: string[] = [];
  for await (const [message] of await createAgent({ model: script(), middleware }).stream(input, { streamMode: "messages" })) {
    if (ToolMessage.isInstance(message)) texts.push(message.text);
  }
  assert.equal(texts.length, 1);
  assert.match(at(texts, 0), /streamed/u);

  const events: string[] = [];
  for await (const event of createAgent({ model: script(), middleware }).streamEvents(input, { version: "v2" })) {
    if (event.event.startsWith("on_tool_")) events.push(`${event.event} ${event.name}`);
  }
  assert.deepEqual(events, ["on_tool_start read_file", "on_tool_end read_file"]);
});

test("subagents: each with its own middleware, and nothing is inherited", async () => {
  const code = directory({ "main.ts": "secret of the parent" });
  const scratch = directory();
  const worker = new ScriptedModel()
    .ask({ name: "read_file", args: { path: "/code/main.ts" } })
    .ask({ name: "write_file", args: { path: "/scratch/plan.md", content: "plan" } })
    .say("worker is done");
  const workerAgent = createAgent({ model: worker, middleware: [
    createWorkspacesMiddleware({ mounts: [{ prefix: "/scratch", scope: "READ_WRITE", store: physicalStore(scratch) }] }),
  ] });
  let workers = toolMessages([]);
  const delegate = tool(
    async ({ task }: { task: string }) => {
      const { messages } = await workerAgent.invoke({ messages: [new HumanMessage(task)] });
      workers = toolMessages(messages);
      return at(messages, -1).text;
    },
    { name: "delegate", description: "gives a task away", schema: { type: "object", properties: { task: { type: "string" } } } },
  );
  const parent = new ScriptedModel()
    .ask({ name: "delegate", args: { task: "plan" } })
    .ask({ name: "write_file", args: { path: "/scratch/plan.md", content: "mine" } })
    .say("done");
  const parentAgent = createAgent({ model: parent, tools: [delegate], middleware: [
    createWorkspacesMiddleware({ mounts: [{ prefix: "/code", scope: "READ_ONLY", store: physicalStore(code) }] }),
  ] });
  const { messages } = await parentAgent.invoke({ messages: [new HumanMessage("go")] });

  assert.equal(at(workers, 0).status, "error", "the worker does not see the parent's code");
  assert.equal(at(workers, 1).status, "success");
  assert.equal(at(toolMessages(messages), 1).status, "error", "the parent does not see the worker's scratch");
  assert.equal(readFileSync(join(scratch, "plan.md"), "utf8"), "plan");
  assert.doesNotMatch(at(worker.turns, 0).system, /\/code/u);
  assert.doesNotMatch(at(parent.turns, 0).system, /\/scratch/u);
});

test("the signal of a run stops a call that waits for a store", async () => {
  const store = new MapStore();
  let asked = false;
  store.read = () => {
    asked = true;
    return new Promise(() => undefined);
  };
  const agent = createAgent({
    model: new ScriptedModel().ask({ name: "read_file", args: { path: "/w/a.txt" } }).say("done"),
    middleware: [createWorkspacesMiddleware({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store }] })],
  });
  const controller = new AbortController();
  const run = agent.invoke({ messages: [new HumanMessage("go")] }, { signal: controller.signal });
  while (!asked) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  await assert.rejects(run);
});
