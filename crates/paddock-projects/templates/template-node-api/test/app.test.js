import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { app } from "../src/app.js";

const server = app();
let at;

before(async () => {
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  at = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());

const post = (path, body) => fetch(at + path, { method: "POST", body });

test("it is healthy", async () => {
  const answer = await fetch(`${at}/health`);
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), { ok: true });
});

test("a note is kept, found and deleted", async () => {
  const made = await post("/notes", JSON.stringify({ text: "buy hay" }));
  assert.equal(made.status, 201);
  const note = await made.json();
  const found = await fetch(`${at}/notes/${note.id}`);
  assert.deepEqual(await found.json(), note);
  const deleted = await fetch(`${at}/notes/${note.id}`, { method: "DELETE" });
  assert.equal(deleted.status, 204);
  assert.equal((await fetch(`${at}/notes/${note.id}`)).status, 404);
});

test("what is no note is refused", async () => {
  assert.equal((await post("/notes", "{")).status, 400);
  assert.equal((await post("/notes", "{}")).status, 400);
  assert.equal((await post("/notes", JSON.stringify({ text: "x".repeat(70_000) }))).status, 413);
  assert.equal((await fetch(`${at}/nothing`)).status, 404);
  assert.equal((await fetch(`${at}/notes`, { method: "PUT" })).status, 405);
});
