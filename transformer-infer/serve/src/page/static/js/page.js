// The page: connects its parts, and says what is going on.
import { Alternatives } from "./alternatives.js";
import { getModels, getSettings, isReady } from "./api.js";
import { AttentionDialog } from "./attention.js";
import { announce, byId, copy, element } from "./dom.js";
import { Detection } from "./detection.js";
import { Files } from "./files.js";
import { History } from "./history.js";
import { Languages, isRightToLeft } from "./languages.js";
import { speak, t } from "./messages.js";
import { Output } from "./output.js";
import { askForKey, change, onSettings, settings, startSettings } from "./settings.js";
import { Source } from "./source.js";
import { parseGlossary } from "./text/glossary.js";
import { linked } from "./text/links.js";
import { pieceAt, sourceOf, targetOf } from "./text/pieces.js";
import { csvOf, linesOfFile, tbxOf } from "./text/terms.js";
import { Translation } from "./translation.js";

/** Milliseconds between questions to a server whose models are being loaded. */
const LOADING = 1000;

/** The least confidence, in percent, with which another language is suggested. */
const SURE = 80;

/** Texts up to this length are read aloud when they are translated. */
const MAX_SPOKEN = 400;

const translation = new Translation(showPieces, showState);
const source = new Source(takeText, pointAtSource);
const detection = new Detection(takeDetected);
const history = new History(recall);
const attention = new AttentionDialog();
const alternatives = new Alternatives(() => translation.options, choose, (piece) => attention.open(piece, languages.model));
const output = new Output(pointAtTarget, (piece, element) => alternatives.open(piece, element));
let languages = null;

// ---- what is shown -------------------------------------------------------------------------------

function showPieces() {
  unmark();
  output.show(translation.pieces, translation.state.name === "working");
  byId("copy").disabled = !translation.pieces.some((piece) => piece.kind === "sentence");
}

const STATES = {
  idle: () => "",
  waiting: () => (settings.isAutomatic ? "" : t("Press Ctrl + Enter to translate.")),
  working: () => progress(),
  done: () => warnings(),
  error: ({ error, isRetried }) => error.message + (isRetried ? ` ${t("Trying again…")}` : ""),
};

function showState(state) {
  const isError = state.name === "error";
  byId("status").textContent = STATES[state.name](state);
  byId("target-pane").classList.toggle("is-failed", isError);
  byId("target-pane").classList.toggle("is-working", state.name === "working");
  byId("output").setAttribute("aria-busy", state.name === "working");
  byId("retry").hidden = !isError || state.error.kind === "length";
  byId("translate").hidden = settings.isAutomatic || state.name !== "waiting";
  if (isError && state.error.kind === "key") askForKey();
  if (state.name !== "done") return;
  const text = targetOf(translation.pieces);
  history.add({ text: source.text, translation: text, source: languages.source, target: languages.target });
  announce(text.length <= MAX_SPOKEN ? text : t("Sentences translated: {n}.", { n: translation.pieces.filter((piece) => piece.kind === "sentence").length }));
}

function progress() {
  const rest = translation.pieces.filter((piece) => piece.kind === "pending").length;
  return rest > 3 ? t("Translating…") : "";
}

function warnings() {
  const warned = translation.pieces.filter((piece) => piece.warning);
  if (warned.length < 2) return warned.length === 0 ? "" : t("One sentence: {warning}", warned[0]);
  return t("{n} sentences have warnings; open them to read more.", { n: warned.length });
}

// ---- words that belong together ------------------------------------------------------------------

function pointAtSource(offset) {
  const at = offset === null ? null : pieceAt(translation.pieces, offset);
  const piece = at && translation.pieces[at.index];
  if (piece?.kind === "sentence") mark(piece, linked(piece, "source", at.offset));
  else unmark();
}

function pointAtTarget(piece, offset) {
  if (piece && translation.pieces.includes(piece)) mark(piece, offset === null ? { source: [], target: [] } : linked(piece, "target", offset));
  else unmark();
}

function mark(piece, words) {
  if (!settings.areLinksShown) return;
  const start = sourceOf(translation.pieces.slice(0, translation.pieces.indexOf(piece))).length;
  source.mark([start, start + piece.source.length], words.source);
  output.mark(piece, words.target);
}

function unmark() {
  source.mark(null);
  output.mark(null);
}

// ---- what is done --------------------------------------------------------------------------------

function takeText(text) {
  translation.setText(text);
  detectLanguage(text);
}

/** Sends the beginning of a text, to choose its language or to suggest another one. */
function detectLanguage(text) {
  if (languages?.canDetect && (settings.isAutomatic || languages.isDetecting)) detection.setText(text);
}

/** Takes over the detected language of the text, or null, with the confidence in percent. */
function takeDetected(code, confidence) {
  if (!languages) return;
  languages.detected = code;
  const name = code && confidence >= SURE ? languages.other(code) : null;
  byId("suggestion").hidden = name === null;
  if (name === null) return;
  byId("suggested").textContent = t("Translate from {language}", { language: name });
  byId("suggested").onclick = () => {
    byId("suggestion").hidden = true;
    languages.choose(code, languages.target);
  };
}

/** Shows an earlier translation again. */
function recall({ text, source: from, target }) {
  source.text = text;
  languages.choose(from, target);
  takeText(text);
}

/** Takes over the terms of a file. */
async function importGlossary(file) {
  const lines = linesOfFile(await file.text(), languages);
  byId("glossary-note").textContent = lines ? "" : t("The file has no terms of these languages.");
  if (!lines) return;
  byId("glossary").value = [settings.glossary.trim(), lines].filter(Boolean).join("\n");
  change({ glossary: byId("glossary").value });
}

