// The page: its parts started and joined.

import { askedQuery, startAnswer } from "./answer.js";
import { startBasket } from "./basket.js";
import { startDirection } from "./direction.js";
import { byId, element } from "./dom.js";
import { remember } from "./items.js";
import { showModel } from "./model.js";
import { insertItem, startQuery } from "./query.js";
import { startSearch } from "./search.js";
import { add, change, listen, start, state } from "./state.js";

const MOST_CATEGORIES = 1000; // a longer list helps nobody
let begunWith = "";

startSearch((item) => {
  remember([item]);
  if (state.mode === "query") insertItem(item.item_id);
  else add(item.item_id);
});
startBasket();
startQuery();
startDirection();
startOptions();
startAnswer();
start();
showModel().then(({ categories }) => showCategories(categories));

function startOptions() {
  const modes = document.querySelectorAll("input[name=mode]");
  for (const mode of modes) {
    mode.addEventListener("change", () => {
      // The box begins with what the basket asks, and follows it until somebody writes in it.
      if (mode.value === "query" && (!state.query || state.query === begunWith)) state.query = begunWith = askedQuery;
      change({ mode: mode.value });
    });
  }
  byId("substitutes").addEventListener("change", (event) => change({ hideSubstitutes: event.target.checked }));
  byId("category").addEventListener("change", (event) => change({ category: event.target.value }));
  byId("copy").addEventListener("click", copyLink);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is what is asked, not where we are
    byId("answer-title").focus();
  });
  listen(() => {
    for (const mode of modes) mode.checked = mode.value === state.mode;
    byId("basket-mode").hidden = state.mode !== "basket";
    byId("query-mode").hidden = state.mode !== "query";
    byId("search-label").textContent = state.mode === "query" ? "Search products to insert" : "Search products";
    byId("substitutes").checked = state.hideSubstitutes;
    byId("category").value = state.category;
  });
}

function showCategories(categories) {
  if (!categories.length || categories.length > MOST_CATEGORIES) return;
  const groups = new Map();
  for (const name of categories) {
    const department = name.split(" > ")[0];
    if (!groups.has(department)) groups.set(department, element("optgroup", { label: department }));
    groups.get(department).append(element("option", { value: name }, name.replaceAll(" > ", " › ")));
  }
  byId("category").append(...groups.values());
  byId("category").value = state.category;
  byId("category-field").hidden = false;
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("copy").textContent = "Link copied";
  } catch {
    byId("copy").textContent = "Copy it from the address bar"; // browsers refuse it to pages without https
  }
  setTimeout(() => (byId("copy").textContent = "Copy link"), 2500);
}
