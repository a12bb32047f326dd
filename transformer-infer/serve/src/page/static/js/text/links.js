// Which words of a sentence and of its translation belong together.

const contains = ([start, end], offset) => start <= offset && offset < end;
const isSame = (a, b) => a[0] === b[0] && a[1] === b[1];

/**
 * Returns the ranges that belong to the word at an offset of one side, "source" or "target", of a sentence:
 * `source` and `target`, lists of ranges in order. Both are empty if no word is there, or none belongs to it.
 */
export function linked(piece, side, offset) {
  const other = side === "source" ? "target" : "source";
  const own = piece.links.find((link) => contains(link[side], offset))?.[side];
  if (!own) return { source: [], target: [] };
  const partners = piece.links.filter((link) => isSame(link[side], own)).map((link) => link[other]);
  return { [side]: [own], [other]: disjoint(partners) };
}

/** Returns the ranges of the words of one side that belong to others, in order. */
export function wordsOf(piece, side) {
  return disjoint(piece.links.map((link) => link[side]));
}

/** Returns ranges in order, without those that overlap an earlier one. */
function disjoint(ranges) {
  let end = 0;
  return ranges.toSorted((a, b) => a[0] - b[0] || b[1] - a[1]).filter((range) => {
    const isFree = range[0] >= end && range[1] > range[0];
    if (isFree) end = range[1];
    return isFree;
  });
}

/** Returns a text cut at ranges: a list of `{ text, range }`, where `range` is null between them. */
export function cut(text, ranges) {
  const parts = [];
  let at = 0;
  for (const range of ranges) {
    if (range[0] > at) parts.push({ text: text.slice(at, range[0]), range: null });
    parts.push({ text: text.slice(...range), range });
    at = range[1];
  }
  if (at < text.length) parts.push({ text: text.slice(at), range: null });
  return parts;
}

/** Returns the words of `text` that `other` does not have in the same order, as `{ text, isNew }` parts. */
export function differences(text, other) {
  const words = (it) => it.match(/\s+|[\p{L}\p{M}\p{N}]+|[^\s]/gu) ?? [];
  const [a, b] = [words(text), words(other)];
  if (a.length * b.length > 250_000) return [{ text, isNew: false }];
  // The lengths of the longest common subsequences of the ends of both lists.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const parts = [];
  let [i, j] = [0, 0];
  while (i < a.length) {
    if (a[i] === b[j]) {
      parts.push({ text: a[i], isNew: false });
      [i, j] = [i + 1, j + 1];
    } else if (j < b.length && common[i][j + 1] >= common[i + 1][j]) j++;
    else parts.push({ text: a[i++], isNew: true });
  }
  return parts;
}
