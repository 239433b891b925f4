// Continues a replay by itself, one form after the other, until it is finished, stopped, or fails.
import { page, swap } from "./swap.js";

let running = false, busy = false;

function show(section) {
  const go = section?.querySelector("[data-go]");
  if (!go) { running = false; return; }
  const stop = section.querySelector("[data-stop]");
  go.hidden = section.querySelector("[data-one]").hidden = running || busy;
  stop.hidden = !running && !busy;
  stop.disabled = busy && !running;
  stop.textContent = stop.disabled ? "Stopping…" : "Stop";
}

async function run() {
  if (busy) return;
  busy = running = true;
  show(document.getElementById("replay"));
  while (running) {
    const form = document.querySelector("#replay form[data-replay]");
    let next = null;
    try {
      const result = await page(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (result.ok) next = swap("replay", result.document);
    } catch (error) {
      console.warn("replay", error.message);
    }
    if (!next?.querySelector("form[data-replay]") || next.querySelector("[role=alert]")) running = false;
    show(next);
    if (running) next.querySelector("[data-stop]").focus();
  }
  busy = false;
  show(document.getElementById("replay"));
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-go]")) run();
  if (event.target.closest("[data-stop]")) { running = false; show(document.getElementById("replay")); }
});
show(document.getElementById("replay"));
