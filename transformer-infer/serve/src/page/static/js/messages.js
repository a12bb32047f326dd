// The language of the page: English, or one that the reader's browser prefers.

/** The languages of the page, by their own names. */
export const LANGUAGES = {
  en: "English", de: "Deutsch", fr: "Français", es: "Español", pt: "Português", zh: "中文", ja: "日本語", ar: "العربية",
};

const RIGHT_TO_LEFT = ["ar"];

/** The texts by their English texts. */
let messages = {};

/** Returns a text in the language of the page; `{name}` stands for a value. */
export function t(english, values = {}) {
  const text = messages[english] ?? english;
  return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

/** Returns the name of a language in the language of the page, or else the given one. */
export function nameOf(code, name = code) {
  try {
    const names = new Intl.DisplayNames([document.documentElement.lang], { type: "language", fallback: "none" });
    return names.of(code) ?? name;
  } catch {
    return name; // not a code of BCP 47
  }
}

/** Shows the page in a language; `null` means the first known one that the browser prefers. */
export async function speak(language) {
  const preferred = navigator.languages.map((it) => it.split("-")[0].toLowerCase());
  const code = [language, ...(language ? [] : preferred)].find((it) => it in LANGUAGES) ?? "en";
  // Only addresses that are written out are loaded.
  const load = {
    de: () => import("./messages/de.js"), fr: () => import("./messages/fr.js"), es: () => import("./messages/es.js"),
    pt: () => import("./messages/pt.js"), zh: () => import("./messages/zh.js"), ja: () => import("./messages/ja.js"),
    ar: () => import("./messages/ar.js"),
  }[code];
  messages = load ? (await load()).default : {};
  document.documentElement.lang = code;
  document.documentElement.dir = RIGHT_TO_LEFT.includes(code) ? "rtl" : "ltr";
  if (load) translatePage();
}

/** Translates the texts of the document, which are English. */
function translatePage() {
  const inTree = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = inTree.nextNode(); node; node = inTree.nextNode()) {
    const text = node.data.trim();
    if (text in messages) node.data = node.data.replace(text, messages[text]);
  }
  for (const name of ["aria-label", "title", "placeholder"]) {
    for (const it of document.querySelectorAll(`[${name}]`)) it.setAttribute(name, t(it.getAttribute(name)));
  }
  document.title = t(document.title);
}
