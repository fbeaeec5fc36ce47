// Tokens: made once however often the button is pressed, shown once, revoked only after a question.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, quiet, until } from "./console.mjs";
import { paddock } from "./stage.mjs";

const tokens = async () => JSON.parse(await paddock.project.must("token", "list", "--json"));
const named = async (name) => (await tokens()).filter((token) => token.name === name);

test("a button pressed again while the server works makes one token, whose secret is shown once", async () => {
  const page = await paddock.visit("/settings");
  const [sent, release] = [[], Promise.withResolvers()];
  await page.route("**/settings/tokens", async (route) => {
    sent.push(route);
    await release.promise;
    await route.continue();
  });
  await page.getByLabel("Name").fill("laptop");
  const { x, y } = await page.getByRole("button", { name: "Make it" }).boundingBox();
  const press = () => page.mouse.click(x + 5, y + 5);
  await press();
  await until("the first is on its way", () => sent.length === 1);
  await press();
  release.resolve();
  await page.getByText(/pdk_[0-9a-f]{64}/).first().waitFor();
  await accessible(page);
  assert.equal(sent.length, 1);
  assert.equal((await named("laptop")).length, 1);
  await paddock.go(page, "/settings");
  assert.equal(await page.getByText(/pdk_/).count(), 0);
  quiet(page);
});

test("without scripts nothing is done unasked either", async () => {
  const context = await paddock.person({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${paddock.url}/settings`);
  await page.getByRole("row", { name: /laptop/ }).getByRole("button", { name: /^Revoke/ }).click();
  const question = page.getByRole("alertdialog");
  await question.getByText("Revoke this token?").waitFor();
  assert.equal((await named("laptop"))[0].revoked, null);
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "hidden" });
  assert.equal((await named("laptop"))[0].revoked, null);
});

test("a token is revoked after a question, and not when it is answered with no", async () => {
  const page = await paddock.visit("/settings");
  const revoke = page.getByRole("row", { name: /laptop/ }).getByRole("button", { name: /^Revoke/ });
  await revoke.click();
  const question = page.getByRole("alertdialog");
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "hidden" });
  assert.equal((await named("laptop"))[0].revoked, null);
  await revoke.click();
  await question.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The token is revoked.").waitFor();
  assert.ok((await named("laptop"))[0].revoked);
  // What was done is told once: the address forgets it as soon as the modules run.
  await page.waitForURL((address) => !address.search.includes("told="));
  quiet(page);
});
