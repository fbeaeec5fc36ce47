// Keys of a file list beside j and k: the arrows walk it, Backspace or the left arrow goes to the directory
// above, the right arrow opens.
import { current, step } from "./keys.js";

const WALK = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

export function start() {
  document.addEventListener("keydown", (event) => {
    const free = event.target === document.body || event.target.closest("table.files");
    if (!free || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (walked(event.key)) event.preventDefault();
  });
}

function walked(key) {
  // On a page that nobody has entered yet, the arrows scroll as everywhere.
  if (key in WALK) return Boolean(current()) && step(WALK[key]);
  if (key === "Backspace" || key === "ArrowLeft") return follow(above());
  if (key === "ArrowRight") return follow(current()?.querySelector("a.entry"));
  return false;
}

function above() {
  return [...document.querySelectorAll(".crumbs a[href]")].at(-2);
}

function follow(link) {
  link?.click();
  return Boolean(link);
}
