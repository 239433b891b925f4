// Shows the copy buttons. What they copy is in data-copy, or the text of the preceding <pre>.
export function copyButtons(root) {
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = button.dataset.copy || button.parentElement.querySelector("pre").textContent;
      await navigator.clipboard.writeText(text);
      button.classList.add("good");
      setTimeout(() => button.classList.remove("good"), 1200);
    });
  }
}
