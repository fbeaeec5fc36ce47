// Live pages: what happens is seen in every tab, through one connection, whichever tab is closed.
import assert from "node:assert/strict";
import test from "node:test";
import { quiet, until } from "./console.mjs";
import { paddock } from "./stage.mjs";

const TABS = 8;

/** A call that waits for a person; each one another. */
let parked = 0;
async function park() {
  parked += 1;
  const { code, stdout, stderr } = await paddock.project.tool("write_file", {
    path: `/project/workspace/migrations/live-${parked}.sql`,
    content: "select 1;\n",
  });
  assert.equal(code, 3, stdout + stderr);
}

const waiting = (tab) => tab.evaluate(() => Number(/^\((\d+)\)/.exec(document.title)?.[1] ?? 0));

test("eight tabs show a new approval through one connection, also after its holder is closed", async () => {
  const context = await paddock.person();
  const streams = [];
  context.on("request", (request) => request.url().includes("/api/v1/events") && streams.push(request));
  const tabs = [];
  for (let number = 0; number < TABS; number += 1) {
    const tab = await paddock.visit(number % 2 ? "/" : "/settings", { context });
    await tab.waitForSelector('[data-live-state="live"]', { state: "attached" });
    tabs.push(tab);
  }
  assert.equal(streams.length, 1, "one tab holds the stream for all");
  const before = await waiting(tabs[0]);

  await park();
  for (const tab of tabs) await until("every tab counts it", async () => (await waiting(tab)) === before + 1);
  await tabs[1].getByRole("status").getByText("A call waits for you").waitFor();

  const holder = streams[0].frame().page();
  await holder.close();
  const left = tabs.filter((tab) => tab !== holder);
  await park();
  for (const tab of left) await until("every tab left counts it", async () => (await waiting(tab)) === before + 2);
  assert.equal(streams.length, 2, "another tab took the stream over");
  for (const tab of left) quiet(tab);
  await context.close();
});
