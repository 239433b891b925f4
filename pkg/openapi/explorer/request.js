// Trying an operation: a form for its parameters and body, the request, and the answer.
import { el, indent, json } from "./dom.js";

// authorization reads the credentials of the page's head. They are kept nowhere.
export function authorization() {
  const value = (id) => document.getElementById(id).value;
  switch (value("scheme")) {
    case "bearer":
      return `Bearer ${value("key")}`;
    case "basic": {
      const bytes = new TextEncoder().encode(`${value("user")}:${value("password")}`);
      return `Basic ${btoa(String.fromCharCode(...bytes))}`;
    }
    default:
      return "";
  }
}

// form makes the form of one operation. base is the address that its path is appended to.
export function form(base, operation, schemas) {
  const fields = (operation.parameters ?? []).map((parameter) => ({ parameter, input: field(parameter, schemas) }));
  const [media, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const body = media && el("textarea", {
    rows: "10", spellcheck: "false", "aria-label": "Body",
    value: JSON.stringify(content.example ?? schemas.example(content.schema), null, 2) ?? "",
  });
  const answer = el("div", { class: "answer", "aria-live": "polite" });
  const build = () => request(base, operation, fields, media, body);
  const curl = el("button", { type: "button", class: "second", onclick: () => copy(curl, command(build())) }, "Copy as curl");
  return el("form", {
    class: "try",
    onsubmit: (event) => {
      event.preventDefault();
      send(build(), answer);
    },
  },
    fields.length > 0 && el("h2", {}, "Parameters"),
    fields.map(({ parameter, input }) => el("label", { class: "parameter" },
      el("span", { class: "label" },
        el("code", { class: parameter.deprecated ? "name deprecated" : "name" }, parameter.name),
        el("span", { class: "type" }, `${parameter.in}, ${schemas.type(parameter.schema)}`),
        parameter.required && el("span", { class: "required" }, "required"),
        schemas.limits(parameter.schema).map((limit) => el("span", { class: "limit" }, limit)),
        parameter.description && el("span", { class: "note" }, parameter.description)),
      input)),
    media && [
      el("h2", {}, "Body ", el("small", {}, media, operation.requestBody.required ? "" : ", may be empty")),
      body,
      el("details", { class: "schema" }, el("summary", {}, schemas.type(content.schema)), schemas.tree(content.schema) ?? ""),
    ],
    el("p", { class: "actions" }, el("button", { type: "submit" }, "Send"), curl),
    answer);
}

function field(parameter, schemas) {
  const { schema } = schemas.resolve(parameter.schema);
  const required = parameter.required === true;
  const words = schema.type === "boolean" ? ["true", "false"] : schema.enum;
  if (words) {
    return el("select", { required }, !required && el("option", { value: "" }), words.map((word) => el("option", {}, word)));
  }
  const placeholder = schema.default === undefined ? schema.format ?? "" : String(schema.default);
  return el("input", { required, placeholder, spellcheck: "false", inputmode: schema.type === "integer" ? "numeric" : null });
}

// request builds what is sent; nothing of it is sent when a field is empty.
function request(base, { method, path }, fields, media, body) {
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of fields) {
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (parameter.in === "query") query.append(parameter.name, input.value);
    else if (parameter.in === "header") headers[parameter.name] = input.value;
  }
  const credentials = authorization();
  if (credentials) headers.Authorization = credentials;
  const text = body?.value.trim();
  if (text) headers["Content-Type"] = media.includes("*") ? "text/plain" : media;
  const search = query.toString();
  return { method: method.toUpperCase(), url: base + path + (search && `?${search}`), headers, body: text || undefined };
}

async function send({ url, ...init }, answer) {
  answer.replaceChildren(el("p", { class: "quiet" }, "…"));
  const start = performance.now();
  try {
    const response = await fetch(url, { ...init, credentials: "omit" });
    const text = await response.text();
    const took = Math.round(performance.now() - start);
    const isJSON = (response.headers.get("Content-Type") ?? "").includes("json");
    answer.replaceChildren(
      el("p", { class: "status" },
        el("strong", { class: response.ok ? "good" : "bad" }, `${response.status} ${response.statusText}`),
        ` ${took} ms, ${text.length.toLocaleString("en")} characters`),
      el("details", {}, el("summary", {}, "Headers"),
        el("pre", {}, [...response.headers].map(([name, value]) => `${name}: ${value}\n`))),
      text && (isJSON ? json(indent(text)) : el("pre", { tabindex: "0" }, text)) || el("p", { class: "quiet" }, "No body."));
  } catch (error) {
    answer.replaceChildren(el("p", { class: "bad" }, `The request got no answer: ${error.message}`));
  }
}

// command writes a request for a shell; single quotes are closed, escaped and opened again.
function command({ method, url, headers, body }) {
  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const parts = [`curl -X ${method} ${quote(new URL(url, location.href).href)}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (body) parts.push(`--data-raw ${quote(body)}`);
  return parts.join(" \\\n  ");
}

async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The clipboard is not available";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}
