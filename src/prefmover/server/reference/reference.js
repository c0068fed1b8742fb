// The reference of the API, drawn from its OpenAPI schema. Strings become text, never markup.

import { h } from "../assets/lib/elements.js";

const SCHEMA = new URL("../api/v1/openapi.json", import.meta.url);

function resolved(schema, whole) {
  const name = schema?.$ref?.split("/").pop();
  return name ? whole.components.schemas[name] : (schema ?? {});
}

// A type in a few words: "integer, 1 to 100", "list of Neighbor".
function typeText(schema, whole) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map((one) => typeText(one, whole)).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const words = [];
  if (schema.type === "array") {
    words.push(`list of ${typeText(schema.items, whole)}`);
    if (schema.maxItems !== undefined) words.push(`${schema.minItems ?? 0} to ${schema.maxItems}`);
  } else {
    words.push(schema.type ?? "anything");
    if (schema.minimum !== undefined && schema.maximum !== undefined) {
      words.push(`${schema.minimum} to ${schema.maximum}`);
    } else if (schema.minimum !== undefined) {
      words.push(`from ${schema.minimum}`);
    }
    if (schema.maxLength !== undefined) words.push(`up to ${schema.maxLength} characters`);
  }
  if (schema.default !== undefined) words.push(`${JSON.stringify(schema.default)} by default`);
  return words.join(", ");
}

// A text in which `code` is marked.
function marked(text) {
  return (text ?? "").split("`").map((part, k) => (k % 2 ? h("code", {}, part) : part));
}

function table(heads, rows) {
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell))))),
  );
}

function fields(schema, whole) {
  const needed = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, one]) => [
    h("code", {}, name),
    typeText(one, whole) + (needed.has(name) ? "" : " (optional)"),
    marked(one.description ?? resolved(one, whole).description),
  ]);
  return table(["field", "type", ""], rows);
}

// Objects inside objects are shown once each, below the object that refers to them.
function named(schema, whole, seen = new Map()) {
  for (const one of [schema, ...(schema?.anyOf ?? []), schema?.items]) {
    const name = one?.$ref?.split("/").pop();
    if (!name || seen.has(name)) continue;
    const object = whole.components.schemas[name];
    seen.set(name, object);
    for (const inner of Object.values(object.properties ?? {})) named(inner, whole, seen);
  }
  return seen;
}

function objects(schema, whole) {
  const parts = [];
  for (const [name, one] of named(schema, whole)) {
    parts.push(h("h3", {}, h("code", {}, name)));
    if (one.description) parts.push(h("p", {}, marked(one.description)));
    if (one.properties) parts.push(fields(one, whole));
  }
  return parts;
}

function example(schema, whole, depth = 0) {
  const one = resolved(schema, whole);
  if (schema?.examples?.length) return schema.examples[0];
  if (one.examples?.length) return one.examples[0];
  if (one.default !== undefined) return one.default;
  if (one.anyOf) return example(one.anyOf[0], whole, depth);
  if (one.enum) return one.enum[0];
  if (depth > 6) return null;
  if (one.type === "array") return [example(one.items, whole, depth + 1)];
  if (one.properties) {
    return Object.fromEntries(
      Object.entries(one.properties).map(([name, inner]) => [name, example(inner, whole, depth + 1)]),
    );
  }
  return { integer: 1, number: 0.5, boolean: true, string: "text" }[one.type] ?? null;
}

function operation(path, method, one, whole) {
  const inside = h("div", { class: "inside" }, h("p", {}, marked(one.description)));
  if (one.parameters?.length) {
    inside.append(
      h("h3", {}, "Parameters"),
      table(
        ["name", "in", "type", ""],
        one.parameters.map((p) => [
          h("code", {}, p.name),
          p.in,
          typeText(p.schema, whole) + (p.required ? "" : " (optional)"),
          marked(p.description),
        ]),
      ),
    );
  }
  const body = one.requestBody?.content?.["application/json"]?.schema;
  if (body) {
    inside.append(
      h("h3", {}, "Body"),
      h("pre", {}, JSON.stringify(example(body, whole), null, 2)),
      fields(resolved(body, whole), whole),
    );
  }
  const response = one.responses?.["200"]?.content?.["application/json"]?.schema;
  if (response) {
    inside.append(
      h("h3", {}, "Response"),
      h("pre", {}, JSON.stringify(example(response, whole), null, 2)),
      ...objects(response, whole),
    );
  }
  const problems = Object.entries(one.responses ?? {}).filter(([status]) => status >= "400");
  if (problems.length) {
    inside.append(
      h("h3", {}, "Problems"),
      table(
        ["status", ""],
        problems.map(([status, { description }]) => [status, marked(description)]),
      ),
    );
  }
  return h(
    "details",
    {},
    h(
      "summary",
      {},
      h("span", { class: `method ${method}` }, method.toUpperCase()),
      " ",
      h("code", {}, path),
      h("span", { class: "what" }, one.summary ?? ""),
    ),
    inside,
  );
}

function draw(whole) {
  const about = `${whole.info.description} Version ${whole.info.version}.`;
  document.getElementById("about").replaceChildren(...marked(about));
  const groups = new Map();
  for (const [path, methods] of Object.entries(whole.paths)) {
    for (const [method, one] of Object.entries(methods)) {
      const group = one.tags?.[0] ?? "service";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(operation(path, method, one, whole));
    }
  }
  const parts = [...groups].map(([name, list]) => h("section", {}, h("h2", {}, name), ...list));
  document.getElementById("operations").replaceChildren(...parts);
}

try {
  const response = await fetch(SCHEMA);
  if (!response.ok) throw new Error(`The schema cannot be read (status ${response.status}).`);
  draw(await response.json());
} catch (error) {
  document.getElementById("operations").replaceChildren(h("p", { role: "alert" }, String(error.message)));
}
