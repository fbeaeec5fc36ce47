// The pictures of the documentation, taken from the pages that the tests have seen. Only with PADDOCK_WRITE_DOCS=1:
// pixels differ from machine to machine, so nothing compares them.
import { mkdirSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { PHONE, Console } from "./console.mjs";

const PLACE = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const WIDE = { width: 1200, height: 780 };
const PICTURES = [
  ["overview", "/", { viewport: WIDE }],
  ["overview-dark", "/", { viewport: WIDE, colorScheme: "dark" }],
  ["approvals", "/approvals", { viewport: WIDE }],
  ["approvals-dark", "/approvals", { viewport: WIDE, colorScheme: "dark" }],
  ["files", "/files/project/workspace", { viewport: WIDE }],
  ["preview", "/files/project/workspace/app.py", { viewport: WIDE }],
  ["fork", "/forks/faster-greeting", { viewport: WIDE }],
  ["activity", "/activity", { viewport: WIDE }],
  ["why", "/why?operation=write&path=src/App.tsx", { viewport: WIDE }],
  ["phone", "/approvals", { viewport: PHONE, isMobile: true, deviceScaleFactor: 2 }],
];

if (process.env.PADDOCK_WRITE_DOCS === "1") test("the pictures of the documentation", take);

/** From a project of its own, as it is before the tests have left their traces. */
async function take() {
  const paddock = await Console.start();
  mkdirSync(PLACE, { recursive: true });
  for (const [name, path, options] of PICTURES) {
    const page = await paddock.visit(path, options);
    await page.waitForSelector('[data-live-state="live"]', { state: "attached" });
    await page.screenshot({ path: `${PLACE}console-${name}.png` });
  }
  await paddock.stop();
}
