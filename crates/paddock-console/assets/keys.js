// The keyboard: j and k walk a list, `data-key` says what a letter does, `g` and a letter goes to a page,
// `?` shows them all. What stands inside a list answers only for the current item, so that no letter
// decides about something nobody has chosen.
import { make } from "./page.js";

const PATIENCE = 1500;
let goingSince = -Infinity;

export function start() {
  document.addEventListener("keydown", pressed);
  document.addEventListener("focusin", ({ target }) => choose(target.closest?.("[data-key-item]"), false));
  for (const button of document.querySelectorAll("[data-keys-help]")) {
    button.hidden = false;
    button.addEventListener("click", help);
  }
}

function pressed(event) {
  const typing = event.target.matches("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");
  if (typing && event.key === "Escape") event.target.blur();
  if (typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  if (act(event)) event.preventDefault();
}

function act({ key, target, timeStamp }) {
  const went = timeStamp - goingSince < PATIENCE;
  goingSince = key === "g" && !went ? timeStamp : -Infinity;
  if (goingSince > 0) return false;
  if (went) return press(document.querySelector(`[data-go="${CSS.escape(key)}"]`));
  if (key === "?") return help();
  if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  if (key === "Enter" && !target.matches("[data-key-item]")) return false;
  return press(found(key)) || first(key);
}

/** A letter of the list's items, while none is chosen, chooses the first and does nothing to it. */
function first(key) {
  if (key === "Enter" || current()) return false;
  return document.querySelector(`[data-key-item] [data-key="${CSS.escape(key)}"]`) ? step(1) : false;
}

function found(key) {
  const selector = `[data-key="${CSS.escape(key)}"]`;
  const item = current();
  const inside = item?.querySelector(selector) ?? (key === "Enter" ? item?.querySelector("a[href]") : null);
  return inside ?? [...document.querySelectorAll(selector)].find((one) => !one.closest("[data-key-item]") && one.checkVisibility());
}

function press(element) {
  if (!element) return false;
  if (element.matches("input, textarea, select")) {
    element.focus();
    return true;
  }
  element.click();
  // What opens is meant to be filled in.
  if (element.matches("summary")) element.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
  return true;
}

/** The chosen item of a list, or nothing. The only one of a page needs no choosing. */
export function current() {
  const chosen = document.querySelector('[data-key-item][aria-current="true"]');
  if (chosen) return chosen;
  const items = document.querySelectorAll("[data-key-item]");
  return items.length === 1 && items[0].closest("[data-key-only]") ? items[0] : null;
}

/** Moves the choice by `by` items; the first press chooses the first. */
export function step(by) {
  const items = [...document.querySelectorAll("[data-key-list] [data-key-item]")].filter((item) => item.checkVisibility());
  if (items.length === 0) return false;
  const at = items.indexOf(current());
  const to = at < 0 ? 0 : Math.min(Math.max(at + by, 0), items.length - 1);
  choose(items[to], true);
  return true;
}

function choose(item, withFocus) {
  if (!item) return;
  for (const old of document.querySelectorAll('[data-key-item][aria-current="true"]')) old.removeAttribute("aria-current");
  item.setAttribute("aria-current", "true");
  if (!withFocus) return;
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

function help() {
  const rows = [["j", "k", "Walk the list"], ["Enter", "Open"]];
  const seen = new Set(["Enter"]);
  for (const element of document.querySelectorAll("[data-key]")) {
    const { key, keyLabel } = element.dataset;
    if (!seen.has(key)) rows.push([key, keyLabel ?? element.textContent.trim()]);
    seen.add(key);
  }
  for (const link of document.querySelectorAll("[data-go]")) {
    rows.push(["g", link.dataset.go, link.firstChild.nodeType === Node.TEXT_NODE ? link.firstChild.data : plain(link)]);
  }
  rows.push(["?", "These keys"], ["Esc", "Leave a field, close what is open"]);
  const list = make("dl", { class: "keys" });
  for (const row of rows) {
    const keys = row.slice(0, -1).map((key) => make("kbd", {}, key));
    list.append(make("dt", {}, ...keys), make("dd", {}, row.at(-1)));
  }
  const close = make("form", { method: "dialog", class: "actions" }, make("button", { class: "button" }, "Close"));
  const dialog = make("dialog", { class: "dialog", "aria-labelledby": "keys" }, make("h2", { id: "keys" }, "Keys"), list, close);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  return true;
}

/** A link's own words, without the counts inside it. */
function plain(link) {
  return [...link.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data.trim()).join(" ");
}
