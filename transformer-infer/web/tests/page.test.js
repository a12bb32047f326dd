// The package and the demonstration in Chromium and Firefox, as far as they are installed: `cargo xtask web --test`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";

import { FirefoxPage, Page as ChromiumPage, firefox, program, serveFiles } from "./browser.js";
import { temporaryFolder, unpack } from "./models.js";

const web = dirname(dirname(process.env.TRANSFORMER_WEB));
const SOURCE = "Good morning. Where is the dog?";

/** Returns the native program's translations of lines. */
function native(path, lines, ...flags) {
  const args = ["translate", "--model", path, "--json", "-q", ...flags];
  const found = execFileSync(process.env.TRANSFORMER_INFER, args, { input: `${lines.join("\n")}\n`, encoding: "utf8" });
  return found.trimEnd().split("\n").map((line) => JSON.parse(line).translations[0]);
}

const BROWSERS = [
  ["Chromium", ChromiumPage, program ? false : "there is no Chromium on the PATH"],
  ["Firefox", FirefoxPage, firefox ? false : "there is no Firefox on the PATH, or Node lacks --experimental-websocket"],
];

for (const [name, Page, skip] of BROWSERS) describe(`in ${name}`, { skip }, () => {
  let folder, model, server, page;

  /** Returns the file of a path: of the page, or of the models below `/models/`. */
  function fileOf(path) {
    if (path === "/models.json") return join(folder, "models.json");
    return path.startsWith("/models/") ? join(folder, path.slice("/models/".length)) : join(web, path === "/" ? "index.html" : path);
  }

  before(async () => {
    folder = temporaryFolder();
    model = unpack(folder, "binary");
    writeFileSync(join(folder, "models.json"), JSON.stringify(["models/binary-int8/", "models/binary-f32/"]));
    let address;
    [server, address] = await serveFiles(fileOf);
    page = await Page.open(`${address}/?model=models/binary-int8/`);
    await page.until("document.documentElement.dataset.ready !== undefined");
  });

  after(async () => {
    await page?.close();
    server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the module with relaxed instructions has the translations of the native program", async (context) => {
    const name = await page.evaluate(`import("/pkg/engine.js").then((it) => it.moduleName(1))`);
    // Both browsers have it on processors with fused multiply-adds; Node's tests may have the other module.
    const isExpected = existsSync("/proc/cpuinfo") && readFileSync("/proc/cpuinfo", "utf8").includes(" fma ");
    if (!isExpected && name !== "transformer_web_relaxed") return context.skip(`here the browser loads ${name}`);
    assert.equal(name, "transformer_web_relaxed");
    const words = "Good morning the dog is never in house Where people have seen so many railway station".split(" ");
    const lines = words.map((_, index) => [...words.slice(index), ...words.slice(0, index)].slice(0, 1 + (index % 9)).join(" "));
    for (const [name, tolerance] of [["binary-int8", 1e-7], ["binary-f32", 1e-5]]) {
      for (const beam of [1, 4]) {
        const found = await page.evaluate(`(async () => {
          const { Translator, modelDirectory } = await import("/pkg/index.js");
          const translator = await Translator.load(await modelDirectory("/models/${name}/"));
          const { sentences } = await translator.translate(${JSON.stringify(lines.join("\n"))}, { beam: ${beam}, split: "lines" });
          translator.free();
          return sentences.map((it) => it.translations[0]);
        })()`);
        for (const [index, { text, score }] of native(join(folder, name), lines, "--beam", String(beam)).entries()) {
          assert.equal(found[index].text, text, lines[index]);
          assert.ok(Math.abs(found[index].score - score) < tolerance, `${lines[index]}: ${found[index].score}, not ${score}`);
        }
      }
    }
  });

  /** Types a text, and returns the sentences of its translation. */
  async function type(text, into = page) {
    await into.evaluate(`source.value = ${JSON.stringify(text)}, source.dispatchEvent(new Event("input"))`);
    const sentences = `[...document.querySelectorAll("#output .sentence")].map((it) => it.textContent)`;
    await into.until(`document.querySelector("#output").ariaBusy !== "true" && !document.querySelector("#output .pending") && ${sentences}.length > 0`);
    return into.evaluate(sentences);
  }

  test("models that `cargo xtask web` put on the page translate as the native program", async (context) => {
    const names = JSON.parse(readFileSync(join(web, "models.json"), "utf8"));
    if (names.length === 0) return context.skip("there are none: --model names them");
    const [server, address] = await serveFiles((path) => join(web, path === "/" ? "index.html" : path));
    context.after(() => server.close());
    const lines = ["Open the file", "Do you want to save the changes?", "twelve thousand and seven"];
    for (const name of names) {
      const opened = await Page.open(`${address}/?model=${name}`);
      context.after(() => opened.close());
      await opened.until("document.documentElement.dataset.ready !== undefined");
      for (const [index, { text }] of native(join(web, name), lines).entries()) {
        assert.deepEqual(await type(lines[index], opened), [text], `${name}: ${lines[index]}`);
      }
    }
  });

  test("models that come with the page are opened", async (context) => {
    const other = await Page.open(`http://127.0.0.1:${server.address().port}/`);
    context.after(() => other.close());
    await other.until(`import("/page/models.js").then((it) => it.models.length === 2)`);
    const names = await other.evaluate(`import("/page/models.js").then((it) => it.models.map(({ name }) => name).sort())`);
    assert.deepEqual(names, ["models/binary-f32/", "models/binary-int8/"]);
  });

  test("text is translated while it is typed, and its sentences are marked", async () => {
    const expected = native(model.integers, ["Good morning.", "Where is the dog?"]);
    assert.deepEqual(await type(SOURCE), expected.map((it) => it.text));
    await page.evaluate(`source.focus(), source.setSelectionRange(1, 1)`);
    const marked = await page.until(`document.querySelector("#mirror .marked-sentence")?.textContent`);
    assert.equal(marked, "Good morning.");
  });

  test("a sentence has other translations, one of which can be chosen, and attention", async () => {
    await type(SOURCE);
    await page.evaluate(`document.querySelector("#output .sentence").click()`);
    await page.until(`document.querySelectorAll("#alternatives-list button").length > 1`);
    const expected = native(model.integers, ["Good morning."], "--beam", "5")[0].text;
    const shown = await page.evaluate(`[...document.querySelectorAll("#alternatives-list bdi")].map((it) => it.textContent)`);
    assert.ok(shown.includes(expected), `${shown} has no \`${expected}\``);
    const other = await page.evaluate(`(() => {
      const other = document.querySelector("#alternatives-list [aria-checked=false]");
      const { textContent } = other.querySelector("bdi");
      other.click();
      return textContent;
    })()`);
    assert.equal(await page.evaluate(`document.querySelector("#output .sentence").textContent`), other);
    await page.evaluate(`document.querySelector("#output .sentence").click()`);
    await page.evaluate(`document.querySelector("#explore").click()`);
    const frame = `document.querySelector("#attention-frame iframe").contentDocument`;
    assert.equal(await page.until(`${frame}.querySelector("#src")?.textContent`), "Good morning.");
    await page.until(`${frame}.querySelectorAll("#overview [role=radio]").length > 0`);
    await page.evaluate(`document.querySelector("#close-attention").click()`);
  });

  test("a document can be saved", async () => {
    await page.evaluate(`(() => {
      const files = new DataTransfer();
      files.items.add(new File(["<p>Good <b>morning</b>.</p>"], "page.html"));
      const { createObjectURL } = URL;
      URL.createObjectURL = (blob) => createObjectURL.call(URL, (globalThis.saved = blob));
      const chooser = document.querySelector("#file-chooser");
      chooser.files = files.files;
      chooser.dispatchEvent(new Event("change"));
    })()`);
    const name = await page.until(`document.querySelector("#files a")?.download`);
    assert.equal(name, "page.html");
    const text = await page.evaluate(`saved.text()`);
    assert.match(text, /^<p>.*<b>.*<\/b>.*<\/p>$/);
  });

  test("threads translate as the native program, on the second visit", async (context) => {
    // In another browser, which has no service worker yet.
    const again = await Page.open(`http://127.0.0.1:${server.address().port}/?model=models/binary-int8/`);
    context.after(() => again.close());
    await again.until("document.documentElement.dataset.ready !== undefined");
    assert.equal(await again.evaluate("crossOriginIsolated"), false);
    await again.evaluate(`navigator.serviceWorker.ready.then(() => location.reload())`);
    await again.until("crossOriginIsolated && document.documentElement.dataset.ready !== undefined");
    const lines = Array.from({ length: 20 }, (_, index) => "Good morning the dog is never in house".split(" ").slice(index % 8).join(" "));
    for (const [name, tolerance] of [["binary-int8", 1e-7], ["binary-f32", 1e-5]]) {
      const { threads, found } = await again.evaluate(`(async () => {
        const { Translator, modelDirectory } = await import("/pkg/index.js");
        const translator = await Translator.load(await modelDirectory("/models/${name}/"), { threads: 2 });
        const { sentences } = await translator.translate(${JSON.stringify(lines.join("\n"))}, { beam: 4, split: "lines" });
        translator.free();
        return { threads: translator.info.threads, found: sentences.map((it) => it.translations[0]) };
      })()`);
      if (threads === 1) return context.skip("the package has no module with threads");
      for (const [index, { text, score }] of native(join(folder, name), lines, "--beam", "4").entries()) {
        assert.equal(found[index].text, text, lines[index]);
        assert.ok(Math.abs(found[index].score - score) < tolerance, `${lines[index]}: ${found[index].score}, not ${score}`);
      }
    }
  });

  test("the page is kept with the module that the browser loads, for use without a network", async () => {
    const modules = `caches.open("transformer-demo").then((cache) => cache.keys()).then((kept) => kept.filter(({ url }) => url.endsWith(".wasm")))`;
    await page.until(`${modules}.then(({ length }) => length > 0)`);
    const kept = await page.evaluate(`(async () => {
      const requests = await (await caches.open("transformer-demo")).keys();
      const { models } = await import("/page/models.js");
      return { paths: requests.map((it) => new URL(it.url).pathname), module: models[0].translator.info.module };
    })()`);
    assert.deepEqual(kept.paths.filter((it) => it.endsWith(".wasm")), [`/pkg/${kept.module}_bg.wasm`]);
    for (const path of ["/", "/page/page.css", "/page/api.js", "/pkg/worker.js"]) assert.ok(kept.paths.includes(path), path);
    assert.ok(!kept.paths.includes("/service-worker.js"));
  });

  /** Opens a model, waits until the page lists a number of models, and returns their names. */
  async function add(name, count) {
    await page.evaluate(`address.value = "models/${name}", document.querySelector("#from-address").requestSubmit()`);
    await page.until(`document.querySelectorAll("#model option").length === ${count}`);
    return page.evaluate(`[...document.querySelectorAll("#model option")].map((it) => it.value)`);
  }

  test("a second model is added, and a third of the same name", async () => {
    await add("binary-f32", 2);
    assert.notEqual((await type("Good morning, dog."))[0], "");
    const names = await add("binary-f32", 3);
    assert.deepEqual(names.slice(1), ["models/binary-f32", "models/binary-f32 (2)"]);
  });

  test("a model without languages is listed beside those with languages", async () => {
    const unnamed = join(folder, "unnamed");
    cpSync(model.integers, unnamed, { recursive: true });
    const manifest = JSON.parse(readFileSync(join(unnamed, "manifest.json"), "utf8"));
    assert.equal(manifest.training.src_lang, "en");
    delete manifest.training.src_lang;
    delete manifest.training.tgt_lang;
    writeFileSync(join(unnamed, "manifest.json"), JSON.stringify(manifest));
    await page.evaluate(`address.value = "models/unnamed", document.querySelector("#from-address").requestSubmit()`);
    const list = `document.querySelector("#source-language")`;
    assert.equal(await page.until(`${list}.querySelector("[value=und]")?.textContent`), "Unknown");
    await page.evaluate(`${list}.value = "und", ${list}.dispatchEvent(new Event("change"))`);
    const expected = native(unnamed, ["Good morning."]);
    assert.deepEqual(await type("Good morning."), expected.map((it) => it.text));
  });
});
