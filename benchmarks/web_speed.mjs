#!/usr/bin/env node
// Compares the npm package with Bergamot's on one of Mozilla's models, in Node and in Chromium, in turns.
//
//   cargo xtask web
//   npm install --prefix peers @browsermt/bergamot-translator
//   echo '{"type":"commonjs"}' > peers/node_modules/@browsermt/bergamot-translator/worker/package.json  # for Node
//   node benchmarks/web_speed.mjs target/web/pkg peers enpt-1693087644 en.txt [ROUNDS]
//
// The model is a folder of Firefox's files with `model.*.bin`, `vocab.*.spm` and `lex.*.bin`. Both translate greedily with the
// shortlist, in one worker: each line in its own call, and all lines in one call (Bergamot, which splits text into sentences
// itself, gets them as one text of lines). Ours opens the files as they are, and as a model directory in int8, if the folder
// `MODEL-int8` beside the model has one. Prints the size of the download with brotli, and for each the medians of words a
// second, of words per second of CPU time (of Node, or of the browser's processes for pages), and of milliseconds from nothing
// to the first translation with the files in memory. But for CPU times, it needs a quiet machine.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";

import { Page, program, serveFiles } from "../transformer-infer/web/tests/browser.js";

const [ours, peers, model, text, rounds = "3"] = process.argv.slice(2);
if (!text) throw new Error("usage: web_speed.mjs PACKAGE PEERS MODEL TEXT [ROUNDS]");
const lines = readFileSync(text, "utf8").split("\n").filter(Boolean);
const words = lines.join(" ").split(/\s+/).length;
const bergamot = join(peers, "node_modules/@browsermt/bergamot-translator");
const folders = { ours, bergamot, model, int8: `${model}-int8` };

/** Returns what is measured, in Node or in a page; `modules` are addresses of both packages, `folders` those of a model's files. */
function prepare({ modules, folders, lines }) {
  const read = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
  const filesOf = async (folder) =>
    Object.fromEntries(await Promise.all(Object.entries(folder).map(async ([name, url]) => [name, await read(url)])));

  async function openOurs(files) {
    const { Translator } = await import(modules.ours);
    const translator = await Translator.load(files, { precision: "int8" });
    const options = { beam: 1, split: "lines" };
    return {
      translate: async (text) => (await translator.translate(text, options)).text,
      free: () => translator.free(),
    };
  }

  async function openBergamot(files) {
    const { BatchTranslator, TranslatorBacking } = await import(modules.bergamot);
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

  let files, translator;
  const milliseconds = async (call) => {
    const start = performance.now();
    await call();
    return performance.now() - start;
  };
  return {
    async fetch(folder) {
      files = await filesOf(folders[folder]);
    },
    open: (program) =>
      milliseconds(async () => {
        translator = await { openOurs, openBergamot }[program](files);
        await translator.translate(lines[0]);
      }),
    async warm() {
      for (const line of lines.slice(0, 100)) await translator.translate(line);
    },
    lineByLine: () =>
      milliseconds(async () => {
        for (const line of lines) await translator.translate(line);
      }),
    allAtOnce: () =>
      milliseconds(async () => {
        const all = await translator.translate(lines.join("\n"));
        if (all.split("\n").filter(Boolean).length !== lines.length) throw new Error("lines were lost");
      }),
    free: () => translator.free(),
  };
}

const [server, address] = await serveFiles((path) => {
  const [, folder, name] = /^\/(\w+)\/(.*)$/.exec(path) ?? [];
  return folder === "page" ? { html: "<title>Speed</title>" } : join(folders[folder], name);
});
const urls = (name) =>
  existsSync(folders[name]) && Object.fromEntries(readdirSync(folders[name]).map((file) => [file, `${address}/${name}/${file}`]));

const PROGRAMS = [
  ["Bergamot", "openBergamot", "model"],
  ["this package, Mozilla's files", "openOurs", "model"],
  ["this package, int8 directory", "openOurs", "int8"],
];

/** Measures all programs in turns, and prints medians; `call` calls what was prepared, `cpu` returns CPU time in seconds. */
async function compare(where, call, cpu) {
  const programs = PROGRAMS.filter(([, , folder]) => existsSync(folders[folder]));
  const results = programs.map(() => []);
  for (let round = 0; round < Number(rounds); round++) {
    for (const [index, [, open, folder]] of programs.entries()) {
      await call("fetch", folder);
      const first = await call("open", open);
      await call("warm");
      const single = await call("lineByLine");
      const before = await cpu();
      const batch = await call("allAtOnce");
      const used = (await cpu()) - before;
      await call("free");
      results[index].push([(words / single) * 1000, (words / batch) * 1000, words / used, first]);
    }
  }
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  console.log(`\n| ${where} | words/s, line by line | words/s, all lines at once | the same, words per second of CPU time | ms to the first translation |`);
  console.log("|---|--:|--:|--:|--:|");
  for (const [index, [name]] of programs.entries()) {
    const columns = results[index][0].map((_, column) => Math.round(median(results[index].map((row) => row[column]))));
    console.log(`| ${name} | ${columns.join(" | ")} |`);
  }
}

const brotli = (folder, pattern) =>
  readdirSync(folder)
    .filter((name) => pattern.test(name))
    .reduce((sum, name) => sum + brotliCompressSync(readFileSync(join(folder, name))).length, 0);
const megabytes = (...args) => (brotli(...args) / 1e6).toFixed(2);
console.log(`download with brotli: ${megabytes(ours, /^(index|files|round|engine|worker|transformer_web)\.js$|^transformer_web_bg\.wasm$/)} MB`);
console.log(`Bergamot's: ${megabytes(join(bergamot, "worker"), /\.(wasm|js)$/)} MB`);

const request = { folders: { model: urls("model"), int8: urls("int8") }, lines };
const file = (folder, name) => String(pathToFileURL(resolve(folder, name)));
const prepared = prepare({ ...request, modules: { ours: file(ours, "index.js"), bergamot: file(bergamot, "translator.js") } });
const seconds = ({ user, system }) => (user + system) / 1e6;
await compare("in Node", (name, ...args) => prepared[name](...args), () => seconds(process.cpuUsage()));
if (program) {
  const page = await Page.open(`${address}/page/`);
  await page.until(`document.title === "Speed"`);
  const modules = { ours: `${address}/ours/index.js`, bergamot: `${address}/bergamot/translator.js` };
  await page.evaluate(`void (globalThis.prepared = (${prepare})(${JSON.stringify({ ...request, modules })}))`);
  const module = await page.evaluate(`import("${address}/ours/engine.js").then((it) => it.moduleName())`);
  const call = (name, ...args) => page.evaluate(`prepared.${name}(...${JSON.stringify(args)})`);
  await compare(`in Chromium, ${module}`, call, () => page.cpuTime());
  await page.close();
} else {
  console.log("skipped: there is no Chromium on the PATH");
}
server.close();
