// The start of every page: what scripts add to its elements, keys, slow parts and live pages. Pages work without it.
import { enhance } from "./enhance.js";
import { enable, enabled, keys } from "./keys.js";
import { live, remember } from "./live.js";
import { page, swap } from "./swap.js";

// complete follows the link of a page whose parts took too long.
async function complete() {
  const link = document.querySelector("[data-complete] a");
  if (!link) return;
  try {
    const { ok, document: whole } = await page(link.href);
    if (ok && swap("main", whole)) remember(document);
  } catch (error) {
    console.debug("complete", error.message);
  }
}

// The choice about letter keys is one of the browser.
function keySwitch() {
  const button = document.querySelector("[data-keys]");
  if (!button) return;
  const show = () => { button.textContent = enabled() ? "Letter keys: on" : "Letter keys: off"; };
  button.hidden = false;
  button.addEventListener("click", () => { enable(!enabled()); show(); });
  show();
}

remember(document);
enhance(document);
keySwitch();
complete();
keys();
live();
