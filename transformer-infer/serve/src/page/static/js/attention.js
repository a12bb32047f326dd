// The attention of the model for one sentence, in a dialog with a frame.
import { attention, attentionPage } from "./api.js";
import { byId, element } from "./dom.js";
import { t } from "./messages.js";
import { isDark } from "./settings.js";

const FRAME = "page/attention.html";

export class AttentionDialog {
  #dialog = byId("attention");
  #note = byId("attention-note");
  #request = null;
  #current = null;

  constructor() {
    const dialog = this.#dialog;
    dialog.addEventListener("close", () => {
      this.#request?.abort();
      byId("attention-frame").replaceChildren();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // the backdrop
    });
    byId("close-attention").onclick = () => dialog.close();
    byId("save-attention").onclick = () => this.#save();
  }

  /** Shows what a model attends to for a sentence and its translation. */
  async open(piece, model) {
    const request = { model: model.name, source: piece.source.toWellFormed(), target: piece.target.toWellFormed() };
    const call = new AbortController();
    this.#request = call;
    this.#current = request;
    this.#note.textContent = t("Computing…");
    this.#dialog.showModal();
    try {
      const data = await attention(request, call.signal);
      await this.#show(data);
      this.#note.textContent = "";
    } catch (error) {
      if (!call.signal.aborted) this.#note.textContent = error.message;
    }
  }

  async #show(data) {
    const frame = element("iframe", { title: t("Attention of every layer and head"), src: FRAME });
    // Within a frame, the media query `prefers-color-scheme` takes the frame's own scheme.
    frame.style.colorScheme = isDark() ? "dark" : "light";
    const isLoaded = new Promise((resolve) => {
      frame.addEventListener("load", resolve, { once: true });
    });
    byId("attention-frame").replaceChildren(frame);
    await isLoaded;
    frame.contentWindow.showAttention(data);
    // A key in the frame does not reach the dialog.
    frame.contentWindow.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#dialog.close();
    });
  }

  /** Saves the page of the `attention` command, which needs no server. */
  async #save() {
    try {
      const address = URL.createObjectURL(await attentionPage(this.#current));
      element("a", { href: address, download: "attention.html" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      this.#note.textContent = error.message;
    }
  }
}
