// Runs one model. Each message is a call `{ id, method, args }`, and each answer is `{ id, value }` or `{ id, error }`.
// After a fatal error the module's memory may be damaged, and the worker must be replaced.

import init, { Files, Model } from "./transformer_web.js";

const isNode = globalThis.WorkerGlobalScope === undefined;
const port = isNode ? (await import("node:worker_threads")).parentPort : globalThis;

async function moduleBytes() {
  const url = new URL("./transformer_web_bg.wasm", import.meta.url);
  return isNode ? (await import("node:fs/promises")).readFile(url) : fetch(url);
}

let wasm;
let model;
const jobs = new Map();
let nextJob = 0;

const methods = {
  async load(files, options) {
    wasm = await init({ module_or_path: moduleBytes() });
    const list = new Files();
    for (const [name, content] of Object.entries(files)) list.add(name, content);
    model = new Model(list, options);
    list.free();
    return JSON.parse(model.info());
  },
  begin(text, options) {
    const job = nextJob++;
    jobs.set(job, model.begin(text, options));
    return job;
  },
  // The sentences as JSON, or the text when all are translated.
  step(job, n) {
    const json = jobs.get(job).step(n);
    return json === undefined ? { text: jobs.get(job).text() } : { sentences: JSON.parse(json) };
  },
  end(job) {
    jobs.get(job)?.free();
    jobs.delete(job);
  },
  memory: () => wasm.memory.buffer.byteLength,
};

async function answer({ id, method, args }) {
  try {
    port.postMessage({ id, value: await methods[method](...args) });
  } catch (error) {
    // The module refuses with a plain Error. A panic throws its message as a string, a trap is a RuntimeError, and an
    // exhausted stack a RangeError.
    const isPlain = error?.constructor === Error;
    port.postMessage({ id, error: { message: error?.message ?? String(error), isFatal: !isPlain } });
  }
}

if (isNode) port.on("message", answer);
else port.onmessage = ({ data }) => answer(data);
