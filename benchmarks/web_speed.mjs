#!/usr/bin/env node
// Compares the npm package with Bergamot's on one of Mozilla's models, in Node, in turns.
//
//   cargo xtask web
//   npm install --prefix peers @browsermt/bergamot-translator
//   node benchmarks/web_speed.mjs target/web/pkg peers enpt-1693087644 en.txt [ROUNDS]
//
// The model is a folder of Firefox's files with `model.*.bin`, `vocab.*.spm` and `lex.*.bin`. Both translate greedily with the
// shortlist, in one worker: each line in its own call, and all lines in one call (Bergamot, which splits text into sentences
// itself, gets them as one text of lines). Ours opens the files as they are, and as a model directory in int8, if the folder
// `MODEL-int8` beside the model has one. Prints for each the medians of words a second and of milliseconds from nothing to the
// first translation, and the size of the download with brotli. Needs a quiet machine.

import { readFileSync, readdirSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";

const [ours, peers, model, text, rounds = "3"] = process.argv.slice(2);
if (!text) throw new Error("usage: web_speed.mjs PACKAGE PEERS MODEL TEXT [ROUNDS]");
const lines = readFileSync(text, "utf8").split("\n").filter(Boolean);
const words = lines.join(" ").split(/\s+/).length;
const filesOf = (folder) =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]),
  );

async function openOurs(folder) {
  const { Translator } = await import(pathToFileURL(resolve(ours, "index.js")));
  const translator = await Translator.load(filesOf(folder), { precision: "int8" });
  const options = { beam: 1, split: "lines" };
  return {
    translate: async (text) => (await translator.translate(text, options)).text,
    free: () => translator.free(),
  };
}

async function openBergamot() {
  const package_ = resolve(peers, "node_modules/@browsermt/bergamot-translator/translator.js");
  const { BatchTranslator, TranslatorBacking } = await import(pathToFileURL(package_));
  const files = filesOf(model);
  const find = (pattern) => files[Object.keys(files).find((name) => pattern.test(name))].buffer;
  class Backing extends TranslatorBacking {
    async loadModelRegistery() {
      return [{ from: "en", to: "pt" }];
    }
    async loadTranslationModel() {
      return {
        model: find(/^model\..*\.bin$/),
        shortlist: find(/^lex\..*\.bin$/),
        vocabs: [find(/^vocab\..*\.spm$/)],
        config: { "beam-size": 1 },
      };
    }
  }
  const translator = new BatchTranslator({ workers: 1, batchSize: 1 }, new Backing({ pivotLanguage: null }));
  return {
    translate: async (text) =>
      (await translator.translate({ from: "en", to: "pt", text, html: false })).target.text,
    free: () => translator.delete(),
  };
}

const programs = { Bergamot: openBergamot, "this package, Mozilla's files": () => openOurs(model) };
if (existsSync(`${model}-int8`)) programs["this package, int8 directory"] = () => openOurs(`${model}-int8`);

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const results = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
for (let round = 0; round < Number(rounds); round++) {
  for (const [name, open] of Object.entries(programs)) {
    const start = performance.now();
    const translator = await open();
    await translator.translate(lines[0]);
    const first = performance.now() - start;
    for (const line of lines.slice(0, 20)) await translator.translate(line);
    let from = performance.now();
    for (const line of lines) await translator.translate(line);
    const single = (words / (performance.now() - from)) * 1000;
    from = performance.now();
    const all = await translator.translate(lines.join("\n"));
    const batch = (words / (performance.now() - from)) * 1000;
    if (all.split("\n").filter(Boolean).length !== lines.length) throw new Error(`${name} lost lines`);
    results[name].push({ first, single, batch });
    translator.free();
  }
}

const brotli = (folder, pattern) =>
  readdirSync(folder)
    .filter((name) => pattern.test(name))
    .reduce((sum, name) => sum + brotliCompressSync(readFileSync(join(folder, name))).length, 0);
const worker = join(peers, "node_modules/@browsermt/bergamot-translator/worker");
console.log(`download with brotli: ${(brotli(ours, /\.(wasm|js)$/) / 1e6).toFixed(2)} MB, Bergamot ${(brotli(worker, /\.(wasm|js)$/) / 1e6).toFixed(2)} MB`);
console.log("| | words/s, line by line | words/s, all lines at once | ms to the first translation |\n|---|--:|--:|--:|");
for (const [name, rows] of Object.entries(results)) {
  const column = (key) => Math.round(median(rows.map((row) => row[key])));
  console.log(`| ${name} | ${column("single")} | ${column("batch")} | ${column("first")} |`);
}
