// Glossaries as files: CSV, and TBX, the format of terminology databases.

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const isSame = (a, b) => a?.split("-")[0].toLowerCase() === b?.split("-")[0].toLowerCase();

/** Returns the lines `term = translation` of a file of CSV, TSV or TBX, for a pair of languages; "" if it has none. */
export function linesOfFile(text, { source, target }) {
  const isTbx = /<(tbx|martif|conceptEntry|termEntry)\b/.test(text);
  const pairs = isTbx ? pairsOfTbx(text, source, target) : pairsOfTable(text, source, target);
  const isTerm = (it) => it && !it.includes("=") && !it.includes("\n");
  return pairs.filter((pair) => pair.every(isTerm)).map((pair) => pair.join(" = ")).join("\n");
}

/** Returns the rows of CSV or TSV; those that name other languages in two more columns are left out. */
function pairsOfTable(text, source, target) {
  const rows = text.includes("\t") ? text.split(/\r?\n/).map((line) => line.split("\t")) : rowsOfCsv(text);
  const fits = ([, , from, to]) => from === undefined || (isSame(from, source) && isSame(to, target));
  return rows.filter((row) => row.length >= 2 && fits(row)).map(([term, translation]) => [term.trim(), translation.trim()]);
}

function rowsOfCsv(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "") break;
    if (end !== ",") rows.push([]);
  }
  return rows;
}

/** Returns the first terms of both languages in each entry. */
function pairsOfTbx(text, source, target) {
  const pairs = [];
  for (const [, , entry] of text.matchAll(/<(conceptEntry|termEntry)\b[^>]*>(.*?)<\/\1>/gs)) {
    const terms = [...entry.matchAll(/<(langSec|langSet)\b[^>]*xml:lang="([^"]*)"[^>]*>(.*?)<\/\1>/gs)].map(([, , code, section]) => (
      { code, term: plain(/<term\b[^>]*>(.*?)<\/term>/s.exec(section)?.[1] ?? "") }));
    const of = (code) => terms.find((it) => isSame(it.code, code))?.term;
    if (of(source) && of(target)) pairs.push([of(source), of(target)]);
  }
  return pairs;
}

/** Returns the text of XML. */
function plain(xml) {
  return xml.replace(/<[^>]*>/g, "").replace(/&(#x?)?(\w+);/g, (all, number, name) => {
    if (!number) return ENTITIES[name] ?? all;
    const point = Number.parseInt(name, number === "#x" ? 16 : 10);
    return point <= 0x10ffff ? String.fromCodePoint(point) : all;
  }).trim();
}

/** Returns terms as CSV. */
export function csvOf(terms) {
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return Object.entries(terms).map((pair) => `${pair.map(cell).join(",")}\r\n`).join("");
}

/** Returns terms as TBX-Core, version 3. */
export function tbxOf(terms, { source, target }) {
  const escaped = (text) => text.replace(/[&<>"]/g, (it) => `&${Object.keys(ENTITIES).find((name) => ENTITIES[name] === it)};`);
  const section = (code, term) => `<langSec xml:lang="${escaped(code)}"><termSec><term>${escaped(term)}</term></termSec></langSec>`;
  const entries = Object.entries(terms).map(([term, translation], index) => (
    `<conceptEntry id="c${index + 1}">${section(source, term)}${section(target, translation)}</conceptEntry>\n`));
  return `<?xml version="1.0" encoding="UTF-8"?>
<tbx style="dca" type="TBX-Core" xml:lang="${escaped(source)}" xmlns="urn:iso:std:iso:30042:ed-2">
<tbxHeader><fileDesc><sourceDesc><p>A glossary of transformer-infer serve</p></sourceDesc></fileDesc></tbxHeader>
<text><body>
${entries.join("")}</body></text>
</tbx>
`;
}
