#!/usr/bin/env node
// Compares the npm package with transformers.js (ONNX Runtime) on a model of Marian's architecture, in Chromium, in turns.
//
//   cargo xtask web
//   transformer-infer export --model MODEL --format hf-marian --out hf
//   optimum-cli export onnx --model hf --task text2text-generation-with-past onnx        # of PyPI's optimum-onnx
//   mkdir -p js/onnx && cp hf/*.json js && cp onnx/{encoder_model,decoder_model_merged}.onnx js/onnx
//   python3 -c "from onnxruntime.quantization import quantize_dynamic as q
//   for n in ('encoder_model', 'decoder_model_merged'):
//       q(f'js/onnx/{n}.onnx', f'js/onnx/{n}_quantized.onnx', extra_options={'EnableSubgraph': True})"
//   npm install --ignore-scripts --prefix peers @huggingface/transformers
//   node benchmarks/transformers_js_speed.mjs target/web/pkg peers MODEL js en.txt [ROUNDS]
//
// MODEL is a directory in floats with a search that gives each translation the same number of tokens (`min_len` and `max_len`
// with the factor 0 and equal `extra`). Both translate greedily, in floats and in 8-bit integers: with one thread of WebAssembly
// and with one for each processor, ours also in one worker for each. The lines are sorted by length, as transformers.js fills
// the batches that it is given. Prints the size of what was downloaded but for the model, with brotli, milliseconds from
// nothing to the first translation, and medians of lines a second.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { availableParallelism } from "node:os";
import { brotliCompressSync } from "node:zlib";

import { Page, serveFiles } from "../transformer-infer/web/tests/browser.js";

const [ours, peers, model, js, text, rounds = "3"] = process.argv.slice(2);
if (!text) throw new Error("usage: transformers_js_speed.mjs PACKAGE PEERS MODEL JS TEXT [ROUNDS]");
const lines = readFileSync(text, "utf8").split("\n").filter(Boolean);
lines.sort((a, b) => a.length - b.length);
const library = join(peers, "node_modules/@huggingface/transformers/dist");
const runtime = join(peers, "node_modules/onnxruntime-web/dist");
const folders = { ours, library, runtime, model, js };
const { min_len: least, max_len: most } = JSON.parse(readFileSync(join(model, "manifest.json"))).training?.search ?? {};
if (!(least?.extra > 0) || least.factor !== 0 || most?.factor !== 0 || most.extra !== least.extra)
  throw new Error(`the search of ${model} does not give each translation the same number of tokens`);
const length = least.extra;

/** Returns what is measured, in a page. */
function prepare({ address, names, lines, length }) {
  let translate;
  let free;
  let allRun = async () => {};
  const open = {
    async ours(precision, { workers = 1, threads = 1 }) {
      const { Translator } = await import(`${address}/ours/index.js`);
      const read = async (name) => [name, new Uint8Array(await (await fetch(`${address}/model/${name}`)).arrayBuffer())];
      const files = Object.fromEntries(await Promise.all(names.map(read)));
      const translator = await Translator.load(files, { precision, workers, threads });
      if (translator.info.threads !== threads) throw new Error("the package has no module with threads");
      translate = async (lines) => (await translator.translate(lines.join("\n"), { beam: 1, split: "lines" })).text.split("\n");
      free = () => translator.free();
      // All workers but the first start with a long text.
      allRun = async () => {
        const first = await translator.memory();
        for (let tries = 20; tries > 0; tries--) {
          await translate(lines);
          if ((await translator.memory()) >= 0.9 * workers * first) return;
        }
        throw new Error("workers did not start; give at least 9 lines");
      };
    },
    async theirs(dtype, threads) {
      const { env, AutoModelForSeq2SeqLM, AutoTokenizer } = await import(`${address}/library/transformers.min.js`);
      env.allowRemoteModels = false;
      env.allowLocalModels = true;
      env.useBrowserCache = false;
      env.localModelPath = "/";
      env.backends.onnx.wasm.wasmPaths = `${address}/runtime/`;
      env.backends.onnx.wasm.numThreads = threads;
      const tokenizer = await AutoTokenizer.from_pretrained("js");
      const model = await AutoModelForSeq2SeqLM.from_pretrained("js", { dtype, device: "wasm" });
      const options = { num_beams: 1, min_new_tokens: length, max_new_tokens: length };
      translate = async (lines) => {
        const ids = await model.generate({ ...tokenizer(lines, { padding: true }), ...options });
        return tokenizer.batch_decode(ids, { skip_special_tokens: true });
      };
      free = () => model.dispose();
    },
  };
  const milliseconds = async (call) => {
    const start = performance.now();
    await call();
    return performance.now() - start;
  };
  return {
    open: (program, ...args) =>
      milliseconds(async () => {
        await open[program](...args);
        await translate(lines.slice(0, 1));
      }),
    async run(together) {
      await allRun();
      allRun = async () => {};
      await translate(lines.slice(0, together));
      const took = await milliseconds(async () => {
        for (let start = 0; start < lines.length; start += together) {
          const found = await translate(lines.slice(start, start + together));
          if (found.length !== Math.min(together, lines.length - start)) throw new Error("lines were lost");
        }
      });
      return (lines.length / took) * 1000;
    },
    free: () => free(),
  };
}

