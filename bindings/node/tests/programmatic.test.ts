/** `openWorkspaces`: the same tools for a program, with errors in place of messages. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { AccessDeniedError, openWorkspaces, overlayStore, PathTraversalError, physicalStore, virtualStore } from "../esm/index.js";
import type { MountConfig } from "../esm/index.js";
import { at, directory, MapStore } from "./support/agents.js";

const readOnly = (): MountConfig[] => [
  { prefix: "/code", scope: "READ_ONLY", store: physicalStore(directory({ "a.txt": "a", "dot.png": "" })) },
];

test("tools, map, calls", async () => {
  const workspaces = openWorkspaces({ mounts: readOnly(), base: "/code" });
  assert.match(await workspaces.map(), /\/code/u);
  const tools = await workspaces.tools();
  assert.deepEqual(tools.map(({ name }) => name).sort(), ["find_files", "list_dir", "read_file", "search_files"]);
  assert.ok(tools.every(({ readOnly: reads, destructive }) => reads && !destructive));
  assert.equal(at(tools, 0).schema["type"], "object");
  assert.equal(await workspaces.run("read_file", { path: "a.txt" }), "a");
  await assert.rejects(workspaces.run("list_dir"), { message: /The argument "path" is missing/u });
});

test("a directory that cannot be used is named once", () => {
  const file = join(directory({ "a.txt": "a" }), "a.txt");
  assert.throws(() => physicalStore(file), { message: new RegExp(`^the directory "${file}" cannot be used: it is not a directory`, "u") });
});

test("a denial is an AccessDeniedError, an escape a PathTraversalError, the rest an Error", async () => {
  const workspaces = openWorkspaces({ mounts: readOnly() });
  await assert.rejects(workspaces.run("write_file", { path: "/code/a.txt", content: "" }), (error) => {
    assert.ok(error instanceof AccessDeniedError && !(error instanceof PathTraversalError));
    assert.equal(error.name, "AccessDeniedError");
    return true;
  });
  await assert.rejects(workspaces.run("read_file", { path: "/elsewhere" }), AccessDeniedError);
  await assert.rejects(workspaces.run("read_file", { path: "../../etc/passwd" }), (error) => {
    assert.ok(error instanceof PathTraversalError);
    assert.equal(error.name, "PathTraversalError");
    return true;
  });
  await assert.rejects(workspaces.run("read_file", { path: "/code/absent" }), (error) => {
    assert.ok(error instanceof Error && !(error instanceof AccessDeniedError));
    return true;
  });
});

test("an image is a piece of its own", async () => {
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const place = directory();
  const { writeFileSync } = await import("node:fs");
  writeFileSync(`${place}/dot.png`, Buffer.from(png, "base64"));
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store: physicalStore(place) }] });
  const { pieces } = await workspaces.call("read_file", { path: "/w/dot.png" });
  assert.ok(pieces.some((piece) => piece.type === "image" && piece.mimeType === "image/png" && piece.data === png));
});

test("a signal that is over before the call stops it", async () => {
  const workspaces = openWorkspaces({ mounts: readOnly() });
  const { verdict } = await workspaces.call("search_files", { path: "/code", pattern: "a" }, { signal: AbortSignal.abort() });
  assert.notEqual(verdict, "done");
});

test("a signal stops a call that waits for a store; without one the time limit does", async () => {
  const store = new MapStore();
  const controller = new AbortController();
  store.read = () => {
    controller.abort();
    return new Promise(() => undefined);
  };
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store }] });
  const stopped = await workspaces.call("read_file", { path: "/w/a" }, { signal: controller.signal });
  assert.equal(stopped.reason, "cancelled");
  const ended = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_ONLY", store }], timeLimit: 40 });
  assert.equal((await ended.call("read_file", { path: "/w/a" })).reason, "timed_out");
});

test("an overlay changes what is above, never what is below", async () => {
  const place = directory({ "a.txt": "below", "b.txt": "b" });
  const upper = virtualStore({ url: "memory", namespace: ["programmatic", "overlay"] });
  const mounts: MountConfig[] = [
    { prefix: "/try", scope: "READ_WRITE", store: overlayStore(physicalStore(place), upper) },
    { prefix: "/code", scope: "READ_ONLY", store: physicalStore(place) },
  ];
  const workspaces = openWorkspaces({ mounts });
  await workspaces.run("edit_file", { path: "/try/a.txt", old_string: "below", new_string: "above" });
  assert.equal(await workspaces.run("read_file", { path: "/try/a.txt" }), "above");
  assert.equal(await workspaces.run("read_file", { path: "/code/a.txt" }), "below");
  assert.match(await workspaces.run("list_dir", { path: "/try" }), /a\.txt[\s\S]*b\.txt/u);
  assert.throws(() => overlayStore(upper, physicalStore(place)), /virtual/iu);
});

test("namespaces of a Virtual Store are apart, also where one begins the other", async () => {
  const open = (namespace: string[]) =>
    openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store: virtualStore({ url: "memory", namespace }) }] });
  for (const namespace of [["p", "a10"], ["p:a1"], ["p"], ["p", "a1", "x"]]) {
    await open(namespace).run("write_file", { path: "/w/secret.txt", content: "s" });
  }
  const mine = open(["p", "a1"]);
  await mine.run("write_file", { path: "/w/mine.txt", content: "m" });
  assert.equal((await mine.run("list_dir", { path: "/w", depth: 5 })).trim(), "mine.txt");
});

test("an address that is none is refused without repeating what it holds", () => {
  assert.throws(
    () => virtualStore({ url: "mysql://user:password@host/db", namespace: ["a"] }),
    (error) => error instanceof Error && /mysql/u.test(error.message) && !error.message.includes("password"),
  );
});

test("half of an emoji is replaced, and arguments that are no JSON are an answer", async () => {
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store: new MapStore() }] });
  assert.equal((await workspaces.call("write_file", { path: "/w/a", content: "ab\ud83d cd" })).verdict, "done");
  assert.equal(await workspaces.run("read_file", { path: "/w/a" }), "ab\ufffd cd");
  const circle: Record<string, unknown> = { path: "/w/a" };
  circle["self"] = circle;
  for (const args of [circle, { path: 1n }]) {
    const answer = await workspaces.call("read_file", args);
    assert.equal(answer.verdict, "invalid");
    assert.equal(answer.reason, "arguments");
  }
});