/** Saves the glossary as a file. */
function exportGlossary(text, type, name) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function startGlossaryFiles() {
  const chooser = byId("glossary-file");
  byId("import-glossary").onclick = () => chooser.click();
  chooser.onchange = () => chooser.files.length > 0 && importGlossary(chooser.files[0]).then(() => { chooser.value = ""; });
  byId("export-csv").onclick = () => exportGlossary(csvOf(parseGlossary(settings.glossary)), "text/csv", "glossary.csv");
  byId("export-tbx").onclick = () => exportGlossary(
    tbxOf(parseGlossary(settings.glossary), { source: languages.source ?? "und", target: languages.target ?? "und" }), "application/xml", "glossary.tbx");
}

/** Takes over the text and the languages of an address such as `?q=Hello&source=en&target=de`. */
function takeAddress() {
  const given = new URLSearchParams(location.search);
  const [text, from, to] = ["q", "source", "target"].map((name) => given.get(name));
  if (from || to) languages.choose(from ?? languages.source, to ?? languages.target);
  if (text) source.text = text;
}

function choose(piece, replacement) {
  if (!translation.pieces.includes(piece)) return;
  translation.replace(piece, replacement);
  output.focus(replacement);
}

async function copyAll() {
  const isDone = await copy(targetOf(translation.pieces.filter((piece) => piece.kind !== "pending")));
  byId("copy").classList.toggle("is-done", isDone);
  announce(t(isDone ? "The translation is copied." : "The browser did not allow copying."));
  if (!isDone) byId("status").textContent = t("The browser did not allow copying.");
  setTimeout(() => byId("copy").classList.remove("is-done"), 1500);
}

/** Takes over a choice of languages; after a swap, the translation becomes the text. */
function takeLanguages(isSwap) {
  const text = targetOf(translation.pieces);
  source.language = languages.source;
  output.language = languages.target;
  for (const [id, code] of [["source", languages.source], ["output", languages.target]]) {
    byId(id).dir = source.text === "" && isRightToLeft(code) ? "rtl" : "auto";
  }
  const terms = parseGlossary(settings.glossary);
  const hasTerms = Object.keys(terms).length > 0 && !languages.isPivot;
  translation.options = hasTerms ? { ...languages.pair, terms } : languages.pair;
  translation.canAlign = !languages.isPivot;
  byId("explore").hidden = languages.isPivot;
  if (isSwap && text) {
    source.text = text;
    takeText(text);
  } else {
    detectLanguage(source.text);
  }
  byId("suggestion").hidden = true;
  translation.retranslate();
}

function onKey(event) {
  const { key, altKey, shiftKey } = event;
  const isCommand = event.ctrlKey || event.metaKey;
  const letter = event.code.replace("Key", "");
  const isAlt = altKey && shiftKey && !isCommand;
  if (isCommand && key === "Enter") translation.translateNow();
  else if (isAlt && letter === "S") languages?.swap();
  else if (isAlt && letter === "C") copyAll();
  else if (isAlt && letter === "T") source.focus();
  else if (isAlt && letter === "F") byId("choose-file").click();
  else return;
  event.preventDefault();
}

async function waitUntilReady() {
  for (;;) {
    if (await isReady()) return;
    byId("status").textContent = t("Waiting for the server and its models…");
    await new Promise((resolve) => { setTimeout(resolve, LOADING); });
  }
}

/** Calls a function again after the API key was changed, until it is the right one. */
async function withKey(call) {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (error.kind !== "key") throw error;
      byId("status").textContent = error.message;
      askForKey();
      await new Promise((resolve) => { onSettings((names) => names.includes("apiKey") && resolve()); });
      byId("status").textContent = "";
    }
  }
}

/** Takes over the models that translate. */
async function takeModels() {
  languages = new Languages(await withKey(getModels), takeLanguages);
  byId("detection-note").hidden = !languages.canDetect;
  if (translation.isStarted) takeLanguages(false);
}

async function start() {
  await speak(settings.language);
  byId("copy").onclick = copyAll;
  byId("retry").onclick = () => translation.translateNow();
  byId("translate").onclick = () => translation.translateNow();
  addEventListener("keydown", onKey);
  addEventListener("online", () => translation.state.name === "error" && translation.translateNow());
  startSettings(false);
  startGlossaryFiles();
  onSettings((names) => {
    translation.isAutomatic = settings.isAutomatic;
    if (names.includes("areLinksShown")) unmark();
    if (names.includes("glossary") && translation.isStarted) takeLanguages(false);
    if (names.includes("isAutomatic") || (names.includes("apiKey") && translation.state.name === "error")) translation.translateNow();
  });
  translation.isAutomatic = settings.isAutomatic;
  await waitUntilReady();
  byId("status").textContent = "";
  // The interface of LibreTranslate, of which this is, may be off.
  const server = await getSettings().catch(() => ({}));
  byId("key-setting").hidden = !server.keyRequired && settings.apiKey === "";
  await takeModels();
  addEventListener("models", takeModels); // of a page whose models are opened one after the other
  const limit = server.charLimit > 0 ? server.charLimit : null;
  source.limit = limit;
  translation.limit = limit;
  if (server.filesTranslation) new Files(() => (languages.isDetecting ? { target: languages.target } : languages.pair), server.supportedFilesFormat ?? []);
  document.documentElement.dataset.ready = "";
  takeAddress();
  takeText(source.text); // browsers restore it when a page is loaded again
  translation.isStarted = true;
  takeLanguages(false);
}

start().catch((error) => {
  byId("status").textContent = error.message;
  byId("target-pane").classList.add("is-failed");
});
