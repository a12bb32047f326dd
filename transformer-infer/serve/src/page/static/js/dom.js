// Small helpers for elements.

export const byId = (id) => document.getElementById(id);

/** Makes an element; an attribute that begins with `on` is a listener, and one that is null or false is left out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Makes an icon of the symbols in the page. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** Has a screen reader read a text when it is free. */
export function announce(text) {
  byId("spoken").textContent = text;
}

/** Returns a number as people write it, for example 6,000. */
export const grouped = (number) => new Intl.NumberFormat(document.documentElement.lang).format(number);

/** Copies a text, and returns whether the browser allowed it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers offer the clipboard only to pages from https or localhost; this older way works elsewhere.
    const box = element("textarea", { class: "unseen", "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    const focused = document.activeElement;
    box.select();
    const isDone = document.execCommand("copy");
    box.remove();
    focused?.focus();
    return isDone;
  }
}
