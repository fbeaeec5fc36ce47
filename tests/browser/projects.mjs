// Projects: from a template to a preview, out as a Zip and in again as the same; published under an origin of its own, and gone when
// it is revoked.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { accessible, quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

/** Every file of a directory on the host's disk, by its path. */
function tree(name) {
  const top = join(paddock.project.directory, "workspace", name);
  const files = readdirSync(top, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map((file) => [join(file.parentPath, file.name).slice(top.length), readFileSync(join(file.parentPath, file.name), "base64")]).sort());
}

const projectRow = (page, name) => page.locator("#projects").getByRole("row", { name: new RegExp(`workspace/${name}\\b`) });

test("a template becomes a project, is looked at, exported as a Zip, imported, and is the same", async () => {
  const page = await paddock.visit("/projects");
  const card = page.getByRole("region", { name: /vanilla/i });
  await card.getByLabel("Path").fill("/project/workspace/shop");
  await card.getByRole("button", { name: /^Start/ }).click();
  await page.getByRole("status").getByText(/shop is there/).waitFor();

  await projectRow(page, "shop").getByRole("link", { name: "/project/workspace/shop" }).click();
  await page.getByRole("link", { name: "index.html" }).first().click();
  await page.locator(".source").getByText("<title>").waitFor();

  await paddock.go(page, "/projects");
  const downloading = page.waitForEvent("download");
  await projectRow(page, "shop").getByRole("link", { name: /^Zip/ }).click();
  const archive = readFileSync(await (await downloading).path());
  await page.getByLabel("Path").and(page.locator("#i-path")).fill("/project/workspace/again");
  await page.getByLabel("Archive").setInputFiles({ name: "shop.zip", mimeType: "application/zip", buffer: archive });
  await page.getByLabel("Without the one directory around it").check();
  await page.getByRole("button", { name: "Import the Zip" }).click();
  await page.getByRole("status").getByText(/again is there/).waitFor();
  assert.deepEqual(tree("again"), tree("shop"));
  quiet(page);
});

test("a published project is open to whoever has the link, cannot reach the console, and is gone when revoked", async () => {
  paddock.project.write("workspace/shop/spy.html", "<!doctype html><title>spy</title><script src=spy.js></script>");
  paddock.project.write("workspace/shop/spy.js", "window.ran = true;");
  const page = await paddock.visit("/projects");
  const publishing = page.locator("#projects details").filter({ hasText: "Publish /project/workspace/shop" });
  await publishing.locator("summary").click();
  await publishing.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("heading", { name: /is published/ }).waitFor();
  await accessible(page);
  const link = await page.getByRole("link", { name: "Open" }).getAttribute("href");
  assert.notEqual(new URL(link).origin, new URL(paddock.url).origin, "another origin than the console's");

  const visitor = await (await paddock.browser.newContext()).newPage();
  assert.equal((await visitor.goto(link)).status(), 200);
  assert.match(await visitor.content(), /<title>/);

  // The person who is signed in opens it too: what it runs has nothing of their session.
  const spy = await (await paddock.person()).newPage();
  await spy.goto(new URL("spy.html", link).href);
  const seen = await spy.evaluate((url) => fetch(`${url}/api/v1/tokens`, { credentials: "include" }).then((answer) => answer.text(), () => "refused"), paddock.url);
  assert.equal(seen, "refused");

  await paddock.go(page, "/projects");
  await page.locator("#shares").getByRole("button", { name: /^Revoke/ }).first().click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("status").getByText("The share is revoked.").waitFor();
  const gone = (await visitor.goto(link)).status();
  assert.ok([403, 404, 410].includes(gone), `${gone}`);
  quiet(page);
});
