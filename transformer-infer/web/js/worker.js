// Runs one model, or a thread of another worker. Each message is a call `{ id, method, args }`, and each answer is
// `{ id, value }` or `{ id, error }`. After a fatal error the module's memory may be damaged, and the worker must be replaced.

import { moduleName } from "./engine.js";
import { hash } from "./files.js";

const isNode = globalThis.WorkerGlobalScope === undefined;
const node = isNode ? await import("node:worker_threads") : undefined;
const port = isNode ? node.parentPort : globalThis;

// Number of threads, of which this worker is one; 0 in a worker for a thread of another one.
const nThreads = Number((isNode ? node.workerData : globalThis.name) ?? 1);

async function moduleBytes(name) {
  const url = new URL(`./${name}_bg.wasm`, import.meta.url);
  return isNode ? (await import("node:fs/promises")).readFile(url) : fetch(url);
}

async function start(name) {
  const bytes = moduleBytes(name);
  const { default: init, prepare, ...classes } = await import(`./${name}.js`);
  const wasm = await init({ module_or_path: bytes });
  prepare();
  return { name, wasm, ...classes };
}

/** Starts the module with threads, or the other one if the package lacks it or memory cannot be shared. */
const startBest = () => start(moduleName(nThreads)).catch((error) => {
  if (moduleName(nThreads) === moduleName(1)) throw error;
  return start(moduleName(1));
});

// The module and its patterns are compiled while the page reads the files of the model. `load` returns its errors.
const starting = nThreads > 0 ? startBest() : undefined;
starting?.catch(() => {});

let wasm;
let model;
const jobs = new Map();
let nextJob = 0;

const methods = {
  async load(files, hashes, options) {
    // The browser's hashes are faster than the module's.
    const hashed = Object.entries(files).map(async ([name, content]) => [name, content, hashes[name] ?? (await hash(content))]);
    const { Files, Model, ...started } = await starting;
    wasm = started.wasm;
    const list = new Files();
    for (const file of await Promise.all(hashed)) list.add(...file);
    model = new Model(list, options);
    list.free();
    return { ...JSON.parse(model.info()), threads: started.compiled ? nThreads : 1, module: started.name };
  },
  /** Returns what the workers of other threads need; undefined if there are none. */
  async shared() {
    const { name, wasm, compiled } = await starting;
    return compiled && { name, compiled: compiled(), memory: wasm.memory };
  },
  /** Begins to use the other threads, when they run. */
  startThreads: async () => (await starting).start_threads(nThreads),
  async joinThreads({ name, compiled, memory }) {
    const { default: init, run_thread: runThread } = await import(`./${name}.js`);
    await init({ module_or_path: compiled, memory });
    methods.runThread = runThread;
  },
  begin(content, options) {
    const job = nextJob++;
    jobs.set(job, model.begin(content, options));
    return job;
  },
  beginRound: (job) => jobs.get(job).begin_round(),
  translate: (job, from, n) => JSON.parse(jobs.get(job).translate(from, n)),
  translated: (job, from, n) => jobs.get(job).translated(from, n),
  supply: (job, from, lines) => jobs.get(job).supply(from, lines),
  take: (job) => jobs.get(job).take(),
  end(job) {
    jobs.get(job)?.free();
    jobs.delete(job);
  },
  attention: (source, target) => model.attention(source, target),
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
