// Raises the paths to and from the box of the graph that has the pointer or the focus. It reads the graph at each move, because a live
// page replaces it.

// reach returns the boxes that a box leads to, or those that lead to it: edges are pairs of boxes, and side is the end at which a step begins.
function reach(box, edges, side) {
  const found = new Set([box]);
  for (const from of found) {
    for (const ends of edges) if (ends[side] === from) found.add(ends[1 - side]);
  }
  return found;
}

function trace(event) {
  const box = event.target.closest?.(".graph [data-box]");
  for (const graph of document.querySelectorAll(".graph > svg")) {
    graph.classList.toggle("traced", Boolean(box && graph.contains(box)));
  }
  if (!box) return;
  const lines = [...box.ownerSVGElement.querySelectorAll("[data-edge]")];
  const edges = lines.map((line) => line.dataset.edge.split(" "));
  const paths = [reach(box.dataset.box, edges, 0), reach(box.dataset.box, edges, 1)];
  for (const other of box.ownerSVGElement.querySelectorAll("[data-box]")) {
    other.classList.toggle("on-path", paths.some((path) => path.has(other.dataset.box)));
  }
  lines.forEach((line, i) => line.classList.toggle("on-path", paths.some((path) => edges[i].every((end) => path.has(end)))));
}

for (const type of ["pointerover", "focusin"]) document.addEventListener(type, trace);
