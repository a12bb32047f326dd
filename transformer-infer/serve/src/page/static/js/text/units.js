// Offsets in text: the server counts code points, JavaScript counts UTF-16 units.

/** Returns a function from an offset in code points of `text` to one in UTF-16 units. */
export function toUnits(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => Math.min(offset, text.length);
  const units = [0];
  for (const character of text) units.push(units.at(-1) + character.length);
  return (offset) => units[Math.min(offset, units.length - 1)];
}

/** Returns the number of code points. */
export function countCodePoints(text) {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** Returns where two texts differ: equal before `start`, and equal from `oldEnd` and `newEnd` on. */
export function findChange(oldText, newText) {
  const shorter = Math.min(oldText.length, newText.length);
  let start = 0;
  while (start < shorter && oldText[start] === newText[start]) start++;
  let end = 0;
  while (end < shorter - start && oldText.at(-1 - end) === newText.at(-1 - end)) end++;
  return { start, oldEnd: oldText.length - end, newEnd: newText.length - end };
}
