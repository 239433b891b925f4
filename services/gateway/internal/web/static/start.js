// The start of every page: times, copy buttons, keys, confirmations and live pages. Pages work without it.
import { times } from "./time.js";
import { enable, enabled, keys } from "./keys.js";
import { live, remember } from "./live.js";
import { page, swap } from "./swap.js";

// Shows the copy buttons. What they copy is in data-copy, or the text of the preceding <pre>.
function copyButtons(root) {
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = button.dataset.copy || button.parentElement.querySelector("pre").textContent;
      const copied = await copy(text);
      button.classList.add(copied ? "good" : "bad");
      setTimeout(() => button.classList.remove("good", "bad"), 1200);
    });
  }
}

// copy reports whether the text is in the clipboard. Pages of http origins other than loopback have no navigator.clipboard.
async function copy(text) {
  try {
    if (navigator.clipboard) return await navigator.clipboard.writeText(text), true;
  } catch {
    // Without permission, the selection still copies.
  }
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}

export function enhance(root) {
  times(root);
  copyButtons(root);
  for (const all of root.querySelectorAll("input[data-all]")) {
    all.hidden = false;
    all.addEventListener("change", () => {
      for (const box of all.closest("table").querySelectorAll("tbody input[type=checkbox]")) box.checked = all.checked;
    });
  }
  for (const select of root.querySelectorAll("select[data-submit]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
}

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
