/** The failsafes of seeds 001 and 003, each through a real agent: what is denied is a message, and touches nothing. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { createWorkspacesMiddleware, physicalStore } from "../esm/index.js";
import type { AccessScope, MountConfig } from "../esm/index.js";
import { at, directory, MapStore, play, playMounts } from "./support/agents.js";
import type { Asked } from "./support/model.js";

/** One call under these Mounts: its message. */
async function one(mounts: MountConfig[], name: string, args: Asked["args"]) {
  const { answers } = await playMounts(mounts, [{ name, args }]);
  assert.equal(answers.length, 1);
  return at(answers, 0);
}

function mount(prefix: string, scope: AccessScope, rootDir: string): MountConfig {
  return { prefix, scope, store: physicalStore(rootDir) };
}

test("a write where only reading is allowed is denied before the store is asked", async () => {
  const store = new MapStore({ "a.txt": "before" });
  const mounts: MountConfig[] = [
    { prefix: "/code", scope: "READ_ONLY", store },
    { prefix: "/out", scope: "READ_WRITE", store: physicalStore(directory()) },
  ];
  for (const [name, args] of [
    ["write_file", { path: "/code/a.txt", content: "after" }],
    ["edit_file", { path: "/code/a.txt", old_string: "before", new_string: "after" }],
    ["append_file", { path: "/code/a.txt", content: "after" }],
    ["delete_file", { path: "/code/a.txt" }],
    ["make_dir", { path: "/code/d" }],
    ["move_file", { source: "/code/a.txt", destination: "/out/a.txt" }],
  ] satisfies [string, Asked["args"]][]) {
    const message = await one(mounts, name, args);
    assert.equal(message.status, "error", name);
    assert.match(message.text, /^❌ ERROR: /u);
    assert.equal(Reflect.get(message.artifact, "verdict"), "denied", name);
  }
  assert.equal(store.calls, 0);
  assert.equal(store.files.get("/a.txt"), "before");
});

test("a denial says what is allowed instead, in the words of the seed", async () => {
  const message = await one(
    [mount("/project", "READ_ONLY", directory()), mount("/project/workspace", "READ_WRITE", directory())],
    "write_file",
    { path: "/project/src/App.tsx", content: "x" },
  );
  assert.equal(
    message.text,
    '❌ ERROR: Cannot write to protected path "/project/src/App.tsx". Only /project/workspace directory is writable.',
  );
});

test("what no Workspace covers is denied", async () => {
  const mounts = [mount("/w", "READ_WRITE", directory())];
  for (const path of ["/etc/passwd", "/", "/wx/a", "/w2"]) {
    const message = await one(mounts, "write_file", { path, content: "x" });
    assert.equal(message.status, "error", path);
  }
  assert.ok(!existsSync("/w2"));
});

test("no path leads out: traversal, links, other spellings", async () => {
  const outside = directory({ "secret.txt": "top secret" });
  const inside = directory({ "a.txt": "a" });
  symlinkSync(outside, join(inside, "link"));
  const mounts = [mount("/w", "READ_WRITE", inside)];
  for (const path of [
    "../../etc/passwd",
    "/w/../../etc/passwd",
    "/w/../etc/passwd",
    `/w/../../${outside}/secret.txt`,
    "/w/link/secret.txt",
    "/w/..\\..\\etc\\passwd",
    "/w/a\u0000b",
    "",
  ]) {
    const message = await one(mounts, "read_file", { path });
    assert.equal(message.status, "error", path);
    assert.doesNotMatch(message.text, /top secret|root:/u, path);
    assert.ok(!message.text.includes(inside), "no path of the host is told");
    assert.ok(path.includes(outside) || !message.text.includes(outside), "nor where a link leads");
  }
});

test("a relative path starts at the base, and .. is resolved logically", async () => {
  const mounts = [mount("/w", "READ_ONLY", directory({ "a.txt": "here", "d/b.txt": "b" }))];
  const message = await one(mounts, "read_file", { path: "/w/d/../a.txt" });
  assert.match(message.text, /here/u);
  assert.equal(message.status, "success");
});

test("of overlapping Workspaces the longest prefix decides, by whole names", async () => {
  const home = directory({ "a.txt": "outer", "srcx/b.txt": "outer too", "src/c.txt": "shadowed" });
  const src = directory({ "c.txt": "nested" });
  const mounts = [mount("/home", "READ_ONLY", home), mount("/home/src", "READ_WRITE", src)];

  assert.match((await one(mounts, "read_file", { path: "/home/src/c.txt" })).text, /nested/u);
  assert.equal((await one(mounts, "write_file", { path: "/home/src/new.txt", content: "n" })).status, "success");
  assert.equal(readFileSync(join(src, "new.txt"), "utf8"), "n");
  assert.equal((await one(mounts, "write_file", { path: "/home/srcx/new.txt", content: "n" })).status, "error");
  assert.equal((await one(mounts, "write_file", { path: "/home/new.txt", content: "n" })).status, "error");
  const searched = await one(mounts, "search_files", { path: "/home", pattern: "shadowed|nested" });
  assert.match(searched.text, /nested/u);
  assert.doesNotMatch(searched.text, /shadowed/u);
});

