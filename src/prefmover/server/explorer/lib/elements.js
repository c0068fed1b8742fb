/**
 * Elements from data.
 *
 * Everything on the page is made here. Strings become text nodes, never markup, so that a film called
 * `<script>` stays text. No module uses innerHTML; a test looks for it.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element.
 *
 * @param {string} tag
 * @param {object} [attributes] `on` maps events to listeners. `style` maps CSS properties, which are set
 *   through the CSSOM because the Content-Security-Policy forbids style attributes. Values false, null and
 *   undefined are left out.
 * @param {...(Node|string|number|null|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  return dressed(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), attributes, children);
}

/** Text for screen readers only. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

let last = 0;

/** An id that no other element has, for labels. */
export function freshId(stem) {
  last += 1;
  return `${stem}-${last}`;
}

function dressed(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [property, setting] of Object.entries(value)) element.style.setProperty(property, setting);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}
