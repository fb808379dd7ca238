// The API key, where the service wants one: kept for this tab only.

import { byId } from "./dom.js";

const PLACE = "logirec-key";
const dialog = byId("key-dialog");
let asking = null; // one dialog, however many questions wait for it

export const key = () => sessionStorage.getItem(PLACE) ?? "";

// Resolves when there is another key than the one that was refused.
export function askForKey(refused) {
  if (key() !== refused) return Promise.resolve();
  asking ??= new Promise((resolve) => {
    byId("key-wrong").hidden = !refused;
    byId("key").value = "";
    dialog.showModal();
    byId("key-form").addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        sessionStorage.setItem(PLACE, byId("key").value.trim());
        dialog.close();
        asking = null;
        resolve();
      },
      { once: true },
    );
  });
  return asking;
}

// Without a key there is nothing to go back to.
dialog.addEventListener("cancel", (event) => event.preventDefault());
