// The packages that drive the browser: installed beside the build, not beside these files.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PADDOCK_BROWSER_PACKAGES}/`);

export const { chromium } = require("playwright-core");
export const { AxeBuilder } = require("@axe-core/playwright");
