// The sentences of a text, which one or more workers translate.

// Sentences of one call of a worker, after the first. More are faster together, but a worker ends its call before it
// translates another text. The number doubles after a call of at most 200 ms or, in a long text, half of the time before it.
const [FEWEST, MOST] = [8, 64];
const CALL_MS = 200;

/** Returns the number of sentences of the call after one of `n` sentences, from the times when it and the text began. */
function nextCall(n, callBegan, textBegan) {
  const now = performance.now();
  const isShort = now - callBegan < Math.max(CALL_MS, (callBegan - textBegan) / 2);
  return Math.min(Math.max(FEWEST, n === 1 ? 0 : isShort ? 2 * n : n >> 1), MOST);
}

/** A text in a worker. All workers have the whole text, and translate parts of its rounds. */
export class Job {
  #calls;
  #id;
  /** Number of sentences of the next call. */
  n = 1;
  began = performance.now();

  static async begin(calls, content, options) {
    const job = new Job();
    job.#calls = calls;
    job.#id = await calls.call("begin", content, options);
    return job;
  }

  call(method, ...args) {
    return this.#calls.call(method, this.#id, ...args);
  }

  /** Frees the job, after its calls. */
  end() {
    if (!this.#calls.isStopped) this.call("end").catch(() => {});
  }
}

/** Sentences that are translated together, because their order and the text around them need no other translations. */
export class Round {
  #next = 0;
  #length;
  #options;
  #members = [];
  #ranges = [];
  #translated = new Map();
  #sentences = [];
  #isOver = false;
  #fail;
  #failed = new Promise((_, reject) => (this.#fail = reject));

  /** `options` may have a signal and a function for the next sentences in their order. */
  constructor(length, options) {
    this.#length = length;
    this.#options = options;
    this.#failed.catch(() => {}); // `end` throws it
  }

  /** Lets a job take part. Returns false if the round is over. */
  add(job) {
    if (this.#isOver) return false;
    const member = { job };
    this.#members.push(member);
    member.work = this.#work(job).catch((error) => {
      this.#isOver = true;
      this.#fail(error);
    });
    return true;
  }

  /** Returns all sentences when they are translated, and the jobs that have the translations. */
  async end() {
    const all = async () => {
      // Jobs may be added meanwhile.
      for (const { work } of this.#members) await work;
    };
    try {
      await Promise.race([all(), this.#failed]);
    } finally {
      this.#isOver = true;
    }
    const jobs = this.#members.map(({ job }) => job);
    for (const { job, from, n } of jobs.length > 1 ? this.#ranges : []) {
      const lines = await job.call("translated", from, n);
      await Promise.all(jobs.filter((it) => it !== job).map((other) => other.call("supply", from, lines)));
    }
    return { sentences: this.#sentences, jobs };
  }

  async #work(job) {
    const { signal } = this.#options;
    while (!this.#isOver && this.#next < this.#length) {
      signal?.throwIfAborted();
      const from = this.#next;
      const n = Math.min(job.n, Math.ceil((this.#length - from) / this.#members.length));
      this.#next += n;
      const started = performance.now();
      const sentences = await job.call("translate", from, n);
      if (this.#isOver) return;
      if (n === job.n) job.n = nextCall(n, started, job.began);
      this.#ranges.push({ job, from, n });
      this.#translated.set(from, sentences);
      this.#handOver();
    }
  }

  #handOver() {
    for (let next; (next = this.#translated.get(this.#sentences.length)); ) {
      this.#options.signal?.throwIfAborted();
      this.#translated.delete(this.#sentences.length);
      this.#sentences.push(...next);
      this.#options.onSentences?.(next);
    }
  }
}
