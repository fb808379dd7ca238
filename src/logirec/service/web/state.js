// What is asked, kept in the address: a link shows the same again, and back and forward work.
// It stands behind the #, which browsers keep to themselves: no server or proxy logs what is in a basket.

const EMPTY = { mode: "basket", basket: [], query: "", hideSubstitutes: true, category: "" };
const listeners = [];

export const state = { ...EMPTY };

export function listen(listener) {
  listeners.push(listener);
}

export function change(changes, { typing = false } = {}) {
  Object.assign(state, changes);
  const address = written(state);
  // Every keystroke in the history would make "back" useless.
  if (typing) history.replaceState(null, "", address);
  else if (address !== location.hash) history.pushState(null, "", address || location.pathname);
  tell({ typing });
}

export function add(itemId) {
  if (!state.basket.includes(itemId)) change({ basket: [...state.basket, itemId] });
}

export function remove(itemId) {
  change({ basket: state.basket.filter((one) => one !== itemId) });
}

export function start() {
  window.addEventListener("popstate", () => {
    Object.assign(state, read(location.hash, state.query));
    tell({});
  });
  Object.assign(state, read(location.hash, ""));
  tell({});
}

function tell(how) {
  for (const listener of listeners) listener(how);
}

function read(hash, query) {
  const given = new URLSearchParams(hash.slice(1));
  return {
    mode: given.has("query") ? "query" : "basket",
    basket: [...new Set(given.getAll("item").filter(Boolean))],
    query: given.get("query") ?? query, // what was written is still there after a look at the basket
    hideSubstitutes: given.get("substitutes") !== "shown",
    category: given.get("category") ?? "",
  };
}

function written({ mode, basket, query, hideSubstitutes, category }) {
  const parts = new URLSearchParams(basket.map((itemId) => ["item", itemId]));
  if (mode === "query") parts.set("query", query);
  if (!hideSubstitutes) parts.set("substitutes", "shown");
  if (category) parts.set("category", category);
  const text = parts.toString();
  return text && `#${text}`;
}
