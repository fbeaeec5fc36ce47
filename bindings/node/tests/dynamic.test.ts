/** `mounts` as a function: asked anew each turn and each call, and no access where it fails. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { HumanMessage } from "@langchain/core/messages";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";

import { createWorkspacesMiddleware, physicalStore } from "../esm/index.js";
import type { MountConfig, MountsFunction, WorkspacesMiddlewareOptions } from "../esm/index.js";
import { at, directory, play } from "./support/agents.js";
import { ScriptedModel } from "./support/model.js";

/** A store that cannot even be looked at. */
const TRAP: MountConfig["store"] = new Proxy(physicalStore(directory()), {
  get: () => {
    throw new Error("looked at");
  },
});

const nonsense: [string, () => unknown][] = [
  ["throws", () => { throw new Error("postgres://user:password@host is down"); }],
  ["rejects", () => Promise.reject(new Error("password"))],
  ["rejects with nothing", () => Promise.reject(undefined)],
  ["never answers", () => new Promise(() => undefined)],
  ["gives null", () => null],
  ["gives a number", () => 7],
  ["gives no Mounts", () => [null, 1, "x"]],
  ["gives an unknown scope", () => [{ prefix: "/w", scope: "ALL", store: physicalStore(directory()) }]],
  ["gives no store", () => [{ prefix: "/w", scope: "READ_ONLY" }]],
  ["gives a relative prefix that escapes", () => [{ prefix: "/../..", scope: "READ_WRITE", store: physicalStore(directory()) }]],
  ["gives an object that throws", () => [{ prefix: "/w", get scope() { throw new Error("getter"); }, store: TRAP }]],
];

/** A function of the right type that gives whatever this one gives. */
function unchecked(give: () => unknown): MountsFunction {
  const holder: { mounts: MountsFunction } = { mounts: () => [] };
  Reflect.set(holder, "mounts", give);
  return holder.mounts;
}

for (const [how, give] of nonsense) {
  test(`a function that ${how} means no access, and the run goes on`, async () => {
    const told: unknown[] = [];
    const timeLimit = how === "never answers" ? 50 : 60_000;
    const options: WorkspacesMiddlewareOptions = { mounts: unchecked(give), timeLimit, onError: (error) => told.push(error) };
    const { model, answers, messages } = await play([createWorkspacesMiddleware(options)], [
      { name: "read_file", args: { path: "/w/etc/passwd" } },
    ]);
    assert.deepEqual(model.names(), [[], []]);
    assert.equal(at(answers, 0).status, "error");
    assert.equal(at(messages, -1).text, "done");
    assert.equal(told.length, 3, "two turns and a call");
    const read = model.turns.map(({ system }) => system).join() + at(answers, 0).text;
    assert.doesNotMatch(read, /password|getter/u, "the model never reads the error");
  });
}

test("an onError that throws does not end the run either", async () => {
  const warned = warning(/no log$/u);
  const { messages } = await play(
    [
      createWorkspacesMiddleware({
        mounts: () => {
          throw new Error("no database");
        },
        onError: () => {
          throw new Error("no log");
        },
      }),
    ],
    [],
  );
  assert.equal(at(messages, -1).text, "done");
  await warned;
});

test("an onError that rejects is a warning, and no rejection that nobody handles", async () => {
  const warned = warning(/no log either$/u);
  await play(
    [
      createWorkspacesMiddleware({
        mounts: () => {
          throw new Error("no database");
        },
        onError: async () => {
          throw new Error("no log either");
        },
      }),
    ],
    [],
  );
  await warned;
});

/** Comes when the process warns of this; what else it warns of meanwhile is another's. */
function warning(about: RegExp): Promise<void> {
  return new Promise((resolve) => {
    const look = ({ message }: Error): void => {
      if (!about.test(message)) return;
      process.off("warning", look);
      resolve();
    };
    process.on("warning", look);
  });
}

test("what is thrown and cannot be made a text is told as such, and the run goes on", async () => {
  const thrown: unknown = Object.create(null);
  const options: WorkspacesMiddlewareOptions = { mounts: unchecked(() => Promise.reject(thrown)) };
  const { messages } = await play([createWorkspacesMiddleware(options)], [{ name: "read_file", args: { path: "/w/a" } }]);
  assert.equal(at(messages, -1).text, "done");
});

