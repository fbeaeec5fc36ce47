/** What a person says wrong is refused when it is said, in words that name it and what was meant. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { InMemoryStore } from "@langchain/langgraph-checkpoint";

import { baseStore, createWorkspacesMiddleware, fromConfig, openWorkspaces, overlayStore, physicalStore, virtualStore } from "../esm/index.js";
import { createCommandsMiddleware } from "../esm/commands.js";
import type { MountConfig } from "../esm/index.js";
import { at, directory, MapStore, playMounts } from "./support/agents.js";

/** Calls a function with what its types do not allow, as a program in JavaScript can. */
function untyped(call: (...given: never[]) => unknown, ...given: unknown[]): unknown {
  return Reflect.apply(call, undefined, given);
}

const mount = (): MountConfig => ({ prefix: "/w", scope: "READ_WRITE", store: physicalStore(directory()) });

const MAKERS: [string, (...given: never[]) => unknown][] = [
  ["createWorkspacesMiddleware", createWorkspacesMiddleware],
  ["openWorkspaces", openWorkspaces],
  ["createCommandsMiddleware", createCommandsMiddleware],
];

const WRONG: [string, Record<string, unknown>, RegExp][] = [
  ["a misspelt one", { agnet: "a" }, /has no "agnet"\nhint: did you mean "agent"\?/u],
  ["one in other letters", { toolnames: "deepagents" }, /did you mean "toolNames"\?/u],
  ["one of a configuration", { home: "/tmp" }, /has no "home"\nhint: it has "mounts"/u],
  ["an agent that is no text", { agent: 5 }, /"agent" of \w+ must be a string, not a number/u],
  ["an agent that cannot be one", { agent: "two words" }, /cannot name an agent/u],
  ["no names of tools", { toolNames: null }, /"toolNames" of \w+ must be a string or an object of strings, not null/u],
  ["a list of names of tools", { toolNames: [] }, /must be a string or an object of strings, not an array of strings/u],
  ["names of tools that are none", { toolNames: { read_file: 5 } }, /must be a string or an object of strings, not an object/u],
  ["a preset that there is none of", { toolNames: "deepagent" }, /deepagent/u],
  ["a time limit in words", { timeLimit: "5 s" }, /"timeLimit" of \w+ must be a number, not a string/u],
  ["no function to tell", { onError: "log" }, /"onError" of \w+ must be a function/u],
  ["a base in no Workspace", { base: "/nope" }, /the base "\/nope" is in no Workspace and on the way to none\nhint: start at the prefix/u],
  ["a base that is relative", { base: "w" }, /does not start with "\/"/u],
  ["a base that is no text", { base: null }, /"base" of \w+ must be a string, not null/u],
];

for (const [maker, make] of MAKERS) {
  for (const [what, wrong, message] of WRONG) {
    test(`${maker} refuses ${what}`, () => {
      assert.throws(() => untyped(make, { mounts: [mount()], ...wrong }), message);
    });
  }
  test(`${maker} needs Mounts, and takes what is undefined for absent`, () => {
    assert.throws(() => untyped(make, {}), /needs "mounts"/u);
    assert.throws(() => untyped(make, undefined), /takes an object, and this is undefined/u);
    assert.throws(() => untyped(make, { mounts: { prefix: "/w" } }), /"mounts" of \w+ must be an array of Mounts/u);
    assert.ok(untyped(make, { mounts: [mount()], agent: undefined, base: undefined, config: undefined, toolNames: undefined }));
    assert.ok(untyped(make, { mounts: [{ ...mount(), prefix: "/a/b" }], base: "/a" }), "the way to a Workspace is a place to start");
  });
}

test("a base of Workspaces that are others each time is wherever it is", () => {
  assert.ok(createWorkspacesMiddleware({ mounts: () => [mount()], base: "/elsewhere" }));
});

const WRONG_MOUNTS: [unknown, RegExp][] = [
  [{ ...mount(), hdie: [".env"] }, /a Mount has no "hdie"\nhint: did you mean "hide"\?/u],
  [{ ...mount(), hide: ".env" }, /"hide" of a Mount must be an array of strings, not a string/u],
  [{ ...mount(), hide: [".env", 5] }, /"hide" of a Mount must be an array of strings, not an array/u],
  [{ ...mount(), hide: ["# all"] }, /hides nothing/u],
  [{ ...mount(), hide: ["!a"] }, /excepts from the patterns before it/u],
  [{ ...mount(), hide: [""] }, /hides nothing/u],
  [{ ...mount(), prefix: 5 }, /"prefix" of a Mount must be a string, not a number/u],
  [{ ...mount(), scope: "READ" }, /READ_ONLY/u],
  [{ prefix: "/w", scope: "READ_ONLY" }, /a Mount needs "store"/u],
  [null, /a Mount takes an object, and this is null/u],
];

for (const [wrong, message] of WRONG_MOUNTS) {
  test(`a Mount is refused with ${message.source}`, () => {
    assert.throws(() => untyped(createWorkspacesMiddleware, { mounts: [wrong] }), message);
  });
}

test("two Mounts of one prefix are told as such", () => {
  assert.throws(() => openWorkspaces({ mounts: [mount(), mount()] }), /two Mounts have the prefix "\/w"\nhint: give each Mount a prefix of its own/u);
});

