/** Files in a LangGraph store: the form of the values, one exact namespace, listing by pages, the store of a run. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { HumanMessage } from "@langchain/core/messages";
import { AsyncBatchedStore, InMemoryStore } from "@langchain/langgraph-checkpoint";
import { createAgent } from "langchain";

import { baseStore, createWorkspacesMiddleware, openWorkspaces } from "../esm/index.js";
import { baseFunctions } from "../esm/base-store.js";
import type { LangGraphStore, Workspaces } from "../esm/index.js";
import { at, toolMessages } from "./support/agents.js";
import { ScriptedModel } from "./support/model.js";

function open(store: LangGraphStore, namespace: string[]): Workspaces {
  return openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store: baseStore(store, namespace) }] });
}

/** A store that counts what is asked of it, and refuses what may not be used. */
class CountingStore extends InMemoryStore {
  limits: number[] = [];
  indexes: unknown[] = [];

  override search(...given: Parameters<InMemoryStore["search"]>): ReturnType<InMemoryStore["search"]> {
    this.limits.push(given[1]?.limit ?? 10);
    return super.search(...given);
  }

  override put(...given: Parameters<InMemoryStore["put"]>): ReturnType<InMemoryStore["put"]> {
    this.indexes.push(given[3]);
    return super.put(...given);
  }

  override listNamespaces(): Promise<string[][]> {
    throw new Error("not to be used");
  }
}

