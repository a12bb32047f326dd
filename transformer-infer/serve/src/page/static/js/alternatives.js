// The panel of a sentence: other translations of it, and what can be done with it.
import { alternatives } from "./api.js";
import { byId, copy, element, icon } from "./dom.js";
import { t } from "./messages.js";
import { differences } from "./text/links.js";
import { withTarget } from "./text/pieces.js";

/** The number of translations that are shown. */
const N_BEST = 5;

/** Pixels between the panel and the sentence, and the edge of the window. */
const MARGIN = 8;

/** The least height of the panel in pixels, for which it covers the sentence if need be. */
const MIN_HEIGHT = 260;

export class Alternatives {
  #panel = byId("alternatives");
  #list = byId("alternatives-list");
  #note = byId("alternatives-note");
  #known = new Map();
  #request = null;
  #piece = null;
  #anchor = null;
  #optionsOf;
  #onChoose;

  /**
   * `optionsOf` returns what requests send beside the text; `onChoose` is called with a piece and its
   * replacement, `onAttention` with a piece.
   */
  constructor(optionsOf, onChoose, onAttention) {
    this.#optionsOf = optionsOf;
    this.#onChoose = onChoose;
    this.#panel.addEventListener("toggle", (event) => {
      if (event.newState === "open") return;
      this.#request?.abort();
      this.#anchor?.removeAttribute("aria-expanded");
      this.#piece = null;
    });
    this.#list.addEventListener("keydown", (event) => this.#onKey(event));
    byId("explore").onclick = () => {
      const piece = this.#piece;
      this.close();
      onAttention(piece);
    };
    byId("copy-sentence").onclick = async () => {
      const isDone = await copy(this.#piece.target);
      this.#note.textContent = t(isDone ? "Copied." : "The browser did not allow copying.");
    };
    addEventListener("resize", () => this.#piece && this.#move());
  }

  close() {
    this.#panel.hidePopover();
  }

  async open(piece, anchor) {
    this.#piece = piece;
    this.#anchor = anchor;
    anchor.setAttribute("aria-expanded", "true");
    byId("alternatives-source").textContent = piece.source;
    this.#note.textContent = piece.warning ?? "";
    this.#show([{ text: piece.target, score: piece.score }], true);
    this.#panel.showPopover();
    this.#move();
    this.#list.querySelector("button").focus();
    const options = this.#optionsOf();
    const key = JSON.stringify([options, piece.source]);
    const request = new AbortController();
    this.#request = request;
    try {
      const found = this.#known.get(key) ?? (await alternatives(options, piece.source.toWellFormed(), N_BEST, request.signal));
      this.#known.set(key, found);
      if (this.#piece === piece) this.#show(found, false);
    } catch (error) {
      if (this.#piece !== piece) return;
      this.#show([{ text: piece.target, score: piece.score }], false);
      this.#note.textContent = error.message;
    }
    if (this.#piece === piece) this.#move();
  }

  /** Shows translations, the present one first if it is not among them. */
  #show(found, isLoading) {
    const present = this.#piece.target;
    const isListed = found.some((it) => it.text === present);
    const all = isListed ? found : [{ text: present, score: null }, ...found];
    const hadFocus = this.#list.contains(document.activeElement);
    this.#list.replaceChildren(...all.map((it) => this.#item(it, present)));
    this.#list.setAttribute("aria-busy", isLoading);
    this.#panel.classList.toggle("is-loading", isLoading);
    if (hadFocus) this.#list.querySelector("[aria-checked=true]").focus();
    if (!isLoading && all.length === 1) this.#note.textContent ||= t("The model found no other translation.");
  }

  #item({ text, score }, present) {
    const isPresent = text === present;
    const words = differences(text, present).map((it) => (it.isNew ? element("b", {}, it.text) : it.text));
    const number = typeof score === "number"
      ? element("span", { class: "score", title: t("The model's score: the closer to 0, the better.") }, score.toFixed(2).replace("-", "−"))
      : "";
    return element("button", {
      type: "button", role: "radio", "aria-checked": String(isPresent), tabindex: isPresent ? 0 : -1,
      onclick: () => {
        const piece = this.#piece;
        this.close();
        if (!isPresent) this.#onChoose(piece, withTarget(piece, text));
      },
    }, icon("check"), element("bdi", { dir: "auto" }, ...words), number);
  }

  #onKey(event) {
    const buttons = [...this.#list.children];
    const from = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(buttons.length - 1, to))].focus();
  }

  /** Moves the panel below the sentence, or above it if there is more room. On a narrow page it is at the bottom. */
  #move() {
    const { style } = this.#panel;
    style.left = style.top = style.maxHeight = "";
    if (matchMedia("(max-width: 45rem)").matches) return;
    const boxes = [...this.#anchor.getClientRects()];
    const [first, last] = [boxes[0], boxes.at(-1)];
    const { width, height } = this.#panel.getBoundingClientRect();
    const start = Math.min(...boxes.map((it) => it.left));
    const left = Math.max(MARGIN, Math.min(start, document.documentElement.clientWidth - width - MARGIN));
    const [above, below] = [first.top - 2 * MARGIN, innerHeight - last.bottom - 2 * MARGIN];
    const isBelow = height <= below || below >= above;
    style.maxHeight = `${Math.max(MIN_HEIGHT, isBelow ? below : above)}px`;
    const top = isBelow ? last.bottom + MARGIN : first.top - MARGIN - this.#panel.offsetHeight;
    const visible = Math.max(MARGIN, Math.min(top, innerHeight - MARGIN - this.#panel.offsetHeight));
    // Positions are counted from the root element, which may be scrolled, and beside which may be a gutter.
    const root = document.documentElement.getBoundingClientRect();
    style.left = `${left - root.left}px`;
    style.top = `${visible - root.top}px`;
  }
}
