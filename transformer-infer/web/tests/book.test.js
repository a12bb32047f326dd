// Chapter 19 of the book with its translator, in Chromium: BOOK=FOLDER node --test book.test.js, after
// `cargo xtask book --live`.

import { join } from "node:path";
import { test } from "node:test";

import { Page, program, serveFiles } from "./browser.js";

test("the chapter's translator translates in the page", { skip: program ? false : "there is no Chromium on the PATH" }, async () => {
  const folder = process.env.BOOK ?? "target/book";
  const [server, address] = await serveFiles((path) => join(folder, path.endsWith("/") ? `${path}index.html` : path));
  let page;
  try {
    page = await Page.open(`${address}/19_translator.html`);
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
