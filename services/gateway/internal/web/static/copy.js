// Shows the copy buttons. What they copy is in data-copy, or the text of the preceding <pre>.
export function copyButtons(root) {
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
