// Forms: no second submit, menus that close, texts that copy.
import { toast } from "./toast.js";

export function start() {
  document.addEventListener("submit", submitted);
  document.addEventListener("click", clicked);
  document.addEventListener("change", ({ target }) => target.matches?.("[data-autosubmit]") && target.form?.requestSubmit());
  document.addEventListener("keydown", (event) => event.key === "Escape" && closeMenus());
  // A page that the browser kept and shows again must take a submit again.
  addEventListener("pageshow", () => document.querySelectorAll("[aria-busy]").forEach(release));
}

function submitted(event) {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || form.method === "dialog") return;
  if (form.hasAttribute("data-sent")) return void event.preventDefault();
  // A download answers without leaving the page, so such a form stays usable.
  if (form.method === "get" || form.hasAttribute("data-download")) return;
  form.setAttribute("data-sent", "");
  submitter?.setAttribute("aria-busy", "true");
}

function release(busy) {
  busy.removeAttribute("aria-busy");
  const form = busy.form ?? busy.closest("form");
  form?.removeAttribute("data-sent");
  form?.closest("dialog")?.close();
}

function clicked({ target }) {
  const copied = target.closest("[data-copy]");
  if (copied) copy(copied.dataset.copy);
  closeMenus(target.closest("details[data-menu]"));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast({ title: "Copied" });
  } catch {
    toast({ kind: "bad", title: "The browser did not let it be copied", text });
  }
}

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (menu !== except) menu.open = false;
  }
}
