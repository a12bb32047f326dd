// Translation of files: chosen by a button, or dropped anywhere on the page.
import { translateFile } from "./api.js";
import { announce, byId, element, grouped, icon } from "./dom.js";
import { t } from "./messages.js";

export class Files {
  #list = byId("files");
  #chooser = byId("file-chooser");
  #pairOf;

  /** `pairOf` returns the languages; `formats` are the extensions that the server reads, or empty if unknown. */
  constructor(pairOf, formats) {
    this.#pairOf = pairOf;
    this.#chooser.accept = formats.join(",");
    byId("choose-file").hidden = false;
    byId("choose-file").onclick = () => this.#chooser.click();
    this.#chooser.onchange = () => {
      this.#take(this.#chooser.files);
      this.#chooser.value = "";
    };
    this.#acceptDrops();
  }

  #acceptDrops() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    let depth = 0;
    const show = (change) => {
      depth = change === 0 ? 0 : depth + change;
      byId("drop").hidden = depth <= 0;
    };
    addEventListener("dragenter", (event) => hasFiles(event) && show(1));
    addEventListener("dragleave", (event) => hasFiles(event) && show(-1));
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      show(0);
      this.#take(event.dataTransfer.files);
    });
  }

  #take(files) {
    for (const file of files) this.#translate(file);
  }

  async #translate(file) {
    const request = new AbortController();
    const state = element("span", { class: "file-state" }, t("Translating…"));
    const remove = element("button", { type: "button", class: "quiet", "aria-label": t("Remove {name}", { name: file.name }) }, icon("close"));
    const item = element("li", { class: "file is-working" },
      icon("file"), element("bdi", { class: "file-name", dir: "auto" }, file.name), state, remove);
    remove.onclick = () => {
      request.abort();
      item.remove();
      this.#list.hidden = this.#list.childElementCount === 0;
      byId("choose-file").focus();
    };
    this.#list.hidden = false;
    this.#list.prepend(item);
    try {
      const onProgress = (n) => { state.textContent = n > 0 ? t("Translating… {n} s", { n: grouped(n) }) : t("Translating…"); };
      const address = await translateFile(file, this.#pairOf(), request.signal, onProgress);
      // The address is given as the user's own click, so that the browser asks nothing.
      state.replaceChildren(element("a", { href: address, download: file.name }, t("Download the translation")));
      item.classList.add("is-done");
      announce(t("The translation of {name} is ready.", { name: file.name }));
    } catch (error) {
      if (error.name === "AbortError") return;
      state.textContent = error.message;
      item.classList.add("is-failed");
      announce(`${file.name}: ${error.message}`);
    } finally {
      item.classList.remove("is-working");
    }
  }
}
