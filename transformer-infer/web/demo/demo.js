// Models are opened from folders, or from this site; the text is translated while it is typed.

import { Translator, modelDirectory } from "./pkg/index.js";

const PAUSE = 150; // milliseconds without a key before a translation begins

const by = (id) => document.getElementById(id);
const [models, source, output, status, progress] = ["models", "source", "output", "status", "progress"].map(by);
const opened = [];
let running;

function say(text, isBad = false) {
  status.textContent = text;
  status.classList.toggle("is-bad", isBad);
}

const languages = new Intl.DisplayNames(navigator.languages, { type: "language" });
const nameOf = (code) => (code ? languages.of(code) : "?");

async function open(files, name, size) {
  progress.hidden = false;
  progress.removeAttribute("value");
  if (size) progress.max = size;
  say("Loading …");
  try {
    const begin = performance.now();
    const onProgress = ({ loaded }) => size && (progress.value = loaded);
    // Models of Firefox Translations are made for integers.
    const precision = files["manifest.json"] ? undefined : "int8";
    const translator = await Translator.load(files, { precision, onProgress });
    opened.push(translator);
    const { source: from, target: to } = translator.info;
    models.add(new Option(from || to ? `${nameOf(from)} → ${nameOf(to)}` : name));
    models.selectedIndex = opened.length - 1;
    models.hidden = false;
    say(`Loaded in ${Math.round(performance.now() - begin)} ms`);
    await translate();
  } catch (error) {
    say(error.message, true);
  } finally {
    progress.hidden = true;
  }
}

async function translate() {
  running?.abort();
  const translator = opened[models.selectedIndex];
  if (!translator) return say("Open a model first.");
  const { signal } = (running = new AbortController());
  output.classList.add("is-old");
  try {
    const begin = performance.now();
    let isFirst = true;
    const onSentences = (sentences) => {
      if (isFirst) output.textContent = "";
      isFirst = false;
      output.append(sentences.map(({ translations: [best] }) => `${best.text} `).join(""));
    };
    const { text } = await translator.translate(source.value, { signal, onSentences });
    if (signal.aborted) return;
    output.textContent = text;
    output.classList.remove("is-old");
    if (source.value.trim()) say(`${Math.round(performance.now() - begin)} ms`);
  } catch (error) {
    if (!signal.aborted) say(error.message, true);
  }
}

async function openAddress(address) {
  try {
    await open(await modelDirectory(address), address);
  } catch (error) {
    say(error.message, true);
  }
}

let timer;
source.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
});
models.addEventListener("change", translate);
by("choose").addEventListener("click", () => by("folder").click());
by("folder").addEventListener("change", ({ target }) => {
  const files = Object.fromEntries(Array.from(target.files, (file) => [file.name, file]));
  const path = target.files[0]?.webkitRelativePath ?? "";
  target.value = "";
  if (Object.keys(files).length) open(files, path.split("/")[0], 0);
});
by("from-address").addEventListener("submit", (event) => {
  event.preventDefault();
  openAddress(by("address").value);
});
const given = new URLSearchParams(location.search).get("model");
if (given) openAddress(given);
navigator.serviceWorker?.register("service-worker.js");
