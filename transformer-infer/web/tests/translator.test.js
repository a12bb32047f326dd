// The package against the native program, in Node: `cargo xtask web --test`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const { Translator, modelDirectory } = await import(pathToFileURL(process.env.TRANSFORMER_WEB));
const program = process.env.TRANSFORMER_INFER;
const fixtures = new URL("../../../transformer-core/tests/fixtures/marian/", import.meta.url);
const nLines = Number(process.env.WEB_LINES ?? 200);

let folder;
const models = {};

function run(...args) {
  return execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** Unpacks a fixture, and makes model directories in floats and integers of it. */
function unpack(name) {
  const original = join(folder, name);
  mkdirSync(original);
  for (const file of readdirSync(new URL(`${name}/`, fixtures))) {
    const content = gunzipSync(readFileSync(new URL(`${name}/${file}`, fixtures)));
    writeFileSync(join(original, file.replace(/\.gz$/, "")), content);
  }
  const [floats, integers] = [`${original}-f32`, `${original}-int8`];
  run("import", "--from", original, "--out", floats);
  run("quantize", "--model", floats, "--out", integers, "--precision", "int8");
  models[name] = { original, floats, integers };
}

function filesOf(path) {
  return Object.fromEntries(readdirSync(path).map((name) => [name, new Uint8Array(readFileSync(join(path, name)))]));
}

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
  folder = mkdtempSync(join(tmpdir(), "transformer-web-"));
  unpack("binary");
  unpack("binary_separate");
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
