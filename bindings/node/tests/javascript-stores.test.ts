/** Stores that somebody else wrote: what they can do, and what they can break, which is nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { createWorkspacesMiddleware, openWorkspaces } from "../esm/index.js";
import { portFunctions } from "../esm/port.js";
import type { MountConfig, StorePort } from "../esm/index.js";
import { at, MapStore, play, playMounts } from "./support/agents.js";
import { runProgram } from "./support/programs.js";

test("an object with the seed's four methods is a Store", async () => {
  const store = new MapStore({ "a.txt": "one\ntwo\n", "d/b.txt": "b" });
  const { model, answers } = await playMounts([{ prefix: "/w", scope: "READ_WRITE", store }], [
    { name: "read_file", args: { path: "/w/a.txt" } },
    { name: "list_dir", args: { path: "/w" } },
    { name: "write_file", args: { path: "/w/new.txt", content: "new" } },
    { name: "edit_file", args: { path: "/w/a.txt", old_string: "two", new_string: "three" } },
    { name: "read_file", args: { path: "/w/absent.txt" } },
  ]);
  assert.deepEqual(answers.map(({ status }) => status), ["success", "success", "success", "success", "error"]);
  assert.match(at(answers, 1).text, /a\.txt[\s\S]*d\//u);
  assert.equal(store.files.get("/new.txt"), "new");
  assert.equal(store.files.get("/a.txt"), "one\nthree\n");
  const provided = at(model.names(), 0);
  for (const name of ["read_file", "list_dir", "write_file", "edit_file"]) assert.ok(provided.includes(name), name);
  for (const name of ["delete_file", "move_file"]) assert.ok(!provided.includes(name), `${name} needs remove`);
});

test("what it can do beyond that is provided: stat, remove, search", async () => {
  class Able extends MapStore {
    searched: string[] = [];
    async stat(path: string): Promise<{ kind: "file" | "directory"; modified: number } | null> {
      if (this.files.has(path)) return { kind: "file", modified: 1_700_000_000_000 };
      return [...this.files.keys()].some((key) => key.startsWith(path === "/" ? "/" : `${path}/`))
        ? { kind: "directory", modified: 1_700_000_000_000 }
        : null;
    }
    async remove(path: string): Promise<void> {
      this.files.delete(path);
    }
    async search(path: string, pattern: string): Promise<string[]> {
      this.searched.push(`${path} ${pattern}`);
      return [...this.files.keys()];
    }
  }
  const store = new Able({ "a.txt": "needle here\n", "b.txt": "nothing\n" });
  const { model, answers } = await playMounts([{ prefix: "/w", scope: "READ_WRITE", store }], [
    { name: "search_files", args: { path: "/w", pattern: "needle" } },
    { name: "move_file", args: { source: "/w/b.txt", destination: "/w/c.txt" } },
  ]);
  assert.ok(at(model.names(), 0).includes("delete_file"));
  assert.deepEqual(store.searched, ["/ needle"]);
  assert.match(at(answers, 0).text, /a\.txt[\s\S]*needle here/u);
  assert.doesNotMatch(at(answers, 0).text, /b\.txt/u, "what the store only claims to match is looked at");
  assert.equal(at(answers, 1).status, "success", at(answers, 1).text);
  assert.deepEqual([...store.files.keys()].sort(), ["/a.txt", "/c.txt"]);
});

test("the version of its files is a hash of their content: a stale one changes nothing", async () => {
  const store = new MapStore({ "a.txt": "first" });
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store }] });
  const { facts } = await workspaces.call("read_file", { path: "/w/a.txt" });
  const version = facts["version"];
  store.files.set("/a.txt", "changed by another");
  const stale = await workspaces.call("write_file", { path: "/w/a.txt", content: "mine", expected_version: version });
  assert.notEqual(stale.verdict, "done");
  assert.equal(store.files.get("/a.txt"), "changed by another");
  store.files.set("/a.txt", "first");
  const same = await workspaces.call("write_file", { path: "/w/a.txt", content: "mine", expected_version: version });
  assert.equal(same.verdict, "done", same.text);
});

const trap = (name: string): object => Object.defineProperty({}, name, { get: () => { throw new Error("a trap"); } });
const SECRET = "postgres://user:password@host/db";

/** What a method of a hostile store may do. */
const ANSWERS: [string, () => unknown][] = [
  ["throws at once", () => { throw new Error(SECRET); }],
  ["throws a string", () => { throw SECRET; }],
  ["throws nothing", () => { throw undefined; }],
  ["rejects", () => Promise.reject(new Error(SECRET))],
  ["rejects with null", () => Promise.reject(null)],
  ["rejects with an object that throws", () => Promise.reject(trap("message"))],
  ["gives undefined", () => undefined],
  ["gives null", () => null],
  ["gives a number", () => 7],
  ["gives NaN", () => Number.NaN],
  ["gives a negative number", () => -1],
  ["gives a symbol", () => Symbol("s")],
  ["gives a function", () => () => SECRET],
  ["gives an object", () => ({ length: 3 })],
  ["gives an object that throws", () => trap("kind")],
  ["gives a promise-like that throws", () => trap("then")],
  ["gives an array of nonsense", () => [1, null, undefined, {}]],
  ["gives an array that claims to be huge", () => new Array(4_294_967_295)],
  ["gives a million names and one", () => new Array(1_000_001).fill("a")],
  ["gives names that escape", () => ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b/../../c", "a\u0000b"]],
  ["gives an array that throws", () => new Proxy(["a"], { get: () => { throw new Error(SECRET); } })],
  ["gives a lone surrogate", () => "\ud800"],
];

/** A store all of whose methods do this. */
function hostile(give: () => unknown): StorePort {
  const store = new MapStore();
  for (const method of ["read", "write", "edit", "list", "stat", "remove", "search"]) Reflect.set(store, method, give);
  return store;
}

const CALLS = [
  { name: "read_file", args: { path: "/w/a.txt" } },
  { name: "list_dir", args: { path: "/w" } },
  { name: "search_files", args: { path: "/w", pattern: "password" } },
  { name: "find_files", args: { path: "/w", glob: "*" } },
  { name: "write_file", args: { path: "/w/a.txt", content: "a" } },
  { name: "edit_file", args: { path: "/w/a.txt", old_string: "a", new_string: "b" } },
  { name: "append_file", args: { path: "/w/a.txt", content: "a" } },
  { name: "move_file", args: { source: "/w/a.txt", destination: "/w/b.txt" } },
  { name: "make_dir", args: { path: "/w/d" } },
];

for (const [how, give] of ANSWERS) {
  test(`a store that ${how}: a message for each call, and the run goes on`, async () => {
    const middleware = createWorkspacesMiddleware({
      mounts: [{ prefix: "/w", scope: "READ_WRITE", store: hostile(give) }],
      timeLimit: 20_000,
    });
    const { answers, messages } = await play([middleware], CALLS);
    assert.equal(answers.length, CALLS.length);
    assert.equal(at(messages, -1).text, "done");
    for (const answer of answers) {
      assert.ok(answer.text.length > 0);
      assert.doesNotMatch(answer.text, /password@|root:|a trap/u, "what the store says in its errors is not for the model");
    }
    assert.equal(at(answers, 0).status, how === "gives a lone surrogate" ? at(answers, 0).status : "error", at(answers, 0).text);
  });
}

test("the shape of each answer is told in words, before the core sees it", async () => {
  const wrong: [string, unknown, RegExp][] = [
    ["read", 7, /read has to answer a string, and answered a number/u],
    ["read", null, /answered null/u],
    ["edit", -1, /a number of replacements/u],
    ["edit", 1.5, /a number of replacements/u],
    ["list", "a", /an array of strings, and answered a string/u],
    ["list", ["a", 7], /an array of strings, and answered a number/u],
    ["list", new Array(1_000_001).fill("a"), /more than 1000000 names/u],
    ["search", undefined, /answered undefined/u],
    ["stat", 7, /an object or null/u],
    ["stat", { kind: "link" }, /a kind of/u],
    ["stat", { kind: "file", modified: "today" }, /a number as modified/u],
  ];
  for (const [method, answer, message] of wrong) {
    const functions = portFunctions(hostile(() => Promise.resolve(answer)));
    const call: unknown = Reflect.get(functions, method);
    assert.ok(typeof call === "function");
    await assert.rejects(async () => call("/a", "b", "c"), message, method);
  }
});

test("an identity that is none is refused when the store is mounted", () => {
  for (const [identity, message] of [[7, /is a number/u], ["", /is empty/u], [null, /is null/u]] satisfies [unknown, RegExp][]) {
    const store = Object.assign(new MapStore(), { identity });
    const mounts: MountConfig[] = [{ prefix: "/w", scope: "READ_ONLY", store: new MapStore() }];
    Reflect.set(at(mounts, 0), "store", store);
    assert.throws(() => openWorkspaces({ mounts }), message);
  }
});

test("a store that never answers: the time limit ends each call", async () => {
  const middleware = createWorkspacesMiddleware({
    mounts: [{ prefix: "/w", scope: "READ_WRITE", store: hostile(() => new Promise(() => undefined)) }],
    timeLimit: 60,
  });
  const { answers } = await play([middleware], CALLS);
  assert.equal(answers.length, CALLS.length);
  for (const answer of answers) assert.equal(answer.status, "error");
});

test("an answer that comes after the end of its call changes nothing", async () => {
  const store = new MapStore({ "a.txt": "there" });
  const read = store.read.bind(store);
  let answer: (content: string) => void = () => assert.fail("the store was not asked");
  store.read = () => new Promise((resolve) => (answer = resolve));
  const mounts: MountConfig[] = [{ prefix: "/w", scope: "READ_ONLY", store }];
  const late = await openWorkspaces({ mounts, timeLimit: 200 }).call("read_file", { path: "/w/a.txt" });
  assert.equal(late.reason, "timed_out");
  answer("late");
  store.read = read;
  assert.equal(await openWorkspaces({ mounts }).run("read_file", { path: "/w/a.txt" }), "there");
});

test("a store that calls back into its own Workspaces does not lock itself up", async () => {
  const store = new MapStore({ "a.txt": "a", "b.txt": "b" });
  const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store }], timeLimit: 60_000 });
  const read = store.read.bind(store);
  store.read = async (path) => {
    if (path === "/a.txt") await workspaces.run("read_file", { path: "/w/b.txt" });
    return read(path);
  };
  assert.match(await workspaces.run("read_file", { path: "/w/a.txt" }), /a/u);
});

test("a name that no path can hold is left out of a listing and told, and the others stay", () => {
  const { stdout, stderr, status } = runProgram("strange-name.js", { NODE_DEBUG: "paddock" });
  assert.equal(status, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { listed: "fine.txt", found: true, written: "done" });
  assert.match(stderr, /left out of a store's answer: .*a name that is none.*a\/b/u);
});
