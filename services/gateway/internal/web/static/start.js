// The start of every page: times, copy buttons, keys, confirmations and live pages. Pages work without it.
import { times } from "./time.js";
import { copyButtons } from "./copy.js";
import { keys } from "./keys.js";
import { live, remember } from "./live.js";

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

remember(document);
enhance(document);
keys();
live();
