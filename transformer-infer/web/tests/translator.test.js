// The package against the native program, in Node: `cargo xtask web --test`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import { filesOf, run, temporaryFolder, unpack } from "./models.js";

const web = pathToFileURL(process.env.TRANSFORMER_WEB);
const { Translator, modelDirectory } = await import(web);
const { hashesOf, readAll } = await import(new URL("files.js", web));
const program = process.env.TRANSFORMER_INFER;
const nLines = Number(process.env.WEB_LINES ?? 200);

let folder;
const models = {};

/** Lines of words that the vocabularies have and lack, of one to a dozen words. */
function lines() {
  const words = "Good morning the dog is never in house Where people have seen so many railway station 犬 é".split(" ");
  let state = 1;
  const draw = (n) => (state = (state * 48271) % 2147483647) % n;
  return Array.from({ length: nLines }, () =>
    Array.from({ length: 1 + draw(12) }, () => words[draw(words.length)]).join(" "),
  );
}

before(() => {
  folder = temporaryFolder();
  for (const name of ["binary", "binary_separate"]) models[name] = unpack(folder, name);
});

after(() => rmSync(folder, { recursive: true }));

describe("translations and scores are those of the native program", () => {
  for (const model of ["binary", "binary_separate"]) {
    for (const [kind, precision] of [
      ["floats", "f32"],
      ["floats", "int8"],
      ["integers", undefined],
    ]) {
      for (const beam of [1, 4]) {
        test(`${model}, ${kind}, computed in ${precision ?? "its own precision"}, beam ${beam}`, async () => {
          const source = lines();
          const input = join(folder, "lines.txt");
          writeFileSync(input, `${source.join("\n")}\n`);
          const flags = ["--beam", String(beam), ...(precision ? ["--precision", precision] : [])];
          const path = models[model][kind];
          const native = execFileSync(program, ["translate", "--model", path, "--json", "-q", ...flags], {
            input: readFileSync(input),
            encoding: "utf8",
            maxBuffer: 1 << 28,
          });
          const expected = native.trimEnd().split("\n").map((line) => JSON.parse(line).translations[0]);
          const translator = await Translator.load(filesOf(path), { precision });
          const { sentences } = await translator.translate(source.join("\n"), { beam, split: "lines" });
          translator.free();
          assert.equal(sentences.length, expected.length);
          // Logits in integers have the same bits, and their logarithms differ in the last one.
          const tolerance = translator.info.precision === "int8" ? 1e-7 : 1e-5;
          for (const [index, { text, score }] of expected.entries()) {
            const found = sentences[index].translations[0];
            assert.equal(found.text, text, source[index]);
            assert.ok(Math.abs(found.score - score) < tolerance, `${source[index]}: ${found.score}, not ${score}`);
          }
        });
      }
    }
  }
});

test("a document in HTML is the native program's", async () => {
  const page = '<p title="x">Good <b>morning</b>. Where is the <a href="#">dog &amp; house</a>?</p>\n<pre>is</pre>';
  const input = join(folder, "page.html");
  writeFileSync(input, page);
  const native = run("translate", "--model", models.binary.floats, "--in", input);
  const translator = await Translator.load(filesOf(models.binary.floats));
  const { text, sentences } = await translator.translate(page, { html: true, alignments: true });
  translator.free();
  assert.equal(text, native);
  const { source, translations, alignment } = sentences[0];
  for (const pair of alignment) {
    assert.ok(pair.source[1] <= source.length && pair.target[1] <= translations[0].text.length);
  }
});

