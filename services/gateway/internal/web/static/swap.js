// Replaces an element by the same element of another page. The only module that turns text into markup: the text is a
// page of this server, and the policy "orch" is the only one that the content security policy admits.
import { enhance } from "./enhance.js";

const policy = globalThis.trustedTypes?.createPolicy("orch", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

// page fetches a page as a document, fragment only what its <main> has.
export const page = (path, init) => read(path, init, "text/html");
export const fragment = (path, init) => read(path, init, "text/html;fragment=main");

async function read(path, init, accept) {
  const response = await fetch(path, { ...init, cache: "no-store", headers: { ...init?.headers, Accept: accept } });
  const document = new DOMParser().parseFromString(policy.createHTML(await response.text()), "text/html");
  return { ok: response.ok, redirected: response.redirected, status: response.status, tag: response.headers.get("ETag") ?? "", document };
}

// swap replaces an element, or the one with an id, and returns the new one; null if one of them is missing. Forms of
// fragments get the token of this page.
export function swap(target, from) {
  const old = typeof target === "string" ? document.getElementById(target) : target;
  const next = typeof target === "string" ? from.getElementById(target) : from;
  if (!old || !next) return null;
  const adopted = document.adoptNode(next);
  for (const field of adopted.querySelectorAll("input[name=form_token]")) field.value ||= document.body.dataset.token ?? "";
  old.replaceWith(adopted);
  enhance(adopted);
  return adopted;
}
