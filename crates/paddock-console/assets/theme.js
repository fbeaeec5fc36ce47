// The theme switch: as the system, light, dark. What is chosen is on the root element and in a cookie.
import { remember } from "./cookies.js";

const THEMES = { auto: "as the system", light: "light", dark: "dark" };
const page = document.documentElement;

export function start() {
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    button.hidden = false;
    button.addEventListener("click", () => choose(after(page.dataset.theme)));
  }
  name(page.dataset.theme);
}

function after(theme) {
  const names = Object.keys(THEMES);
  return names[(names.indexOf(theme) + 1) % names.length];
}

function choose(theme) {
  page.dataset.theme = theme;
  remember("theme", theme);
  name(theme);
}

function name(theme = "auto") {
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    const text = `Theme: ${THEMES[theme] ?? THEMES.auto}`;
    button.title = text;
    const label = button.querySelector(".sr");
    if (label) label.textContent = text;
  }
}
