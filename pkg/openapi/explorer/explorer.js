// The page: the list of operations, and the one that the address names (#/operation_id or #/schemas/Name).
import { badge, el, path, prose } from "./dom.js";
import { form } from "./request.js";
import { Schemas } from "./schema.js";

const byId = (id) => document.getElementById(id);
const source = document.querySelector('meta[name="openapi"]').content;

async function start() {
  const response = await fetch(source, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${source} answered ${response.status} ${response.statusText}`);
  const api = await response.json();
  const schemas = new Schemas(api.components?.schemas);
  const operations = new Map();
  for (const [template, item] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      operations.set(operation.operationId, { ...operation, method, path: template });
    }
  }
  const base = new URL(api.servers?.[0]?.url ?? "", new URL(source, location.href)).href.replace(/\/$/, "");

  byId("title").textContent = api.info.title;
  byId("version").textContent = api.info.version;
  document.title = `${api.info.title} API`;

  const list = () => byId("list").replaceChildren(...sections(api, operations, byId("search").value));
  const show = () => {
    const target = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
    const [kind, name] = target.split("/");
    const main = byId("main");
    if (kind === "schemas") main.replaceChildren(...schemas.page(name));
    else if (operations.has(target)) main.replaceChildren(...page(operations.get(target), base, schemas));
    else main.replaceChildren(...overview(api, operations));
    for (const link of byId("list").querySelectorAll("a")) {
      link.toggleAttribute("aria-current", link.getAttribute("href") === `#/${target}`);
    }
    scrollTo(0, 0);
  };
  byId("search").addEventListener("input", () => { list(); });
  addEventListener("hashchange", () => { show(); byId("main").focus({ preventScroll: true }); });
  list();
  show();
}

// sections lists what matches the search: all of its words, in any order.
function sections(api, operations, search) {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (...texts) => wanted.every((word) => texts.join(" ").toLowerCase().includes(word));
  const section = (title, links) => links.length > 0 && el("section", {}, el("h2", {}, title), el("ul", {}, links.map((link) => el("li", {}, link))));
  const tags = new Set([...(api.tags ?? []).map((tag) => tag.name), ...[...operations.values()].flatMap((op) => op.tags ?? [])]);
  const out = [...tags].map((tag) => section(tag, [...operations.values()]
    .filter((op) => op.tags?.includes(tag) && matches(tag, op.method, op.path, op.summary ?? "", op.operationId))
    .map((op) => el("a", { href: `#/${op.operationId}`, title: op.summary, class: op.deprecated ? "deprecated" : null }, badge(op.method), path(op.path)))));
  out.push(section("Schemas", Object.keys(api.components?.schemas ?? {})
    .filter((name) => matches("schemas", name))
    .map((name) => el("a", { href: `#/schemas/${encodeURIComponent(name)}` }, el("code", {}, name)))));
  const found = out.filter(Boolean);
  return found.length ? found : [el("p", { class: "quiet" }, "Nothing matches.")];
}

function overview(api, operations) {
  return [
    el("h1", {}, api.info.title, " ", el("small", {}, api.info.version)),
    ...prose(api.info.description),
    ...(api.tags ?? []).map((tag) => el("section", { class: "card" },
      el("h2", {}, tag.name), prose(tag.description),
      el("ul", {}, [...operations.values()].filter((op) => op.tags?.includes(tag.name)).map((op) =>
        el("li", {}, el("a", { href: `#/${op.operationId}` }, badge(op.method), path(op.path)), el("span", { class: "note" }, op.summary)))))),
  ];
}

function page(operation, base, schemas) {
  const answers = Object.entries(operation.responses).map(([status, response]) => {
    const [media, content] = Object.entries(response.content ?? {})[0] ?? [];
    const head = [el("strong", {}, status), el("span", { class: status === "default" ? "note" : null }, response.description), content && el("span", { class: "type" }, `${media}, ${schemas.type(content.schema)}`)];
    const tree = content && schemas.tree(content.schema);
    return tree ? el("details", { class: "row" }, el("summary", {}, head), tree) : el("div", { class: "row" }, head);
  });
  return [
    el("h1", {}, operation.summary ?? operation.operationId),
    el("p", { class: "address" }, badge(operation.method), path(operation.path), operation.deprecated && el("span", { class: "required" }, "deprecated")),
    ...prose(operation.description),
    operation["x-scope"] ? el("p", { class: "quiet" }, "Needs the permission ", el("code", {}, operation["x-scope"]), ".") : "",
    form(base, operation, schemas),
    el("h2", {}, "Answers"), el("div", { class: "tree" }, answers),
  ];
}

byId("raw").href = source;
byId("credentials").addEventListener("submit", (event) => event.preventDefault());
byId("scheme").addEventListener("change", () => {
  const scheme = byId("scheme").value;
  byId("key-field").hidden = scheme !== "bearer";
  byId("user-field").hidden = byId("password-field").hidden = scheme !== "basic";
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input, textarea, select")) {
    event.preventDefault();
    byId("search").focus();
  }
});
start().catch((error) => byId("main").replaceChildren(el("p", { class: "bad" }, `The document could not be read: ${error.message}`)));
