// Asking for pages of this console again, and the only place where text becomes elements.
// Never takes text from anywhere but a page of the same origin that carries the console's own policy:
// a file's raw content, served from here too, carries another one.

const policy = globalThis.trustedTypes?.createPolicy("paddock", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

/** Told with `part` in `detail` whenever elements of the page were exchanged. */
export const changes = new EventTarget();

/** The document at `address`, parsed and inert. */
export async function fetchPage(address) {
  const response = await fetch(address, { headers: { accept: "text/html" }, cache: "no-store" });
  const ours = new URL(response.url).origin === location.origin;
  const rules = response.headers.get("content-security-policy") ?? "";
  const page = response.headers.get("content-type")?.startsWith("text/html");
  if (!response.ok || !ours || !page || !rules.includes("trusted-types paddock")) {
    throw new Error(`no page of this console at ${address} (${response.status})`);
  }
  return new DOMParser().parseFromString(policy.createHTML(await response.text()), "text/html");
}

/** An element with attributes and children; the modules build all they add with it. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
