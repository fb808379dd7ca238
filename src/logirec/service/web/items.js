// What is known of items by now: their words, by id.

import { oneItem } from "./api.js";

const known = new Map();

export function remember(items) {
  for (const item of items) known.set(item.item_id, { ...known.get(item.item_id), ...item });
}

export const itemOf = (itemId) => known.get(itemId) ?? { item_id: itemId };
export const nameOf = (itemId) => itemOf(itemId).title || itemId;

// "Coffee › Descaler · Marlow"
export function whereOf({ category, brand }) {
  return [category?.replaceAll(" > ", " › "), brand].filter(Boolean).join(" · ");
}

const UNKNOWN = { title: null, brand: null, category: null };

// The words of these items; one that the catalogue does not hold keeps its id as its name, one that cannot be had now
// is asked for again the next time.
export async function lookUp(itemIds) {
  const missing = itemIds.filter((itemId) => !("category" in itemOf(itemId)));
  await Promise.all(
    missing.map(async (itemId) => {
      const found = await oneItem(itemId).catch((error) => (error.status === 404 ? UNKNOWN : null));
      if (found) remember([{ ...found, item_id: itemId }]);
    }),
  );
  return missing.length > 0;
}
