// Follows the topic of the page by a websocket. A message says that something changed; the page then asks for its own
// content and takes over what is new. Elements say by data-part how:
//
//	swap    is replaced
//	rows    known rows change in place; new ones wait behind a button
//	append  new items are appended
import { fragment, swap } from "./swap.js";

const second = 1000, idleAfter = 5 * 60 * second, announceEvery = 10 * second;
const box = document.getElementById("live");
const topic = document.body.dataset.live;
const sources = new Map(); // What the server sent last, by the element's or the row's key.
let socket = null, retries = 0, paused = false, newer = 0, latest = null, tag = "";
let asking = false, again = false, last = 0, timer = 0, active = Date.now(), announced = 0, announcement = 0;

// remember keeps what the server sent, before scripts change it.
export function remember(root) {
  for (const part of root.querySelectorAll("[data-part]")) sources.set(part.id, source(part));
  for (const row of root.querySelectorAll("[data-part] [data-key]")) sources.set(row.dataset.key, source(row));
}

// source is the content without the token of forms, which fragments do not have.
const source = (e) => document.body.dataset.token ? e.innerHTML.replaceAll(document.body.dataset.token, "") : e.innerHTML;

function announce(text) {
  clearTimeout(announcement);
  announcement = setTimeout(() => {
    announced = Date.now();
    box.querySelector("[role=status]").textContent = text;
  }, Math.max(0, announced + announceEvery - Date.now()));
}

function status(state, text) {
  box.hidden = false;
  box.dataset.state = state;
  announce(text);
}

// soon asks once a second at most, and once in five seconds when nobody has used the page for a while.
function soon() {
  again = asking;
  if (timer || asking || paused || document.hidden) return;
  const every = Date.now() - active > idleAfter ? 5 * second : second;
  timer = setTimeout(ask, Math.max(0, last + every - Date.now()));
}

async function ask() {
  timer = 0;
  asking = true;
  last = Date.now();
  try {
    const { ok, redirected, status: code, tag: next, document: page } = await fragment(location.href, { headers: tag ? { "If-None-Match": tag } : {} });
    if (redirected) stop("Not live: your session has ended"); // It leads to the sign-in.
    else if (ok && !paused) { tag = next; take(page); }
    else if (code === 401 || code === 403 || code === 404) stop("Not live: the page is no longer available");
  } catch (error) {
    console.debug("live", error.message);
  }
  asking = false;
  if (again) soon();
}

function take(page) {
  if (page.querySelector("[data-complete]")) return; // It lacks what the page shows already.
  latest = page;
  newer = 0;
  for (const part of document.querySelectorAll("main [data-part]")) {
    const next = page.getElementById(part.id);
    if (!next || sources.get(part.id) === source(next)) continue;
    const keyed = part.dataset.part === "rows" && part.querySelector("[data-key]");
    if (keyed) rows(part, next);
    else if (part.dataset.part === "append") append(part, next);
    else replace(part.id, page);
  }
  const button = box.querySelector("[data-newer]");
  button.hidden = newer === 0;
  button.textContent = newer + " newer";
  if (newer) announce(`Live, ${newer} newer`);
}

// replace swaps a part, and keeps the focus and what is unfolded.
function replace(id, page) {
  const old = document.getElementById(id), next = page.getElementById(id);
  sources.set(id, source(next));
  for (const row of next.querySelectorAll("[data-key]")) sources.set(row.dataset.key, source(row));
  const focused = old.contains(document.activeElement) ? place(document.activeElement) : "";
  const unfolded = [...old.querySelectorAll("details")].map((d) => d.open);
  const adopted = swap(id, page);
  adopted.querySelectorAll("details").forEach((d, i) => { if (unfolded[i]) d.open = true; });
  if (focused) [...adopted.querySelectorAll("a, button, input, select, summary")].find((e) => place(e) === focused)?.focus({ preventScroll: true });
}

const place = (e) => [e.tagName, e.id, e.getAttribute("href"), e.name, e.value, e.textContent].join("\n");

function rows(part, next) {
  for (const row of next.querySelectorAll("[data-key]")) {
    const old = part.querySelector(`[data-key="${CSS.escape(row.dataset.key)}"]`);
    if (!old) newer++;
    else if (sources.get(row.dataset.key) !== source(row) && !old.contains(document.activeElement)) {
      sources.set(row.dataset.key, source(row));
      const ticked = old.querySelector("input[type=checkbox]")?.checked;
      const changed = swap(old, row.cloneNode(true));
      const box = changed.querySelector("input[type=checkbox]");
      if (box && ticked) box.checked = true;
    }
  }
}

function append(part, next) {
  const list = part.querySelector("ol"), items = next.querySelectorAll("ol > li");
  if (!list || !part.querySelector("[rel=next]") !== !next.querySelector("[rel=next]")) return replace(part.id, latest);
  const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
  sources.set(part.id, source(next));
  for (const item of items) {
    if (document.getElementById(item.id)) continue;
    const added = list.appendChild(document.adoptNode(item));
    if (end) added.scrollIntoView({ block: "end" });
  }
}

function connect() {
  if (socket || paused || document.hidden) return;
  const mine = socket = new WebSocket(new URL(topic, location.href).href.replace(/^http/, "ws"));
  mine.onmessage = ({ data }) => {
    if (JSON.parse(data).type === "following") {
      status("live", "Live");
      if (retries > 0) soon(); // Changes may have been missed.
      retries = 0;
    } else soon();
  };
  mine.onclose = ({ code }) => {
    if (socket !== mine) return;
    socket = null;
    if (code === 1008) return stop("Not live: your session has ended");
    if (retries++ === 0) status("lost", "Not live since " + new Date().toLocaleTimeString());
    if (retries === 3) soon(); // It tells whether the session has ended.
    setTimeout(connect, Math.min(30, 2 ** retries) * second * (0.5 + Math.random()));
  };
}

function hangUp() {
  const mine = socket;
  socket = null;
  mine?.close();
}

function stop(text) {
  paused = true;
  hangUp();
  status("lost", text);
  box.querySelector("[data-pause]").hidden = true;
}

export function live() {
  if (!topic || !box) return;
  for (const event of ["pointerdown", "keydown", "scroll"]) addEventListener(event, () => { active = Date.now(); }, { passive: true });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return hangUp();
    retries ||= 1; // Changes may have been missed.
    connect();
  });
  addEventListener("pagehide", hangUp);
  addEventListener("pageshow", ({ persisted }) => { if (persisted) { retries ||= 1; connect(); } });
  box.querySelector("[data-newer]").addEventListener("click", () => {
    for (const part of document.querySelectorAll("main [data-part=rows]")) if (latest.getElementById(part.id)) replace(part.id, latest);
    newer = 0;
    box.querySelector("[data-newer]").hidden = true;
    document.getElementById("main").focus({ preventScroll: true });
  });
  box.querySelector("[data-pause]").addEventListener("click", ({ target }) => {
    paused = !paused;
    target.setAttribute("aria-pressed", paused);
    target.textContent = paused ? "Resume" : "Pause";
    if (paused) { hangUp(); status("paused", "Paused"); } else { retries = 1; connect(); }
  });
  connect();
}
