// Adds to elements what needs a script: the distance from now, copy buttons, boxes that tick all, lists that submit.
const steps = [[60, "second"], [3600, "minute", 60], [172800, "hour", 3600], [Infinity, "day", 86400]];
const format = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  if (Math.abs(seconds) < 5) return "just now";
  const [, unit, size = 1] = steps.find(([limit]) => Math.abs(seconds) < limit);
  return format.format(Math.round(seconds / size), unit);
}

function show(time) {
  const date = Date.parse(time.dateTime);
  if (Number.isNaN(date)) return;
  if (!time.dataset.exact) {
    time.dataset.exact = time.textContent;
    time.title = time.textContent + " · " + time.title;
  }
  time.textContent = ago(date);
}

function times(root) {
  for (const time of root.querySelectorAll("time:not([data-plain])")) show(time);
}

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
    const button = document.getElementById(select.dataset.submit);
    select.addEventListener("change", () => select.form.requestSubmit(button));
  }
}

// The distances from now stay current.
setInterval(() => { if (!document.hidden) times(document); }, 15000);
