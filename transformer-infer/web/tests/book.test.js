// Chapter 19 of the book with its translator, in Chromium: BOOK=FOLDER node --test book.test.js, after
// `cargo xtask book --live`.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { test } from "node:test";

import { Page, program } from "./browser.js";

const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

test("the chapter's translator translates in the page", { skip: program ? false : "there is no Chromium on the PATH" }, async () => {
  const folder = process.env.BOOK ?? "target/book";
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const file = join(folder, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    try {
      const content = readFileSync(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  let page;
  try {
    page = await Page.open(`http://127.0.0.1:${server.address().port}/19_translator.html`);
    const frame = "document.querySelector('[data-shows=translator] iframe')";
    await page.until(`${frame} !== null`);
    await page.evaluate(`${frame}.scrollIntoView()`);
    // Until it is translated, the text itself is there.
    const text = `${frame}.contentDocument.getElementById("output").innerText.trim()`;
    await page.until(`${text} === "das kleine Pferd sieht eine schwarze Katze"`);
  } finally {
    await page?.close();
    server.close();
  }
});
