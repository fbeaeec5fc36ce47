// What the page's own modules promise, asked of them in the browser: parts that change keep what belongs to the person, text
// becomes elements only from the console's own pages, choices of look last.
import assert from "node:assert/strict";
import test from "node:test";
import { quiet } from "./console.mjs";
import { paddock } from "./stage.mjs";

test("a part that changes keeps focus, typed text, open details and the elements that stay", async () => {
  const page = await paddock.visit("/");
  const kept = await page.evaluate(async () => {
    const { morph } = await import("/assets/morph.js");
    const { make } = await import("/assets/page.js");
    const item = (id, ...children) => make("li", { id }, ...children);
    const field = () => make("textarea", { id: "why" }, "");
    const more = () => make("details", {}, make("summary", {}, "More"), "text");
    const old = make("ul", { id: "list" }, item("a", "first"), item("b", field(), more()), item("c", "third"));
    document.querySelector("main").append(old);
    const [text, details] = [old.querySelector("textarea"), old.querySelector("details")];
    text.focus();
    text.value = "because";
    details.open = true;
    morph(old, make("ul", { id: "list", class: "new" }, item("d", "new"), item("c", "third, changed"), item("b", field(), more())));
    return {
      order: [...old.children].map((child) => child.id),
      same: old.querySelector("textarea") === text && old.querySelector("details") === details,
      focused: document.activeElement === text,
      value: text.value,
      open: details.open,
      changed: old.querySelector("#c").textContent,
      marked: old.className,
    };
  });
  assert.deepEqual(kept, { order: ["d", "c", "b"], same: true, focused: true, value: "because", open: true, changed: "third, changed", marked: "new" });
  quiet(page);
});

test("text becomes elements only when it is a page of this console", async () => {
  const page = await paddock.visit("/");
  const [own, ...others] = await page.evaluate(async (paths) => {
    const { fetchPage } = await import("/assets/page.js");
    return Promise.all(paths.map((path) => fetchPage(path).then((found) => found.title, (problem) => `refused: ${problem.message}`)));
  }, ["/settings", "/api/v1/openapi.json", "/assets/mark.svg", "/nowhere", "data:text/html,<b>x"]);
  assert.match(own, /^Settings/);
  for (const other of others) assert.match(other, /^refused/);
  const direct = await page.evaluate(() => {
    try {
      document.querySelector("main").innerHTML = "<b>x</b>";
      return "taken";
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(direct, "TypeError", "the browser refuses text that did not come through the policy");
});

test("the theme is chosen by a button, lasts, and is rendered by the server", async () => {
  const page = await paddock.visit("/");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole("button", { name: "Theme: as the system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).click();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  assert.notEqual(await ground(), light);
  const response = await paddock.go(page, "/settings");
  assert.match(await response.text(), /<html[^>]*data-theme="dark"/);
  quiet(page);
});

test("times are told relatively, by the clock of the place, or in UTC", async () => {
  const page = await paddock.visit("/", { timezoneId: "Asia/Tokyo" });
  await page.evaluate(async () => {
    const { make, changes } = await import("/assets/page.js");
    const moment = new Date(Date.now() - 3 * 3600_000).toISOString();
    document.querySelector("main").append(make("p", { id: "sample" }, make("time", { datetime: moment }, moment)));
    changes.dispatchEvent(new CustomEvent("part", { detail: document.querySelector("#sample") }));
  });
  const text = () => page.textContent("#sample time");
  assert.match(await text(), /^3 h/);
  await page.getByRole("button", { name: "Times: relative" }).click();
  const local = await text();
  await page.getByRole("button", { name: "Times: local clock" }).click();
  const utc = await text();
  assert.match(utc, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  const hours = (Date.parse(`${local.replace(" ", "T")}Z`) - Date.parse(utc.replace(" UTC", "Z").replace(" ", "T"))) / 3600_000;
  assert.equal(hours, 9);
  quiet(page);
});