test("the key is the path without a leading slash, the value plain JSON", async () => {
  const store = new InMemoryStore();
  const files = open(store, ["workspaces", "a1"]);
  await files.run("write_file", { path: "/w/docs/api.md", content: "# API\n" });
  await files.run("make_dir", { path: "/w/empty" });
  const item = await store.get(["workspaces", "a1"], "docs/api.md");
  assert.equal(item?.value["content"], "# API\n");
  assert.equal(item?.value["encoding"], "utf-8");
  assert.ok(Number.isFinite(Date.parse(String(item?.value["modified_at"]))));
  assert.equal((await store.get(["workspaces", "a1"], "empty/"))?.value["kind"], "directory");
  assert.match(await files.run("list_dir", { path: "/w" }), /docs\/[\s\S]*empty\//u);
  await files.run("edit_file", { path: "/w/docs/api.md", old_string: "API", new_string: "The API" });
  assert.equal(await files.run("read_file", { path: "/w/docs/api.md" }), "# The API\n");
  await files.run("move_file", { source: "/w/docs/api.md", destination: "/w/docs/new.md" });
  assert.equal(await store.get(["workspaces", "a1"], "docs/api.md"), null);
});

test("values that deepagents left are read; others are a clear error, and stay", async () => {
  const store = new InMemoryStore();
  const namespace = ["filesystem"];
  const files = open(store, namespace);
  await store.put(namespace, "lines.txt", { content: ["one", "two"], created_at: "2026-01-01T00:00:00Z", modified_at: "x" });
  await store.put(namespace, "text.txt", { content: "text", mimeType: "text/plain" });
  await store.put(namespace, "bytes.bin", { content: new Uint8Array([0, 1, 2, 255]) });
  assert.equal(await files.run("read_file", { path: "/w/lines.txt" }), "one\ntwo");
  assert.equal(await files.run("read_file", { path: "/w/text.txt" }), "text");
  assert.equal((await files.call("read_file", { path: "/w/bytes.bin" })).verdict, "done");
  await store.put(namespace, "other", { content: { deep: true } });
  const strange = await files.call("read_file", { path: "/w/other" });
  assert.equal(strange.verdict, "failed");
  assert.deepEqual((await store.get(namespace, "other"))?.value, { content: { deep: true } });
});

test("files that deepagents keeps under keys with a slash are read, listed and changed where they are", async () => {
  const store = new InMemoryStore();
  const namespace = ["filesystem"];
  await store.put(namespace, "/notes/a.md", { content: ["one", "two"], created_at: "x", modified_at: "x" });
  const files = open(store, namespace);
  assert.equal(await files.run("read_file", { path: "/w/notes/a.md" }), "one\ntwo");
  assert.match(await files.run("list_dir", { path: "/w", depth: 2 }), /notes\/a\.md/u);
  await files.run("edit_file", { path: "/w/notes/a.md", old_string: "two", new_string: "three" });
  assert.equal(await store.get(namespace, "notes/a.md"), null, "there is still one of it");
  assert.equal((await store.get(namespace, "/notes/a.md"))?.value["content"], "one\nthree");
  await files.run("delete_file", { path: "/w/notes/a.md" });
  assert.equal(await store.get(namespace, "/notes/a.md"), null);
});

const STRANGE: [string, Record<string, unknown>][] = [
  ["memory", { text: "a user's memory" }],
  ["number", { content: 5 }],
  ["latin", { content: "x", encoding: "latin1" }],
  ["broken", { content: "%%%", encoding: "base64" }],
  ["../up", { content: "x" }],
  ["a//b", { content: "x" }],
  ["", { content: "x" }],
  ["/", { content: "x" }],
  ["line\nbreak", { content: "x" }],
  ["two\u0000names", { content: "x" }],
];

for (const [key, value] of STRANGE) {
  test(`a value that is no file takes no other along: ${JSON.stringify(key)}`, async () => {
    const store = new InMemoryStore();
    const files = open(store, ["w"]);
    await files.run("write_file", { path: "/w/good.txt", content: "needle" });
    await store.put(["w"], key, value);
    assert.equal((await files.run("list_dir", { path: "/w", depth: 5 })).trim(), "good.txt");
    assert.match(await files.run("search_files", { path: "/w", pattern: "needle" }), /good\.txt/u);
    await files.run("write_file", { path: "/w/new.txt", content: "new" });
    assert.deepEqual((await store.get(["w"], key))?.value, value, "it stays as it is");
  });
}

test("tenant a1 never sees a10, nor a namespace that only looks like its own", async () => {
  const store = new InMemoryStore();
  const neighbours = [["w", "a10"], ["w:a1"], ["w", "a1", "deeper"], ["w"], ["w", "a"]];
  for (const namespace of neighbours) {
    await open(store, namespace).run("write_file", { path: "/w/secret.txt", content: `of ${namespace.join("/")}` });
  }
  const mine = open(store, ["w", "a1"]);
  await mine.run("write_file", { path: "/w/mine.txt", content: "mine" });
  assert.equal((await mine.run("list_dir", { path: "/w", depth: 5 })).trim(), "mine.txt");
  assert.doesNotMatch((await mine.call("search_files", { path: "/w", pattern: "of|secret" })).text, /secret\.txt/u);
  assert.doesNotMatch((await mine.call("find_files", { path: "/w", glob: "**/*secret*" })).text, /secret\.txt/u);
  assert.notEqual((await mine.call("read_file", { path: "/w/secret.txt" })).verdict, "done");
  // InMemoryStore keeps ["w", "a1"] and ["w:a1"] in one place: nothing of the other's is replaced or removed.
  assert.notEqual((await mine.call("write_file", { path: "/w/secret.txt", content: "mine" })).verdict, "done");
  assert.notEqual((await mine.call("delete_file", { path: "/w/secret.txt" })).verdict, "done");
  assert.equal((await store.get(["w:a1"], "secret.txt"))?.value["content"], "of w:a1");
  for (const namespace of neighbours) {
    const text = await open(store, namespace).run("list_dir", { path: "/w", depth: 5 });
    assert.equal(text.trim(), "secret.txt", namespace.join("/"));
  }
});

test("not even a change that nobody looked at before touches another's value", async () => {
  const store = new InMemoryStore();
  await store.put(["w:a1"], "secret.txt", { content: "of w:a1", encoding: "utf-8" });
  const functions = baseFunctions(store, ["w", "a1"]);
  await assert.rejects(functions.delete("secret.txt"), /another namespace/u);
  await assert.rejects(functions.put({ key: "secret.txt", content: "mine", encoding: "utf-8" }), /another namespace/u);
  assert.equal(await functions.get("secret.txt"), null);
  assert.equal((await store.get(["w:a1"], "secret.txt"))?.value["content"], "of w:a1");
});

test("a store that ignores the namespace it is asked for gives nobody's files away", async () => {
  const store = new InMemoryStore();
  await store.put(["b"], "secret.txt", { content: "of b", encoding: "utf-8" });
  store.search = async () => [...(await InMemoryStore.prototype.search.call(store, ["b"]))];
  assert.doesNotMatch((await open(store, ["a"]).call("list_dir", { path: "/w", depth: 5 })).text, /secret/u);
});

test("listing pages through everything, with explicit limits", async () => {
  const store = new CountingStore();
  const files = open(store, ["many"]);
  for (let number = 0; number < 1_234; number += 1) {
    await store.put(["many"], `f${number}.txt`, { content: `${number}`, encoding: "utf-8" }, false);
    // What lies between is others', and must not end the listing early.
    await store.put(["many", "x"], `f${number}.txt`, { content: "x", encoding: "utf-8" }, false);
  }
  const { facts, text } = await files.call("find_files", { path: "/w", glob: "*.txt", limit: 2_000 });
  assert.equal(text.split("\n").filter((line) => line.startsWith("/w/")).length, 1_234, JSON.stringify(facts));
  assert.ok(store.limits.length > 1 && store.limits.every((limit) => limit > 10));
});

test("a store that gives fewer at once than it is asked for is listed to its end", async () => {
  const store = new CountingStore();
  const files = open(store, ["many"]);
  for (let number = 0; number < 230; number += 1) {
    await store.put(["many"], `f${number}.txt`, { content: `${number}`, encoding: "utf-8" }, false);
  }
  const search = store.search.bind(store);
  store.search = (namespace, options) => search(namespace, { ...options, limit: Math.min(options?.limit ?? 10, 100) });
  const { text } = await files.call("find_files", { path: "/w", glob: "*.txt", limit: 2_000 });
  assert.equal(text.split("\n").filter((line) => line.startsWith("/w/")).length, 230);
  assert.match(await files.run("search_files", { path: "/w", pattern: "^229$" }), /f229/u);
});

test("a store that gives everything, whatever page it is asked for, comes to an end", async () => {
  const store = new CountingStore();
  const files = open(store, ["all"]);
  for (let number = 0; number < 20; number += 1) {
    await store.put(["all"], `f${number}.txt`, { content: `${number}`, encoding: "utf-8" }, false);
  }
  const search = store.search.bind(store);
  store.search = (namespace) => search(namespace, { limit: 1_000 });
  const { text } = await files.call("find_files", { path: "/w", glob: "*.txt", limit: 2_000 });
  assert.equal(text.split("\n").filter((line) => line.startsWith("/w/")).length, 20);
  assert.equal(store.limits.length, 2);
});

test("a new file takes one look at the names of all", async () => {
  const store = new CountingStore();
  const files = open(store, ["w"]);
  await files.run("write_file", { path: "/w/deep/down/a.txt", content: "a" });
  assert.equal(store.limits.length, 1, "however deep it is");
  await files.run("write_file", { path: "/w/deep/down/a.txt", content: "b" });
  await files.run("edit_file", { path: "/w/deep/down/a.txt", old_string: "b", new_string: "c" });
  await files.run("read_file", { path: "/w/deep/down/a.txt" });
  assert.equal(store.limits.length, 1, "and what is there none");
});

test("a directory that only others' files imply is one: nothing is written over it", async () => {
  const store = new InMemoryStore();
  await store.put(["w"], "/deep/down/a.txt", { content: "a" });
  const files = open(store, ["w"]);
  for (const path of ["/w/deep", "/w/deep/down"]) {
    assert.equal((await files.call("write_file", { path, content: "x" })).verdict, "failed", path);
  }
  assert.equal((await files.call("write_file", { path: "/w/deep/down/a.txt/b", content: "x" })).verdict, "failed");
  await files.run("write_file", { path: "/w/deep/b.txt", content: "b" });
  assert.equal(await store.get(["w"], "deep"), null);
});

test("contents are never handed to a store's index of meanings", async () => {
  const store = new CountingStore();
  await open(store, ["w"]).run("write_file", { path: "/w/a.txt", content: "a" });
  assert.deepEqual(store.indexes, [false]);
});

test("the store of a run, which batches, is as good: runtime.store", async () => {
  const store = new InMemoryStore();
  const model = new ScriptedModel()
    .ask({ name: "write_file", args: { path: "/w/a.txt", content: "kept" } })
    .ask({ name: "list_dir", args: { path: "/w" } }, { name: "read_file", args: { path: "/w/a.txt" } })
    .say("done");
  const agent = createAgent({
    model,
    store,
    middleware: [
      createWorkspacesMiddleware({
        mounts: ({ runtime }) => [
          { prefix: "/w", scope: "READ_WRITE", store: baseStore(runtime.store, ["users", String(runtime.configurable?.["user"])]) },
        ],
      }),
    ],
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] }, { configurable: { user: "ada" } });
  const answers = toolMessages(messages);
  assert.deepEqual(answers.map(({ status }) => status), ["success", "success", "success"], answers.map(({ text }) => text).join());
  assert.equal(at(answers, 2).text, "kept");
  assert.equal((await store.get(["users", "ada"], "a.txt"))?.value["content"], "kept");
});

