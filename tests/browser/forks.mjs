// Forks: what an agent did in a copy is seen, applied as one act that can be undone, discarded after a question; what changed on
// both sides stands side by side and stops the apply.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { PHONE, accessible, fits, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

const onDisk = (name) => readFileSync(join(paddock.project.directory, "workspace", name), "utf8");

test("a fork is made, worked on, looked at and applied, and the apply is undone", async () => {
  const page = await paddock.visit("/forks");
  await page.getByLabel("Workspace").selectOption("/project/workspace");
  await page.getByLabel("Name").fill("louder");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("status").getByText(/Forked/).waitFor();
  const { code, stdout, stderr } = await paddock.project.tool("edit_file", { path: "/forks/louder/app.py", old_string: 'f"hello', new_string: 'f"HELLO' });
  assert.equal(code, 0, stdout + stderr);
  const before = onDisk("app.py");
  await page.locator(".diff ins", { hasText: "HELLO" }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Side by side" }).first().click();
  await page.locator("table.diff.sides ins", { hasText: "HELLO" }).waitFor();
  await accessible(page);
  await page.setViewportSize(PHONE);
  await fits(page);

  await page.getByRole("button", { name: /^Apply/ }).click();
  await page.getByRole("status").getByText(/Applied/).waitFor();
  assert.match(onDisk("app.py"), /HELLO/);
  await page.getByRole("button", { name: /^Undo/ }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Undo" }).click();
  for (let tries = 0; tries < 400 && onDisk("app.py") !== before; tries += 1) await page.waitForTimeout(50);
  assert.equal(onDisk("app.py"), before);
  quiet(page);
});

test("what changed on both sides stands side by side, and nothing is applied", async () => {
  await paddock.project.must("fork", "/project/workspace", "clash");
  await paddock.project.done("write_file", { path: "/forks/clash/orders.py", content: "ORDERS = {}\n" });
  await paddock.project.done("write_file", { path: "/project/workspace/orders.py", content: "ORDERS = set()\n" });
  const page = await paddock.visit("/forks/clash");
  const sides = page.locator("table.diff.sides");
  assert.match(await sides.textContent(), /set\(\)/);
  assert.match(await sides.textContent(), /\{\}/);
  assert.equal(await page.getByRole("button", { name: /^Apply/ }).count(), 0);
  await accessible(page);
  quiet(page);
});

test("a fork is discarded after what is lost was seen", async () => {
  const page = await paddock.visit("/forks/clash");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByText(/orders\.py/).first().waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("status").getByText(/clash/).waitFor();
  await paddock.go(page, "/forks");
  assert.equal(await page.getByRole("link", { name: "clash" }).count(), 0);
  quiet(page);
});
