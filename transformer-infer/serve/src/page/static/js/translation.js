// Keeps the translation of a text up to date while it is edited: sends what changed, and takes sentences as they
// arrive.
import { ApiError, isReady, translate } from "./api.js";
import { t } from "./messages.js";
import { edited, partlyTranslated, sourceOf, translated, untranslated } from "./text/pieces.js";
import { countCodePoints } from "./text/units.js";

/** Milliseconds without a change after which a text is sent, and after which it is sent in spite of changes. */
const PAUSE = 220;
const PATIENCE = 900;

/** The most lines, and about the most characters, of one request; a longer text is several. */
const MAX_LINES = 40;
const MAX_CHARACTERS = 4000;

/** The most lines and sentences whose translations are remembered. */
const MAX_REMEMBERED = 2000;

/** Seconds between attempts to reach a server that does not answer. */
const RETRY = 2;

/** How often the same text is sent again by the page itself. */
const MAX_RETRIES = 5;

/**
 * The translation of one text. `onChange` is called when pieces changed, `onState` when `state` changed: an object
 * with `name`, which is "idle", "waiting" (for the end of typing), "working", "done" or "error"; the last has an
 * `error`, and `isRetried` if the page tries again by itself.
 */
export class Translation {
  pieces = [];
  state = { name: "idle" };
  /** What requests send beside the text: `source`, `target` and `model` where they are known, and `terms`. */
  options = {};
  /** Whether the server can tell which words belong together. */
  canAlign = true;
  /** The most characters of the text, or null. */
  limit = null;
  /** Whether the languages are known, before which nothing is sent. */
  isStarted = false;
  /** Whether a change is sent without `translateNow`. */
  isAutomatic = true;

  #onChange;
  #onState;
  #remembered = new Map();
  #timer = null;
  #changedAt = null;
  #request = null;
  #nRetries = 0;

  constructor(onChange, onState) {
    this.#onChange = onChange;
    this.#onState = onState;
  }

  /** Takes over a changed text. */
  setText(text) {
    this.#cancel();
    this.#nRetries = 0;
    this.#replace(edited(this.pieces, text));
    this.#recall();
    this.#schedule();
  }

  /**
   * Translates everything again, what is remembered excepted; the old translation stays visible until the new one
   * arrives.
   */
  retranslate() {
    this.#cancel();
    const stale = this.pieces.filter((it) => it.kind !== "gap").flatMap((it) => it.stale ?? [it.target]);
    const text = sourceOf(this.pieces);
    this.#replace(untranslated(text, stale));
    this.#recall();
    if (text) this.translateNow();
  }

  /** Translates what is pending, at once. */
  translateNow() {
    this.#cancel();
    if (!this.isStarted) return;
    if (!this.pieces.some((it) => it.kind === "pending")) return this.#settle();
    const tooMany = this.limit === null ? 0 : countCodePoints(sourceOf(this.pieces)) - this.limit;
    if (tooMany > 0) {
      const error = new ApiError(t("The text has {n} characters too many.", { n: tooMany }), "length");
      return this.#setState({ name: "error", error });
    }
    this.#run();
  }

  /** Replaces a sentence, for example by another translation of it. */
  replace(piece, replacement) {
    this.#replace(this.pieces.map((it) => (it === piece ? replacement : it)));
  }

