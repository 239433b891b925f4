// Schemas: shown as a tree that opens on demand, and as an example to start from.
import { el, prose } from "./dom.js";

// Schemas reads the components of one document.
export class Schemas {
  constructor(components) {
    this.all = components ?? {};
  }

  // resolve looks through references and the wrappers that OpenAPI 3.0 needs around them.
  resolve(schema) {
    let name;
    for (let hops = 0; hops < 20; hops++) {
      if (schema.$ref) {
        name = schema.$ref.split("/").pop();
        schema = this.all[name] ?? {};
      } else if (schema.allOf?.length === 1) {
        const { allOf, ...beside } = schema;
        const inner = this.resolve(allOf[0]);
        return { name: inner.name, schema: { ...inner.schema, ...beside } };
      } else break;
    }
    return { name, schema };
  }

  // type says in a few words what a value is.
  type(schema) {
    const { name, schema: s } = this.resolve(schema);
    const nullable = s.nullable ? " or null" : "";
    if (s.type === "array") return `list of ${this.type(s.items ?? {})}${nullable}`;
    if (name) return name + nullable;
    if (s.oneOf || s.anyOf) return (s.oneOf ?? s.anyOf).map((one) => this.type(one)).join(" | ") + nullable;
    if (s.type === "object" && s.additionalProperties && s.additionalProperties !== true && !s.properties) {
      return `map of ${this.type(s.additionalProperties)}${nullable}`;
    }
    const format = s.format && !["int64", "double"].includes(s.format) ? ` (${s.format})` : "";
    return (s.type ?? "any") + format + nullable;
  }

  // limits lists what else is asked of a value.
  limits(schema) {
    const { schema: s } = this.resolve(schema);
    const out = [];
    if (s.default !== undefined) out.push(`default ${JSON.stringify(s.default)}`);
    if (s.minimum !== undefined) out.push(`${s.exclusiveMinimum ? ">" : "≥"} ${s.minimum}`);
    if (s.maximum !== undefined) out.push(`≤ ${s.maximum}`);
    if (s.minLength) out.push(`at least ${s.minLength} characters`);
    if (s.maxLength) out.push(`at most ${s.maxLength} characters`);
    if (s.minItems) out.push(`at least ${s.minItems} items`);
    if (s.maxItems) out.push(`at most ${s.maxItems} items`);
    if (s.uniqueItems) out.push("no repetition");
    if (s.pattern) out.push(`matches ${s.pattern}`);
    if (s.readOnly) out.push("read only");
    if (s.deprecated) out.push("deprecated");
    return out;
  }

  // core is what a tree shows of a schema: the item of a list, the value of a map.
  core(schema) {
    const resolved = this.resolve(schema);
    const s = resolved.schema;
    if (s.type === "array" && s.items) return this.core(s.items);
    if (!s.properties && s.additionalProperties && s.additionalProperties !== true) return this.core(s.additionalProperties);
    return resolved;
  }

  // tree shows the members of a schema. Members of members are made when they are opened: schemas may hold themselves.
  tree(schema) {
    const { schema: s } = this.core(schema);
    if (s.enum) return el("p", { class: "words" }, s.enum.map((word) => el("code", {}, String(word))));
    const variants = s.oneOf ?? s.anyOf;
    if (variants) return el("div", { class: "tree" }, variants.map((one) => this.row("", one, false)));
    const rows = Object.entries(s.properties ?? {}).map(([name, property]) =>
      this.row(name, property, s.required?.includes(name)));
    if (s.additionalProperties === false) rows.push(el("p", { class: "quiet" }, "Other keys are refused."));
    return rows.length ? el("div", { class: "tree" }, rows) : null;
  }

  row(name, schema, required) {
    const { schema: s } = this.resolve(schema);
    const head = [
      name && el("code", { class: s.deprecated ? "name deprecated" : "name" }, name),
      required && el("span", { class: "required", title: "must be present" }, "required"),
      el("span", { class: "type" }, this.type(schema)),
      this.limits(schema).map((limit) => el("span", { class: "limit" }, limit)),
      s.description && el("span", { class: "note" }, s.description),
    ].flat().filter(Boolean);
    const { schema: core } = this.core(schema);
    if (!core.properties && !core.oneOf && !core.anyOf && !core.enum) return el("div", { class: "row" }, head);
    const details = el("details", { class: "row" }, el("summary", {}, head));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(this.tree(schema) ?? "");
    });
    return details;
  }

  // example makes a value to start from: what is required, and what has a default.
  example(schema, depth = 0) {
    const { schema: s } = this.resolve(schema);
    if (s.default !== undefined) return s.default;
    if (s.enum) return s.enum[0];
    if (s.oneOf ?? s.anyOf) return this.example((s.oneOf ?? s.anyOf)[0], depth + 1);
    switch (s.type) {
      case "array":
        return depth < 1 ? [this.example(s.items ?? {}, depth + 1)] : [];
      case "object": {
        const out = {};
        for (const [name, property] of Object.entries(s.properties ?? {})) {
          const inner = this.resolve(property).schema;
          if (s.required?.includes(name) || (depth === 0 && inner.default !== undefined)) {
            out[name] = inner.nullable && inner.default === undefined ? null : this.example(property, depth + 1);
          }
        }
        return out;
      }
      case "integer":
      case "number":
        return s.minimum ?? 0;
      case "boolean":
        return false;
      case "string":
        return { uuid: crypto.randomUUID?.() ?? "", "date-time": new Date().toISOString(), duration: "PT1M" }[s.format] ?? "";
      default:
        return null;
    }
  }

  page(name) {
    const schema = this.all[name];
    if (!schema) return [el("h1", {}, "No such schema")];
    return [el("h1", {}, el("code", {}, name)), prose(schema.description), this.tree({ $ref: `#/components/schemas/${name}` })
      ?? el("p", { class: "type" }, this.type({ ...schema }))].flat();
  }
}
