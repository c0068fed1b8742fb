// Accessibility errors of the page: a list of sentences, empty if there are none. The rules are those of
// WCAG 2.2 AA that a program can check.
() => {
  const wrong = [];
  const name = (e) => `<${e.tagName.toLowerCase()}${e.id ? " #" + e.id : ""}${e.getAttribute("class") ? " ." + e.getAttribute("class").trim().replace(/\s+/g, ".") : ""}> "${(e.textContent || "").trim().slice(0, 40)}"`;
  const seen = (e) => {
    const box = e.getBoundingClientRect();
    const style = getComputedStyle(e);
    return box.width > 0 && box.height > 0 && style.visibility === "visible" && style.display !== "none" && !e.closest(".unseen, [hidden]");
  };
  const all = [...document.querySelectorAll("body *")];

  // names
  const text = (id) => document.getElementById(id)?.textContent.trim();
  const called = (e) =>
    e.getAttribute("aria-label")?.trim() ||
    (e.getAttribute("aria-labelledby") ?? "").split(/\s+/).map(text).filter(Boolean).join(" ") ||
    (e.labels && [...e.labels].map((l) => l.textContent.trim()).join(" ")) ||
    (e.matches("input, [role=slider], [role=img], [role=region], dialog, nav, section") ? "" : e.textContent.trim()) ||
    e.getAttribute("alt");
  const needName = "a[href], button, input, select, textarea, summary, [role=slider], [role=img], [role=combobox], [role=listbox], [role=region], nav, dialog, img, th:not(:empty)";
  for (const e of document.querySelectorAll(needName)) if (!called(e)) wrong.push(`no name: ${name(e)}`);
  for (const e of document.querySelectorAll("svg")) {
    if (!e.closest("[aria-hidden=true]") && !e.getAttribute("role")) wrong.push(`a picture neither named nor hidden: ${name(e)}`);
  }

  // whoever says what they see is understood: the name contains the text
  const words = (s) => s.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  for (const e of document.querySelectorAll("a[href][aria-label], button[aria-label], summary[aria-label]")) {
    if (!words(e.getAttribute("aria-label")).includes(words(e.innerText))) wrong.push(`says one thing and is called another: ${name(e)}`);
  }

  // ids and what points at them
  const ids = all.map((e) => e.id).filter(Boolean);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) wrong.push(`id twice: ${id}`);
  for (const attribute of ["aria-controls", "aria-labelledby", "aria-describedby", "aria-activedescendant", "for"]) {
    for (const e of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of e.getAttribute(attribute).split(/\s+/)) if (!document.getElementById(id)) wrong.push(`${attribute} points nowhere: ${name(e)}`);
    }
  }

  // headings, landmarks, language
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((e) => Number(e.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) wrong.push(`headings must begin with one h1: ${levels}`);
  levels.forEach((level, k) => k && level > levels[k - 1] + 1 && wrong.push(`a heading level is left out: ${levels}`));
  for (const one of ["header", "nav", "main", "footer"]) if (document.querySelectorAll(one).length !== 1) wrong.push(`not one ${one}`);
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  for (const e of document.querySelectorAll("table")) if (!e.querySelector("caption") || !e.querySelector("th[scope]")) wrong.push(`a table without caption or headers: ${name(e)}`);
  for (const e of document.querySelectorAll("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) wrong.push(`tabindex above 0: ${name(e)}`);
  for (const e of document.querySelectorAll("[aria-hidden=true]")) {
    if (e.matches("a, button, input, [tabindex='0']") || e.querySelector("a, button, input, [tabindex='0']")) wrong.push(`focus on something hidden: ${name(e)}`);
  }

  // targets of at least 24 px; links within a line of text are as tall as the text
  for (const e of document.querySelectorAll("a[href], button, input, summary, [role=slider], [role=option]")) {
    if (!seen(e) || getComputedStyle(e).display === "inline") continue;
    const box = e.getBoundingClientRect();
    if (box.width < 23.5 || box.height < 23.5) wrong.push(`a target of ${box.width.toFixed(0)} x ${box.height.toFixed(0)}: ${name(e)}`);
  }

  // contrast
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      known.set(color, [...pen.getImageData(0, 0, 1, 1).data].map((x, k) => (k < 3 ? x : x / 255)));
    }
    return known.get(color);
  };
  const over = (a, b) => [0, 1, 2].map((k) => a[k] * a[3] + b[k] * (1 - a[3]));
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (c) => c.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)).reduce((sum, x, k) => sum + x * [0.2126, 0.7152, 0.0722][k], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  let lowest = 21;
  for (const e of all) {
    if (!seen(e) || e.closest("svg, :disabled, .skip")) continue;
    const hasText = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText && !e.matches("input")) continue;
    const style = getComputedStyle(e);
    const ground = behind(e);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const got = contrast(over(rgba(style.color), ground), ground);
    lowest = Math.min(lowest, got);
    if (got < (large ? 3 : 4.5)) wrong.push(`contrast ${got.toFixed(2)}: ${name(e)}`);
  }
  for (const e of document.querySelectorAll(".ribbon, .swatch, .stars.input .hollow path, input, .dot")) {
    const style = getComputedStyle(e);
    const ground = behind(e.closest(".card, .point, main") ?? e.parentElement);
    const paints = e.matches(".stars path") ? [style.stroke] : e.matches("input, .dot") ? [style.borderTopColor] : e.matches(".ribbon") ? [style.fill, style.stroke] : [style.backgroundColor, style.outlineColor];
    const got = Math.max(...paints.filter((paint) => paint !== "none").map((paint) => contrast(over(rgba(paint), ground), ground)));
    if (got < 2.95) wrong.push(`a shape with contrast ${got.toFixed(2)}: ${name(e)}`);
  }

  // nothing sticks out to the side
  const extra = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (extra > 0) wrong.push(`the page is ${extra} px too wide`);
  return wrong;
};
