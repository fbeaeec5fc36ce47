// The entry: says that scripts run, and loads each module where the page has what it serves.
// Every page works without any of this by links and forms.
import { changes } from "./page.js";
import { start as startForms } from "./forms.js";
import { start as startKeys } from "./keys.js";
import { start as startTimes } from "./time.js";
import { start as startTheme } from "./theme.js";

const WHEN_PRESENT = [
  ["body[data-events]", "./live.js"],
  ["[data-upload]", "./upload.js"],
  [".crumbs", "./files.js"],
  ["[data-diff]", "./diff.js"],
];

const loaded = new Set();

document.documentElement.classList.add("js");
forgetTold();
startTheme();
startTimes();
startForms();
startKeys();
load();
// A part that was exchanged may bring what the page did not have before.
changes.addEventListener("part", load);

function load() {
  for (const [selector, module] of WHEN_PRESENT) {
    if (loaded.has(module) || !document.querySelector(selector)) continue;
    loaded.add(module);
    import(module).then(({ start }) => start());
  }
}

/** What was just done is told once: not again when the page is loaded anew. */
function forgetTold() {
  const address = new URL(location.href);
  if (!address.searchParams.has("told")) return;
  address.searchParams.delete("told");
  address.searchParams.delete("seal");
  history.replaceState(history.state, "", address);
}
