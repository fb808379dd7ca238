// The basket, and what was taken out of it a moment ago.

import { openDirection } from "./direction.js";
import { byId, element } from "./dom.js";
import { itemOf, lookUp, nameOf, whereOf } from "./items.js";
import { add, change, listen, remove, state } from "./state.js";

const KEPT = 6;
const list = byId("basket");
let before = [];
let gone = []; // ids, the latest first

export function startBasket() {
  byId("empty").addEventListener("click", () => {
    change({ basket: [] });
    byId("search").focus();
  });
  byId("compare").addEventListener("click", () => openDirection(state.basket[0], state.basket[1], state.basket));
  listen(async () => {
    const taken = before.filter((itemId) => !state.basket.includes(itemId));
    gone = [...taken, ...gone].filter((itemId, at, all) => all.indexOf(itemId) === at && !state.basket.includes(itemId));
    gone = gone.slice(0, KEPT);
    before = state.basket;
    show();
    if (await lookUp(state.basket)) show();
  });
}

function show() {
  const { basket } = state;
  byId("basket-hint").hidden = basket.length > 0;
  byId("empty").hidden = basket.length === 0;
  byId("compare").hidden = basket.length < 2;
  byId("basket-title").textContent = basket.length ? `Basket (${basket.length})` : "Basket";
  const focused = [...list.children].findIndex((row) => row.contains(document.activeElement));
  list.replaceChildren(...basket.map(row));
  if (focused >= 0) (list.children[Math.min(focused, basket.length - 1)]?.querySelector("button") ?? byId("search")).focus();

  byId("gone").hidden = gone.length === 0;
  byId("gone-items").replaceChildren(...gone.map(chip));
}

function row(itemId) {
  const item = itemOf(itemId);
  return element(
    "li",
    { "data-item": itemId },
    element(
      "div",
      { class: "words" },
      element("span", { class: "title" }, nameOf(itemId)),
      element("span", { class: "where" }, whereOf(item)),
    ),
    element(
      "button",
      { type: "button", class: "icon", "aria-label": `Remove ${nameOf(itemId)}`, onclick: () => remove(itemId) },
      "×",
    ),
  );
}

function chip(itemId) {
  const again = () => {
    add(itemId);
    byId("search").focus();
  };
  return element(
    "li",
    {},
    element("button", { type: "button", class: "chip", "data-item": itemId, onclick: again }, `+ ${nameOf(itemId)}`),
  );
}
