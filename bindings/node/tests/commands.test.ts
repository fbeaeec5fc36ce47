/** Commands: an export of its own, which provides `execute_command` and nothing else, under the same Workspaces. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { HumanMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";

import type * as native from "../native.cjs";
import { createWorkspacesMiddleware, fromConfig, physicalStore } from "../esm/index.js";
import { createCommandsMiddleware } from "../esm/commands.js";
import type { MountConfig } from "../esm/index.js";
import { at, directory, play } from "./support/agents.js";
import { runProgram } from "./support/programs.js";
import { ScriptedModel } from "./support/model.js";

function mounts(place: string, code = directory({ "main.c": "code" })): MountConfig[] {
  return [
    { prefix: "/w", scope: "READ_WRITE", store: physicalStore(place) },
    { prefix: "/code", scope: "READ_ONLY", store: physicalStore(code) },
  ];
}

/** Why this machine cannot run commands; nothing where it can. */
async function missing(): Promise<string | false> {
  const { answers } = await play([createCommandsMiddleware({ mounts: mounts(directory()) })], [
    { name: "execute_command", args: { command: "true" } },
  ]);
  const answer = at(answers, 0);
  return Reflect.get(Object(answer.artifact), "error") === "not_run" ? answer.text : false;
}

const skip = await missing();

test("only execute_command is provided, and what it does is judged by the same Workspaces", { skip }, async () => {
  const place = directory();
  const code = directory({ "main.c": "code" });
  const { model, answers } = await play([createCommandsMiddleware({ mounts: mounts(place, code) })], [
    { name: "execute_command", args: { command: "cat /code/main.c > /w/copy.txt && echo written" } },
    { name: "execute_command", args: { command: "echo x > /code/main.c" } },
    { name: "execute_command", args: { command: "cat /etc/shadow" } },
    { name: "read_file", args: { path: "/w/copy.txt" } },
  ]);
  assert.deepEqual(model.names()[0], ["execute_command"]);
  assert.match(at(answers, 0).text, /written/u);
  assert.equal(readFileSync(join(place, "copy.txt"), "utf8"), "code");
  assert.equal(readFileSync(join(code, "main.c"), "utf8"), "code");
  assert.doesNotMatch(at(answers, 2).text, /root:/u);
  assert.equal(at(answers, 3).status, "error", "file tools are not this middleware's");
});

test("the system message stays as it is: the map is told by the middleware for Workspaces", async () => {
  const model = new ScriptedModel().say("done");
  const middleware = [createCommandsMiddleware({ mounts: mounts(directory()) })];
  await createAgent({ model, systemPrompt: "Be careful.", middleware }).invoke({ messages: [new HumanMessage("go")] });
  assert.equal(at(model.turns, 0).system, "Be careful.");
});

test("the word list answers first", { skip }, async () => {
  const { answers } = await play([createCommandsMiddleware({ mounts: mounts(directory()), commands: { deny: ["rm"] } })], [
    { name: "execute_command", args: { command: "rm -rf /w" } },
  ]);
  assert.equal(at(answers, 0).text, '❌ ERROR: Dangerous command "rm" is not allowed.');
});

for (const order of ["before", "after"]) {
  test(`it stands ${order} the middleware for Workspaces, and each runs its own`, { skip }, async () => {
    const place = directory();
    const both = [createWorkspacesMiddleware({ mounts: mounts(place) }), createCommandsMiddleware({ mounts: mounts(place) })];
    const { model, answers } = await play(order === "after" ? both : [...both].reverse(), [
      { name: "write_file", args: { path: "/w/a.txt", content: "by a tool" } },
      { name: "execute_command", args: { command: "cat a.txt", workspace: "/w" } },
    ]);
    assert.ok(at(model.names(), 0).includes("execute_command") && at(model.names(), 0).includes("read_file"));
    assert.deepEqual(answers.map(({ status }) => status), ["success", "success"], at(answers, 1).text);
    assert.match(at(answers, 1).text, /by a tool/u);
  });
}

test("a variable of commands is seen by them", { skip }, async () => {
  const commands = { env: { GREETING: "hello" } };
  const { answers } = await play([createCommandsMiddleware({ mounts: mounts(directory()), commands })], [
    { name: "execute_command", args: { command: "echo $GREETING there" } },
  ]);
  assert.match(at(answers, 0).text, /hello there/u);
});

test("unknown keys of commands are refused when the middleware is made", () => {
  const options = { mounts: mounts(directory()), commands: {} };
  Reflect.set(options.commands, "alow", true);
  assert.throws(() => createCommandsMiddleware(options), /alow/u);
});

test("from a configuration: only where it has [commands]", { skip }, async () => {
  const config = '[[workspace]]\nprefix = "/w"\nscope = "READ_WRITE"\nmount = { physical = "w" }\n';
  const run = async (text: string) => {
    const place = directory({ "paddock.toml": text, "w/a.txt": "a" });
    const middleware = createCommandsMiddleware(fromConfig(join(place, "paddock.toml"), { home: directory() }));
    const played = await play([middleware], [{ name: "execute_command", args: { command: "cp /w/a.txt /w/b.txt" } }]);
    return { ...played, made: existsSync(join(place, "w/b.txt")) };
  };
  const without = await run(config);
  assert.deepEqual(without.model.names()[0], []);
  assert.equal(at(without.answers, 0).status, "error");
  assert.ok(!without.made);
  const having = await run(`${config}[commands]\n`);
  assert.deepEqual(having.model.names()[0], ["execute_command"]);
  assert.ok(having.made, at(having.answers, 0).text);
});

test("the core of commands runs no file tool, whoever asks it", async () => {
  const { NativeStore, NativeWorkspaces }: typeof native = createRequire(import.meta.url)("../native.cjs");
  const place = directory();
  const given = [{ prefix: "/w", scope: "READ_WRITE", store: NativeStore.physical(place) }];
  const core = NativeWorkspaces.commandsOfMounts(given, {}, "{}");
  const answer = await core.call("write_file", JSON.stringify({ path: "/w/a.txt", content: "a" }), 10_000).answer();
  assert.equal(answer.verdict, "invalid");
  assert.equal(answer.reason, "unknown_tool");
  assert.ok(!existsSync(join(place, "a.txt")));
});

test("what a command changes waits in the System Root, and not where others write", { skip }, () => {
  const home = directory();
  const { status, stderr } = runProgram("one-command.js", { PADDOCK_HOME: home });
  assert.equal(status, 0, stderr);
  const made = readdirSync(home, { encoding: "utf8", recursive: true });
  assert.ok(made.some((path) => path.endsWith("/staged")), made.join("\n"));
});
