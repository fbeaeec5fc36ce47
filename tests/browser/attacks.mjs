// Stored attacks: names, contents, audit texts and tokens that would run in a page that took them for markup.
// They must be seen as text, and nothing may run; the content security policy is the second line, so it must have nothing to refuse.
import assert from "node:assert/strict";
import test from "node:test";
import { quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

const TAG = "<img src=x onerror=window.stolen=1>";
const NAME = `"'${TAG}.html`;
const TEXT = `<script>window.stolen=1</script>${TAG}</pre></code><svg onload=window.stolen=1>\n`;
const MARKDOWN = `# ${TAG}\n\n[a](javascript:window.stolen=1) ![b](javascript:window.stolen=1)\n\n<iframe srcdoc="${TEXT.trim()}"></iframe>\n\n<details ontoggle=window.stolen=1 open>x</details>\n`;
/** What is no path or no pattern is refused as such. */
const REFUSED = /status of 400/;
const PLACE = "/project/workspace/attacks";

/** Nothing ran, nothing of the attack became an element. */
async function harmless(page, expected) {
  assert.equal(await page.evaluate(() => globalThis.stolen), undefined);
  const found = await page.evaluate(() => {
    const attributes = [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes]);
    const handlers = attributes.filter(({ name }) => name.startsWith("on"));
    const links = attributes.filter(({ name, value }) => /^(href|src|action)$/.test(name) && /^\s*javascript:/i.test(value));
    return [...handlers, ...links].map(({ name, value }) => `${name}=${value}`).concat([...document.querySelectorAll("iframe, object, embed, main script")].map((element) => element.tagName));
  });
  assert.deepEqual(found, []);
  quiet(page, expected);
}

test("hostile file names and contents are text in the listing and the preview", async () => {
  paddock.project.write(`workspace/attacks/${NAME}`, TEXT);
  paddock.project.write("workspace/attacks/readme.md", MARKDOWN);
  paddock.project.write("workspace/attacks/picture.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="window.stolen=1"><script>window.stolen=1</script></svg>`);
  const page = await paddock.visit(`/files${PLACE}`);
  await harmless(page);
  await page.getByRole("link", { name: NAME }).click();
  await page.getByText("<script>window.stolen=1</script>").first().waitFor();
  await harmless(page);
  for (const name of ["readme.md", "picture.svg"]) {
    await paddock.go(page, `/files${PLACE}/${name}`);
    await harmless(page);
  }
});

test("a raw file never runs in the console's origin", async () => {
  const page = await paddock.visit(`/files${PLACE}`);
  for (const name of [NAME, "picture.svg"]) {
    await paddock.go(page, `/files${PLACE}/${encodeURIComponent(name)}`);
    const href = await page.getByRole("link", { name: "Download" }).first().getAttribute("href");
    const response = await page.request.get(paddock.url + href);
    const headers = response.headers();
    assert.equal(response.status(), 200);
    assert.equal(headers["x-content-type-options"], "nosniff");
    const apart = /sandbox/.test(headers["content-security-policy"]) || /attachment/.test(headers["content-disposition"]);
    assert.ok(apart, JSON.stringify(headers));
  }
});

test("hostile audit texts, approvals, searches and addresses are text", async () => {
  await paddock.project.tool("read_file", { path: `/project/${TAG}` });
  const { code } = await paddock.project.tool("write_file", { path: `/project/workspace/migrations/${TAG}`, content: TEXT });
  assert.equal(code, 3);
  const page = await paddock.visit("/activity");
  await page.getByText(TAG).first().waitFor();
  await harmless(page);
  for (const path of ["/approvals", "/", `/search?q=${encodeURIComponent(TEXT)}`, `/why?operation=read&path=${encodeURIComponent(`/${TAG}`)}`, `/?told=${encodeURIComponent(TEXT)}`]) {
    await paddock.go(page, path);
    await harmless(page, REFUSED);
  }
});

test("a hostile token name is text", async () => {
  const page = await paddock.visit("/settings");
  await page.getByLabel("Name").fill(TAG);
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByText(/pdk_/).first().waitFor();
  await harmless(page);
  await paddock.go(page, "/settings");
  await page.getByText(TAG).first().waitFor();
  await harmless(page);
});
