// The line at the top that says that the service is busy or gone, and when it is asked again.

import { byId } from "./dom.js";

const WORDS = { gone: "The service cannot be reached.", busy: "The service is busy." };
const retry = new EventTarget();

byId("trouble-retry").addEventListener("click", () => retry.dispatchEvent(new Event("now")));

export function waitOut(kind, seconds, signal) {
  byId("trouble-text").textContent = `${WORDS[kind]} Asking again in ${seconds} s.`;
  byId("trouble").hidden = false;
  return new Promise((resolve, reject) => {
    const until = new AbortController(); // takes both listeners away, whichever came first
    const end = (then) => () => {
      clearTimeout(timer);
      until.abort();
      then();
    };
    const timer = setTimeout(end(resolve), 1000 * seconds);
    retry.addEventListener("now", end(resolve), { signal: until.signal });
    signal?.addEventListener("abort", end(() => reject(signal.reason)), { signal: until.signal });
  });
}

export function wellAgain() {
  byId("trouble").hidden = true;
}
