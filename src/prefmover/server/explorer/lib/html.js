/**
 * Elements from templates: everything on the pages is made here.
 *
 *     html`<button class="quiet" disabled=${!can} @click=${open}>Open ${title}</button>`
 *
 * A template is parsed once. Only what stands in the source is markup; values become text, so that a film
 * called `<script>` stays text. A test looks for other ways to make markup.
 *
 * - `${value}` between tags: a text, a number, a node, or a list of these; false, null, undefined: nothing.
 * - `name=${value}`: a whole attribute; false, null, undefined: none; true: an empty one.
 * - `style=${{ width, "--k": k }}`: CSS properties. The security policy forbids style attributes.
 * - `@name=${listener}`: a listener of an event. `.name=${value}`: a property of the element.
 * - A line break beside a tag or between two values is nothing; in a text, it is a space.
 */

const templates = new WeakMap();

/**
 * @param {TemplateStringsArray} strings
 * @param {...any} values
 * @returns {any} the element, or a fragment if the template has several
 */
export function html(strings, ...values) {
  if (!templates.has(strings)) templates.set(strings, parsed(strings));
  const content = document.importNode(templates.get(strings).content, true);
  const places = placesOf(content);
  if (places.length !== values.length) throw new Error(`A value cannot stand there: ${strings.join("…")}`);
  for (const [k, place] of places.entries()) {
    if (place.ownerElement) dress(place.ownerElement, place, values[k]);
    else place.replaceWith(...nodes(values[k]));
  }
  return content.childNodes.length === 1 ? content.firstChild : content;
}

/** An element of the page that is always there. @returns {any} */
export const byId = (id) => document.getElementById(id);

/** The nodes and texts of a value, for `append` and the like. */
export function nodes(value) {
  return [value].flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);
}

let last = 0;

/** An id that no other element has, for labels. */
export function freshId(stem) {
  last += 1;
  return `${stem}-${last}`;
}

/** The template: a comment is a place for nodes, an attribute `$k` one for the attribute that it names. */
function parsed(strings) {
  const parts = strings.map((text, k) => {
    const dense = text
      .replace(/>\s*\n\s*/g, ">")
      .replace(/\s*\n\s*</g, "<")
      .replace(/\s*\n\s*/g, k && k < strings.length - 1 && !text.trim() ? "" : " ");
    if (k === strings.length - 1) return dense;
    const named = dense.replace(/(?<=\s)([@.]?[\w-]+)=$/, `$$${k}="$1"`);
    return named === dense ? `${dense}<!---->` : named;
  });
  const template = document.createElement("template");
  template.innerHTML = parts.join("").trim();
  return template;
}

/** The comments and attributes of the places, in the order of the values. */
function placesOf(content) {
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT);
  const places = [];
  while (walker.nextNode()) {
    const node = /** @type {any} */ (walker.currentNode);
    if (node.nodeType === Node.COMMENT_NODE) places.push(node);
    else places.push(...[...node.attributes].filter(({ name }) => name.startsWith("$")));
  }
  return places;
}

function dress(element, place, value) {
  const name = place.value;
  element.removeAttributeNode(place);
  if (name.startsWith("@")) element.addEventListener(name.slice(1), value);
  else if (name.startsWith(".")) element[name.slice(1)] = value;
  else if (name === "style") for (const one of Object.entries(value)) element.style.setProperty(...one);
  else if (nodes(value).length) element.setAttribute(name, value === true ? "" : value);
}
