// The reference of the API, drawn from its OpenAPI schema. Strings become text, never markup.

import { html } from "../assets/lib/html.js";

const SCHEMA = new URL("../api/v1/openapi.json", import.meta.url);

const named = (schema) => schema?.$ref?.split("/").pop();

// A type in a few words: "integer, 1 to 100", "list of Neighbor".
function typeText(schema) {
  if (!schema) return "";
  if (schema.$ref) return named(schema);
  if (schema.anyOf) return schema.anyOf.map(typeText).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const { type = "anything", minItems = 0, maxItems, minimum, maximum, maxLength } = schema;
  const words = [type === "array" ? `list of ${typeText(schema.items)}` : type];
  if (maxItems !== undefined) words.push(`${minItems} to ${maxItems}`);
  if (minimum !== undefined)
    words.push(maximum === undefined ? `from ${minimum}` : `${minimum} to ${maximum}`);
  if (maxLength !== undefined) words.push(`up to ${maxLength} characters`);
  if (schema.default !== undefined) words.push(`${JSON.stringify(schema.default)} by default`);
  return words.join(", ");
}

// A text in which `code` is marked.
const marked = (text) =>
  (text ?? "").split("`").map((part, k) => (k % 2 ? html`<code>${part}</code>` : part));

const typeOf = (schema, required) => typeText(schema) + (required ? "" : " (optional)");

function table(heads, rows) {
  const line = (cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
  return html`
    <table>
      <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
      <tbody>${rows.map(line)}</tbody>
    </table>`;
}

// The operations of a schema, in a section for each group.
function operations({ paths, components: { schemas } }) {
  const resolved = (schema) => schemas[named(schema)] ?? schema ?? {};

  function fields({ properties = {}, required = [] }) {
    const rows = Object.entries(properties).map(([name, one]) => [
      html`<code>${name}</code>`,
      typeOf(one, required.includes(name)),
      marked(one.description ?? resolved(one).description),
    ]);
    return table(["field", "type", ""], rows);
  }

  // Objects inside objects are shown once each, below the object that refers to them.
  function objects(schema, seen = new Map()) {
    for (const one of [schema, ...(schema?.anyOf ?? []), schema?.items]) {
      const name = named(one);
      if (!name || seen.has(name)) continue;
      seen.set(name, schemas[name]);
      for (const inner of Object.values(schemas[name].properties ?? {})) objects(inner, seen);
    }
    return seen;
  }

  function example(schema, depth = 0) {
    const one = resolved(schema);
    if (schema?.examples?.length) return schema.examples[0];
    if (one.examples?.length) return one.examples[0];
    if (one.default !== undefined) return one.default;
    if (one.anyOf) return example(one.anyOf[0], depth);
    if (one.enum) return one.enum[0];
    if (depth > 6) return null;
    if (one.type === "array") return [example(one.items, depth + 1)];
    if (one.properties) {
      const inner = Object.entries(one.properties).map(([name, field]) => [name, example(field, depth + 1)]);
      return Object.fromEntries(inner);
    }
    return { integer: 1, number: 0.5, boolean: true, string: "text" }[one.type] ?? null;
  }

  const shown = (schema) => html`<pre>${JSON.stringify(example(schema), null, 2)}</pre>`;

  const object = ([name, one]) => [
    html`<h3><code>${name}</code></h3>`,
    one.description ? html`<p>${marked(one.description)}</p>` : null,
    one.properties ? fields(one) : null,
  ];

  function parameters(list) {
    const rows = list.map((one) => [
      html`<code>${one.name}</code>`,
      one.in,
      typeOf(one.schema, one.required),
      marked(one.description),
    ]);
    return html`<h3>Parameters</h3>${table(["name", "in", "type", ""], rows)}`;
  }

  function operation(path, method, one) {
    const jsonOf = (part) => part?.content?.["application/json"]?.schema;
    const [body, response] = [jsonOf(one.requestBody), jsonOf(one.responses?.["200"])];
    const problems = Object.entries(one.responses ?? {}).filter(([status]) => status >= "400");
    const rows = problems.map(([status, { description }]) => [status, marked(description)]);
    return html`
      <details>
        <summary>
          <span class=${`method ${method}`}>${method.toUpperCase()}</span> <code>${path}</code>
          <span class="what">${one.summary}</span>
        </summary>
        <div class="inside">
          <p>${marked(one.description)}</p>
          ${one.parameters?.length ? parameters(one.parameters) : null}
          ${body ? html`<h3>Body</h3>${shown(body)}${fields(resolved(body))}` : null}
          ${response ? html`<h3>Response</h3>${shown(response)}${[...objects(response)].map(object)}` : null}
          ${rows.length ? html`<h3>Problems</h3>${table(["status", ""], rows)}` : null}
        </div>
      </details>`;
  }

  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => [path, method, one]),
  );
  const groups = Object.groupBy(all, ([, , one]) => one.tags?.[0] ?? "service");
  return Object.entries(groups).map(
    ([name, list]) => html`<section><h2>${name}</h2>${list.map((one) => operation(...one))}</section>`,
  );
}

const place = document.getElementById("operations");
try {
  const response = await fetch(SCHEMA);
  if (!response.ok) throw new Error(`The schema cannot be read (status ${response.status}).`);
  const whole = await response.json();
  const about = `${whole.info.description} Version ${whole.info.version}.`;
  document.getElementById("about").replaceChildren(...marked(about));
  place.replaceChildren(...operations(whole));
} catch (error) {
  place.replaceChildren(html`<p role="alert">${error.message}</p>`);
}
