// The search box: a combobox whose list follows what is typed.

import { calledOff, findItems, latest } from "./api.js";
import { byId, element, plural } from "./dom.js";
import { remember, whereOf } from "./items.js";

const DELAY = 120; // ms without a key, before the service is asked
const LIMIT = 8;
const input = byId("search");
const list = byId("found");
const next = latest();
let shown = { text: "", items: [] };
let active = -1;
let timer = 0;

export function startSearch(choose) {
  const pick = (at) => {
    const item = shown.items[at];
    input.value = "";
    close();
    choose(item);
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    const signal = next(); // what is on its way answers an older text
    const text = input.value.trim();
    if (!text) return close();
    timer = setTimeout(() => search(text, signal, pick), DELAY);
  });

  input.addEventListener("keydown", (event) => {
    const fresh = shown.text === input.value.trim();
    if (event.key === "Escape" && !list.hidden) close();
    else if (list.hidden || !shown.items.length) return;
    else if (event.key === "ArrowDown") activate((active + 1) % shown.items.length);
    else if (event.key === "ArrowUp") activate((active - 1 + shown.items.length) % shown.items.length);
    else if (event.key === "Enter" && fresh) pick(active);
    else return;
    event.preventDefault();
  });

  input.addEventListener("blur", close);
}

async function search(text, signal, pick) {
  try {
    const { items } = await findItems(text, LIMIT, { signal });
    if (signal.aborted) return;
    remember(items);
    shown = { text, items };
    open(pick);
  } catch (error) {
    if (!calledOff(error)) say(error.message);
  }
}

function open(pick) {
  const options = shown.items.map((item, at) =>
    element(
      "li",
      {
        id: `found-${at}`,
        role: "option",
        // Before the box loses the focus, which would close the list.
        onmousedown: (event) => {
          event.preventDefault();
          pick(at);
        },
        onmousemove: () => activate(at),
      },
      element("span", { class: "title" }, item.title || item.item_id),
      element("span", { class: "where" }, whereOf(item)),
    ),
  );
  const nothing = element("li", { class: "nothing", role: "option", "aria-disabled": "true" }, "Nothing has these words");
  list.replaceChildren(...(options.length ? options : [nothing]));
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  activate(options.length ? 0 : -1);
  say(plural(options.length, "product", "products"));
}

function close() {
  clearTimeout(timer);
  next();
  list.hidden = true;
  shown = { text: "", items: [] };
  input.setAttribute("aria-expanded", "false");
  activate(-1);
  say("");
}

function activate(at) {
  active = at;
  for (const [place, option] of [...list.children].entries()) {
    option.setAttribute("aria-selected", String(place === at));
    if (place === at) option.scrollIntoView({ block: "nearest" });
  }
  if (at < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", `found-${at}`);
}

function say(text) {
  byId("search-status").textContent = text;
}
