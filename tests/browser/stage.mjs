// The console that all tests of this run share: one project, one server, one browser.
import { after } from "node:test";
import { Console } from "./console.mjs";

export const paddock = await Console.start();
after(() => paddock.stop());
