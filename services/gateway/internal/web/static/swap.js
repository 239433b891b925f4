// Replaces an element by the same element of another page. The only module that turns text into markup: the text is a
// page of this server, and the policy "orch" is the only one that the content security policy admits.
import { enhance } from "./start.js";

const policy = globalThis.trustedTypes?.createPolicy("orch", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

// page fetches a page as a document, fragment only what its <main> has.
export const page = (path, init) => read(path, init, "text/html");
export const fragment = (path, init) => read(path, init, "text/html;fragment=main");

async function read(path, init, accept) {
  const response = await fetch(path, { ...init, headers: { ...init?.headers, Accept: accept } });
  const document = new DOMParser().parseFromString(policy.createHTML(await response.text()), "text/html");
  return { ok: response.ok, document };
}

// swap replaces the element with an id, and returns the new one; null if one of them is missing.
export function swap(id, from) {
  const old = document.getElementById(id);
  const next = from.getElementById(id);
  if (!old || !next) return null;
  const adopted = document.adoptNode(next);
  old.replaceWith(adopted);
  enhance(adopted);
  return adopted;
}
