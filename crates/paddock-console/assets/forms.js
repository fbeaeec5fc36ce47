// Forms: no second submit, a question before what cannot be taken back, menus that close, texts that copy.
import { make } from "./page.js";
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
  const question = submitter?.dataset.confirm ?? form.dataset.confirm;
  if (question && !form.hasAttribute("data-confirmed")) {
    event.preventDefault();
    ask(question, submitter?.dataset.confirmLabel ?? form.dataset.confirmLabel ?? "Yes").then((yes) => {
      if (!yes) return;
      form.setAttribute("data-confirmed", "");
      form.requestSubmit(submitter);
    });
    return;
  }
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
  form?.removeAttribute("data-confirmed");
}

/** Asks in a dialog; resolves to whether the person agreed. */
export function ask(question, label) {
  const heading = make("h2", { id: "question" }, question);
  const yes = make("button", { class: "button danger primary", value: "yes" }, label);
  const no = make("button", { class: "button", value: "no", autofocus: "" }, "Cancel");
  const form = make("form", { method: "dialog", class: "actions" }, no, yes);
  const dialog = make("dialog", { class: "dialog", role: "alertdialog", "aria-labelledby": "question" }, heading, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
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
