// Diffs side by side: made here from the unified table, so that the server sends one form. The choice holds
// for all diffs of the page and is kept by the browser.
import { changes, make } from "./page.js";

const KEPT = "paddock-diff";
const WIDE = matchMedia("(min-width: 761px)");

export function start() {
  enhance(document);
  changes.addEventListener("part", ({ detail }) => detail && enhance(detail));
}

function enhance(part) {
  for (const file of part.querySelectorAll("[data-diff]")) {
    if (!file.querySelector("[data-diff-switch]") && file.querySelector("table.diff:not(.sides)")) prepare(file);
  }
}

function prepare(file) {
  const button = make("button", { type: "button", class: "button quiet small wide-only", "data-diff-switch": "" });
  button.addEventListener("click", () => {
    localStorage.setItem(KEPT, wanted() === "split" ? "unified" : "split");
    document.querySelectorAll("[data-diff]").forEach(show);
  });
  file.querySelector("header")?.append(button);
  show(file);
}

function wanted() {
  return localStorage.getItem(KEPT) === "split" ? "split" : "unified";
}

function show(file) {
  const button = file.querySelector("[data-diff-switch]");
  const unified = file.querySelector("table.diff:not(.sides)");
  if (!button || !unified) return;
  const split = wanted() === "split" && WIDE.matches;
  button.textContent = split ? "Unified" : "Side by side";
  if (split && !file.querySelector("table.diff.sides")) unified.after(sideBySide(unified));
  const other = file.querySelector("table.diff.sides");
  if (other) other.hidden = !split;
  unified.hidden = split;
}

function sideBySide(unified) {
  const body = make("tbody");
  let [removed, added] = [[], []];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i += 1) body.append(row(removed[i], added[i]));
    [removed, added] = [[], []];
  };
  for (const line of unified.tBodies[0].rows) {
    if (line.matches(".del")) removed.push([line.cells[0], line.cells[2]]);
    else if (line.matches(".add")) added.push([line.cells[1], line.cells[2]]);
    else {
      flush();
      body.append(line.matches(".hunk") ? hunk(line) : row([line.cells[0], line.cells[2]], [line.cells[1], line.cells[2]]));
    }
  }
  flush();
  const table = make("table", { class: "diff sides" }, body);
  if (unified.caption) table.prepend(unified.caption.cloneNode(true));
  return table;
}

function row(left, right) {
  return make("tr", {}, ...cells(left), ...cells(right));
}

function cells(side) {
  if (!side) return [make("td", { class: "none" }), make("td", { class: "none" })];
  return side.map((cell) => cell.cloneNode(true));
}

function hunk(line) {
  return make("tr", { class: "hunk" }, make("td", { colspan: "4" }, line.textContent));
}
