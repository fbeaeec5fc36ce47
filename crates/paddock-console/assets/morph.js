// Making one element like another by the least change, so that focus, scroll, open details and what
// someone is typing stay. Elements meet by `id`, else by their place.

/** Attributes that belong to the person at the page, not to the server. */
const KEPT = {
  DETAILS: ["open"],
  DIALOG: ["open"],
};

/** Makes `old` like `fresh`; `fresh` is used up. */
export function morph(old, fresh) {
  if (old.nodeName !== fresh.nodeName || old.id !== fresh.id) return void old.replaceWith(fresh);
  attributes(old, fresh);
  if (!["TEXTAREA", "SELECT"].includes(old.nodeName) || !changedByPerson(old)) children(old, fresh);
}

function attributes(old, fresh) {
  const kept = [...(KEPT[old.nodeName] ?? []), ...(old.matches("[data-key-item]") ? ["aria-current"] : [])];
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!kept.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function children(old, fresh) {
  const byId = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const known = wanted.id ? byId.get(wanted.id) : undefined;
    if (known && known !== at) move(old, known, at);
    const current = known ?? at;
    if (current && alike(current, wanted)) {
      at = current.nextSibling;
      update(current, wanted);
    } else {
      old.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** An element that only moves keeps the focus inside it, where the browser can do that. */
function move(parent, child, before) {
  if (parent.moveBefore) parent.moveBefore(child, before);
  else parent.insertBefore(child, before);
}

/** A node with an id is only ever made like the one with the same id. */
function alike(current, wanted) {
  return current.nodeName === wanted.nodeName && (current.id ?? "") === (wanted.id ?? "");
}

function update(current, wanted) {
  if (current.nodeType === Node.ELEMENT_NODE) morph(current, wanted);
  else if (current.nodeValue !== wanted.nodeValue) current.nodeValue = wanted.nodeValue;
}

function changedByPerson(field) {
  if (field === document.activeElement) return true;
  if (field.nodeName === "SELECT") return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}
