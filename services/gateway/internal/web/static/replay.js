// Continues a replay by itself, one form after the other, until it is finished, stopped, or fails.
import { page, swap } from "./swap.js";

let running = false;

function prepare(section) {
  const go = section?.querySelector("[data-go]");
  if (!go) { running = false; return; }
  const stop = section.querySelector("[data-stop]");
  go.hidden = running;
  stop.hidden = !running;
  section.querySelector("[data-one]").hidden = running;
  go.addEventListener("click", () => { running = true; prepareButtons(section); step(section); });
  stop.addEventListener("click", () => { running = false; stop.disabled = true; stop.textContent = "Stopping…"; });
}

function prepareButtons(section) {
  section.querySelector("[data-go]").hidden = true;
  section.querySelector("[data-one]").hidden = true;
  section.querySelector("[data-stop]").hidden = false;
}

async function step(section) {
  const form = section.querySelector("form[data-replay]");
  let next = null;
  try {
    const result = await page(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (result.ok) next = swap("replay", result.document);
  } catch (error) {
    console.warn("replay", error.message);
  }
  if (!next || next.querySelector("[role=alert]")) running = false;
  prepare(next ?? section);
  if (running && next.querySelector("form[data-replay]")) {
    next.querySelector("[data-stop]").focus();
    step(next);
  }
}

prepare(document.getElementById("replay"));
