// A browser at the console of a sample project: signed in, watched for errors, with the checks every page must stand.
import assert from "node:assert/strict";
import { AxeBuilder, chromium } from "./packages.mjs";
import { Project } from "./project.mjs";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** Nothing here takes long; past this it hangs. */
const HANG = 20_000;

export const WIDE = { width: 1360, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** The project, its server and a browser, for all tests of a run. */
export class Console {
  static async start() {
    const project = new Project();
    try {
      await project.work();
      const server = await project.serve();
      const browser = await chromium.launch({ executablePath: process.env.PADDOCK_CHROMIUM, args: FLAGS });
      return new Console(project, server, browser);
    } catch (problem) {
      project.remove();
      throw problem;
    }
  }

  constructor(project, server, browser) {
    Object.assign(this, { project, server, browser, url: server.url });
  }

  async stop() {
    await this.browser.close();
    await this.server.stop();
    this.project.remove();
  }

  /** A sign-in link that nobody has used. */
  async link() {
    const told = JSON.parse(await this.project.must("login", "--url", this.url, "--json"));
    return told.sign_in ?? told.url ?? told.link;
  }

  /** A browser of its own that is signed in. */
  async person(options = {}) {
    const context = await this.browser.newContext({ viewport: WIDE, colorScheme: "light", ...options });
    context.setDefaultTimeout(HANG);
    this.session ??= await this.signIn();
    await context.addCookies(this.session);
    return context;
  }

  /** The cookies of a browser that used a link and is gone: nobody after it has anything else of what it fetched. */
  async signIn() {
    const context = await this.browser.newContext();
    await (await context.newPage()).goto(await this.link());
    const cookies = await context.cookies();
    await context.close();
    return cookies;
  }

  /** A page of the console, in a browser of its own unless one is given; what it complains about fails the test. */
  async visit(path, { context, ...options } = {}) {
    const page = await (context ?? (await this.person(options))).newPage();
    page.complaints = [];
    page.on("pageerror", (error) => page.complaints.push(`error: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
    await this.go(page, path);
    return page;
  }

  async go(page, path) {
    const response = await page.goto(this.url + path);
    await page.waitForSelector("html.js", { state: "attached" });
    return response;
  }
}

/** No error, no refusal by the policy; what a test expects is named by `expected`. */
export function quiet(page, expected = /^$/) {
  const complaints = page.complaints.filter((text) => !expected.test(text));
  assert.deepEqual(complaints, []);
}

/** Nobody is shut out: axe finds nothing, in both themes, on a wide screen and as wide as a phone. The page is left as it was. */
export async function accessible(page) {
  const before = page.viewportSize();
  for (const [width, size] of [["wide", WIDE], ["phone", PHONE]]) {
    await page.setViewportSize(size);
    for (const colorScheme of ["dark", "light"]) {
      // A colour on its way from one theme to the other is neither's.
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.evaluate(async () => {
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
        await Promise.allSettled(document.getAnimations().map((animation) => animation.finished));
      });
      // No page has frames: then axe needs no page of its own to put its answer together.
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
      const told = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.target).slice(0, 3).join(", ")}`);
      assert.deepEqual(told, [], `${page.url()}, ${width}, ${colorScheme}`);
    }
  }
  await page.emulateMedia({ reducedMotion: null });
  await page.setViewportSize(before);
}

/** Nothing is wider than the screen. */
export async function fits(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${page.url()} is ${wide} px too wide`);
}

/** Waits until `look` answers truly, without a fixed pause between the steps of a test. */
export async function until(what, look) {
  const end = Date.now() + HANG;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((go) => setTimeout(go, 50));
  }
}
