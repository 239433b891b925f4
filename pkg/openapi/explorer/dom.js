// Building blocks of the page. Nothing here takes markup: text stays text, so no document can inject any.

// el makes an element: el("a", {href: "#", class: "x", onclick: f}, "text", child, [more]).
export function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return node;
}

// prose writes paragraphs; `code` in them is set as code.
export function prose(text) {
  return (text ?? "").split(/\n\n+/).filter(Boolean).map((paragraph) =>
    el("p", {}, paragraph.split(/(`[^`]+`)/).map((part) =>
      /^`.+`$/.test(part) ? el("code", {}, part.slice(1, -1)) : part)));
}

// badge shows a method.
export const badge = (method) => el("span", { class: `method ${method}` }, method.toUpperCase());

// path shows a path with its variables set apart.
export const path = (template) => el("code", { class: "path" },
  template.split(/(\{[^}]+\})/).map((part) => part.startsWith("{") ? el("var", {}, part) : part));

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([[\]{},])|\s+/g;

// highlighted limits what is coloured: a span for each token of a long answer is slow.
const highlighted = 200_000;

// indent lays JSON text out, keeping every number as it was written: JSON.parse would round what exceeds 2^53.
export function indent(text) {
  let out = "", depth = 0, previous = "";
  for (const [whole, string, colon, , , mark] of text.matchAll(token)) {
    if (/^\s+$/.test(whole)) continue;
    if (mark === "}" || mark === "]") {
      depth--;
      if (previous !== "{" && previous !== "[") out += "\n" + "  ".repeat(depth);
    } else if (previous === "{" || previous === "[" || previous === ",") {
      out += "\n" + "  ".repeat(depth);
    }
    out += colon ? string + ": " : whole;
    if (mark === "{" || mark === "[") depth++;
    previous = mark ?? "x";
  }
  return out;
}

// json shows JSON text in colours.
export function json(text) {
  const node = el("pre", { class: "json", tabindex: "0" });
  if (text.length > highlighted) {
    node.textContent = text;
    return node;
  }
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon, number, word] = match;
    node.append(text.slice(end, match.index));
    end = match.index + whole.length;
    if (string) node.append(el("span", { class: colon ? "key" : "string" }, string), colon ?? "");
    else if (number || word) node.append(el("span", { class: number ? "number" : "word" }, whole));
    else node.append(whole);
  }
  node.append(text.slice(end));
  return node;
}
