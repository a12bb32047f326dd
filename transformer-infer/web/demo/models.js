// The models that are open: of folders of the device, or of addresses on this site.
import { Translator, modelDirectory } from "../pkg/index.js";

/** The models, as the server describes its own, each with its `translator`. */
export const models = [];

/** The code of a language that a model does not name: undetermined. The page lists models by their languages. */
export const UNKNOWN = "und";

let isReady;
/** Resolves to true when the first model is open. */
export const ready = new Promise((resolve) => (isReady = resolve));

/** Returns the model of a request: by its name, or by its languages. */
export function modelNamed({ model, source, target }) {
  const fits = ({ source_languages: [from], target_languages: [to] }) => from === source && to === target;
  return models.find((it) => (model ? it.name === model : fits(it)));
}

/** Returns a name, with a number if a model has it. */
function unused(name) {
  let free = name;
  for (let n = 2; models.some((it) => it.name === free); n++) free = `${name} (${n})`;
  return free;
}

// Threads need less memory than workers, which translate where pages cannot share memory.
const nCores = navigator.hardwareConcurrency;
const threads = Math.min(Math.max(nCores >> 1, 1), 4);
const workers = nCores >= 4 ? 2 : 1;

const by = (id) => document.getElementById(id);
const [status, progress] = ["models-status", "models-progress"].map(by);

async function open(files, name) {
  progress.hidden = false;
  status.textContent = "Loading …";
  try {
    const begin = performance.now();
    // Models of Firefox Translations are made for integers.
    const precision = files["manifest.json"] ? undefined : "int8";
    const translator = await Translator.load(files, { precision, workers, threads });
    const { source, target, parameters, beam } = translator.info;
    models.push({
      name: unused(name),
      translator,
      source_languages: [source ?? UNKNOWN],
      target_languages: [target ?? UNKNOWN],
      n_parameters: parameters,
      precision: translator.info.precision,
      beam_size: beam,
    });
    keep(translator.info.module);
    status.textContent = `Loaded in ${Math.round(performance.now() - begin)} ms`;
    isReady(true);
    dispatchEvent(new Event("models"));
  } catch (error) {
    status.textContent = error.message;
  } finally {
    progress.hidden = true;
  }
}

async function openAddress(address) {
  try {
    await open(await modelDirectory(address), address);
  } catch (error) {
    status.textContent = error.message;
  }
}

by("choose-model").onclick = () => by("folder").click();
by("folder").onchange = ({ target }) => {
  const files = Object.fromEntries(Array.from(target.files, (file) => [file.name, file]));
  const path = target.files[0]?.webkitRelativePath ?? "";
  target.value = "";
  if (Object.keys(files).length) open(files, path.split("/")[0]);
};
by("from-address").onsubmit = (event) => {
  event.preventDefault();
  openAddress(by("address").value);
};
/** Returns the addresses of the models that came with the page. */
async function listed() {
  try {
    return await (await fetch("models.json")).json();
  } catch {
    return []; // another server has no list
  }
}

const asked = new URLSearchParams(location.search).getAll("model");
(asked.length ? Promise.resolve(asked) : listed()).then((addresses) => addresses.forEach(openAddress));
navigator.serviceWorker?.register("service-worker.js");

/** Keeps the module that this browser runs for use without a network, beside the files that the service worker keeps. */
async function keep(module) {
  if (!(await navigator.serviceWorker?.ready)) return;
  const cache = await caches.open("transformer-demo");
  const address = new URL(`../pkg/${module}_bg.wasm`, import.meta.url);
  if (!(await cache.match(address))) await cache.add(address).catch(() => {}); // the device may be full
}