test("a function that asks a person stops the run at the question, and goes on with the answer", async () => {
  const place = directory({ "a.txt": "granted" });
  const agent = createAgent({
    model: new ScriptedModel().ask({ name: "read_file", args: { path: "/w/a.txt" } }).say("done"),
    checkpointer: new MemorySaver(),
    middleware: [
      createWorkspacesMiddleware({
        mounts: () => [{ prefix: interrupt("which prefix?"), scope: "READ_ONLY", store: physicalStore(place) }],
      }),
    ],
  });
  const config = { configurable: { thread_id: "t" } };
  const stopped = await agent.invoke({ messages: [new HumanMessage("go")] }, config);
  assert.ok("__interrupt__" in stopped);
  await agent.invoke(new Command({ resume: "/w" }), config);
  const { messages } = await agent.invoke(new Command({ resume: "/w" }), config);
  assert.ok(messages.some((message) => message.type === "tool" && /granted/u.test(message.text)));
});

test("tools and map follow the Mounts from turn to turn, in both directions", async () => {
  const inside = directory({ "a.txt": "a" });
  const scopes: MountConfig["scope"][] = ["READ_ONLY", "READ_WRITE", "WRITE_ONLY"];
  const mounts: MountsFunction = ({ state }) => {
    const turn = state.messages.filter((message) => message.type === "tool").length;
    return [{ prefix: `/turn${turn}`, scope: scopes[turn] ?? "READ_ONLY", store: physicalStore(inside) }];
  };
  const { model } = await play([createWorkspacesMiddleware({ mounts })], [
    { name: "list_dir", args: { path: "/turn0" } },
    { name: "list_dir", args: { path: "/turn1" } },
  ]);
  assert.deepEqual(at(model.names(), 0), ["find_files", "list_dir", "read_file", "search_files"]);
  assert.ok(at(model.names(), 1).includes("delete_file"));
  assert.deepEqual(at(model.names(), 2), ["append_file", "edit_file", "write_file"]);
  model.turns.forEach(({ system }, turn) => {
    assert.match(system, new RegExp(`/turn${turn}\\b`, "u"));
    assert.doesNotMatch(system, new RegExp(`/turn${turn + 1}\\b`, "u"));
  });
});

test("a call is judged by the Mounts of its own moment, not of the turn that offered the tool", async () => {
  const inside = directory();
  let scope: MountConfig["scope"] = "READ_WRITE";
  const mounts: MountsFunction = async () => [{ prefix: "/w", scope, store: physicalStore(inside) }];
  const revoking = createMiddleware({
    name: "revoking",
    afterModel: () => {
      scope = "READ_ONLY";
    },
  });
  const { answers } = await play([createWorkspacesMiddleware({ mounts }), revoking], [
    { name: "write_file", args: { path: "/w/a.txt", content: "a" } },
  ]);
  assert.equal(at(answers, 0).status, "error");
  assert.ok(!existsSync(join(inside, "a.txt")));
});

test("one middleware, many tenants at once: nobody meets another's Workspaces", async () => {
  const tenants = Array.from({ length: 8 }, (_, number) => `tenant-${number}`);
  const places = new Map(tenants.map((tenant) => [tenant, directory({ "whose.txt": tenant })]));
  const middleware = createWorkspacesMiddleware({
    mounts: async ({ runtime }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      const tenant = String(runtime.configurable?.["tenant"]);
      return [{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(places.get(tenant) ?? "/nowhere") }];
    },
  });
  await Promise.all(
    tenants.map(async (tenant) => {
      const model = new ScriptedModel().ask({ name: "read_file", args: { path: "/w/whose.txt" } }).say("done");
      const agent = createAgent({ model, middleware: [middleware] });
      const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] }, { configurable: { tenant } });
      assert.match(at(messages, 2).text, new RegExp(`${tenant}\\b`, "u"));
    }),
  );
});

test("fixed Mounts that are wrong are refused when the middleware is made", () => {
  const wrong: [unknown, RegExp][] = [
    [[{ prefix: "/w", scope: "ALL", store: physicalStore(directory()) }], /ALL/u],
    [[{ prefix: "/w", scope: "READ_ONLY", store: {} }], /read, write, edit and list/u],
    [[{ prefix: "/w", scope: "READ_ONLY" }], /needs "store"/u],
    [{ prefix: "/w" }, /array/u],
  ];
  for (const [mounts, message] of wrong) {
    const options: WorkspacesMiddlewareOptions = { mounts: [] };
    Reflect.set(options, "mounts", mounts);
    assert.throws(() => createWorkspacesMiddleware(options), message);
  }
  assert.throws(() => physicalStore(""), /empty/u);
  assert.throws(() => createWorkspacesMiddleware({ mounts: [], timeLimit: 0 }), /timeLimit/u);
});
