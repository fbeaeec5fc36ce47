// The keyboard alone: skip link, g and a letter, the search, the keys shown, and nothing decided by accident.
import assert from "node:assert/strict";
import test from "node:test";
import { quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

const focused = (page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName);

test("the first tab stop skips the navigation", async () => {
  const page = await paddock.visit("/");
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  assert.ok(await skip.evaluate((link) => link === document.activeElement && link.getBoundingClientRect().top >= 0));
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "main");
  quiet(page);
});

test("g and a letter goes to every page of the navigation", async () => {
  const page = await paddock.visit("/");
  const links = await page.locator("nav.side a[data-go]").evaluateAll((all) => all.map((link) => [link.dataset.go, link.pathname]));
  assert.equal(links.length, 10);
  for (const [letter, path] of links) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await page.waitForURL((url) => url.pathname === path);
    await page.waitForSelector("html.js", { state: "attached" });
    assert.equal(await page.locator('nav.side [aria-current="page"]').getAttribute("data-go"), letter);
  }
});

test("the keys are shown, the search is one key away, and letters typed into it are letters", async () => {
  const page = await paddock.visit("/");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.getByText("Walk the list").waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("jkgo?");
  assert.equal(await page.getByRole("searchbox").inputValue(), "jkgo?");
  assert.equal(await page.getByRole("dialog").count(), 0);
  quiet(page);
});

test("j and k walk a list and Enter opens what is chosen", async () => {
  const page = await paddock.visit("/");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  const chosen = page.locator('[data-key-item][aria-current="true"]');
  assert.equal(await chosen.count(), 1);
  const to = await chosen.locator("a[href]").first().getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL(paddock.url + to);
});
