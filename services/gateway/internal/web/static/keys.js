// Keys: "/" moves to the search field of the page, or to that of the bar; "g" then a letter opens a page. The footer switches them off.
const places = { h: "/", r: "/runs", f: "/flows", d: "/deployments", w: "/webhooks", e: "/events", a: "/automations" };

export const enabled = () => localStorage.getItem("orch-keys") !== "off";
export const enable = (on) => { localStorage.setItem("orch-keys", on ? "on" : "off"); };

export function keys() {
  let go = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !enabled()) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (event.key === "/") {
      const field = document.querySelector("main input[type=search]") ?? document.querySelector(".find input");
      if (field) { event.preventDefault(); field.focus(); }
    } else if (go && places[event.key]) {
      location.href = document.body.dataset.base + places[event.key];
    }
    go = event.key === "g";
  });
}
