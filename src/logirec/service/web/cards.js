// A recommendation as a card: what it is, how sure, and each item's part in why.

import { openDirection } from "./direction.js";
import { bar, byId, element, percent, plural } from "./dom.js";
import { whereOf } from "./items.js";
import { withNames } from "./query.js";

const BARS = 5; // more of them are folded away

export function card(found, { addLabel, onadd }) {
  const name = found.title || found.item_id;
  const because = found.because?.contributions ?? [];
  const sources = because.map((one) => one.item_id);
  return element(
    "li",
    { class: "card", "data-item": found.item_id },
    element(
      "div",
      { class: "card-head" },
      element(
        "div",
        { class: "words" },
        element("h3", {}, name),
        element("p", { class: "where" }, whereOf(found)),
      ),
      confidence(found.confidence),
    ),
    because.length ? why(because, found.because) : null,
    element(
      "div",
      { class: "card-foot" },
      element("button", { type: "button", class: "primary", "aria-label": `${addLabel}: ${name}`, onclick: onadd }, addLabel),
      sources.length
        ? element(
            "button",
            {
              type: "button",
              class: "link",
              "aria-label": `Both ways: ${name}`,
              onclick: () => openDirection(strongest(because), found.item_id, [...sources, found.item_id]),
            },
            "Both ways",
          )
        : null,
      element(
        "span",
        { class: "uncertainty", title: "Spread of the item's embedding: about 1 knows nothing, near 0 is sure" },
        `uncertainty ${found.uncertainty.toFixed(2)}`,
      ),
    ),
  );
}

const strongest = (because) => because.reduce((best, one) => (one.share > best.share ? one : best)).item_id;

function confidence(value) {
  if (value === null) return element("p", { class: "confidence none" }, element("span", {}, "not calibrated"));
  return element(
    "p",
    { class: "confidence" },
    element("strong", {}, percent(value)),
    element("span", {}, value === 1 ? "known pair" : "confidence"),
  );
}

function why(because, { negations, model, evidence }) {
  const rows = because.map((one) =>
    element(
      "li",
      { "data-item": one.item_id },
      element("span", { class: "title" }, one.title || one.item_id),
      bar(one.share),
      element("span", { class: "share" }, percent(one.share)),
      one.bought_together ? element("span", { class: "together" }, "bought together") : null,
    ),
  );
  const rest = rows.splice(BARS);
  return element(
    "div",
    { class: "why" },
    element("h4", {}, "Because of"),
    element("ul", {}, ...rows),
    rest.length
      ? element("details", {}, element("summary", {}, `${rest.length} more`), element("ul", {}, ...rest))
      : null,
    element(
      "p",
      { class: "sources", title: "Above the mean of all products, in standard deviations of their scores by the model" },
      `Stands at ${signed(model + evidence)}: ${signed(model)} by the model, ${signed(evidence)} by what is bought together`,
    ),
    ...negations.filter((one) => Math.abs(one.change) >= 0.005).map((one) =>
      element(
        "p",
        { class: "negation" },
        element("code", {}, withNames(one.query)),
        ` ${one.change >= 0 ? "lifts" : "lowers"} its score by ${Math.abs(one.change).toFixed(2)}`,
      ),
    ),
  );
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;

export function showRemoved(removed) {
  byId("removed").hidden = removed.length === 0;
  byId("removed-summary").textContent = `${plural(removed.length, "product was", "products were")} left out`;
  byId("removed-items").replaceChildren(
    ...removed.map((one) =>
      element(
        "li",
        { "data-item": one.item_id },
        element("span", { class: "title" }, one.title || one.item_id),
        element("span", { class: "where" }, one.known ? "a known substitute" : `moved out by ${withNames(one.by)}`),
      ),
    ),
  );
}