test("documents are the native program's", async () => {
  const translator = await Translator.load(filesOf(models.binary.integers));
  assert.ok(["txt", "html"].every((extension) => translator.info.formats.includes(extension)));
  const documents = {
    "a.html": Buffer.from('<meta charset="iso-8859-1">\n<p>Good caf\u00e9.</p>\n', "latin1"),
    "a.md": "# Good morning\n\n- Where is the **dog**?\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nGood <i>morning</i>.\n",
    "a.strings": Buffer.from("\ufeff\"key\" = \"Good morning.\";\n", "utf16le"),
    "a.txt": "Good morning. Where is the dog?\n",
    "a.xml": Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?>\n<resources><string name="a">Caf\u00e9</string></resources>\n', "latin1"),
  };
  for (const [name, content] of Object.entries(documents)) {
    const bytes = Buffer.from(content);
    if (!translator.info.formats.includes(name.split(".")[1])) {
      await assert.rejects(translator.translateDocument(bytes, name), /no known format/);
      continue;
    }
    const input = join(folder, name);
    writeFileSync(input, bytes);
    execFileSync(program, ["translate", "--model", models.binary.integers, "--in", input, "--out", `${input}.out`]);
    const found = await translator.translateDocument(bytes, name);
    assert.deepEqual(Buffer.from(found), readFileSync(`${input}.out`), name);
  }
  await assert.rejects(translator.translateDocument(new Blob(["a"]), "a.pdf"), /no known format/);
  translator.free();
});

test("terms have the translations of the glossary", async () => {
  const translator = await Translator.load(filesOf(models.binary.integers));
  const source = "Where is the dog?";
  const options = { glossary: { dog: "railway" }, beam: 4 };
  const terms = join(folder, "terms.tsv");
  writeFileSync(terms, "dog\trailway\n");
  const input = join(folder, "term.txt");
  writeFileSync(input, source);
  const native = run("translate", "--model", models.binary.integers, "--beam", "4", "--terms", terms, "--no-check", "--in", input);
  assert.equal((await translator.translate(source, options)).text, native);
  assert.match(native, /railway/);
  translator.free();
});

test("a page shows what the heads attend to", async () => {
  const translator = await Translator.load(filesOf(models.binary.integers));
  const [source, target] = ["Good morning.", "Where </script> is the dog?"];
  const page = await translator.attention(source, target);
  translator.free();
  const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)[1]);
  assert.equal(data.src, source);
  const [{ name, layers, rows, columns }] = data.kinds;
  assert.equal(name, "cross");
  for (const map of layers.flat()) {
    assert.deepEqual([map.length, map[0].length], [rows.length, columns.length]);
    for (const row of map) assert.ok(Math.abs(row.reduce((sum, it) => sum + it, 0) - 10000) < 50);
  }
});

test("a model of Firefox Translations is read from its own files, with its shortlist", async () => {
  const source = lines().slice(0, 50);
  const own = await Translator.load(filesOf(models.binary.floats), { precision: "int8" });
  const expected = await own.translate(source.join("\n"), { split: "lines" });
  own.free();
  const translator = await Translator.load(filesOf(models.binary.original), { precision: "int8" });
  assert.deepEqual(translator.info.source, "en");
  assert.deepEqual(translator.info.precision, "int8");
  assert.deepEqual(await translator.translate(source.join("\n"), { split: "lines" }), expected);
  translator.free();
  const all = await Translator.load(filesOf(models.binary.original), { precision: "int8", shortlist: false });
  const other = await all.translate(source.join("\n"), { split: "lines" });
  all.free();
  assert.notDeepEqual(other, expected, "the shortlist has an effect");
});

test("n-best lists are as long as asked", async () => {
  const translator = await Translator.load(filesOf(models.binary.integers));
  const { sentences } = await translator.translate("Good morning.", { beam: 4, nBest: 3 });
  assert.equal(sentences[0].translations.length, 3);
  translator.free();
});

test("errors name the fault, and the translator stays usable", async () => {
  const files = filesOf(models.binary.floats);
  await assert.rejects(Translator.load({}), /has no|missing|does not exist/);
  const damaged = { ...files, "weights.bpk": files["weights.bpk"].map((byte, index) => (index === 999 ? byte ^ 1 : byte)) };
  await assert.rejects(Translator.load(damaged), /does not match its SHA-256/);
  await assert.rejects(Translator.load({ ...files, "manifest.json": 7 }), /is no file/);
  const translator = await Translator.load(files);
  await assert.rejects(translator.translate("Good", { beam: 0 }), /beam/);
  await assert.rejects(translator.translate("Good", { bean: 1 }), /unknown field/);
  assert.equal((await translator.translate("")).text, "");
  translator.free();
  await assert.rejects(translator.translate("Good"), /was freed/);
});

