// The page: connects its parts, and says what is going on.
import { Alternatives } from "./alternatives.js";
import { getModels, getSettings, isReady } from "./api.js";
import { AttentionDialog } from "./attention.js";
import { announce, byId, copy } from "./dom.js";
import { Files } from "./files.js";
import { Languages, isRightToLeft } from "./languages.js";
import { Output } from "./output.js";
import { askForKey, onSettings, settings, startSettings } from "./settings.js";
import { Source } from "./source.js";
import { parseGlossary } from "./text/glossary.js";
import { linked } from "./text/links.js";
import { pieceAt, sourceOf, targetOf } from "./text/pieces.js";
import { Translation } from "./translation.js";

/** Milliseconds between questions to a server whose models are being loaded. */
const LOADING = 1000;

/** Texts up to this length are read aloud when they are translated. */
const MAX_SPOKEN = 400;

const translation = new Translation(showPieces, showState);
const source = new Source((text) => translation.setText(text), pointAtSource);
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
  waiting: () => (settings.isAutomatic ? "" : "Press Ctrl + Enter to translate."),
  working: () => progress(),
  done: () => warnings(),
  error: ({ error, isRetried }) => error.message + (isRetried ? " Trying again…" : ""),
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
  announce(text.length <= MAX_SPOKEN ? text : `${n("sentence")} translated.`);
}

function progress() {
  const rest = translation.pieces.filter((piece) => piece.kind === "pending").length;
  return rest > 3 ? "Translating…" : "";
}

function warnings() {
  const warned = translation.pieces.filter((piece) => piece.warning);
  return warned.length === 0 ? "" : warned.length === 1 ? `One sentence: ${warned[0].warning}` : `${warned.length} sentences have warnings; open them to read more.`;
}

function n(noun) {
  const count = translation.pieces.filter((piece) => piece.kind === noun).length;
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
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

function choose(piece, replacement) {
  if (!translation.pieces.includes(piece)) return;
  translation.replace(piece, replacement);
  output.focus(replacement);
}

async function copyAll() {
  const isDone = await copy(targetOf(translation.pieces.filter((piece) => piece.kind !== "pending")));
  byId("copy").classList.toggle("is-done", isDone);
  announce(isDone ? "The translation is copied." : "The browser did not allow copying.");
  if (!isDone) byId("status").textContent = "The browser did not allow copying.";
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
    translation.setText(text);
  }
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
    byId("status").textContent = "Waiting for the server and its models…";
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
  if (translation.isStarted) takeLanguages(false);
}

async function start() {
  byId("copy").onclick = copyAll;
  byId("retry").onclick = () => translation.translateNow();
  byId("translate").onclick = () => translation.translateNow();
  addEventListener("keydown", onKey);
  addEventListener("online", () => translation.state.name === "error" && translation.translateNow());
  startSettings(false);
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
  if (server.filesTranslation) new Files(() => languages.pair, server.supportedFilesFormat ?? []);
  document.documentElement.dataset.ready = "";
  translation.setText(source.text); // browsers restore it when a page is loaded again
  translation.isStarted = true;
  takeLanguages(false);
}

start().catch((error) => {
  byId("status").textContent = error.message;
  byId("target-pane").classList.add("is-failed");
});