const served = new Set();
// Threads of WebAssembly need a page that is isolated from others.
const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const [server, address] = await serveFiles((path) => {
  const [, folder, name] = /^\/(\w+)\/(.*)$/.exec(path) ?? [];
  if (folder === "page") return { html: "<title>Speed</title>" };
  const file = join(folders[folder], name);
  if (folder !== "model" && folder !== "js" && existsSync(file)) served.add(file);
  return file;
}, headers);

const brotli = (file) => brotliCompressSync(readFileSync(file)).length;
const threads = availableParallelism();
const each = [...new Set([1, threads])];
const PROGRAMS = ["f32", "int8"].flatMap((precision) => {
  const dtype = { f32: "fp32", int8: "q8" }[precision];
  return [
    ...each.map((n) => [`this package, ${precision}, threads: ${n}`, "ours", precision, { threads: n }]),
    ...each.slice(1).map((n) => [`this package, ${precision}, workers: ${n}`, "ours", precision, { workers: n }]),
    ...each.map((n) => [`transformers.js, ${dtype}, threads: ${n}`, "theirs", dtype, n]),
  ];
});
const downloads = PROGRAMS.map(() => []);
const results = PROGRAMS.map(() => []);
const request = { address, names: readdirSync(model), lines, length };
try {
  for (let round = 0; round < Number(rounds); round++) {
    for (const [index, [, program, ...args]] of PROGRAMS.entries()) {
      served.clear();
      const page = await Page.open(`${address}/page/`);
      try {
        await page.until(`document.title === "Speed" && crossOriginIsolated`);
        await page.evaluate(`void (globalThis.prepared = (${prepare})(${JSON.stringify(request)}))`);
        const call = (name, ...args) => page.evaluate(`prepared.${name}(...${JSON.stringify(args)})`);
        const found = [await call("open", program, ...args)];
        for (const together of [1, 8, lines.length]) found.push(await call("run", together));
        console.error(PROGRAMS[index][0], ...found.map((it) => it.toFixed(2)));
        results[index].push(found);
        downloads[index] = [...served];
        await call("free");
      } finally {
        // Its folder may be in use for longer than that waits.
        await page.close().catch((error) => console.error(String(error)));
      }
    }
  }
} finally {
  server.close();
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
console.log("\n| in Chromium | download | ms to the first translation | lines/s, one by one | 8 together | all together |");
console.log("|---|--:|--:|--:|--:|--:|");
for (const [index, [name]] of PROGRAMS.entries()) {
  const columns = results[index][0].map((_, column) => median(results[index].map((row) => row[column])));
  const megabytes = downloads[index].reduce((sum, file) => sum + brotli(file), 0) / 1e6;
  console.log(`| ${name} | ${megabytes.toFixed(2)} MB | ${columns[0].toFixed(0)} | ${columns.slice(1).map((it) => it.toFixed(2)).join(" | ")} |`);
}
