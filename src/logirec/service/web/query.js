// The query as text: written by hand, by the buttons, or with products from the search box.

import { byId, element } from "./dom.js";
import { lookUp, nameOf } from "./items.js";
import { change, listen, state } from "./state.js";

const text = byId("query");

export function startQuery() {
  text.addEventListener("input", () => change({ query: text.value }, { typing: true }));
  for (const button of document.querySelectorAll("[data-sign]")) {
    button.addEventListener("click", () => insert(button.dataset.sign));
  }
  listen(() => {
    if (text.value !== state.query) text.value = state.query;
  });
}

export function insertItem(itemId) {
  const written = quoted(itemId);
  const before = text.value.slice(0, text.selectionStart).trimEnd();
  const inside = before.lastIndexOf("(") > before.lastIndexOf(")");
  const joined = before === "" || /[(&|~]$/u.test(before) ? "" : " & ";
  insert(joined + (inside ? written : `complement(${written})`));
}

function quoted(itemId) {
  return /^[\p{L}\p{N}_.:/@+-]+$/u.test(itemId) ? itemId : `"${itemId.replace(/[\\"]/g, "\\$&")}"`;
}

function insert(words) {
  text.focus();
  text.setRangeText(words, text.selectionStart, text.selectionEnd, "end");
  if (words.endsWith("()")) text.selectionEnd = text.selectionStart -= 1; // an id comes next
  change({ query: text.value }, { typing: true });
}

// An error at its place: the text again, with the character marked that it is about.
export function showQueryError(error) {
  const box = byId("query-error");
  box.hidden = !error;
  if (error) text.setAttribute("aria-invalid", "true");
  else text.removeAttribute("aria-invalid");
  if (!error) return;
  const place = byId("query-place");
  place.hidden = error.at === null;
  if (error.at === null) {
    byId("query-message").textContent = error.message;
    return;
  }
  const letters = [...text.value]; // the service counts characters, not UTF-16 units
  const mark = element("mark", {}, letters[error.at] ?? "\u00a0");
  place.replaceChildren(letters.slice(0, error.at).join(""), mark, letters.slice(error.at + 1).join(""));
  byId("query-message").textContent = `Character ${error.at + 1}: ${error.message}`;
}

const WORDS = /"((?:[^"\\]|\\.)*)"|([\p{L}\p{N}_.:/@+-]+)(\()?/gu;

// Of a match of WORDS: its id; nothing of complement( and substitute(.
const idOf = ([, inQuotes, plain, bracket]) => (bracket ? null : (plain ?? inQuotes.replace(/\\(.)/g, "$1")));

// The same with names in the place of ids, where they are known.
export const withNames = (query) =>
  query.replace(WORDS, (...match) => (idOf(match) === null ? match[0] : nameOf(idOf(match))));

// What the ids of a query stand for, once it could be answered.
export async function showNames(query, unknown) {
  const ids = [...query.matchAll(WORDS)].map(idOf).filter((itemId) => itemId !== null && !unknown.includes(itemId));
  const distinct = [...new Set(ids)].slice(0, 12);
  await lookUp(distinct);
  const rows = distinct
    .filter((itemId) => nameOf(itemId) !== itemId)
    .flatMap((itemId) => [element("dt", {}, itemId), element("dd", {}, nameOf(itemId))]);
  byId("named").replaceChildren(...rows);
  byId("named").hidden = rows.length === 0;
}
