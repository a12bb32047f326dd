// Translates in a worker. See index.d.ts.

import { hashesOf, isBytes, readAll } from "./files.js";
import { Job, Round } from "./round.js";

export { modelDirectory } from "./files.js";

const wasFreed = () => new Error("the translator was freed");

// Sentences of a text for which no other workers are started.
const MOST_ALONE = 8;

async function startWorker(nThreads) {
  const url = new URL("./worker.js", import.meta.url);
  if (globalThis.Worker) return new Worker(url, { type: "module", name: String(nThreads) });
  const { Worker: NodeWorker } = await import("node:worker_threads");
  return new NodeWorker(url, { workerData: nThreads });
}

/** Calls of one worker, which end with an error if it fails. */
class Calls {
  #worker;
  #failure;
  #waiting = new Map();
  #next = 0;
  #threads = [];

  /** Starts a worker with threads, or with one thread if they cannot be started. */
  static async start(nThreads) {
    const calls = await Calls.#startOne(nThreads);
    try {
      await calls.#startThreads(nThreads);
      return calls;
    } catch (error) {
      calls.stop(error);
      return Calls.#startOne(1);
    }
  }

  /** Starts one worker, which has so many threads; 0 starts a worker that runs a thread of another worker. */
  static async #startOne(nThreads) {
    const calls = new Calls();
    const worker = (calls.#worker = await startWorker(nThreads));
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

  /** Starts workers for the other threads of this one, if threads can share memory here. */
  async #startThreads(nThreads) {
    const shared = nThreads > 1 ? await this.call("shared") : undefined;
    if (!shared) return;
    const join = async () => {
      const thread = await Calls.#startOne(0);
      this.#threads.push(thread);
      if (this.isStopped) thread.stop(this.#failure);
      await thread.call("joinThreads", shared);
      return thread;
    };
    const threads = await Promise.all(Array.from({ length: nThreads - 1 }, join));
    // A thread ends only if it fails.
    for (const thread of threads) thread.call("runThread").catch((error) => this.stop(error));
    await this.call("startThreads");
  }

  stop(error) {
    for (const thread of this.#threads) thread.stop(error);
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
  #nWorkers;
  #nThreads;
  /** Promises of the workers with the model. */
  #workers = [];
  #freed = new AbortController();

  constructor(files, { workers = 1, threads = 1, ...options }) {
    for (const [name, n] of Object.entries({ workers, threads })) {
      if (!(Number.isInteger(n) && n > 0 && n <= 64)) throw new RangeError(`\`${name}\` must be an integer from 1 to 64`);
    }
    this.#files = files;
    this.#options = options;
    this.#nWorkers = workers;
    this.#nThreads = threads;
  }

  static async load(files, options = {}) {
    const translator = new Translator(files, options);
    await translator.#open(0);
    return translator;
  }

  // Returns a worker with the model, after a failure a new one.
  async #running(index) {
    const opened = this.#open(index);
    const calls = await opened;
    if (!calls.isStopped) return calls;
    if (this.#workers[index] === opened) this.#workers[index] = undefined;
    return this.#open(index);
  }

  #open(index) {
    if (this.#freed.signal.aborted) return Promise.reject(wasFreed());
    this.#workers[index] ??= this.#start().catch((error) => {
      this.#workers[index] = undefined;
      throw error;
    });
    return this.#workers[index];
  }

  async #start() {
    const { signal, onProgress, ...options } = this.#options;
    const starting = Calls.start(this.#nThreads);
    const stop = (error) => starting.then((calls) => calls.stop(error), () => {});
    this.#freed.signal.addEventListener("abort", () => stop(wasFreed()));
    try {
      const reading = readAll(this.#files, { signal: signal ?? this.#freed.signal, onProgress });
      const [calls, contents] = await Promise.all([starting, reading]);
      const owned = Object.keys(contents).filter((name) => !isBytes(this.#files[name]));
      const buffers = owned.map((name) => contents[name].buffer);
      this.info = await calls.callWith(buffers, "load", contents, hashesOf(contents), JSON.stringify(options));
      signal?.throwIfAborted();
      // The signal and the progress are those of the first load.
      this.#options = options;
      return calls;
    } catch (error) {
      stop(error);
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
    const working = this.#work(content, JSON.stringify(options), { signal, onSentences });
    if (!signal) return working;
    // The caller does not wait for the workers' calls.
    let stop;
    const stopped = new Promise((_, reject) => (stop = () => reject(signal.reason)));
    signal.addEventListener("abort", stop);
    return Promise.race([working, stopped]).finally(() => signal.removeEventListener("abort", stop));
  }

  async #work(content, options, { signal, onSentences }) {
    const begin = async (index) => Job.begin(await this.#running(index), content, options);
    const first = await begin(0);
    const begun = [first];
    let jobs = [first];
    const sentences = [];
    try {
      for (let isFirst = true; ; isFirst = false) {
        signal?.throwIfAborted();
        const [length] = await Promise.all(jobs.map((job) => job.call("beginRound")));
        signal?.throwIfAborted();
        if (length === undefined) return { written: await first.call("take"), sentences };
        const round = new Round(length, { signal, onSentences });
        for (const job of jobs) round.add(job);
        const others = isFirst ? this.#helpers(length) : [];
        for (const index of others) this.#join(round, begun, begin(index));
        const ended = await round.end();
        jobs = ended.jobs;
        sentences.push(...ended.sentences);
      }
    } finally {
      for (const job of begun) job.end();
    }
  }

  // Returns the other workers for a text of some sentences: those that run, or all for a long text.
  #helpers(length) {
    const nWorkers = this.info?.threads > 1 ? 1 : this.#nWorkers;
    const indices = Array.from({ length: nWorkers - 1 }, (_, index) => index + 1);
    return indices.filter((index) => length > (this.#workers[index] ? 1 : MOST_ALONE));
  }

  // Lets another worker take part in the first round of a text, unless its model is loaded too late for that.
  async #join(round, begun, beginning) {
    try {
      const job = await beginning;
      await job.call("beginRound");
      if (round.add(job)) begun.push(job);
      else job.end();
    } catch (error) {
      if (!this.#freed.signal.aborted) console.warn(`a worker takes no part: ${error.message}`);
    }
  }

  async attention(source, target) {
    return (await this.#running(0)).call("attention", source, target);
  }

  /** Bytes of the modules' memory, which grows but never shrinks. */
  async memory() {
    await this.#running(0);
    const workers = await Promise.allSettled(this.#workers);
    const calls = workers.flatMap(({ value }) => (value && !value.isStopped ? value : []));
    const sizes = await Promise.all(calls.map((it) => it.call("memory")));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  free() {
    this.#freed.abort();
    this.#workers = [];
  }
}
