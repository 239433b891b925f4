// Renders the template 200 ms after the last key, and when another delivery is chosen.
import { page, swap } from "./swap.js";

const form = document.querySelector("form[data-bench]");
let timer = 0, current = null;

async function preview() {
  current?.abort();
  const mine = current = new AbortController();
  const body = new URLSearchParams(new FormData(form));
  body.set("action", "bench-preview");
  try {
    const { ok, document: next } = await page(form.getAttribute("action"), { method: "POST", body, signal: mine.signal });
    if (ok) swap("preview", next);
  } catch (error) {
    if (error.name !== "AbortError") console.warn("preview", error.message);
  }
}

if (form) {
  form.querySelector("textarea").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(preview, 200);
  });
  form.querySelector("select[name=delivery]")?.addEventListener("change", () => {
    const address = new URL(location.href);
    address.searchParams.set("delivery", form.elements.delivery.value);
    history.replaceState(null, "", address);
    form.querySelector("[data-preview]").click();
  });
}
