"use strict";

const form = document.getElementById("list");
const remembered = document.getElementById("remembered");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const item = document.createElement("li");
  item.textContent = form.elements.what.value;
  remembered.append(item);
  form.reset();
});
