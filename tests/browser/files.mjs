// Files: browsing, previews, what is hidden, uploads by drop and by a plain form, history and the way back.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { PHONE, accessible, fits, quiet, until } from "./console.mjs";
import { paddock } from "./stage.mjs";

const PLACE = "/files/project/workspace";
/** What the browser says of an upload that was refused because the name is taken. */
const TAKEN = /status of 412/;
const DENIED = /status of (403|404)/;
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

const onDisk = (name) => readFileSync(join(paddock.project.directory, "workspace", name), "utf8");

/** Files dropped on the page, as a person drops them. */
function drop(page, files) {
  return page.evaluate((files) => {
    const dataTransfer = new DataTransfer();
    for (const [name, text] of files) dataTransfer.items.add(new File([text], name));
    const options = { bubbles: true, cancelable: true, dataTransfer };
    document.querySelector("[data-upload]").dispatchEvent(new DragEvent("drop", options));
  }, files);
}

test("from the Workspaces down to a file: code is highlighted, Markdown rendered, pictures shown", async () => {
  paddock.project.write("workspace/dot.png", PIXEL);
  const page = await paddock.visit("/files");
  await page.getByRole("main").getByRole("link", { name: "project", exact: true }).first().click();
  await page.getByRole("link", { name: "README.md" }).click();
  await page.locator(".prose em", { hasText: "small" }).waitFor();
  await accessible(page);
  await paddock.go(page, `${PLACE}/app.py`);
  assert.ok((await page.locator(".source .hl-keyword, .source .hl-storage").count()) > 0, "the code is highlighted");
  assert.match(await page.textContent(".gutter"), /^1\n2\n3/);
  assert.equal(await page.textContent(".source"), onDisk("app.py"), "nothing of it is lost");
  await accessible(page);
  await page.setViewportSize(PHONE);
  await fits(page);
  await paddock.go(page, `${PLACE}/dot.png`);
  const width = await page.getByRole("img", { name: /dot\.png/ }).evaluate((image) => image.decode().then(() => image.naturalWidth));
  assert.equal(width, 1);
  quiet(page);
});

test("what is hidden is neither listed nor reached by its address", async () => {
  const page = await paddock.visit("/files/project");
  assert.equal(await page.getByText(".env", { exact: true }).count(), 0);
  const response = await paddock.go(page, "/files/project/.env");
  assert.ok([403, 404].includes(response.status()), `${response.status()}`);
  assert.ok(!(await page.content()).includes("not-for-pages"));
  quiet(page, DENIED);
});

test("dropped files are uploaded, and one that is there is replaced only when the person says so", async () => {
  paddock.project.write("workspace/taken.txt", "old\n");
  const page = await paddock.visit(PLACE);
  await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
  await drop(page, [["fresh.txt", "new\n"], ["taken.txt", "newer\n"], ["ünïcode & spaces.txt", "x\n"]]);
  await page.getByText("there already").waitFor();
  assert.equal(onDisk("taken.txt"), "old\n");
  await page.getByRole("button", { name: "Replace" }).click();
  await page.getByRole("status").getByText("3 files are uploaded").waitFor();
  assert.deepEqual([onDisk("fresh.txt"), onDisk("taken.txt"), onDisk("ünïcode & spaces.txt")], ["new\n", "newer\n", "x\n"]);
  await page.getByRole("link", { name: "fresh.txt" }).waitFor();

  await drop(page, [["taken.txt", "newest\n"]]);
  await page.getByRole("button", { name: "Keep the old one" }).click();
  await page.getByText("kept the old one").waitFor();
  assert.equal(onDisk("taken.txt"), "newer\n");
  quiet(page, TAKEN);
});

test("a bar shows how far an upload is while it is on its way", async () => {
  const page = await paddock.visit(PLACE);
  const size = 4 << 20;
  const there = join(paddock.project.directory, "workspace/slow.bin");
  // A connection too slow to be done before somebody looked, and fast again once they have.
  const connection = await page.context().newCDPSession(page);
  const carries = (bytes) => connection.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: bytes });
  await carries(32 << 10);
  await drop(page, [["slow.bin", "x".repeat(size)]]);
  const bar = page.getByRole("progressbar", { name: "Upload of slow.bin" });
  const at = await until("the bar moves", () => bar.evaluate(({ value }) => value));
  assert.ok(at < size, `${at} of ${size}`);
  assert.equal(await bar.evaluate(({ max }) => max), size);
  assert.match(await page.getByRole("list", { name: "Uploads" }).textContent(), /slow\.bin\s*[0-9]+ %/);
  assert.ok(!existsSync(there), "nothing is there before all of it is");
  await accessible(page);
  await carries(-1);
  await page.getByRole("status").getByText("“slow.bin” is uploaded").waitFor();
  await bar.waitFor({ state: "hidden" });
  assert.equal(statSync(there).size, size);
  quiet(page);
});

test("an upload works without scripts", async () => {
  const context = await paddock.person({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(paddock.url + PLACE);
  await page.locator('input[type="file"]').setInputFiles({ name: "plain.txt", mimeType: "text/plain", buffer: Buffer.from("plain\n") });
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("link", { name: "plain.txt" }).waitFor();
  assert.equal(onDisk("plain.txt"), "plain\n");
  await context.close();
});

test("a listing follows what agents do", async () => {
  const page = await paddock.visit(PLACE);
  await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
  await paddock.project.done("write_file", { path: "/project/workspace/lively.txt", content: "x\n" });
  await page.getByRole("link", { name: "lively.txt" }).waitFor();
  quiet(page);
});

test("the history of a file shows each change and brings an older version back", async () => {
  const path = "/project/workspace/story.txt";
  await paddock.project.done("write_file", { path, content: "one\ntwo\n" });
  await paddock.project.done("edit_file", { path, old_string: "two", new_string: "three" });
  const page = await paddock.visit(`${PLACE}/story.txt`);
  await page.getByRole("link", { name: "History" }).first().click();
  await accessible(page);
  await page.locator("#changes tbody a").first().click();
  await page.locator(".diff ins", { hasText: "three" }).waitFor();
  await page.locator(".diff del", { hasText: "two" }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Restore" }).last().click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Restore" }).click();
  await page.getByRole("status").getByText("It is as it was.").waitFor();
  assert.equal(onDisk("story.txt"), "one\ntwo\n");
  quiet(page);
});

test("a download is the file, byte by byte", async () => {
  const page = await paddock.visit(`${PLACE}/dot.png`);
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), "dot.png");
  assert.deepEqual(readFileSync(await download.path()), PIXEL);
  quiet(page);
});

test("a file list is walked with the arrows", async () => {
  const page = await paddock.visit(PLACE);
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  const chosen = page.locator('tr[aria-current="true"] a').first();
  const href = await chosen.getAttribute("href");
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(paddock.url + href);
  await page.waitForSelector("html.js", { state: "attached" });
  await page.keyboard.press("Backspace");
  await page.waitForURL((url) => url.pathname === PLACE);
  quiet(page);
});
