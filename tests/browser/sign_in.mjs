// Signing in: once per link, with a cookie that no script can read, and out again.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

/** A browser that nobody has signed in, at an address. */
async function stranger(address) {
  const context = await paddock.browser.newContext();
  const page = await context.newPage();
  const response = await page.goto(address);
  return { page, status: response.status(), context };
}

test("a sign-in link opens the console, once", async () => {
  const link = await paddock.link();
  const first = await stranger(link);
  assert.equal(first.status, 200);
  await first.page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  assert.ok(!first.page.url().includes("login"), "the link does not stay in the address");

  const second = await stranger(link);
  assert.equal(second.status, 403);
  await second.page.getByText("paddock login").waitFor();
  await accessible(second.page);
  assert.equal((await second.page.goto(`${paddock.url}/`)).status(), 401);
});

test("the cookie of a session is out of reach of scripts", async () => {
  const page = await paddock.visit("/");
  const seen = await page.evaluate(() => document.cookie);
  assert.ok(!seen.includes("session"), seen);
  quiet(page);
});

test("who is not signed in sees how to get in, and nothing of the project", async () => {
  for (const path of ["/", "/files/project/README.md", "/approvals", "/nowhere"]) {
    const { page, status } = await stranger(paddock.url + path);
    assert.equal(status, 401, path);
    const text = await page.textContent("body");
    assert.ok(text.includes("paddock login") && !text.includes("orchard"), text);
  }
});

test("signing out ends the session", async () => {
  const { page } = await stranger(await paddock.link());
  await page.goto(`${paddock.url}/settings`);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("paddock login").waitFor();
  assert.equal((await page.goto(`${paddock.url}/settings`)).status(), 401);
});
