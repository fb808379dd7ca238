// The panel about the model that answers.

import { model } from "./api.js";
import { byId, element, plural } from "./dom.js";

const KINDS = { low: "One product", high: "Several" };
const METRICS = { "hit@3": "Hit@3", "ndcg@3": "NDCG@3", mrr: "MRR", "hit@10": "Hit@10" };
const when = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

export async function showModel() {
  const about = await model();
  const facts = [
    ["Dataset", about.dataset],
    ["Catalogue", plural(about.items, "product", "products")],
    ["Trained", about.trained && when.format(new Date(about.trained))],
    ["Served since", when.format(new Date(1000 * about.served_since))],
    ["Recipe", `${about.variant}, ${about.preset}`],
    ["Version", `${about.version} · ${about.sha256.slice(0, 8)}`],
  ];
  byId("model-facts").replaceChildren(
    ...facts.filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
  byId("model-metrics").replaceChildren(...table(about.metrics, about.told === "test"));
  return about;
}

function table(metrics, told) {
  const kinds = Object.keys(KINDS).filter((kind) => metrics[kind]?.filtered);
  if (!kinds.length) return [];
  const head = element("tr", {}, ...["Asked with", ...Object.values(METRICS), "Queries"].map((name) => element("th", { scope: "col" }, name)));
  const rows = kinds.map((kind) => {
    const found = metrics[kind].filtered;
    const cells = Object.keys(METRICS).map((name) => found[name]?.toFixed(3) ?? "–");
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, KINDS[kind]),
      ...[...cells, found.queries?.toLocaleString("en") ?? "–"].map((cell) => element("td", {}, cell)),
    );
  });
  const caption = element("caption", {}, `On held-out test queries${told ? ", before it was told of them" : ""}, all products ranked, known answers filtered`);
  return [element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows))];
}