test("two runs at once over one store share its locks, each behind a batching store of its own", async () => {
  const store = new InMemoryStore();
  const runs = Array.from({ length: 4 }, () => new AsyncBatchedStore(store));
  for (const run of runs) run.start();
  const opened = runs.map((run) => open(run, ["shared"]));
  await at(opened, 0).run("write_file", { path: "/w/log", content: "" });
  await Promise.all(
    opened.flatMap((files, run) =>
      Array.from({ length: 10 }, (_, line) => files.run("append_file", { path: "/w/log", content: `${run}-${line}\n` })),
    ),
  );
  const lines = (await at(opened, 0).run("read_file", { path: "/w/log" })).trim().split("\n");
  assert.equal(new Set(lines).size, 40);
  for (const run of runs) await run.stop();
});

test("what is no store is refused with what to do", () => {
  assert.throws(() => baseStore(undefined, ["a"]), /createAgent\(\{ store \}\)/u);
});

test("an answer of more items than there can be is refused before it is looked at", async () => {
  const store = new InMemoryStore();
  const many: never[] = [];
  many.length = 1_000_001;
  store.search = () => Promise.resolve(many);
  const { page, names } = baseFunctions(store, ["w"]);
  await assert.rejects(page(0, 100), /more than 1000000 items/u);
  await assert.rejects(names(0, 100), /more than 1000000 items/u);
});