test("a signal cancels between sentences", async () => {
  const translator = await Translator.load(filesOf(models.binary.integers));
  const controller = new AbortController();
  let count = 0;
  const onSentences = ({ length }) => {
    count += length;
    controller.abort();
  };
  const text = "Good morning.\n".repeat(100);
  await assert.rejects(translator.translate(text, { signal: controller.signal, onSentences }), { name: "AbortError" });
  assert.equal(count, 1);
  assert.notEqual((await translator.translate("Good morning.")).text, "");
  translator.free();
});

test("several workers translate a text together", async () => {
  const path = models.binary.integers;
  const alone = await Translator.load(filesOf(path));
  const translator = await Translator.load(filesOf(path), { workers: 3 });
  const lone = await translator.memory();
  const source = lines().join("\n");
  const page = `<p>Good <b>morning</b>. Where is the <a href="#">dog 1,234 {name}</a>?</p>\n`.repeat(40);
  // The second round of texts comes when the workers run.
  for (const round of [1, 2]) {
    for (const [text, options] of [
      [source, { split: "lines", nBest: 2, beam: 2, alignments: true }],
      [page, { html: true }],
      ["Good morning.", {}],
    ]) {
      const handedOver = [];
      const onSentences = (sentences) => handedOver.push(...sentences);
      const expected = await alone.translate(text, options);
      const found = await translator.translate(text, { ...options, onSentences });
      assert.deepEqual(found, expected);
      assert.deepEqual(handedOver, expected.sentences);
    }
    if (round === 2) assert.ok((await translator.memory()) > 2.5 * lone);
  }
  const controller = new AbortController();
  let count = 0;
  const onSentences = () => {
    count += 1;
    controller.abort();
  };
  await assert.rejects(translator.translate(source, { signal: controller.signal, onSentences }), { name: "AbortError" });
  const fail = () => {
    throw new Error("the page failed");
  };
  // All workers go on with other texts.
  const other = translator.translate(page, { html: true });
  await assert.rejects(translator.translate(source, { split: "lines", onSentences: fail }), { message: "the page failed" });
  assert.equal((await other).text, (await alone.translate(page, { html: true })).text);
  assert.equal(count, 1);
  assert.equal((await translator.translate("Good morning.")).text, (await alone.translate("Good morning.")).text);
  translator.free();
  alone.free();
  await assert.rejects(Translator.load(filesOf(path), { workers: 0 }), /`workers` must be an integer from 1 to 64/);
  // A worker that is loading ends, too: else this process would not.
  const short = await Translator.load(filesOf(path), { workers: 2 });
  const translating = short.translate(source, { split: "lines" });
  await new Promise((resolve) => setTimeout(resolve, 20));
  short.free();
  await assert.rejects(translating, /was freed/);
});

test("several threads have the translations of one", async (context) => {
  const path = models.binary.floats;
  const source = lines().join("\n");
  for (const precision of ["f32", "int8"]) {
    const alone = await Translator.load(filesOf(path), { precision });
    const translator = await Translator.load(filesOf(path), { precision, threads: 3 });
    const { threads } = translator.info;
    assert.equal(alone.info.threads, 1);
    const options = { split: "lines", nBest: 2, beam: 2, alignments: true };
    assert.deepEqual(await translator.translate(source, options), await alone.translate(source, options));
    assert.notEqual((await translator.translate("Good morning.")).text, "");
    alone.free();
    translator.free();
    if (threads === 1) return context.skip("the package has no module with threads, or this Node is too old for it");
    assert.equal(threads, 3);
  }
  await assert.rejects(Translator.load(filesOf(path), { threads: 300 }), /`threads` must be an integer from 1 to 64/);
});

test("browsers older than `throwIfAborted` translate", async (context) => {
  const { throwIfAborted } = AbortSignal.prototype;
  delete AbortSignal.prototype.throwIfAborted;
  context.after(() => (AbortSignal.prototype.throwIfAborted = throwIfAborted));
  const translator = await Translator.load(filesOf(models.binary.integers), { workers: 2 });
  assert.notEqual((await translator.translate(lines().join("\n"))).text, "");
  translator.free();
  await assert.rejects(translator.translate("Good"), /was freed/);
});