test("from a write-only Workspace nothing comes back", async () => {
  const inside = directory({ "there.txt": "old content" });
  const mounts = [mount("/in", "WRITE_ONLY", inside), mount("/code", "READ_ONLY", directory())];
  const over = await one(mounts, "write_file", { path: "/in/there.txt", content: "new" });
  const fresh = await one(mounts, "write_file", { path: "/in/fresh.txt", content: "new" });
  assert.equal(over.status, "success");
  assert.equal(over.text.replace("there.txt", "fresh.txt"), fresh.text);
  assert.deepEqual(over.artifact, fresh.artifact);
  const hit = await one(mounts, "edit_file", { path: "/in/there.txt", old_string: "new", new_string: "newer" });
  const miss = await one(mounts, "edit_file", { path: "/in/there.txt", old_string: "absent", new_string: "x" });
  assert.equal(hit.text, miss.text);
  assert.equal(readFileSync(join(inside, "there.txt"), "utf8"), "newer");
  for (const [name, args] of [
    ["read_file", { path: "/in/there.txt" }],
    ["list_dir", { path: "/in" }],
    ["search_files", { path: "/in", pattern: "new" }],
  ] satisfies [string, Asked["args"]][]) {
    const message = await one(mounts, name, args);
    assert.equal(message.status, "error", name);
    assert.doesNotMatch(message.text, /newer/u);
  }
});

test("a tool that was not offered is guarded all the same", async () => {
  const inside = directory({ "a.txt": "a" });
  const { model, answers } = await playMounts([mount("/w", "READ_ONLY", inside)], [
    { name: "write_file", args: { path: "/w/b.txt", content: "b" } },
    { name: "delete_file", args: { path: "/w/a.txt" } },
    { name: "execute_command", args: { command: "touch /tmp/x" } },
  ]);
  assert.ok(!at(model.names(), 0).includes("write_file"));
  for (const answer of answers) assert.equal(answer.status, "error");
  assert.ok(!existsSync(join(inside, "b.txt")));
  assert.ok(existsSync(join(inside, "a.txt")));
});

test("execute_command is never provided here", async () => {
  const { model } = await playMounts([mount("/w", "READ_WRITE", directory())], []);
  assert.ok(!at(model.names(), 0).includes("execute_command"));
});

test("names that hold secrets are hidden, unless the Mount says otherwise", async () => {
  const inside = directory({ ".env": "KEY=1", "notes.secret": "s", "a.txt": "a" });
  assert.equal((await one([mount("/w", "READ_ONLY", inside)], "read_file", { path: "/w/.env" })).status, "error");
  const open: MountConfig[] = [{ ...mount("/w", "READ_ONLY", inside), hide: [] }];
  assert.match((await one(open, "read_file", { path: "/w/.env" })).text, /KEY=1/u);
  const other: MountConfig[] = [{ ...mount("/w", "READ_ONLY", inside), hide: ["*.secret"] }];
  assert.doesNotMatch((await one(other, "list_dir", { path: "/w" })).text, /secret/u);
});

test("wrong arguments are a message with the way out", async () => {
  const mounts = [mount("/w", "READ_WRITE", directory({ "a.txt": "a" }))];
  const wrong: [string, Asked["args"]][] = [
    ["read_file", {}],
    ["read_file", { path: 7 }],
    ["read_file", { path: null }],
    ["read_file", { pathh: "/w/a.txt" }],
    ["write_file", { path: "/w/a.txt" }],
    ["edit_file", { path: "/w/a.txt", old_string: "absent", new_string: "b" }],
    ["read_file", { path: "/w/absent.txt" }],
    ["read_file", { path: "/w" }],
    ["search_files", { path: "/w", pattern: "(" }],
  ];
  for (const [name, args] of wrong) {
    const message = await one(mounts, name, args);
    assert.equal(message.status, "error", `${name} ${JSON.stringify(args)}`);
    assert.match(message.text, /^❌ ERROR: /u);
  }
  assert.match((await one(mounts, "read_file", { file_path: "/w/a.txt" })).text, /a/u);
});

test("an error of the host is a message, without the host's paths", async () => {
  const inside = directory();
  writeFileSync(join(inside, "closed.txt"), "x", { mode: 0 });
  const message = await one([mount("/w", "READ_ONLY", inside)], "read_file", { path: "/w/closed.txt/below" });
  assert.equal(message.status, "error");
  assert.ok(!message.text.includes(inside));
});

test("facts are the artifact, and text stands in the message once", async () => {
  const message = await one([mount("/w", "READ_ONLY", directory({ "a.txt": "one\ntwo\n" }))], "read_file", { path: "/w/a.txt" });
  assert.equal(message.name, "read_file");
  assert.equal(typeof Reflect.get(message.artifact, "version"), "string");
  assert.equal(Reflect.get(message.artifact, "verdict"), "done");
  assert.ok(!JSON.stringify(message.artifact).includes("two"));
});

test("a link in a directory that another middleware's agent writes decides no Mount", async () => {
  const [shared, outside] = [directory({ "a.txt": "a" }), directory({ "secret.txt": "secret" })];
  const drafts = join(shared, "drafts");
  const told: unknown[] = [];
  const mounts = (): MountConfig[] => [mount("/drafts", "READ_ONLY", drafts)];
  const reading = createWorkspacesMiddleware({ mounts, onError: (error) => told.push(error) });
  const read = async (): Promise<string> => {
    const { answers } = await play([reading], [{ name: "read_file", args: { path: "/drafts/secret.txt" } }]);
    return at(answers, 0).text;
  };
  symlinkSync(outside, drafts);
  assert.match(await read(), /^secret/u, "a person's own link, where no agent writes");
  await one([mount("/shared", "READ_WRITE", shared)], "read_file", { path: "/shared/a.txt" });
  assert.doesNotMatch(await read(), /^secret/u);
  assert.match(String(told.at(-1)), /leads through the link .* in a directory that agents write/u);
});
