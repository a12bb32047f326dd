// Translates in a worker. See index.d.ts.

import { hashesOf, isBytes, readAll } from "./files.js";

export { modelDirectory } from "./files.js";

// Sentences of one call of the worker, after the first. More are faster together, fewer are cancelled sooner.
const [FEWEST, MOST] = [8, 64];
const CALL_MS = 200;

/** Returns the number of sentences of the call after one of `n` sentences that took `ms` milliseconds. */
const nextCall = (n, ms) => Math.min(Math.max(FEWEST, n === 1 ? 0 : ms < CALL_MS ? 2 * n : n >> 1), MOST);

async function startWorker() {
  const url = new URL("./worker.js", import.meta.url);
  if (globalThis.Worker) return new Worker(url, { type: "module" });
  const { Worker: NodeWorker } = await import("node:worker_threads");
  return new NodeWorker(url);
}

/** Calls of one worker, which end with an error if it fails. */
class Calls {
  #worker;
  #failure;
  #waiting = new Map();
  #next = 0;

  static async start() {
    const calls = new Calls();
    const worker = (calls.#worker = await startWorker());
    const listen = (event, call) => (worker.on ? worker.on(event, call) : worker.addEventListener(event, call));
    listen("message", (message) => calls.#answer(message.data ?? message));
    // The event of a script that cannot be loaded has no message.
    const reason = ({ message }) => message || "its script cannot be loaded";
    listen("error", (error) => calls.stop(new Error(`the worker failed: ${reason(error)}`)));
    return calls;
  }

  get isStopped() {
    return this.#worker === undefined;
  }

  call(method, ...args) {
    return this.callWith([], method, ...args);
  }

  /** Calls with buffers that move to the worker instead of being copied. */
  callWith(buffers, method, ...args) {
    if (this.isStopped) return Promise.reject(this.#failure);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, method, args }, buffers);
    });
  }

  stop(error) {
    if (this.isStopped) return;
    this.#worker.terminate();
    this.#worker = undefined;
    this.#failure = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #answer({ id, value, error }) {
    const { resolve, reject } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (!error) return resolve?.(value);
    const failure = new Error(error.message);
    reject?.(failure);
    if (error.isFatal) this.stop(failure);
  }
}

export class Translator {
  #files;
  #options;
  #calls;
  #isFree = false;

  constructor(files, options) {
    this.#files = files;
    this.#options = options;
  }

  static async load(files, options = {}) {
    const translator = new Translator(files, options);
    await translator.#open();
    return translator;
  }

  // Returns a worker with the model, after a failure a new one.
  async #running() {
    const opened = this.#open();
    const calls = await opened;
    if (!calls.isStopped) return calls;
    if (this.#calls === opened) this.#calls = undefined;
    return this.#open();
  }

  #open() {
    if (this.#isFree) return Promise.reject(new Error("the translator was freed"));
    this.#calls ??= this.#start().catch((error) => {
      this.#calls = undefined;
      throw error;
    });
    return this.#calls;
  }

  async #start() {
    const { signal, onProgress, ...options } = this.#options;
    const starting = Calls.start();
    try {
      const [calls, contents] = await Promise.all([starting, readAll(this.#files, { signal, onProgress })]);
      const owned = Object.keys(contents).filter((name) => !isBytes(this.#files[name]));
      const buffers = owned.map((name) => contents[name].buffer);
      this.info = await calls.callWith(buffers, "load", contents, hashesOf(contents), JSON.stringify(options));
      signal?.throwIfAborted();
      // The signal ended with the first load.
      this.#options = options;
      return calls;
    } catch (error) {
      starting.then((calls) => calls.stop(error), () => {});
      throw error;
    }
  }

  async translate(text, options = {}) {
    const { written, sentences } = await this.#translate(new TextEncoder().encode(text), options);
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(written), sentences };
  }

  async translateDocument(document, name, options = {}) {
    const content = new Uint8Array(await new Blob([document]).arrayBuffer());
    return (await this.#translate(content, { ...options, document: name })).written;
  }

  async #translate(content, { signal, onSentences, ...options }) {
    signal?.throwIfAborted();
    const calls = await this.#running();
    const job = await calls.call("begin", content, JSON.stringify(options));
    const sentences = [];
    try {
      for (let n = 1; ; ) {
        signal?.throwIfAborted();
        const started = performance.now();
        const step = await calls.call("step", job, n);
        n = nextCall(n, performance.now() - started);
        signal?.throwIfAborted();
        if (step.written) return { written: step.written, sentences };
        sentences.push(...step.sentences);
        onSentences?.(step.sentences);
      }
    } finally {
      if (!calls.isStopped) await calls.call("end", job);
    }
  }

  async attention(source, target) {
    return (await this.#running()).call("attention", source, target);
  }

  /** Bytes of the module's memory, which grows but never shrinks. */
  async memory() {
    return (await this.#running()).call("memory");
  }

  free() {
    this.#isFree = true;
    this.#calls?.then((calls) => calls.stop(new Error("the translator was freed")), () => {});
    this.#calls = undefined;
  }
}
