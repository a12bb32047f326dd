// The text as a list of pieces, whose sources together are the source text.
//
// A piece is never changed, only replaced. There are three kinds:
// - `gap`: whitespace between sentences, in `source` and `target`;
// - `sentence`: `source`, its translation `target`, the `links` between their words, `score`, `warning`;
// - `pending`: `source` that has to be translated, without whitespace at its ends; `stale` is the list of the
//   translations that were there before.
import { findChange, toUnits } from "./units.js";

/** Characters within which a sentence may not end, so that the whole line depends on each. */
const ENCLOSING = /["'`´«»‹›“”„‟‘’‚‛「」『』()[\]{}（）【】]/u;

export const sourceOf = (pieces) => pieces.map((piece) => piece.source).join("");
export const targetOf = (pieces) => pieces.map((piece) => piece.target ?? piece.stale.join(" ")).join("");

export const gap = (source, target = source) => ({ kind: "gap", source, target });
const pending = (source, stale = []) => ({ kind: "pending", source, stale });

/** Returns the pieces of a text of which nothing is translated. */
export function untranslated(text, stale = []) {
  const pieces = [];
  // Line ends always end a sentence, so that each line is translated by itself.
  for (const line of text.split(/(\r?\n)/)) {
    const core = line.trim();
    const start = line.length - line.trimStart().length;
    if (start > 0) pieces.push(gap(line.slice(0, start)));
    if (core === "") continue;
    pieces.push(pending(core, stale));
    stale = [];
    const end = start + core.length;
    if (end < line.length) pieces.push(gap(line.slice(end)));
  }
  return pieces;
}

/** Returns the pieces after the source text was changed: what the change cannot have touched stays. */
export function edited(pieces, newText) {
  const oldText = sourceOf(pieces);
  if (oldText === newText) return pieces;
  const { start, oldEnd, newEnd } = findChange(oldText, newText);
  const [from, to] = affected(oldText, newText, start, oldEnd, newEnd);
  const before = [], middle = [], after = [];
  let at = 0;
  for (const piece of pieces) {
    const end = at + piece.source.length;
    const isBefore = end < from || (end === from && piece.kind === "gap");
    const isAfter = at > to || (at === to && piece.kind === "gap");
    (isBefore ? before : isAfter ? after : middle).push(piece);
    at = end;
  }
  const length = (list) => list.reduce((sum, piece) => sum + piece.source.length, 0);
  const text = newText.slice(length(before), newText.length - length(after));
  const stale = middle.flatMap((piece) => (piece.kind === "gap" ? [] : piece.stale ?? [piece.target]));
  return [...before, ...untranslated(text, stale), ...after];
}

/**
 * Returns the range of the old text in which sentences may begin or end elsewhere after a change: whether a
 * sentence ends depends on the words beside its end, and in a line with quotes or brackets on all of it.
 */
function affected(oldText, newText, start, oldEnd, newEnd) {
  const changed = oldText.slice(start, oldEnd) + newText.slice(start, newEnd);
  const line = [oldText.lastIndexOf("\n", start - 1) + 1, oldText.indexOf("\n", oldEnd)];
  if (start === 0) line[0] = 0; // a negative position counts as 0
  if (line[1] < 0) line[1] = oldText.length;
  if (ENCLOSING.test(changed)) return line;
  const nLeft = /[^\S\n]*\S*$/.exec(oldText.slice(line[0], start))[0].length;
  const nRight = /^\S*[^\S\n]*/.exec(oldText.slice(oldEnd, line[1]))[0].length;
  return [start - nLeft, oldEnd + nRight];
}

/** Returns the pieces with all sentences of a text that the server has translated; `reply` is its translation. */
export function translated(text, reply) {
  const [inSource, inTarget] = [toUnits(text), toUnits(reply.text)];
  const pieces = [];
  let [source, target] = [0, 0];
  const addGap = (sourceEnd, targetEnd) => {
    const [left, right] = [text.slice(source, sourceEnd), reply.text.slice(target, targetEnd)];
    if (left || right) pieces.push(gap(left, right));
  };
  for (const it of reply.sentences ?? []) {
    addGap(inSource(it.source[0]), inTarget(it.target[0]));
    [source, target] = [inSource(it.source[1]), inTarget(it.target[1])];
    pieces.push(sentence(text, inSource, it));
  }
  addGap(text.length, reply.text.length);
  return pieces;
}

/**
 * Returns the pieces of a text some of whose sentences have arrived; `sentences` are those of the server, in the
 * order of the text, each with its `sentence_index` and without `target`, and `stale` the translations that were there before.
 */
export function partlyTranslated(text, sentences, stale) {
  const inSource = toUnits(text);
  const pieces = [];
  let [at, index] = [0, 0];
  for (const it of sentences) {
    pieces.push(...untranslated(text.slice(at, inSource(it.source[0])), stale.slice(index, it.sentence_index)));
    pieces.push(sentence(text, inSource, it));
    [at, index] = [inSource(it.source[1]), it.sentence_index + 1];
  }
  return [...pieces, ...untranslated(text.slice(at), stale.slice(index))];
}

/** Makes a piece of a sentence of the server, with links in UTF-16 units from the start of the sentence. */
function sentence(text, inSource, it) {
  const [start, end] = it.source.map(inSource);
  const inTarget = toUnits(it.text);
  const links = (it.alignment ?? []).map((link) => ({
    source: link.source.map((offset) => inSource(offset) - start),
    target: link.target.map((offset) => inTarget(offset - (it.target?.[0] ?? 0))),
  }));
  const { score, warning } = it;
  return { kind: "sentence", source: text.slice(start, end), target: it.text, links, score, warning };
}

/** Returns a sentence with another translation, whose words have no known links. */
export function withTarget(piece, target, links = []) {
  return { ...piece, target, links, isChosen: true };
}

/** Returns the index of the piece at an offset of the source text, and the offset in the piece. */
export function pieceAt(pieces, offset) {
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    if (offset < at + piece.source.length) return { index, offset: offset - at };
    at += piece.source.length;
  }
  return null;
}