test("one place of a JavaScript store has one Access Scope, however often it is mounted", () => {
  const both = (first: MountConfig["store"], second: MountConfig["store"]) =>
    openWorkspaces({ mounts: [{ prefix: "/a", scope: "READ_ONLY", store: first }, { prefix: "/b", scope: "READ_WRITE", store: second }] });
  const [langgraph, object] = [new InMemoryStore(), new MapStore()];
  assert.throws(() => both(baseStore(langgraph, ["w"]), baseStore(langgraph, ["w"])), /scopes that disagree/u);
  assert.throws(() => both(object, object), /scopes that disagree/u);
  assert.ok(both(baseStore(langgraph, ["w"]), baseStore(langgraph, ["w", "x"])));
  assert.ok(both(new MapStore(), new MapStore()));
});

test("commands are refused beside a Workspace that stands where they find their system", () => {
  assert.throws(() => createCommandsMiddleware({ mounts: [{ ...mount(), prefix: "/usr" }] }), /beside commands no Workspace can show "\/usr"/u);
  assert.throws(() => untyped(createCommandsMiddleware, { mounts: [mount()], commands: { dney: ["rm"] } }), /"dney"[\s\S]*did you mean "deny"\?/u);
});

test("a configuration takes its own options and no others", () => {
  const config = join(directory({ "paddock.toml": "" }), "paddock.toml");
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ agnet: "a" }, /fromConfig has no "agnet"\nhint: did you mean "agent"\?/u],
    [{ base: "/w" }, /fromConfig has no "base"/u],
    [{ agent: 5 }, /"agent" of fromConfig must be a string/u],
    [{ home: 5 }, /"home" of fromConfig must be a string/u],
    [{ mounts: [] }, /fromConfig has no "mounts"/u],
  ];
  for (const [options, message] of wrong) {
    assert.throws(() => untyped(createWorkspacesMiddleware, untyped(fromConfig, config, options)), message);
  }
  assert.throws(() => untyped(openWorkspaces, untyped(fromConfig, 5)), /"config" of fromConfig must be a string/u);
  assert.throws(() => openWorkspaces(fromConfig("nowhere.toml")), /there is no file "nowhere\.toml"\nhint: give fromConfig the path/u);
});

test("Stores are refused with what to give in their place", () => {
  const store = new InMemoryStore();
  assert.throws(() => untyped(physicalStore, 5), /"rootDir" of physicalStore must be a string, not a number/u);
  assert.throws(() => untyped(physicalStore), /physicalStore needs "rootDir"/u);
  assert.throws(() => untyped(virtualStore, { namspace: ["a"] }), /virtualStore has no "namspace"\nhint: did you mean "namespace"\?/u);
  assert.throws(() => untyped(virtualStore, { namespace: "a" }), /"namespace" of virtualStore must be an array of strings, not a string/u);
  assert.throws(() => untyped(virtualStore, { url: 5, namespace: ["a"] }), /"url" of virtualStore must be a string/u);
  assert.throws(() => virtualStore({ url: "memory", namespace: [] }), /at least one label/u);
  assert.throws(() => untyped(baseStore, store, "a"), /"namespace" of baseStore must be an array of strings, not a string/u);
  assert.throws(() => baseStore(store, []), /at least one label/u);
  assert.throws(() => baseStore(store, ["a", ""]), /LangGraph takes no namespace with the label "": it is empty/u);
  assert.throws(() => baseStore(store, ["a.b"]), /with the label "a\.b": it holds a "\."/u);
  assert.throws(() => baseStore(store, ["langgraph", "a"]), /keeps the namespace "langgraph" for itself/u);
  assert.ok(baseStore(store, ["a", "langgraph"]));
  assert.throws(() => untyped(overlayStore, physicalStore(directory()), 5), /a Store has to be made by/u);
  assert.throws(() => untyped(overlayStore, physicalStore(directory()), new MapStore()), /has to be a Virtual Store/u);
});

test("what is told where a program gives the Workspaces is what can be done in a program", async () => {
  const place = directory({ ".git/config": "" });
  const empty = await playMounts([], [{ name: "read_file", args: { path: "/w/a" } }]);
  const guarded = await playMounts([{ prefix: "/w", scope: "READ_WRITE", store: physicalStore(place) }], [
    { name: "write_file", args: { path: "/w/.git/hooks/pre-commit", content: "x" } },
    { name: "write_file", args: { path: "/w/one", content: "x" } },
  ]);
  assert.match(at(empty.model.turns, 0).system, /A person can add one to the mounts of the program/u);
  assert.match(at(empty.answers, 0).text, /A person can add one to the mounts of the program/u);
  assert.match(at(guarded.answers, 0).text, /guarded path[\s\S]*A person has to do it\./u);
  assert.match(at(guarded.answers, 1).text, /\(1 byte, new file\)/u);
  const told = [...empty.model.turns, ...guarded.model.turns].map(({ system }) => system).concat([...empty.answers, ...guarded.answers].map(({ text }) => text));
  assert.doesNotMatch(told.join("\n"), /paddock init|paddock\.toml|unguard|--config/u);
  assert.throws(() => openWorkspaces({ mounts: [{ ...mount(), scope: "READ_ONLY", store: physicalStore("./nowhere") }] }), /relative to where the program runs/u);
});
