// Questions to the service. Waits and asks again where it is busy or gone; asks for a key where one is needed.

import { askForKey, key } from "./key.js";
import { waitOut, wellAgain } from "./trouble.js";

export class Refused extends Error {
  constructor(status, { code = "", message = `the service answered ${status}`, at = null } = {}) {
    super(message);
    Object.assign(this, { status, code, at });
  }
}

const get = (path, options) => send(path, {}, options);
const post = (path, body, options) =>
  send(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } }, options);

export const recommend = (asked, options) => post("v1/recommend", asked, options);
export const findItems = (search, limit, options) => get(`v1/items?${new URLSearchParams({ search, limit })}`, options);
export const oneItem = (itemId) => get(`v1/items/${encodeURIComponent(itemId)}`);
export const direction = (first, second, options) =>
  get(`v1/direction?${new URLSearchParams({ first, second })}`, options);
export const model = () => get("v1/model");

async function send(path, request, { signal } = {}) {
  for (let tries = 0; ; tries++) {
    const used = key();
    const headers = { ...request.headers, ...(used && { authorization: `Bearer ${used}` }) };
    let response;
    try {
      response = await fetch(path, { ...request, headers, signal });
    } catch (error) {
      signal?.throwIfAborted();
      await waitOut("gone", Math.min(2 ** tries, 15), signal);
      continue;
    }
    if (response.status === 401) {
      await askForKey(used);
    } else if (response.status === 503) {
      const least = Number(response.headers.get("retry-after")) || 1;
      await waitOut("busy", Math.min(least * 2 ** tries, 15), signal);
    } else {
      wellAgain();
      const value = await response.json().catch(() => ({}));
      if (!response.ok) throw new Refused(response.status, value.error);
      return value;
    }
    signal?.throwIfAborted();
  }
}

// Only the latest of its questions counts: a new one calls off the one before.
export function latest() {
  let controller = new AbortController();
  return () => {
    controller.abort();
    controller = new AbortController();
    return controller.signal;
  };
}

export const calledOff = (error) => error.name === "AbortError";
