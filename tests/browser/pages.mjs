// Every page, in both themes and on a phone: no violation that axe finds, nothing wider than the screen, no error, and
// readable without scripts.
import assert from "node:assert/strict";
import test from "node:test";
import { PHONE, accessible, fits, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

/** Every page that has an address of its own, however little is there. What stands behind ids is looked at where it is made. */
const PAGES = [
  "/",
  "/files",
  "/files/project/workspace",
  "/search",
  "/search?q=apples",
  "/approvals",
  "/approvals?which=decided",
  "/grants",
  "/forks",
  "/forks/faster-greeting",
  "/activity",
  "/why",
  "/why?operation=write&path=src/App.tsx",
  "/threads",
  "/instances",
  "/projects",
  "/settings",
  "/settings/config",
  "/settings/doctor",
  "/settings/about",
];
/** What a browser says about a page that is not there, and is meant not to be. */
const MISSING = /status of 404/;

let wide, phone, plain;

for (const path of [...PAGES, "/nowhere"]) {
  test(`${path} stands in both themes, on a phone and without scripts`, async () => {
    wide ??= await paddock.person();
    phone ??= await paddock.person({ viewport: PHONE, hasTouch: true, isMobile: true });
    plain ??= await paddock.person({ javaScriptEnabled: false });
    for (const context of [wide, phone]) {
      const page = await paddock.visit(path, { context });
      assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1, "one heading of the first level");
      await fits(page);
      if (context === wide) await accessible(page);
      quiet(page, path === "/nowhere" ? MISSING : undefined);
      await page.close();
    }
    const page = await plain.newPage();
    await page.goto(paddock.url + path);
    assert.ok((await page.textContent("main")).trim().length > 20);
    await page.close();
  });
}

/** What a page had fetched beside itself, as the browser counted it. */
async function fetched(page) {
  await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
  const parts = await page.evaluate(() => performance.getEntriesByType("resource").map((part) => part.toJSON()));
  const assets = parts.filter(({ name }) => name.includes("/assets/"));
  const sum = (field) => assets.reduce((all, part) => all + part[field], 0);
  return { names: assets.map(({ name }) => name), sent: sum("transferSize"), packed: sum("encodedBodySize"), plain: sum("decodedBodySize") };
}

test("what a page is made of is sent packed, each part once, and never again to who has it", async () => {
  const context = await paddock.person();
  const page = await context.newPage();
  await page.goto(`${paddock.url}/`, { waitUntil: "load" });
  const first = await fetched(page);
  assert.ok(first.names.length > 3 && new Set(first.names).size === first.names.length, first.names.join("\n"));
  assert.ok(first.packed * 2 < first.plain, `${first.packed} of ${first.plain} bytes`);
  for (const path of ["/activity", "/", "/activity"]) {
    await page.goto(paddock.url + path, { waitUntil: "load" });
    const { sent } = await fetched(page);
    assert.ok(sent * 2 < first.sent, `${path}: ${sent} of ${first.sent} bytes`);
  }
  await context.close();
});
