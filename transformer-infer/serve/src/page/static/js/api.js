// Calls of the server. All addresses are relative to the page, so that a proxy may put it into a folder.
import { readEvents } from "./events.js";
import { t } from "./messages.js";

/** A request that failed, with a sentence for the user. */
export class ApiError extends Error {
  /** `kind` is one of "network", "key", "busy", "loading", "length", "refused"; `retryAfter` is in seconds, or null. */
  constructor(message, kind, retryAfter = null) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}

/** Milliseconds between questions about a file. */
const POLL = 500;
const MAX_POLL = 5000;

let apiKey = "";

/** Sets the key that all further requests send; empty for none. */
export function setApiKey(key) {
  apiKey = key.trim();
}

export const getSettings = () => getJson("frontend/settings");
export const getModels = () => getJson("v1/models");

/** Returns whether the server is there and its models are loaded. */
export async function isReady() {
  try {
    return (await fetch("health", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/**
 * Translates texts, and returns the whole reply; `onSentence` is called with each sentence as it ends, with its
 * `text_index` and `sentence_index`.
 */
export async function translate(request, onSentence, signal) {
  const response = await post("v1/translate", { ...request, stream: true }, signal);
  if (!isOf(response, "text/event-stream")) return response.json();
  for await (const { event, data } of readEvents(response.body)) {
    const value = JSON.parse(data);
    if (event === "sentence") onSentence(value);
    else if (event === "done") return value;
    else if (event === "error") throw new ApiError(sentenceOf(value.error), "refused");
  }
  throw new ApiError(t("The connection ended before the translation was complete."), "network");
}

/** Returns the most likely `language` of a text with its `confidence` in percent, or undefined. */
export async function detect(text, signal) {
  const key = apiKey ? { api_key: apiKey } : {};
  return (await (await post("detect", { q: text, ...key }, signal)).json())[0];
}

/** Translates one sentence, and returns up to `n` translations with their scores, best first. */
export async function alternatives(options, sentence, n, signal) {
  const request = { ...options, text: sentence, split: false, n_best: n, scores: true };
  const reply = await (await post("v1/translate", request, signal)).json();
  const [{ text, sentences = [] }] = reply.translations;
  if (sentences.length !== 1) return [{ text }]; // too long for the model, so that it was split
  const [{ score, alternatives: others = [] }] = sentences;
  return [{ text: sentences[0].text, score }, ...others];
}

/** Returns what every head of the model attends to, for a sentence and its translation. */
export async function attention(request, signal) {
  return (await post("v1/attention", request, signal)).json();
}

/** Returns the same as a page of HTML that needs no server. */
export async function attentionPage(request) {
  return (await post("v1/attention?format=html", request)).blob();
}

/**
 * Translates a file, and returns the address of the translation, in this page. `onProgress` is called with the
 * estimated seconds that are left.
 */
export async function translateFile(file, pair, signal, onProgress) {
  const form = new FormData();
  form.append("file", file);
  if (pair.source) form.append("source_lang", pair.source);
  form.append("target_lang", pair.target ?? "");
  const { document_id: id, document_key } = await (await send("v2/document", { method: "POST", body: form, signal })).json();
  for (let pause = POLL; ; pause = Math.min(1.5 * pause, MAX_POLL)) {
    const reply = await post(`v2/document/${id}`, { document_key }, signal).catch((error) => {
      // The server goes on meanwhile.
      if (["busy", "loading", "network"].includes(error.kind)) return null;
      throw error;
    });
    const { status, seconds_remaining: seconds, error_message: message } = reply ? await reply.json() : {};
    if (status === "error") throw new ApiError(sentenceOf(message), "refused");
    if (status === "done") break;
    if (reply) onProgress(seconds ?? 0);
    await new Promise((resolve) => { setTimeout(resolve, pause); });
  }
  return URL.createObjectURL(await (await post(`v2/document/${id}/result`, { document_key }, signal)).blob());
}

const isOf = (response, type) => (response.headers.get("content-type") ?? "").startsWith(type);

async function getJson(path) {
  return (await send(path, { cache: "no-store" })).json();
}

function post(path, body, signal) {
  return send(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

async function send(path, options) {
  const headers = new Headers(options.headers);
  if (apiKey) headers.set("authorization", `Bearer ${apiKey}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(t(navigator.onLine ? "The server does not answer." : "This device is offline."), "network");
  }
  if (response.ok) return response;
  throw await errorOf(response);
}

/** Makes an error of a reply: in the page's words where its status says all, else in the server's. */
async function errorOf(response) {
  const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const retryAfter = Number.isFinite(after) ? after : 2;
  const { status } = response;
  if (status === 401) return new ApiError(t("The server requires an API key. Enter it in the settings."), "key");
  if (status === 413) return new ApiError(t("This is too large for the server. Translate it in parts."), "refused");
  if (status === 429) return new ApiError(t("The server is busy."), "busy", retryAfter);
  if ([502, 503, 504].includes(status)) return new ApiError(t("The server is not ready."), "loading", retryAfter);
  const reply = isOf(response, "application/json") ? await response.json().catch(() => ({})) : {};
  const text = [reply.error, reply.message].find((it) => typeof it === "string") ?? "";
  if (status === 403 && /api key/i.test(text)) {
    return new ApiError(t("The server does not know this API key. Enter another in the settings."), "key");
  }
  return new ApiError(sentenceOf(text) || t("The server refused this."), "refused");
}

/** Returns an error text as a sentence. */
function sentenceOf(text) {
  const trimmed = String(text).trim();
  if (trimmed === "") return "";
  const isEnded = /[.!?。]$/u.test(trimmed);
  return trimmed[0].toUpperCase() + trimmed.slice(1) + (isEnded ? "" : ".");
}