test("several models translate side by side", async () => {
  const [first, second] = await Promise.all([
    Translator.load(filesOf(models.binary.floats)),
    Translator.load(filesOf(models.binary_separate.floats)),
  ]);
  const alone = await first.translate("Good morning.");
  const [one, other] = await Promise.all([first.translate("Good morning."), second.translate("Good morning.")]);
  assert.deepEqual(one, alone);
  assert.notEqual(other.text, one.text);
  first.free();
  second.free();
});

test("files come from a server, checked by the hashes of the manifest", async () => {
  let damaged = false;
  const files = filesOf(models.binary.integers);
  const server = createServer((request, response) => {
    const bytes = files[request.url.slice("/model/".length)];
    if (!bytes) return response.writeHead(404).end();
    response.end(damaged && request.url.endsWith("weights.bpk") ? bytes.map((byte) => byte ^ 1) : bytes);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}/model`;
  const served = await modelDirectory(address);
  const sha256 = createHash("sha256").update(files["weights.bpk"]).digest("hex");
  assert.equal(served["weights.bpk"].sha256, sha256);
  let loaded = 0;
  const onProgress = (progress) => (loaded = progress.loaded);
  const translator = await Translator.load(served, { onProgress });
  assert.ok(loaded > files["weights.bpk"].length);
  translator.free();
  damaged = true;
  await assert.rejects(Translator.load(served), /has the SHA-256/);
  await assert.rejects(modelDirectory(`${address}/none`), /status 404/);
  server.close();
});

/** Replaces a global of the browser until the test ends. */
function setGlobal(context, name, value) {
  globalThis[name] = value;
  context.after(() => delete globalThis[name]);
}

/** Replaces workers with one that answers calls with a function. */
function fakeWorker(context, answer) {
  class FakeWorker {
    #listeners = {};
    addEventListener(event, call) {
      this.#listeners[event] = call;
    }
    postMessage({ id, method }) {
      const fail = (event) => this.#listeners.error(event);
      const value = answer(method, fail);
      this.#listeners.message?.({ data: { id, value } });
    }
    terminate() {
      this.#listeners = {};
    }
  }
  setGlobal(context, "Worker", FakeWorker);
}

test("a signal cancels before sentences are handed over", async (context) => {
  for (const last of ["beginRound", "translate"]) {
    const controller = new AbortController();
    fakeWorker(context, (method) => {
      if (method === last) controller.abort();
      return { beginRound: 1, translate: [{}] }[method];
    });
    const translator = await Translator.load({});
    const onSentences = () => assert.fail("sentences came after the signal");
    const options = { signal: controller.signal, onSentences };
    await assert.rejects(translator.translate("Good morning.", options), { name: "AbortError" });
  }
});

test("the error of a failed worker ends calls in progress and later ones", async (context) => {
  for (const [event, expected] of [
    [{ message: "out of memory" }, "the worker failed: out of memory"],
    [{}, "the worker failed: its script cannot be loaded"],
  ]) {
    for (const failing of ["begin", "translate"]) {
      fakeWorker(context, (method, fail) => {
        // After the answer: the worker fails between two calls.
        if (method === "begin" && failing === "begin") queueMicrotask(() => fail(event));
        if (method === failing && failing === "translate") fail(event);
        return { begin: 7, beginRound: 1, translate: [] }[method];
      });
      const translator = await Translator.load({});
      await assert.rejects(translator.translate("Good morning."), { message: expected });
    }
  }
});

test("the failure of one of several workers ends the text, and no other worker", async (context) => {
  let nWorkers = 0;
  let nAfterEnd = 0;
  class FakeWorker {
    #index = nWorkers++;
    #listeners = {};
    #hasEnded = false;
    addEventListener(event, call) {
      this.#listeners[event] = call;
    }
    async postMessage({ id, method, args: [, from, n] }) {
      if (method === "end") this.#hasEnded = true;
      if (method === "begin") this.#hasEnded = false;
      if (method === "translate" && this.#hasEnded) nAfterEnd += 1;
      if (method === "translate") await new Promise((resolve) => setTimeout(resolve, this.#index === 0 ? 20 : 1));
      const error = method === "translate" && this.#index === 1 && { message: "NaN", isFatal: false };
      const sentences = Array.from({ length: n }, (_, index) => from + index);
      const value = { begin: 7, beginRound: 40, translate: sentences }[method];
      this.#listeners.message?.({ data: error ? { id, error } : { id, value } });
    }
    terminate() {
      assert.fail("a worker was ended");
    }
  }
  setGlobal(context, "Worker", FakeWorker);
  const translator = await Translator.load({}, { workers: 2 });
  await assert.rejects(translator.translate("Good morning."), { message: "NaN" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(nAfterEnd, 0);
  assert.equal(nWorkers, 2);
});

test("only errors that the module returns leave the worker usable", async (context) => {
  const worker = new Worker(new URL("worker.js", web));
  context.after(() => worker.terminate());
  const call = (message) => {
    worker.postMessage(message);
    return new Promise((resolve) => worker.once("message", resolve));
  };
  const refused = await call({ id: 0, method: "load", args: [{}, {}, ""] });
  assert.equal(refused.error.isFatal, false, refused.error.message);
  const broken = await call({ id: 1, method: "translate", args: [7, 0, 1] });
  assert.equal(broken.error.isFatal, true, broken.error.message);
});

describe("files in the browser's cache", () => {
  const sha256 = (text) => createHash("sha256").update(text).digest("hex");
  let server, address, content, count;

  before(async () => {
    server = createServer((_, response) => {
      count += 1;
      response.end(content);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${server.address().port}/weights`;
  });
  after(() => server.close());

  /** Replaces the cache with entries in memory. */
  function fakeCache(context, faults = {}) {
    [content, count] = ["one", 0];
    const entries = new Map();
    const cache = {
      match: async (key) => entries.has(key) && new Response(entries.get(key)),
      put: async (key, response) => entries.set(key, await response.text()),
      delete: async (key) => entries.delete(key),
      keys: async () => Array.from(entries.keys(), (url) => ({ url })),
      ...faults,
    };
    setGlobal(context, "caches", { open: async () => cache, ...faults });
    return entries;
  }

  async function get(url = address) {
    let loaded = 0;
    const files = { weights: { url, sha256: sha256(content) } };
    const { weights } = await readAll(files, { onProgress: (progress) => (loaded = progress.loaded) });
    assert.equal(loaded, weights.length);
    return new TextDecoder().decode(weights);
  }

  test("are not downloaded again", async (context) => {
    const entries = fakeCache(context);
    assert.equal(await get(), "one");
    assert.equal(await get(), "one");
    assert.equal(await get(`${address}#part`), "one");
    assert.equal(count, 1);
    assert.deepEqual(Array.from(entries), [[`${address}?sha256=${sha256("one")}`, "one"]]);
  });

  test("are downloaded again if they are damaged", async (context) => {
    const entries = fakeCache(context);
    const key = `${address}?sha256=${sha256("one")}`;
    entries.set(key, "damaged");
    assert.equal(await get(), "one");
    assert.equal(count, 1);
    assert.equal(entries.get(key), "one");
  });

  test("are not kept, and not taken as checked, where the browser computes no hashes", async (context) => {
    const entries = fakeCache(context);
    const original = Object.getOwnPropertyDescriptor(globalThis, "crypto");
    Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
    context.after(() => Object.defineProperty(globalThis, "crypto", original));
    const contents = await readAll({ weights: { url: address, sha256: sha256("other") } }, {});
    assert.equal(new TextDecoder().decode(contents.weights), "one");
    assert.deepEqual(hashesOf(contents), { weights: undefined });
    assert.equal(entries.size, 0);
  });

  test("replace their other versions, and no other file", async (context) => {
    const entries = fakeCache(context);
    entries.set(`${address}2?sha256=${sha256("one")}`, "one");
    assert.equal(await get(), "one");
    content = "two";
    assert.equal(await get(), "two");
    const keys = [`${address}2?sha256=${sha256("one")}`, `${address}?sha256=${sha256("two")}`];
    assert.deepEqual(Array.from(entries.keys()), keys);
  });

  for (const method of ["open", "match", "put", "delete", "keys"]) {
    test(`are downloaded if \`${method}\` of the cache fails`, async (context) => {
      const fail = () => Promise.reject(new DOMException("the disk is full", "QuotaExceededError"));
      const entries = fakeCache(context, { [method]: fail });
      entries.set(`${address}?sha256=${sha256("one")}`, "damaged");
      assert.equal(await get(), "one");
      assert.equal(count, 1);
    });
  }
});
