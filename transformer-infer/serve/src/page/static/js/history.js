// The translations of this tab, until it is closed or loaded again: they are in memory only.
import { byId, element } from "./dom.js";

/** The most translations that are remembered. */
const MAX_ENTRIES = 50;

/** The most characters that are shown of a text. */
const MAX_SHOWN = 120;

export class History {
  #entries = [];
  #onChoose;

  /** `onChoose` is called with an entry: `text`, `translation`, and the codes `source` and `target`. */
  constructor(onChoose) {
    this.#onChoose = onChoose;
    byId("history").addEventListener("toggle", (event) => event.newState === "open" && this.#draw());
    byId("empty-history").onclick = () => {
      this.#entries = [];
      this.#draw();
    };
  }

  /** Remembers a translation; one of a text that was only begun gives way to it. */
  add(entry) {
    const isBegun = (it) => it.source === entry.source && it.target === entry.target
      && (entry.text.startsWith(it.text) || it.text.startsWith(entry.text));
    const [last] = this.#entries;
    if (last && isBegun(last)) this.#entries.shift();
    this.#entries = [entry, ...this.#entries.filter((it) => it.text !== entry.text || it.target !== entry.target)].slice(0, MAX_ENTRIES);
  }

  #draw() {
    const item = (entry) => element("button", {
      type: "button",
      onclick: () => {
        byId("history").hidePopover();
        this.#onChoose(entry);
      },
    }, element("bdi", { dir: "auto" }, shown(entry.text)), element("bdi", { dir: "auto", class: "note" }, shown(entry.translation)));
    byId("history-list").replaceChildren(...this.#entries.map(item));
    byId("empty-history").hidden = this.#entries.length === 0;
  }
}

function shown(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
