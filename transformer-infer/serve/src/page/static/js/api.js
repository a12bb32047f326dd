// Calls of the server. All addresses are relative to the page, so that a proxy may put it into a folder.
import { readEvents } from "./events.js";

/** A request that failed, with a sentence for the user. */
export class ApiError extends Error {
  /** `kind` is one of "network", "key", "busy", "loading", "length", "refused"; `retryAfter` is in seconds, or null. */
  constructor(message, kind, retryAfter = null) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}

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
  throw new ApiError("The connection ended before the translation was complete.", "network");
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

/** Translates a file, and returns the address of the translation, on this server. */
export async function translateFile(file, pair, signal) {
  const form = new FormData();
  form.append("file", file);
  form.append("source", pair.source ?? "auto");
  form.append("target", pair.target ?? "");
  if (apiKey) form.append("api_key", apiKey);
  const response = await send("translate_file", { method: "POST", body: form, signal });
  const { translatedFileUrl } = await response.json();
  // The server may know itself by another name than the browser does, and nothing of a proxy's folder.
  const { pathname, search } = new URL(translatedFileUrl, location.href);
  return pathname.replace(/^.*\/(?=download_file\/)/, "") + search;
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
    throw new ApiError(navigator.onLine ? "The server does not answer." : "This device is offline.", "network");
  }
  if (response.ok) return response;
  throw await errorOf(response);
}

/** Makes an error of a reply that has one, with the server's words where it gives any. */
async function errorOf(response) {
  let text = "";
  if (isOf(response, "application/json")) {
    const reply = await response.json().catch(() => ({}));
    text = typeof reply.error === "string" ? sentenceOf(reply.error) : "";
  }
  const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const retryAfter = Number.isFinite(after) ? after : null;
  switch (response.status) {
    case 401:
      return new ApiError("The server requires an API key. Enter it in the settings.", "key");
    case 403:
      return new ApiError(text || "The server refused this.", /api key/i.test(text) ? "key" : "refused");
    case 413:
      return new ApiError(text || "This is too large for the server.", "refused");
    case 429:
      return new ApiError(text || "The server is busy.", "busy", retryAfter ?? 2);
    case 502:
    case 503:
    case 504:
      return new ApiError(text || "The server is not ready.", "loading", retryAfter ?? 2);
    default:
      return new ApiError(text || `The server refused this, with status ${response.status}.`, "refused");
  }
}

/** Returns an error text as a sentence. */
function sentenceOf(text) {
  const trimmed = String(text).trim();
  if (trimmed === "") return "";
  const isEnded = /[.!?。]$/u.test(trimmed);
  return trimmed[0].toUpperCase() + trimmed.slice(1) + (isEnded ? "" : ".");
}
