// Adds the distance from now to <time> elements, and keeps it current.
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

export function times(root) {
  for (const time of root.querySelectorAll("time:not([data-plain])")) show(time);
}

setInterval(() => { if (!document.hidden) times(document); }, 15000);