  #replace(pieces) {
    this.pieces = pieces;
    this.#onChange();
  }

  #setState(state) {
    this.state = state;
    this.#onState(state);
  }

  #settle() {
    this.#setState({ name: this.pieces.some((it) => it.kind === "sentence") ? "done" : "idle" });
  }

  /** Stops the request and the timer; sentences that arrived stay. */
  #cancel() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#request = null;
  }

  /** Sends what is pending after a pause. */
  #schedule() {
    if (!this.pieces.some((it) => it.kind === "pending")) {
      this.#changedAt = null;
      return this.#settle();
    }
    if (!this.isAutomatic) return this.#setState({ name: "waiting" });
    const now = performance.now();
    this.#changedAt ??= now;
    this.#setState({ name: "waiting" });
    const pause = Math.max(0, Math.min(PAUSE, this.#changedAt + PATIENCE - now));
    this.#timer = setTimeout(() => this.translateNow(), pause);
  }

  async #run() {
    this.#changedAt = null;
    const request = new AbortController();
    this.#request = request;
    this.#setState({ name: "working" });
    try {
      for (let batch = this.#batch(); batch.length > 0; batch = this.#batch()) {
        await this.#send(batch, request.signal);
        this.#recall(); // the same line may occur again
      }
      this.#nRetries = 0;
      if (this.#request === request) this.#settle();
    } catch (error) {
      if (this.#request === request) this.#fail(error, request);
    }
  }

  /** Returns the pending pieces of the next request. */
  #batch() {
    const batch = [];
    let n = 0;
    for (const piece of this.pieces) {
      if (piece.kind !== "pending") continue;
      n += piece.source.length;
      if (batch.length > 0 && (batch.length === MAX_LINES || n > MAX_CHARACTERS)) break;
      batch.push(piece);
    }
    return batch;
  }

  async #send(batch, signal) {
    // Of each text, the pieces that stand for it now, and the sentences that have arrived.
    const texts = batch.map((piece) => ({ run: [piece], sentences: [], text: piece.source, stale: piece.stale }));
    const put = (it, run) => {
      const from = this.pieces.indexOf(it.run[0]);
      const pieces = this.pieces.toSpliced(from, it.run.length, ...run);
      it.run = run;
      this.#replace(pieces);
    };
    const onSentence = (sentence) => {
      if (signal.aborted) return;
      const it = texts[sentence.text_index];
      it.sentences.push(sentence);
      it.sentences.sort((a, b) => a.sentence_index - b.sentence_index);
      put(it, partlyTranslated(it.text, it.sentences, it.stale));
    };
    const request = {
      ...this.options, text: texts.map((it) => it.text.toWellFormed()), alignments: this.canAlign, scores: true,
    };
    const reply = await translate(request, onSentence, signal);
    if (signal.aborted) return;
    texts.forEach((it, index) => {
      const run = translated(it.text, reply.translations[index]);
      put(it, run);
      this.#remember(it.text, run);
      for (const piece of run) if (piece.kind === "sentence") this.#remember(piece.source, [piece]);
    });
  }

  /** Reports an error, and tries again later if that can help. */
  #fail(error, request) {
    if (!(error instanceof ApiError)) {
      console.error(error);
      error = new ApiError(t("The page did not understand the server's reply."), "refused");
    }
    const isRetried = ["network", "loading", "busy"].includes(error.kind) && this.#nRetries < MAX_RETRIES;
    this.#setState({ name: "error", error, isRetried });
    if (!isRetried) return;
    const again = async () => {
      if (this.#request !== request) return;
      if (error.kind === "busy" || (await isReady())) {
        this.#nRetries++;
        this.translateNow();
      } else this.#timer = setTimeout(again, RETRY * 1000);
    };
    this.#timer = setTimeout(again, (error.retryAfter ?? RETRY) * 1000);
  }

  // ---- what is remembered --------------------------------------------------------------------------

  #key(text) {
    return JSON.stringify([this.options, text]);
  }

  #remember(text, pieces) {
    const key = this.#key(text);
    this.#remembered.delete(key);
    this.#remembered.set(key, pieces);
    if (this.#remembered.size > MAX_REMEMBERED) {
      this.#remembered.delete(this.#remembered.keys().next().value);
    }
  }

  /** Replaces pending pieces whose translations are remembered. */
  #recall() {
    const recalled = (piece) => (piece.kind === "pending" && this.#remembered.get(this.#key(piece.source))) || null;
    if (!this.pieces.some(recalled)) return;
    // Copies, because a piece is found by its identity.
    this.#replace(this.pieces.flatMap((piece) => recalled(piece)?.map((it) => ({ ...it })) ?? [piece]));
  }
}
