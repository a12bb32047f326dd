// The translation: sentences that can be pointed at, opened, and walked through with the arrow keys.
import { announce, byId, element } from "./dom.js";
import { cut, linked, wordsOf } from "./text/links.js";

export class Output {
  #box = byId("output");
  /** The element of each piece. */
  #elements = new WeakMap();
  /** The piece of each element. */
  #pieces = new WeakMap();
  /** The sentence that Tab reaches. */
  #current = null;
  /** The index of the word that the arrow keys have reached in the current sentence, or null. */
  #word = null;
  #onPoint;
  #onOpen;

  /**
   * `onPoint` is called with a piece and an offset of its translation, or with null; `onOpen` with a piece and its
   * element.
   */
  constructor(onPoint, onOpen) {
    this.#onPoint = onPoint;
    this.#onOpen = onOpen;
    const box = this.#box;
    box.addEventListener("pointerover", (event) => this.#followPointer(event));
    box.addEventListener("pointerleave", () => onPoint(null));
    box.addEventListener("click", (event) => {
      const sentence = event.target.closest(".sentence");
      // Who selects text with the mouse does not want to open anything.
      if (sentence && getSelection().isCollapsed) this.#open(sentence);
    });
    box.addEventListener("keydown", (event) => this.#onKey(event));
    box.addEventListener("focusin", (event) => {
      const sentence = event.target.closest(".sentence");
      if (sentence && sentence !== this.#current) this.#makeCurrent(sentence);
      if (sentence?.matches(":focus-visible")) onPoint(this.#pieces.get(sentence), null);
    });
    box.addEventListener("focusout", () => onPoint(null));
  }

  set language(code) {
    if (code) this.#box.lang = code;
    else this.#box.removeAttribute("lang");
  }

  /** Shows pieces; elements of pieces that were shown before stay. */
  show(pieces, isWorking) {
    const box = this.#box;
    const nodes = pieces.map((piece) => this.#elementOf(piece));
    nodes.forEach((node, index) => {
      if (box.childNodes[index] !== node) box.insertBefore(node, box.childNodes[index] ?? null);
    });
    while (box.childNodes.length > nodes.length) box.lastChild.remove();
    box.setAttribute("aria-busy", isWorking);
    if (this.#current && !this.#current.isConnected) this.#current = null;
    const first = this.#current ?? box.querySelector(".sentence");
    if (first && first !== this.#current) this.#makeCurrent(first);
  }

  /** Marks a sentence and ranges of its words; null removes the marks. */
  mark(piece, words) {
    for (const marked of this.#box.querySelectorAll(".marked-sentence, .is-marked")) {
      marked.classList.remove("marked-sentence", "is-marked");
    }
    if (piece === null) return;
    const sentence = this.#elements.get(piece);
    sentence.classList.add("marked-sentence");
    if (words.length === 0) return;
    this.#divide(sentence);
    for (const word of sentence.querySelectorAll(".word")) {
      const start = Number(word.dataset.start);
      word.classList.toggle("is-marked", words.some((range) => range[0] === start));
    }
  }

  /** Moves the focus to a sentence. */
  focus(piece) {
    const sentence = this.#elements.get(piece);
    this.#makeCurrent(sentence);
    sentence.focus();
  }

  #elementOf(piece) {
    const known = this.#elements.get(piece);
    if (known) return known;
    const made = make(piece);
    this.#elements.set(piece, made);
    this.#pieces.set(made, piece);
    return made;
  }

  #open(sentence) {
    this.#makeCurrent(sentence);
    this.#onOpen(this.#pieces.get(sentence), sentence);
  }

  #makeCurrent(sentence) {
    this.#current?.setAttribute("tabindex", "-1");
    sentence.setAttribute("tabindex", "0");
    this.#current = sentence;
    this.#word = null;
  }

  /** Makes an element of each word of a sentence that belongs to a word of the source. */
  #divide(sentence) {
    if (sentence.classList.contains("is-divided")) return;
    sentence.classList.add("is-divided");
    const piece = this.#pieces.get(sentence);
    const parts = cut(piece.target, wordsOf(piece, "target"));
    sentence.replaceChildren(...parts.map(({ text, range }) => (
      range ? element("span", { class: "word", "data-start": range[0] }, text) : text)));
  }

  #followPointer({ target, pointerType }) {
    if (pointerType === "touch") return;
    const sentence = target.closest(".sentence");
    if (!sentence) return this.#onPoint(null);
    this.#divide(sentence);
    const start = target.closest(".word")?.dataset.start;
    this.#onPoint(this.#pieces.get(sentence), start === undefined ? null : Number(start));
  }

  #onKey(event) {
    const sentence = event.target.closest(".sentence");
    if (!sentence || event.altKey || event.ctrlKey || event.metaKey) return;
    const sentences = [...this.#box.querySelectorAll(".sentence")];
    const index = sentences.indexOf(sentence);
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: sentences.length - 1 }[event.key];
    const isForward = getComputedStyle(sentence).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (event.key === "Enter" || event.key === " ") this.#open(sentence);
    else if (next !== undefined) sentences[next]?.focus();
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.#step(sentence, event.key === isForward ? 1 : -1);
    else return;
    event.preventDefault();
  }

  /** Goes to the next word of a sentence or the one before, and says which words it belongs to. */
  #step(sentence, by) {
    const piece = this.#pieces.get(sentence);
    const words = wordsOf(piece, "target");
    if (words.length === 0) return;
    const from = this.#word ?? (by > 0 ? -1 : words.length);
    this.#word = Math.max(0, Math.min(words.length - 1, from + by));
    const range = words[this.#word];
    this.#onPoint(piece, range[0]);
    const sources = linked(piece, "target", range[0]).source.map((it) => piece.source.slice(...it));
    announce(`${piece.target.slice(...range)}: ${sources.join(", ")}`);
  }
}

function make(piece) {
  switch (piece.kind) {
    case "gap":
      return document.createTextNode(piece.target);
    case "pending":
      // A translation that is out of date stays; before the first one, a shape as large as the source.
      return piece.stale.length > 0
        ? element("span", { class: "pending" }, piece.stale.join(" "))
        : element("span", { class: "pending is-new", "aria-hidden": "true" }, piece.source);
    default: {
      const label = piece.warning ? { "aria-description": piece.warning } : {};
      return element("span", {
        class: piece.warning ? "sentence has-warning" : "sentence",
        role: "button", tabindex: "-1", "aria-haspopup": "dialog", ...label,
      }, piece.target);
    }
  }
}
