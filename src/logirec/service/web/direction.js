// A pair both ways: a case is offered to who buys a phone, and hardly the other way round.

import { calledOff, direction, latest } from "./api.js";
import { bar, byId, element, percent } from "./dom.js";
import { nameOf } from "./items.js";

const dialog = byId("direction");
const [first, second] = [byId("first"), byId("second")];
const answer = byId("direction-answer");
const next = latest();

export function startDirection() {
  for (const side of [first, second]) side.addEventListener("change", () => keepApart(side));
  byId("swap").addEventListener("click", () => {
    [first.value, second.value] = [second.value, first.value];
    show();
  });
  dialog.addEventListener("close", next);
}

export function openDirection(from, to, itemIds) {
  for (const [side, chosen] of [[first, from], [second, to]]) {
    side.replaceChildren(...itemIds.map((itemId) => element("option", { value: itemId }, nameOf(itemId))));
    side.value = chosen;
  }
  answer.replaceChildren();
  dialog.showModal();
  byId("swap").focus();
  show();
}

function keepApart(changed) {
  const other = changed === first ? second : first;
  if (other.value === changed.value) other.value = [...other.options].find((one) => one.value !== changed.value).value;
  show();
}

async function show() {
  const signal = next();
  try {
    const found = await direction(first.value, second.value, { signal });
    answer.replaceChildren(
      way(found.first, found.second, found.forward_confidence, found.forward),
      way(found.second, found.first, found.backward_confidence, found.backward),
      element("p", { class: "verdict" }, verdict(found)),
    );
  } catch (error) {
    if (!calledOff(error)) answer.replaceChildren(element("p", { class: "wrong" }, error.message));
  }
}

function way(source, target, confidence, score) {
  return element(
    "div",
    { class: "way" },
    element("p", {}, nameOf(source), element("span", { class: "arrow" }, " → "), nameOf(target)),
    bar(confidence ?? 0),
    element("strong", {}, confidence === null ? "–" : percent(confidence)),
    element("span", { class: "where" }, `score ${score.toFixed(2)}${confidence === 1 ? " · known pair" : ""}`),
  );
}

function verdict({ first: one, second: other, forward_confidence: there, backward_confidence: back }) {
  if (there === null || back === null) return "This model has no calibrated confidence to compare.";
  const [low, high] = [Math.min(there, back), Math.max(there, back)];
  if (high < 0.005) return "Neither is likely to go with the other.";
  if (high - low < 0.005) return "About as sure both ways.";
  const [source, target] = there > back ? [one, other] : [other, one];
  return `Surer of ${nameOf(target)} for who has ${nameOf(source)} than the other way round.`;
}
