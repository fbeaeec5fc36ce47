// Activity and why: a denied act is found, explained down to the line of the file, with what would allow it; the audit is checked and exported.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { accessible, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

test("a denied act is seen as it happens and explained: the rule, its line, the way out", async () => {
  const page = await paddock.visit("/activity");
  await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
  const { code } = await paddock.project.tool("write_file", { path: "/project/src/Shop.tsx", content: "x" });
  assert.equal(code, 1);
  const row = page.getByRole("row", { name: /Shop\.tsx/ });
  await row.waitFor();
  await row.getByRole("link", { name: "why?" }).click();
  await page.getByText("denied", { exact: true }).first().waitFor();
  const text = await page.textContent("main");
  assert.match(text, /paddock\.toml:\d+/, "the rule and its line");
  assert.match(text, /READ_ONLY/);
  assert.match(text, /\/project\/workspace/, "where it is allowed");
  assert.match(text, /READ_WRITE/, "what would allow it");
  await accessible(page);
  quiet(page);
});

test("the filters find what they say", async () => {
  const page = await paddock.visit("/activity");
  await page.getByLabel("Outcome").selectOption("denied");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL(/outcome=denied/);
  const outcomes = await page.locator("#acts tbody .outcome").allTextContents();
  assert.ok(outcomes.length >= 2 && outcomes.every((word) => word === "denied"), outcomes.join());
  await page.getByLabel("Agent", { exact: true }).selectOption("reviewer");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("Nothing fits").waitFor();
  await accessible(page);
  quiet(page);
});

test("one call is shown with all that is known about it", async () => {
  const page = await paddock.visit("/activity?tool=append_file");
  await page.getByRole("link", { name: /append_file.*orders\.py/ }).first().click();
  await page.getByText("/project/workspace/orders.py").first().waitFor();
  await accessible(page);
  quiet(page);
});

test("the audit is verified and exported whole", async () => {
  const page = await paddock.visit("/activity");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByRole("status").getByText(/as they were written/).waitFor();
  await accessible(page);
  await paddock.go(page, "/activity");
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export" }).click();
  const lines = readFileSync(await (await downloading).path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.some((row) => row.outcome === "denied") && lines.length > 10, `${lines.length} rows`);
  quiet(page);
});
