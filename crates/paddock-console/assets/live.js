// Live pages: one event stream for all tabs of the browser, and parts of the page that ask for themselves again.
// A browser opens six connections to a host over HTTP/1.1, so one tab (the holder of a Web Lock) has the stream
// and passes events on; the others listen. Nothing here knows what an event means but for its topic.
import { changes, fetchPage } from "./page.js";
import { morph } from "./morph.js";
import { toast } from "./toast.js";

const TOPICS = ["overview", "files", "approvals", "forks", "activity", "threads", "instances", "projects", "settings"];
const ADDRESS = document.body.dataset.events;
const NAME = "paddock-live";
const PAUSE = { visible: 200, hidden: 1500 };

const channel = new BroadcastChannel(NAME);
const stale = new Set();
let lastId = document.body.dataset.eventId ?? "";
let state = "not live";
let leading = false;
let timer;

export function start() {
  channel.onmessage = ({ data }) => heard(data);
  channel.postMessage({ ask: true });
  if (navigator.locks) navigator.locks.request(NAME, lead);
  else lead();
  document.addEventListener("visibilitychange", () => schedule());
  showWaiting();
}

/** Holds the stream for as long as this page lives; the promise keeps the lock. */
function lead() {
  leading = true;
  open(1000);
  return new Promise(() => {});
}

function open(patience) {
  const address = new URL(ADDRESS, location.href);
  if (lastId) address.searchParams.set("after", lastId);
  const stream = new EventSource(address);
  const pass = (topic) => (event) => tell({ topic, id: event.lastEventId, text: event.data });
  for (const topic of TOPICS) stream.addEventListener(topic, pass(topic));
  stream.addEventListener("reset", () => tell({ topic: "reset" }));
  stream.onopen = () => tell({ state: "live" });
  stream.onerror = () => {
    tell({ state: "not live" });
    if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again by itself, with Last-Event-ID
    setTimeout(() => open(Math.min(patience * 2, 30000)), patience);
  };
}

function tell(message) {
  channel.postMessage(message);
  heard(message);
}

function heard(message) {
  if (message.ask) {
    if (leading) channel.postMessage({ state, lastId });
    return;
  }
  if (message.state) show(message.state);
  // A page made before the newest event of the stream may lack what it told.
  if (message.lastId && message.lastId !== lastId) {
    lastId = message.lastId;
    markAll();
  }
  if (message.id) lastId = message.id;
  if (message.topic === "reset") markAll();
  else if (message.topic) happened(message.topic, message.text);
}

function happened(topic, text) {
  const told = parsed(text);
  for (const concerned of told.topics ?? [topic]) {
    for (const part of document.querySelectorAll(`[data-live~="${CSS.escape(concerned)}"][id]`)) stale.add(part.id);
  }
  schedule();
  const seen = document.hidden || document.querySelector('[data-live~="approvals"][data-key-list]');
  if (told.kind === "approval-waiting" && !seen) {
    toast({ kind: "warn", title: "A call waits for you", text: told.title, href: told.href, label: "Look at it" });
  }
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function markAll() {
  for (const part of document.querySelectorAll("[data-live][id]")) stale.add(part.id);
  schedule();
}

function schedule() {
  if (stale.size === 0) return;
  clearTimeout(timer);
  timer = setTimeout(refresh, document.hidden ? PAUSE.hidden : PAUSE.visible);
}

async function refresh() {
  const parts = [...stale].map((id) => document.getElementById(id)).filter(Boolean);
  stale.clear();
  const byAddress = Map.groupBy(parts, (part) => part.dataset.fragment ?? location.pathname + location.search);
  for (const [address, wanted] of byAddress) {
    try {
      exchange(wanted, await fetchPage(address));
    } catch (problem) {
      console.warn(problem); // shown again with the next event
    }
  }
}

function exchange(parts, page) {
  for (const { id } of parts) {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (!old || !fresh) continue;
    morph(old, fresh);
    changes.dispatchEvent(new CustomEvent("part", { detail: document.getElementById(id) }));
  }
  showWaiting();
}

/** How many calls wait, in the title of the tab. */
function showWaiting() {
  const waiting = parseInt(document.querySelector("[data-badge]")?.textContent ?? "", 10) || 0;
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = waiting ? `(${waiting}) ${title}` : title;
}

function show(now) {
  state = now;
  for (const place of document.querySelectorAll("[data-live-state]")) {
    place.dataset.liveState = now;
    place.textContent = now;
  }
}
