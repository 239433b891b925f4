// Renders the template 200 ms after the last key, and when another delivery is chosen.
import { fragment, swap } from "./swap.js";

const form = document.querySelector("form[data-bench]");
let timer = 0, current = null, shown = form?.elements.template.value;

async function preview() {
  const template = form.elements.template.value;
  if (template === shown) return;
  current?.abort();
  const mine = current = new AbortController();
  const body = new URLSearchParams(new FormData(form));
  body.set("action", "bench-preview");
  try {
    const { ok, document: next } = await fragment(form.getAttribute("action"), { method: "POST", body, signal: mine.signal });
    if (ok && swap("preview", next)) shown = template;
  } catch (error) {
    if (error.name !== "AbortError") console.warn("preview", error.message);
  }
}

if (form) {
  form.elements.template.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(preview, 200);
  });
  form.elements.delivery?.addEventListener("change", () => {
    const address = new URL(location.href);
    address.searchParams.set("delivery", form.elements.delivery.value);
    history.replaceState(null, "", address);
    form.querySelector("[data-preview]").click();
  });
}
