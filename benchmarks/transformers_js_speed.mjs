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
// MODEL is a directory in floats, and translations have as many tokens as its search says (`min_len` and `max_len`), 24 when
// it says nothing. Both translate greedily, in floats and in 8-bit integers: ours in its worker of one thread, transformers.js
// with as many threads of WebAssembly as there are processors, line by line or 16 lines together. Prints the size of the
// download with brotli, milliseconds from nothing to the first translation, and medians of lines a second.

import { createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { availableParallelism } from "node:os";
import { brotliCompressSync } from "node:zlib";

import { Page } from "../transformer-infer/web/tests/browser.js";

const [ours, peers, model, js, text, rounds = "3"] = process.argv.slice(2);
if (!text) throw new Error("usage: transformers_js_speed.mjs PACKAGE PEERS MODEL JS TEXT [ROUNDS]");
const lines = readFileSync(text, "utf8").split("\n").filter(Boolean);
const library = join(peers, "node_modules/@huggingface/transformers/dist");
const runtime = join(peers, "node_modules/onnxruntime-web/dist");
const folders = { ours, library, runtime, model, js };
const search = JSON.parse(readFileSync(join(model, "manifest.json"))).search;
const length = search?.min_len?.extra ?? 24;

/** Returns what is measured, in a page. */
function prepare({ address, names, lines, length, threads }) {
  let translate;
  let free;
  const open = {
    async ours(precision) {
      const { Translator } = await import(`${address}/ours/index.js`);
      const read = async (name) => [name, new Uint8Array(await (await fetch(`${address}/model/${name}`)).arrayBuffer())];
      const files = Object.fromEntries(await Promise.all(names.map(read)));
      const translator = await Translator.load(files, { precision });
      translate = async (lines) => (await translator.translate(lines.join("\n"), { beam: 1, split: "lines" })).text.split("\n");
      free = () => translator.free();
    },
    async theirs(dtype) {
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
    open: (program, precision) =>
      milliseconds(async () => {
        await open[program](precision);
        await translate(lines.slice(0, 1));
      }),
    async run(together) {
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

const TYPES = { html: "text/html", js: "text/javascript", mjs: "text/javascript", json: "application/json", wasm: "application/wasm" };
const server = createServer((request, response) => {
  const [, folder, name] = /^\/(\w+)\/(.*)$/.exec(new URL(request.url, "http://localhost").pathname) ?? [];
  // Threads of WebAssembly need a page that is isolated from others.
  const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
  if (folder === "page") return response.writeHead(200, { ...headers, "content-type": "text/html" }).end("<title>Speed</title>");
  try {
    const content = readFileSync(join(folders[folder], name));
    const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
    response.writeHead(200, { ...headers, "content-type": type, "content-length": content.length }).end(content);
  } catch {
    response.writeHead(404, headers).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}`;

const megabytes = (files) => (files.reduce((sum, file) => sum + brotliCompressSync(readFileSync(file)).length, 0) / 1e6).toFixed(2);
const module = ["index.js", "files.js", "engine.js", "worker.js", "transformer_web.js", "transformer_web_bg.wasm"];
console.log(`download with brotli: ${megabytes(module.map((name) => join(ours, name)))} MB`);
const bundle = readFileSync(join(library, "transformers.min.js"), "utf8");
const binary = /ort-wasm-[\w.-]+\.wasm/.exec(bundle)[0];
const theirs = [join(library, "transformers.min.js"), join(runtime, binary), join(runtime, binary.replace(/wasm$/, "mjs"))];
console.log(`transformers.js's, with ${binary}: ${megabytes(theirs)} MB`);

const threads = availableParallelism();
const PROGRAMS = [
  ["this package, f32", "ours", "f32"],
  [`transformers.js, fp32, ${threads} threads`, "theirs", "fp32"],
  ["this package, int8", "ours", "int8"],
  [`transformers.js, q8, ${threads} threads`, "theirs", "q8"],
];
const results = PROGRAMS.map(() => []);
const request = { address, names: readdirSync(model), lines, length, threads };
for (let round = 0; round < Number(rounds); round++) {
  for (const [index, [, program, precision]] of PROGRAMS.entries()) {
    const page = await Page.open(`${address}/page/`);
    await page.until(`document.title === "Speed" && crossOriginIsolated`);
    await page.evaluate(`void (globalThis.prepared = (${prepare})(${JSON.stringify(request)}))`);
    const call = (name, ...args) => page.evaluate(`prepared.${name}(...${JSON.stringify(args)})`);
    const first = await call("open", program, precision);
    results[index].push([first, await call("run", 1), await call("run", 16), await call("run", lines.length)]);
    await call("free");
    await page.close();
  }
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
console.log("\n| in Chromium | ms to the first translation | lines/s, one by one | 16 together | all together |");
console.log("|---|--:|--:|--:|--:|");
for (const [index, [name]] of PROGRAMS.entries()) {
  const columns = results[index][0].map((_, column) => median(results[index].map((row) => row[column])));
  console.log(`| ${name} | ${columns[0].toFixed(0)} | ${columns.slice(1).map((it) => it.toFixed(2)).join(" | ")} |`);
}
server.close();
