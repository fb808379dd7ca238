// Asks what the state says and shows what comes back.

import { Refused, calledOff, findItems, latest, recommend } from "./api.js";
import { card, showRemoved } from "./cards.js";
import { byId, element, plural } from "./dom.js";
import { nameOf, remember, whereOf } from "./items.js";
import { insertItem, showNames, showQueryError } from "./query.js";
import { add, listen, state } from "./state.js";

const TYPING = 250; // ms without a key, before a query is asked
const EXAMPLES = 9;
const TITLES = { basket: "Goes with your basket", query: "Answers the query" };
const section = document.querySelector(".answer");
const cards = byId("cards");
const next = latest();
let timer = 0;

// The query that stands for the basket: what the query box begins with.
export let askedQuery = "";

export function startAnswer() {
  listen(({ typing }) => {
    clearTimeout(timer);
    const signal = next();
    if (isEmpty()) return showStart(signal);
    section.setAttribute("aria-busy", "true");
    if (!cards.children.length) {
      cards.replaceChildren(...Array.from({ length: 4 }, () => element("li", { class: "card waiting" })));
      title(TITLES[state.mode], "");
    }
    if (byId("start").contains(document.activeElement)) byId("answer-title").focus(); // it is about to be hidden
    byId("start").hidden = true;
    timer = setTimeout(() => ask(signal), typing ? TYPING : 0);
  });
}

const isEmpty = () => (state.mode === "query" ? !state.query.trim() : !state.basket.length);

async function ask(signal) {
  const asked = {
    ...(state.mode === "query" ? { query: state.query } : { basket: state.basket }),
    without_substitutes: state.hideSubstitutes,
    ...(state.category && { categories: [state.category] }),
  };
  try {
    const answer = await recommend(asked, { signal });
    if (signal.aborted) return;
    askedQuery = answer.query;
    show(answer);
    if (state.mode === "query") await showNames(answer.query, answer.unknown);
  } catch (error) {
    if (calledOff(error)) return;
    if (!(error instanceof Refused)) throw error;
    refuse(error);
  }
}

function show(answer) {
  const found = answer.recommendations;
  remember(found.map(({ item_id, title, brand, category }) => ({ item_id, title, brand, category })));
  remember(found.flatMap((one) => one.because?.contributions ?? []).map(({ item_id, title }) => ({ item_id, title })));
  const inQuery = state.mode === "query";
  fill(found.map((one) =>
    card(one, {
      addLabel: inQuery ? "Add to query" : "Add to basket",
      onadd: () => (inQuery ? insertItem(one.item_id) : add(one.item_id)),
    }),
  ));
  title(TITLES[state.mode], found.length ? plural(found.length, "product", "products") : "Nothing fits");
  showQueryError(null);
  showRemoved(answer.removed);
  notices([
    answer.unknown.length ? ["Not in this catalogue, so left out:", answer.unknown.join(", ")] : null,
    answer.low_evidence ? ["Little to go on:", "nobody bought any of these with anything else in training. Take the answers as guesses."] : null,
    found.length ? null : ["Nothing to recommend here.", state.category ? "Try all categories." : ""],
  ]);
}

function refuse(error) {
  fill([]);
  showRemoved([]);
  const ofQuery = state.mode === "query" && error.code === "query";
  showQueryError(ofQuery ? error : null);
  byId("named").hidden = true;
  title(ofQuery ? "The query cannot be read yet" : "No answer", "");
  notices(ofQuery ? [] : [["This cannot be answered:", error.message]]);
}

async function showStart(signal) {
  fill([]);
  showRemoved([]);
  showQueryError(null);
  notices([]);
  byId("named").hidden = true;
  askedQuery = "";
  title(state.mode === "query" ? "Write a query" : "Start with a product", "");
  byId("start").hidden = false;
  if (byId("examples").children.length) return;
  try {
    const { items } = await findItems("", EXAMPLES, { signal });
    remember(items);
    byId("examples").replaceChildren(...items.map(example));
  } catch (error) {
    if (!calledOff(error)) throw error;
  }
}

function example(item) {
  const choose = () => (state.mode === "query" ? insertItem(item.item_id) : add(item.item_id));
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", "data-item": item.item_id, onclick: choose },
      element("span", { class: "title" }, nameOf(item.item_id)),
      element("span", { class: "where" }, whereOf(item)),
    ),
  );
}

function fill(made) {
  const focused = cards.contains(document.activeElement);
  cards.replaceChildren(...made);
  byId("guide").hidden = state.mode !== "query" || made.length > 0;
  section.setAttribute("aria-busy", "false");
  if (focused) byId("answer-title").focus(); // what had the focus is gone
}

function title(text, status) {
  byId("answer-title").textContent = text;
  byId("answer-status").textContent = status;
}

function notices(given) {
  const made = given.filter(Boolean).map(([head, text]) =>
    element("p", { class: "notice" }, element("strong", {}, head), " ", text));
  byId("notices").replaceChildren(...made);
}
