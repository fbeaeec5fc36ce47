// Short notices in the page's status region. They stay long enough to be read and can be put away.
import { make } from "./page.js";

const LINGER = 12000;

/** Shows `title` and `text`, with a link where `href` is given; `kind` is "", "warn" or "bad". */
export function toast({ title, text = "", href, label, kind = "" }) {
  const region = document.getElementById("toasts");
  if (!region) return;
  const close = make("button", { type: "button", class: "button quiet small icon-only", "aria-label": "Put away" }, "✕");
  const body = make("div", {}, make("strong", {}, title), make("div", {}, text));
  if (href?.startsWith("/")) body.append(make("a", { href }, label ?? "Open"));
  const notice = make("div", { class: `toast ${kind}` }, body, close);
  const away = () => notice.remove();
  close.addEventListener("click", away);
  region.append(notice);
  while (region.children.length > 4) region.firstElementChild.remove();
  const leave = () => (notice.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : away());
  setTimeout(leave, LINGER);
}
