// Pages in Chromium and Firefox, controlled by JSON messages: Chromium's DevTools protocol over pipes, each message ended by a
// NUL, and WebDriver BiDi over a WebSocket.

import { spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";

import { temporaryFolder } from "./models.js";

/** Returns the name of a program that is installed, or undefined. */
const installed = (...names) => names.find((name) => spawnSync(name, ["--version"]).status === 0);

/** Chromium's program, if it is installed. */
export const program = installed("chromium", "chromium-browser", "google-chrome", "google-chrome-stable");

/** Firefox's program, if it is installed, and Node has WebSockets: from version 22 on, or by `--experimental-websocket`. */
export const firefox = globalThis.WebSocket && installed("firefox-esr", "firefox");

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

/** A page in a browser: what the protocols share. */
class BrowserPage {
  profile = temporaryFolder();
  #waiting = new Map();
  #next = 0;

  static async open(address) {
    const page = new this();
    try {
      await page.start(address);
    } catch (error) {
      await page.close();
      throw error;
    }
    return page;
  }

  /** Sends a command, and resolves to its result. */
  call(method, params, sessionId) {
    const id = this.#next++;
    this.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  receive(text) {
    const { id, result, error, message } = JSON.parse(text);
    const { resolve, reject } = this.#waiting.get(id) ?? {};
    error ? reject?.(new Error(message ?? error.message)) : resolve?.(result);
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
    const { browser } = this;
    if ((browser.exitCode ?? browser.signalCode) === null) {
      const closed = new Promise((resolve) => browser.once("close", resolve));
      browser.kill();
      const late = setTimeout(() => browser.kill("SIGKILL"), 10_000);
      await closed;
      clearTimeout(late);
    }
    // Processes of the browser may still write there. With `maxRetries` Node does not remove what they wrote meanwhile.
    for (let tries = 50; ; tries--) {
      try {
        return rmSync(this.profile, { recursive: true, force: true });
      } catch (error) {
        if (tries === 0) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** A page in Chromium. */
export class Page extends BrowserPage {
  #session;

  async start(address) {
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
    flags.push("--remote-debugging-pipe", `--user-data-dir=${this.profile}`);
    this.browser = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.send = (message) => this.browser.stdio[3].write(`${message}\0`);
    let rest = "";
    this.browser.stdio[4].setEncoding("utf8").on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.receive(message));
    });
    const { targetId } = await this.call("Target.createTarget", { url: address });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    this.#session = sessionId;
  }

  /** Returns the value of an expression in the page. */
  async evaluate(expression) {
    const call = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", call, this.#session);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Returns the CPU time of the browser's processes for pages, in seconds. */
  async cpuTime() {
    const { processInfo } = await this.call("SystemInfo.getProcessInfo", {});
    return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  }
}

/** A page in Firefox. */
export class FirefoxPage extends BrowserPage {
  #context;

  async start(address) {
    const flags = ["--headless", "--no-remote", "--profile", this.profile, "--remote-debugging-port", "0"];
    this.browser = spawn(firefox, flags, { stdio: ["ignore", "ignore", "pipe"] });
    const socket = new WebSocket(`${await this.#endpoint()}/session`);
    socket.addEventListener("message", ({ data }) => this.receive(data));
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    this.send = (message) => socket.send(message);
    await this.call("session.new", { capabilities: {} });
    const { contexts } = await this.call("browsingContext.getTree", {});
    this.#context = contexts[0].context;
    await this.call("browsingContext.navigate", { context: this.#context, url: address });
  }

  /** Returns the address that Firefox prints. */
  #endpoint() {
    let printed = "";
    return new Promise((resolve, reject) => {
      const fail = (what) => reject(new Error(`Firefox ${what}: ${printed}`));
      this.browser.once("close", () => fail("ends"));
      setTimeout(() => fail("prints no address"), PATIENCE).unref();
      this.browser.stderr.setEncoding("utf8").on("data", (data) => {
        printed += data;
        const address = printed.match(/BiDi listening on (ws:\S+)\s/)?.[1];
        if (address) resolve(address);
      });
    });
  }

  /** Returns the value of an expression in the page. */
  async evaluate(expression) {
    const { type, result, exceptionDetails } = await this.call("script.evaluate", {
      expression: `(async () => JSON.stringify(await (${expression})))()`,
      target: { context: this.#context },
      awaitPromise: true,
    });
    if (type === "exception") throw new Error(exceptionDetails.text);
    return result.value === undefined ? undefined : JSON.parse(result.value);
  }
}
