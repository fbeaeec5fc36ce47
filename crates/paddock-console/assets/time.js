// Times as people want them: how long ago, by the clock of this place, or UTC. The server writes UTC into
// `<time datetime>`; this module only changes the text shown, and keeps the whole moment in the title.
import { remember } from "./cookies.js";
import { changes } from "./page.js";

const MODES = { relative: "relative", local: "local clock", utc: "UTC" };
const STEPS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12], ["year", Infinity]];
const page = document.documentElement;
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const clock = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

export function start() {
  for (const button of document.querySelectorAll("[data-time-switch]")) {
    button.hidden = false;
    button.addEventListener("click", next);
  }
  showAll();
  setInterval(() => document.hidden || showAll(), 30000);
  changes.addEventListener("part", ({ detail }) => detail && showAll(detail));
}

function next() {
  const names = Object.keys(MODES);
  page.dataset.time = names[(names.indexOf(mode()) + 1) % names.length];
  remember("time", mode());
  showAll();
}

function mode() {
  return page.dataset.time in MODES ? page.dataset.time : "relative";
}

function showAll(part = document) {
  for (const element of part.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.valueOf())) continue;
    element.title = `${utc(moment)} · ${clock.format(moment)} here`;
    element.textContent = text(moment);
  }
  for (const button of document.querySelectorAll("[data-time-switch]")) {
    button.title = `Times: ${MODES[mode()]}`;
    const label = button.querySelector(".sr");
    if (label) label.textContent = button.title;
  }
}

function text(moment) {
  if (mode() === "utc") return utc(moment);
  return mode() === "local" ? clock.format(moment) : relative(moment);
}

function utc(moment) {
  return moment.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

function relative(moment) {
  let distance = (moment - Date.now()) / 1000;
  if (Math.abs(distance) < 10) return "just now";
  for (const [unit, size] of STEPS) {
    if (Math.abs(distance) < size) return ago.format(Math.round(distance), unit);
    distance /= size;
  }
  return utc(moment);
}
