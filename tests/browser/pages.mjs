// Every page, in both themes and on a phone: no violation that axe finds, nothing wider than the screen, no error, and
// readable without scripts.
import assert from "node:assert/strict";
import test from "node:test";
import { PHONE, accessible, fits, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

const PAGES = ["/", "/files", "/approvals", "/forks", "/activity", "/why", "/threads", "/instances", "/projects", "/settings"];
/** What a browser says about a page that is not there, and is meant not to be. */
const MISSING = /status of 404/;

let light, dark, phone, plain;

for (const path of [...PAGES, "/nowhere"]) {
  test(`${path} stands in both themes, on a phone and without scripts`, async () => {
    light ??= await paddock.person();
    dark ??= await paddock.person({ colorScheme: "dark" });
    phone ??= await paddock.person({ viewport: PHONE, hasTouch: true, isMobile: true });
    plain ??= await paddock.person({ javaScriptEnabled: false });
    for (const context of [light, dark, phone]) {
      const page = await paddock.visit(path, { context });
      assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1, "one heading of the first level");
      await fits(page);
      if (context !== phone) await accessible(page);
      quiet(page, path === "/nowhere" ? MISSING : undefined);
      await page.close();
    }
    const page = await plain.newPage();
    await page.goto(paddock.url + path);
    assert.ok((await page.textContent("main")).trim().length > 20);
    await page.close();
  });
}

test("the first page is small", async () => {
  const context = await paddock.person();
  const page = await context.newPage();
  let bytes = 0;
  page.on("response", async (response) => {
    const sizes = await response.request().sizes().catch(() => undefined);
    bytes += (sizes?.responseBodySize ?? 0) + (sizes?.responseHeadersSize ?? 0);
  });
  await page.goto(`${paddock.url}/`, { waitUntil: "load" });
  await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
  assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
  await context.close();
});
