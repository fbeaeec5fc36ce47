// A command that deletes: what it changed waits, the card shows it, and a person who approves has exactly that made, without the
// command being run again.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { accessible, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

const place = (name) => join(paddock.project.directory, "workspace", name);

/** A command that deletes a file and adds a line to another: by itself another line with each run. */
async function held(name, line = "mktemp -u XXXXXXXXXXXX") {
  paddock.project.write(`workspace/${name}.txt`, "worth keeping\n");
  const command = `find . -name ${name}.txt -delete; ${line} >> ${name}.log; echo swept`;
  const call = () => paddock.project.tool("execute_command", { command });
  const { code, stdout, stderr } = await call();
  assert.equal(code, 3, stdout + stderr);
  assert.ok(existsSync(place(`${name}.txt`)) && !existsSync(place(`${name}.log`)), "nothing is changed before somebody decides");
  return call;
}

const card = (page, name) => page.getByRole("article", { name: new RegExp(`${name}\\.txt`) });

test("a command that deletes is held, shows what it changed, and is made as it is when it is approved", async () => {
  const call = await held("sweep");
  const page = await paddock.visit("/approvals");
  const waiting = card(page, "sweep");
  await waiting.getByText("What the command changed").waitFor();
  assert.match(await waiting.getByRole("heading", { level: 2 }).textContent(), /execute_command find \. -name sweep\.txt -delete/);
  const changed = async (name) => {
    const file = waiting.locator("[data-diff]", { has: page.getByRole("heading", { name: `/project/workspace/${name}` }) });
    return { gone: await file.locator("del").allTextContents(), come: await file.locator("ins").allTextContents() };
  };
  assert.deepEqual(await changed("sweep.txt"), { gone: ["worth keeping"], come: [] });
  const log = await changed("sweep.log");
  assert.deepEqual([log.gone, log.come.length], [[], 1]);
  // What was done already is no call whose arguments could still be others.
  assert.equal(await waiting.getByRole("link", { name: /^Edit/ }).count(), 0);
  await accessible(page);

  await waiting.getByRole("button", { name: /^Approve/ }).click();
  await page.getByRole("status").getByText(/Approved/).waitFor();
  assert.ok(!existsSync(place("sweep.txt")), "it is deleted");
  const words = readFileSync(place("sweep.log"), "utf8");
  assert.equal(words, `${log.come[0]}\n`, "what was shown is what was made, and the command was not run again");

  const told = await call();
  assert.equal(told.code, 0, told.stdout + told.stderr);
  assert.match(told.stdout, /swept/);
  assert.equal(readFileSync(place("sweep.log"), "utf8"), words, "the agent hears of it without running it again");
  quiet(page);
});

test("what a command changed is gone when it is rejected, and the agent is told why", async () => {
  // The same change each time: another one would be asked about anew.
  const call = await held("keep", "echo swept");
  const page = await paddock.visit("/approvals");
  await card(page, "keep").getByText("Reject", { exact: false }).first().click();
  await card(page, "keep").getByLabel("Reason, for the agent").fill("we still need it");
  await card(page, "keep").getByRole("button", { name: "Reject the call" }).click();
  await page.getByRole("status").getByText(/Rejected/).waitFor();
  assert.equal(readFileSync(place("keep.txt"), "utf8"), "worth keeping\n");
  assert.ok(!existsSync(place("keep.log")));
  const { code, stdout, stderr } = await call();
  assert.equal(code, 1, stdout + stderr);
  assert.match(stdout + stderr, /we still need it/);
  quiet(page);
});
