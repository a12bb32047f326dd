// What the page remembers in this browser, and the panel in which it is changed. Texts are never stored.
import { setApiKey } from "./api.js";
import { byId, element } from "./dom.js";
import { LANGUAGES } from "./messages.js";

/** The key in the browser's storage; `theme.js` reads it too. */
const STORAGE = "transformer-page";

const DEFAULTS = { theme: "system", isAutomatic: true, areLinksShown: true, apiKey: "", glossary: "", language: null, source: null, target: null, model: null };

/** The settings; changed by `change`. */
export const settings = { ...DEFAULTS, ...stored() };

const listeners = [];

/** Calls a function with the names of settings that were changed. */
export function onSettings(listener) {
  listeners.push(listener);
}

/** Changes settings, and stores them. */
export function change(changes) {
  Object.assign(settings, changes);
  try {
    localStorage.setItem(STORAGE, JSON.stringify(settings));
  } catch {
    // A browser without storage forgets them with the page.
  }
  for (const listener of listeners) listener(Object.keys(changes));
}

function stored() {
  try {
    const value = JSON.parse(localStorage.getItem(STORAGE) ?? "{}");
    const isKnown = ([name, it]) => name in DEFAULTS && (DEFAULTS[name] === null || typeof it === typeof DEFAULTS[name]);
    return Object.fromEntries(Object.entries(value ?? {}).filter(isKnown));
  } catch {
    return {};
  }
}

/** Fills the panel, and shows the field of the API key if the server has keys. */
export function startSettings(areKeysUsed) {
  for (const radio of document.querySelectorAll("[name=theme]")) {
    radio.checked = radio.value === settings.theme;
    radio.onchange = () => change({ theme: radio.value });
  }
  for (const [id, name] of [["automatic", "isAutomatic"], ["links-shown", "areLinksShown"]]) {
    byId(id).checked = settings[name];
    byId(id).onchange = () => change({ [name]: byId(id).checked });
  }
  byId("key-setting").hidden = !areKeysUsed && settings.apiKey === "";
  byId("api-key").value = settings.apiKey;
  byId("api-key").onchange = () => {
    change({ apiKey: byId("api-key").value.trim() });
    byId("settings").hidePopover();
  };
  byId("page-language").replaceChildren(
    ...Object.entries(LANGUAGES).map(([code, name]) => element("option", { value: code, lang: code }, name)));
  byId("page-language").value = document.documentElement.lang;
  byId("page-language").onchange = () => {
    change({ language: byId("page-language").value });
    location.reload();
  };
  byId("glossary").value = settings.glossary;
  byId("glossary").onchange = () => change({ glossary: byId("glossary").value });
  setApiKey(settings.apiKey);
  onSettings((names) => {
    if (names.includes("apiKey")) setApiKey(settings.apiKey);
    if (names.includes("theme")) showTheme();
  });
  byId("theme").onclick = () => {
    const theme = isDark() ? "light" : "dark";
    for (const radio of document.querySelectorAll("[name=theme]")) radio.checked = radio.value === theme;
    change({ theme });
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  showTheme();
}

/** Opens the panel at the field of the API key. */
export function askForKey() {
  byId("key-setting").hidden = false;
  byId("settings").showPopover();
  byId("api-key").focus();
}

/** Returns whether the page is dark now. */
export function isDark() {
  if (settings.theme !== "system") return settings.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
  document.documentElement.dataset.theme = settings.theme;
  byId("theme").setAttribute("aria-pressed", isDark());
}
