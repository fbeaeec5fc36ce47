// Uploads: files dropped on a listing, or chosen, go one after the other with their progress shown. A name
// that is taken is told, and replaced only when the person says so.
import { make } from "./page.js";
import { toast } from "./toast.js";

export function start() {
  addEventListener("dragover", over);
  addEventListener("dragleave", (event) => event.relatedTarget || mark(false));
  addEventListener("drop", dropped);
  document.addEventListener("change", chosen);
}

/** Looked up each time: a live page may have exchanged it. */
function listing() {
  return document.querySelector("[data-upload]");
}

function mark(on) {
  listing()?.classList.toggle("dropping", on);
}

function over(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  mark(true);
}

function dropped(event) {
  mark(false);
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  const directories = [...event.dataTransfer.items].filter((item) => item.webkitGetAsEntry?.()?.isDirectory);
  if (directories.length) toast({ kind: "warn", title: "Directories are not uploaded", text: "Import them as a Zip instead." });
  const files = [...event.dataTransfer.items].filter((item) => !item.webkitGetAsEntry?.()?.isDirectory);
  send(files.map((item) => item.getAsFile()).filter(Boolean));
}

function chosen({ target }) {
  if (!target.matches(".upload input[type=file]") || !listing()) return;
  send([...target.files]);
  target.value = "";
}

async function send(files) {
  const place = listing();
  if (!place) return;
  const prefix = place.dataset.upload;
  const rows = files.map((file) => [file, row(place, file.name)]);
  const done = [];
  for (const [file, shown] of rows) {
    if (await sendOne(prefix, file, shown, true)) done.push(file.name);
  }
  if (done.length) toast({ title: done.length === 1 ? `“${done[0]}” is uploaded` : `${done.length} files are uploaded` });
}

/** One file by PUT; resolves to whether it is there now. */
async function sendOne(prefix, file, shown, onlyNew) {
  const { status, problem } = await put(prefix + encodeURIComponent(file.name), file, shown, onlyNew);
  if (status >= 200 && status < 300) {
    shown.say("uploaded");
    setTimeout(() => shown.away(), 4000);
    return true;
  }
  const taken = onlyNew && (status === 412 || status === 409);
  if (!taken) shown.say(problem || (status ? `refused (${status})` : "the connection was lost"));
  if (!taken || !(await shown.replaces())) return false;
  return sendOne(prefix, file, shown, false);
}

function put(address, file, shown, onlyNew) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address);
    request.setRequestHeader("content-type", "application/octet-stream");
    if (onlyNew) request.setRequestHeader("if-none-match", "*");
    request.upload.onprogress = ({ loaded, total }) => shown.progress(loaded, total);
    request.onloadend = () => resolve({ status: request.status, problem: told(request.responseText) });
    request.send(file);
  });
}

/** What a problem document says, for people. */
function told(text) {
  try {
    const { detail, title } = JSON.parse(text);
    return detail ?? title;
  } catch {
    return undefined;
  }
}

function row(place, name) {
  const list = document.querySelector(".uploads") ?? make("ul", { class: "uploads card", "aria-label": "Uploads" });
  // Outside what live pages exchange, and above a listing that may be long: somebody may be asked something in it.
  if (!list.isConnected) (place.closest(".split") ?? place).before(list);
  const bar = make("progress", { max: "1", value: "0", "aria-label": `Upload of ${name}` });
  const state = make("span", { role: "status" }, "waits");
  const line = make("li", {}, make("span", { class: "path" }, name), state, bar);
  list.append(line);
  const away = () => {
    line.remove();
    if (!list.children.length) list.remove();
  };
  const progress = (loaded, total) => {
    bar.max = total || 1;
    bar.value = loaded;
    state.textContent = `${Math.round((100 * loaded) / (total || 1))} %`;
  };
  const say = (text) => {
    state.textContent = text;
    bar.hidden = true;
  };
  return { away, progress, say, replaces: () => replaces(state, bar) };
}

function replaces(state, bar) {
  const yes = make("button", { type: "button", class: "button small danger" }, "Replace");
  const no = make("button", { type: "button", class: "button small" }, "Keep the old one");
  state.replaceChildren("there already ", yes, " ", no);
  bar.hidden = true;
  return new Promise((resolve) => {
    yes.addEventListener("click", () => { state.textContent = "replaces"; bar.hidden = false; resolve(true); });
    no.addEventListener("click", () => { state.textContent = "kept the old one"; resolve(false); });
  });
}
