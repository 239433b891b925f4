// Tries filter and template 200 ms after the last key, and when another request is chosen. Keeps the numbers of the lines beside
// them, shows the line of an error, and offers to save only what was checked.
import { fragment, swap } from "./swap.js";

const form = document.querySelector("form[data-bench]");
const draft = () => `${form.elements.filter.value}\n\n${form.elements.template.value}`;
let timer = 0, current = null, shown = form && draft();

async function preview() {
  const tried = draft();
  if (tried === shown) return;
  current?.abort();
  const mine = current = new AbortController();
  const body = new URLSearchParams(new FormData(form));
  body.set("action", "bench-preview");
  try {
    const { ok, document: next } = await fragment(form.getAttribute("action"), { method: "POST", body, signal: mine.signal });
    if (ok && swap("preview", next)) {
      shown = tried;
      showError();
    }
  } catch (error) {
    if (error.name !== "AbortError") console.warn("preview", error.message);
  }
}

const numbers = form?.querySelector(".numbers"), save = document.querySelector("[data-save]");

function number() {
  const lines = form.elements.template.value.split("\n").length;
  if (numbers.childElementCount !== lines) {
    numbers.replaceChildren(...Array.from({ length: lines }, (_, i) => {
      const line = document.createElement("span");
      line.textContent = `${i + 1}\n`;
      return line;
    }));
  }
  numbers.scrollTop = form.elements.template.scrollTop;
}

// Scrolls the editor to the line of the error, unless somebody types in it.
function showError() {
  const line = Number(document.getElementById("preview")?.dataset.line);
  [...numbers.children].forEach((n, i) => n.classList.toggle("bad", i + 1 === line));
  const template = form.elements.template, at = numbers.children[line - 1];
  if (at && document.activeElement !== template) template.scrollTop = Math.max(0, at.offsetTop - template.clientHeight / 2);
}

if (form) {
  number();
  showError();
  form.elements.template.addEventListener("scroll", () => { numbers.scrollTop = form.elements.template.scrollTop; });
  const checked = draft();
  const changed = () => {
    number();
    if (save) {
      save.disabled = draft() !== checked;
      document.querySelector("[data-save-hint]").textContent = save.disabled ? "Filter or template has changed since the check." : "Saves filter and template above.";
    }
    clearTimeout(timer);
    timer = setTimeout(preview, 200);
  };
  for (const name of ["filter", "template"]) form.elements[name].addEventListener("input", changed);
  form.elements.request?.addEventListener("change", () => {
    const address = new URL(location.href), [kind, id] = form.elements.request.value.split(":");
    for (const other of ["sample", "delivery"]) address.searchParams.delete(other);
    address.searchParams.set(kind, id);
    history.replaceState(null, "", address);
    form.querySelector("[data-preview]").click();
  });
}
