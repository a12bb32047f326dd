// The field of the source text, and the marks behind its words.
//
// A field cannot mark words, so that a copy of its text lies behind it, in the same type, and has the marks. The
// copy also gives the field its height.
import { byId, element, grouped } from "./dom.js";
import { countCodePoints } from "./text/units.js";

export class Source {
  #field = byId("source");
  #mirror = byId("mirror");
  #count = byId("count");
  #limit = null;
  /** The lines in the copy. */
  #lines = [];
  /** The index of the line with marks, or null. */
  #marked = null;

  /** `onInput` is called with a changed text, `onPoint` with an offset of the text or null. */
  constructor(onInput, onPoint) {
    const field = this.#field;
    field.addEventListener("input", () => {
      this.#draw();
      onInput(field.value);
    });
    let frame = null;
    field.addEventListener("pointermove", ({ clientX, clientY, pointerType }) => {
      if (pointerType === "touch") return;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => onPoint(this.#offsetAt(clientX, clientY)));
    });
    field.addEventListener("pointerleave", () => {
      cancelAnimationFrame(frame);
      onPoint(null);
    });
    document.addEventListener("selectionchange", () => {
      if (document.activeElement !== field) return;
      onPoint(field.selectionStart === field.selectionEnd ? field.selectionStart : null);
    });
    field.addEventListener("blur", () => onPoint(null));
    byId("clear").onclick = () => {
      this.text = "";
      onInput("");
      field.focus();
    };
    this.#draw();
  }

  get text() {
    return this.#field.value;
  }

  set text(text) {
    this.#field.value = text;
    this.#draw();
  }

  /** Sets the most characters, or null. */
  set limit(limit) {
    this.#limit = limit;
    this.#draw();
  }

  set language(code) {
    if (code) this.#field.lang = code;
    else this.#field.removeAttribute("lang");
  }

  focus() {
    this.#field.focus();
  }

  /** Marks a sentence, a range of the text within a line, and ranges of its words; null removes the marks. */
  mark(sentence, words) {
    if (this.#marked !== null) fill(this.#mirror.children[this.#marked], this.#lines[this.#marked]);
    this.#marked = null;
    if (sentence === null) return;
    const [index, start] = this.#lineAt(sentence[0]);
    const line = this.#lines[index];
    const end = start + sentence[1] - sentence[0];
    const span = element("span", { class: "marked-sentence" });
    let at = start;
    for (const [from, to] of words) {
      span.append(line.slice(at, start + from), element("mark", {}, line.slice(start + from, start + to)));
      at = start + to;
    }
    span.append(line.slice(at, end));
    this.#mirror.children[index].replaceChildren(line.slice(0, start), span, line.slice(end));
    this.#marked = index;
  }

  /** Returns the index of the line at an offset of the text, and the offset in the line. */
  #lineAt(offset) {
    let index = 0;
    while (index < this.#lines.length - 1 && offset > this.#lines[index].length) {
      offset -= this.#lines[index].length + 1;
      index++;
    }
    return [index, offset];
  }

  /** Copies the lines that changed: browsers lay out again only these. */
  #drawMirror(text) {
    this.mark(null);
    const [old, lines] = [this.#lines, text.split("\n")];
    const shorter = Math.min(old.length, lines.length);
    let start = 0;
    while (start < shorter && old[start] === lines[start]) start++;
    let end = 0;
    while (end < shorter - start && old.at(-1 - end) === lines.at(-1 - end)) end++;
    for (const line of [...this.#mirror.children].slice(start, old.length - end)) line.remove();
    const after = this.#mirror.children[start] ?? null;
    for (const line of lines.slice(start, lines.length - end)) {
      const made = element("div", { dir: "auto" });
      fill(made, line);
      this.#mirror.insertBefore(made, after);
    }
    this.#lines = lines;
  }

  #draw() {
    const text = this.text;
    this.#drawMirror(text);
    const n = countCodePoints(text);
    const isOver = this.#limit !== null && n > this.#limit;
    this.#count.textContent = this.#limit === null ? grouped(n) : `${grouped(n)} / ${grouped(this.#limit)}`;
    this.#count.classList.toggle("is-over", isOver);
    if (isOver) this.#field.setAttribute("aria-invalid", "true");
    else this.#field.removeAttribute("aria-invalid");
    byId("clear").hidden = text === "";
  }

  /** Returns the offset of the character at a point of the window, or null. */
  #offsetAt(x, y) {
    // The field lies above the copy, which alone knows where its characters are.
    this.#mirror.classList.add("is-searched");
    this.#field.classList.add("is-searched");
    const position = document.caretPositionFromPoint?.(x, y) ?? rangeFromPoint(x, y);
    this.#mirror.classList.remove("is-searched");
    this.#field.classList.remove("is-searched");
    const index = [...this.#mirror.children].findIndex((line) => line.contains(position?.offsetNode));
    if (index < 0) return null;
    const range = document.createRange();
    range.setStart(this.#mirror.children[index], 0);
    range.setEnd(position.offsetNode, position.offset);
    const before = this.#lines.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0);
    const offset = before + range.toString().length;
    // A caret is between two characters; the point is on one of them.
    return this.#isOn(position, x, y, -1) ? offset - 1 : this.#isOn(position, x, y, 0) ? offset : null;
  }

  /** Returns whether the character after a position, or before it, is at a point. */
  #isOn({ offsetNode, offset }, x, y, shift) {
    const from = offset + shift;
    if (offsetNode.nodeType !== Node.TEXT_NODE || from < 0 || from >= offsetNode.length) return false;
    const range = document.createRange();
    range.setStart(offsetNode, from);
    range.setEnd(offsetNode, from + 1);
    return [...range.getClientRects()].some((box) => x >= box.left && x < box.right && y >= box.top && y < box.bottom);
  }
}

/** Fills a line of the copy; an empty one has a height too. */
function fill(box, line) {
  if (line) box.textContent = line;
  else box.replaceChildren(element("br"));
}

function rangeFromPoint(x, y) {
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? { offsetNode: range.startContainer, offset: range.startOffset } : null;
}
