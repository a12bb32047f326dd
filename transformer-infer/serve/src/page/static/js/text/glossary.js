// The glossary as people write it: a term and its translation in each line.

/** Returns the terms of lines such as `dog = Hund`, or with a tab in between, as an object; other lines are left out. */
export function parseGlossary(text) {
  const pairs = text.split("\n").map((line) => {
    const separator = line.includes("\t") ? "\t" : "=";
    const at = line.indexOf(separator);
    return at < 0 ? ["", ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs.filter(([term, translation]) => term && translation));
}
