// Runs: the plan and the conversation of one that is done, a decision that lets another go on, a fork from a step, a cancel.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { accessible, fits, quiet, PHONE, until } from "./console.mjs";
import { paddock } from "./stage.mjs";

async function opened(task) {
  const page = await paddock.visit("/threads");
  await page.getByRole("link", { name: task }).click();
  await page.getByRole("heading", { level: 1, name: task }).waitFor();
  return page;
}

test("a run shows its plan, its steps and what was said, and replays to the same", async () => {
  const page = await opened("Write the release note");
  const text = await page.textContent("main");
  for (const part of ["read what is there", "write the note", "It is a small shop.", "The note is written.", "read_file", "planner"]) {
    assert.ok(text.includes(part), part);
  }
  await accessible(page);
  await page.getByRole("link", { name: "Replay" }).click();
  await page.getByRole("status").getByText(/comes to the same/).waitFor();
  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  await page.getByText("It is a small shop.").waitFor();
  await accessible(page);
  await page.setViewportSize(PHONE);
  await fits(page);
  quiet(page);
});

test("a run that waits goes on when it is approved and resumed", async () => {
  const page = await opened("Keep stock");
  await page.getByRole("link", { name: /^ap-/ }).first().click();
  await page.getByRole("button", { name: /^Approve/ }).click();
  await page.getByRole("status").getByText(/Approved/).waitFor();
  await paddock.go(page, "/threads");
  await page.getByRole("link", { name: "Keep stock" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await until("the migration is there", () => existsSync(join(paddock.project.directory, "workspace/migrations/3.sql")));
  await page.getByText("done", { exact: true }).first().waitFor();
  quiet(page);
});

test("another run begins from a step, and is cancelled after a question", async () => {
  const page = await opened("Write the release note");
  await page.getByRole("button", { name: "Fork from step 2", exact: true }).click();
  await page.getByRole("status").getByText(/Another run begins/).waitFor();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("status").getByText(/cancelled/).waitFor();
  quiet(page);
});
