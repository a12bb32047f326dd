// Detects the language of the text while it is typed.
import { detect } from "./api.js";

/** Milliseconds without a change after which the language is detected. */
const PAUSE = 250;

/** The most characters that are sent: the language shows in the first sentences. */
const MAX_CHARACTERS = 500;

/** Minimum number of letters of a text to detect its language. */
const MIN_LETTERS = 4;

export class Detection {
  #onFound;
  #timer = null;
  #request = null;
  #last = "";

  /** `onFound` is called with the code of a language and the confidence in percent, or with null. */
  constructor(onFound) {
    this.#onFound = onFound;
  }

  /** Takes over a changed text. */
  setText(text) {
    const start = text.trim().slice(0, MAX_CHARACTERS).toWellFormed();
    if (start === this.#last) return;
    this.#last = start;
    clearTimeout(this.#timer);
    this.#request?.abort();
    if ((start.match(/\p{L}/gu) ?? []).length < MIN_LETTERS) return this.#onFound(null, 0);
    this.#timer = setTimeout(() => this.#detect(start), PAUSE);
  }

  async #detect(text) {
    const request = new AbortController();
    this.#request = request;
    try {
      const found = await detect(text, request.signal);
      if (!request.signal.aborted) this.#onFound(found?.language ?? null, found?.confidence ?? 0);
    } catch {
      // The translation of the same text says what is wrong; the next change asks again.
      if (!request.signal.aborted) this.#last = "";
    }
  }
}
