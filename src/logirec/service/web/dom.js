// Elements from values. Children are nodes or text; text is never read as markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A bar of which this part is filled. The number stands beside it in words, so it is not read out.
export function bar(part) {
  const filled = element("span", { class: "filled" });
  filled.style.inlineSize = `${100 * Math.min(1, Math.max(0, part))}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, filled);
}

export function percent(part) {
  if (part > 0 && part < 0.01) return "<1%";
  return `${Math.round(100 * part)}%`;
}

export const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
