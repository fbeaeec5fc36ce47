// The inbox: a call is shown whole, decided once, edited, rejected with a reason, by mouse or by keys alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { accessible, quiet, until } from "./console.mjs";
import { paddock } from "./stage.mjs";

const CONFLICT = /status of 409/;

/** A call of the agent that has to wait, and how to make it again. */
async function parked(name, content) {
  const call = () => paddock.project.tool("write_file", { path: `/project/workspace/migrations/${name}`, content });
  const { code, stdout, stderr } = await call();
  assert.equal(code, 3, stdout + stderr);
  return call;
}

const onDisk = (name) => readFileSync(join(paddock.project.directory, "workspace/migrations", name), "utf8");
const card = (page, name) => page.getByRole("article", { name: new RegExp(`migrations/${name}`) });

test("an approval shows the whole call, its rule, its diff and how far an approval reaches", async () => {
  await parked("whole.sql", "select 'a\u202eb';\nselect 2;\n");
  const page = await paddock.visit("/approvals");
  const call = card(page, "whole.sql");
  const text = await call.textContent();
  for (const part of ["write_file", "/project/workspace/migrations/whole.sql", "main", "paddock.toml:", "select 2;", "+2", "U+202E"]) {
    assert.ok(text.includes(part), `${part} is missing in ${text}`);
  }
  assert.ok(!text.includes("\u202e"), "what deceives is shown, not passed on");
  assert.equal(await call.getByRole("radio").count(), 4);
  assert.ok(await call.getByRole("radio", { name: /^Once/ }).isChecked());
  assert.match(await call.locator(".reach", { hasText: "Always" }).textContent(), /grants|paddock\.toml|Withheld/);
  quiet(page);
});

test("an approval with edited arguments runs what the person wrote", async () => {
  const call = await parked("edited.sql", "drop table apples;\n");
  const page = await paddock.visit("/approvals");
  await card(page, "edited.sql").getByRole("link", { name: /^Edit/ }).click();
  await accessible(page);
  assert.equal(await page.getByLabel("content", { exact: true }).inputValue(), "drop table apples;\n");
  await page.getByLabel("content", { exact: true }).fill("select * from apples;\n");
  await page.getByRole("button", { name: "Approve with these arguments" }).click();
  await page.getByRole("status").getByText(/Approved/).waitFor();
  const { code, stdout, stderr } = await call();
  assert.equal(code, 0, stdout + stderr);
  assert.equal(onDisk("edited.sql"), "select * from apples;\n");
  quiet(page);
});

test("no key decides about a call that nobody has chosen", async () => {
  await parked("chosen.sql", "select 3;\n");
  const page = await paddock.visit("/approvals");
  const before = await page.getByRole("article").count();
  for (const key of ["a", "r", "e", "Enter"]) {
    await page.keyboard.press(key);
    // The letter of a decision shows first which call it would be about.
    assert.equal(await page.locator('[data-key-item][aria-current="true"]').count(), key === "Enter" ? 0 : 1);
    await paddock.go(page, "/approvals");
    assert.equal(await page.getByRole("article").count(), before);
  }
  quiet(page);
});

test("on the page of one call the letters are about it", async () => {
  const call = await parked("alone.sql", "select 5;\n");
  const page = await paddock.visit("/approvals");
  await card(page, "alone.sql").getByRole("heading").getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: /^Approval/ }).waitFor();
  await accessible(page);
  // Shown by the module that hears the keys.
  await page.locator("[data-keys-help]:not([hidden])").first().waitFor();
  await page.keyboard.press("a");
  await page.getByRole("status").getByText(/Approved/).waitFor();
  const { code, stdout, stderr } = await call();
  assert.equal(code, 0, stdout + stderr);
  quiet(page);
});

test("by keys alone: choose, reject with a reason, which the agent is told", async () => {
  const call = await parked("refused.sql", "select 4;\n");
  const page = await paddock.visit("/approvals");
  const chosen = page.locator('[data-key-item][aria-current="true"]');
  await until("the call is chosen", async () => {
    await page.keyboard.press("j");
    return (await chosen.textContent()).includes("refused.sql");
  });
  await page.keyboard.press("r");
  await page.keyboard.type("write a test first");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText(/Rejected/).waitFor();
  const { code, stdout, stderr } = await call();
  assert.equal(code, 1);
  assert.match(stdout + stderr, /write a test first/);
  quiet(page);
});

test("a second decision is refused and says who decided", async () => {
  await parked("twice.sql", "select 5;\n");
  const [first, second] = [await paddock.visit("/approvals"), await paddock.visit("/approvals")];
  await second.waitForSelector("html.js", { state: "attached" });
  // The second page stands still, as one whose connection is gone.
  await second.evaluate(() => document.querySelector("#inbox").removeAttribute("data-live"));
  await card(first, "twice.sql").getByRole("button", { name: /^Approve/ }).click();
  await first.getByRole("status").getByText(/Approved/).waitFor();
  await card(second, "twice.sql").getByRole("button", { name: /^Approve/ }).click();
  await second.getByRole("alert").waitFor();
  assert.match(await second.textContent("main"), /already|decided|approved/);
  quiet(first);
  quiet(second, CONFLICT);
});

test("a call that arrives leaves alone what someone is typing about another", async () => {
  await parked("typing.sql", "select 6;\n");
  const page = await paddock.visit("/approvals");
  await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
  await card(page, "typing.sql").getByText("Reject", { exact: false }).first().click();
  const reason = card(page, "typing.sql").getByLabel("Reason, for the agent");
  await reason.pressSequentially("this is ");
  await parked("arrives.sql", "select 7;\n");
  await card(page, "arrives.sql").waitFor();
  await page.keyboard.type("not needed");
  assert.equal(await reason.inputValue(), "this is not needed");
  quiet(page);
});

test("always is a grant that is listed and can be revoked", async () => {
  const call = await parked("granted.sql", "select 8;\n");
  const page = await paddock.visit("/approvals");
  await card(page, "granted.sql").getByRole("radio", { name: /^This exact call/ }).check();
  await card(page, "granted.sql").getByRole("button", { name: /^Approve/ }).click();
  await page.getByRole("status").getByText(/Approved/).waitFor();
  assert.equal((await call()).code, 0);
  await paddock.go(page, "/grants");
  await accessible(page);
  await page.getByRole("button", { name: /^Revoke/ }).first().click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("status").getByText(/Revoked/).waitFor();
  assert.equal((await call()).code, 3, "it is asked again");
  quiet(page);
});
