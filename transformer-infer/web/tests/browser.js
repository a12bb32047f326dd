// A page in Chromium, controlled by its DevTools protocol: JSON messages over pipes, each ended by a NUL.

import { spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";

import { temporaryFolder } from "./models.js";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser's program, if it is installed. */
export const program = NAMES.find((name) => spawnSync(name, ["--version"]).status === 0);

/** Milliseconds after which a page that was waited for is a failure: far longer than on any busy machine. */
const PATIENCE = 60_000;

const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".json": "application/json", ".mjs": "text/javascript", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

/**
 * Serves files, with headers of all responses; resolves to the server, and its address. `fileOf` returns the name of the file
 * for the path of a request, or `{ html }`.
 */
export async function serveFiles(fileOf, headers = {}) {
  const server = createServer(({ url }, response) => {
    try {
      const file = fileOf(new URL(url, "http://localhost").pathname);
      const content = file.html ?? readFileSync(file);
      const type = file.html ? TYPES[".html"] : TYPES[extname(file)];
      const length = Buffer.byteLength(content);
      const own = { "content-type": type ?? "application/octet-stream", "content-length": length };
      response.writeHead(200, { ...headers, ...own }).end(content);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, `http://127.0.0.1:${server.address().port}`];
}

export class Page {
  #browser;
  #profile = temporaryFolder();
  #waiting = new Map();
  #next = 0;
  #session;

  static async open(address) {
    const page = new Page();
    await page.#start(address);
    return page;
  }

  async #start(address) {
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
    flags.push("--remote-debugging-pipe", `--user-data-dir=${this.#profile}`);
    this.#browser = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    let rest = "";
    this.#browser.stdio[4].setEncoding("utf8").on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      for (const { id, result, error } of messages.map((it) => JSON.parse(it))) {
        const { resolve, reject } = this.#waiting.get(id) ?? {};
        error ? reject?.(new Error(error.message)) : resolve?.(result);
      }
    });
    const { targetId } = await this.#call("Target.createTarget", { url: address });
    const { sessionId } = await this.#call("Target.attachToTarget", { targetId, flatten: true });
    this.#session = sessionId;
  }

  #call(method, params, sessionId = this.#session) {
    const id = this.#next++;
    this.#browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: sessionId ?? undefined })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Returns the value of an expression in the page. */
  async evaluate(expression) {
    const call = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.#call("Runtime.evaluate", call);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Returns the CPU time of the browser's processes for pages, in seconds. */
  async cpuTime() {
    const { processInfo } = await this.#call("SystemInfo.getProcessInfo", {}, null);
    return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  }

  /** Waits until an expression in the page is true, and returns its value. */
  async until(expression) {
    const end = performance.now() + PATIENCE;
    for (;;) {
      const value = await this.evaluate(expression).catch(() => undefined);
      if (value) return value;
      if (performance.now() > end) throw new Error(`never true: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async close() {
    const closed = new Promise((resolve) => this.#browser.once("close", resolve));
    this.#browser.kill();
    await closed;
    // Processes of the browser may still write there. With `maxRetries` Node does not remove what they wrote meanwhile.
    for (let tries = 50; ; tries--) {
      try {
        return rmSync(this.#profile, { recursive: true, force: true });
      } catch (error) {
        if (tries === 0) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
