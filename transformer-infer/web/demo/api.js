// In place of the server's `api.js`: the same calls, answered by models in this browser.
import { UNKNOWN, modelNamed, models, ready } from "./models.js";
import { countCodePoints } from "./text/units.js";

/** A call that failed, with a sentence for the user; `kind` as the server's page has it. */
export class ApiError extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

export function setApiKey() {}

/** Waits for the first model. */
export const isReady = () => ready;

export const getSettings = async () => ({ filesTranslation: true, supportedFilesFormat: models[0].translator.info.formats });

export async function getModels() {
  const codes = new Set(models.flatMap((it) => [...it.source_languages, ...it.target_languages]));
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  return { models, languages: Array.from(codes, (code) => ({ code, name: code === UNKNOWN ? "Unknown" : names.of(code) })) };
}

/** Translates texts one after the other, and calls `onSentence` with each sentence. */
export async function translate({ text: texts, alignments, terms, ...pair }, onSentence, signal) {
  const { translator } = modelNamed(pair);
  const translations = [];
  for (const [index, source] of texts.entries()) {
    const reply = new Reply(source);
    const onSentences = (sentences) => {
      for (const it of sentences) {
        const sentence = reply.add(it);
        if (sentence) onSentence({ ...sentence, text_index: index });
      }
    };
    const options = { alignments, glossary: terms, signal, onSentences };
    const { text } = await refused(() => translator.translate(source, options));
    translations.push(reply.end(text));
  }
  return { translations };
}

/** The language of a text is not detected here. */
export const detect = async () => undefined;

/** Translates one sentence, and returns up to `n` translations with their scores, best first. */
export async function alternatives({ terms, ...pair }, sentence, n, signal) {
  const { translator } = modelNamed(pair);
  const options = { split: "none", beam: Math.max(n, translator.info.beam), nBest: n, glossary: terms, signal };
  const { text, sentences } = await refused(() => translator.translate(sentence, options));
  return sentences.length === 1 ? sentences[0].translations : [{ text }];
}

/** Returns a page of HTML with what every head of the model attends to, for `showAttention`. */
export async function attention({ model, source, target }) {
  return refused(() => modelNamed({ model }).translator.attention(source, target));
}

/** Returns the same as a file. */
export const attentionPage = async (request) => new Blob([await attention(request)], { type: "text/html" });

/** Translates a file, and returns the address of the translation, in this page. */
export async function translateFile(file, pair, signal) {
  const { translator } = modelNamed(pair);
  const bytes = await refused(() => translator.translateDocument(file, file.name, { signal }));
  return URL.createObjectURL(new Blob([bytes], { type: file.type }));
}

/** Has the package's errors as those of the page. */
async function refused(call) {
  try {
    return await call();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(`${error.message}.`, "refused");
  }
}

/** The sentences of a text with their places, in code points. */
class Reply {
  #source;
  #at = 0;
  #sentences = [];

  constructor(source) {
    this.#source = source;
  }

  /** Adds a sentence; returns it as the server has it, or undefined for a second translation of an earlier one. */
  add({ source, translations: [{ text, score }], alignment }) {
    const start = this.#source.indexOf(source, this.#at);
    if (start < 0) return undefined;
    this.#at = start + source.length;
    const links = (alignment ?? []).map((pair) => ({
      source: placed(this.#source, start, word(source, pair.source)),
      target: placed(text, 0, word(text, pair.target)),
    }));
    const sentence_index = this.#sentences.length;
    const sentence = { sentence_index, source: placed(this.#source, start, [0, source.length]), text, score, alignment: links };
    this.#sentences.push(sentence);
    return sentence;
  }

  /** Returns the reply of the whole text; without sentences if they are not in it, in order. */
  end(text) {
    let at = 0;
    const sentences = this.#sentences.map((it) => {
      const start = text.indexOf(it.text, at);
      at = start < 0 ? Infinity : start + it.text.length;
      const target = placed(text, start, [0, it.text.length]);
      const alignment = it.alignment.map((pair) => ({ ...pair, target: pair.target.map((offset) => offset + target[0]) }));
      return { ...it, target, alignment };
    });
    const whole = { source: [0, countCodePoints(this.#source)], target: [0, countCodePoints(text)], text };
    const isWhole = at === Infinity || this.#source.slice(this.#at).trim() !== "";
    return { text, sentences: isWhole ? [whole] : sentences };
  }
}

/** Returns a range of a part of a text, in code points of the text. */
const placed = (text, start, range) => range.map((offset) => countCodePoints(text.slice(0, start + offset)));

/** Returns the range of the whole words of which a range has parts. */
function word(text, [start, end]) {
  const isInside = (offset) => /^[\p{L}\p{M}\p{N}]{2}$/u.test(text.slice(offset - 1, offset + 1));
  while (start > 0 && isInside(start)) start--;
  while (end < text.length && isInside(end)) end++;
  return [start, end];
}
