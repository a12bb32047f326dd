// Chapter 19: the recorded attention of a small translator, for every word, layer, head and kind.
"use strict";
book.shows.attention = (root) => {
  const sentences = bookData[root.dataset.from];
  const ONE = 10000; // the integer that stands for a weight of 1
  const FAINT = 0.01; // lines of a lower weight are not drawn
  const COLORS = ["--s0", "--s1", "--s2", "--s3", "--s4", "--plain"];
  const HEIGHT = 30; // of a word, as in the style sheet
  const KINDS = {
    cross: ["cross-attention", "output, as it is written", "source"],
    encoder: ["encoder self-attention", "source", "source"],
    decoder: ["decoder self-attention", "output, as it is written", "output, as it was read"],
  };
  const word = (token) => token.replace("▁", "") || "␣";
  const percent = (weight) => `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)} %`;

  const changed = () => { pinned = null; pointed = null; draw(); };
  const sentence = book.choice({
    name: "sentence", label: "sentence", changed, options: sentences.map(({ src }, index) => [index, src]),
  });
  const kind = book.choice({
    name: "kind", label: "attention", changed, options: Object.entries(KINDS).map(([name, [label]]) => [name, label]),
  });
  const numbers = (n, name) => Array.from({ length: n }, (_, index) => [index, `${name} ${index + 1}`]);
  const [someLayers] = [sentences[0].kinds[0].layers];
  const layer = book.choice({ name: "layer", label: "layer", options: numbers(someLayers.length, "layer"), changed });
  const head = book.choice({
    name: "head", label: "head", changed,
    options: [["all", "all heads, in colors"], ["mean", "mean of all heads"], ...numbers(someLayers[0].length, "head")],
  });
  layer.set(someLayers.length - 1);
  const words = book.element("div", { class: "words" });
  const legend = book.element("div");
  const said = book.element("p", { "aria-live": "polite" });
  root.append(
    book.element("h4", {}, "What the translator looks at"),
    book.element("div", { class: "controls" }, sentence.root, kind.root, layer.root, head.root),
    legend, words, said,
  );

  /** The word under the pointer or with the focus, and the one that was clicked: a side and an index, or null. */
  let pointed = null;
  let pinned = null;

  const present = () => sentences[sentence.value()].kinds.find(({ name }) => name === kind.value());

  /** Returns the maps that are shown, in weights from 0 to 1, each with its color. */
  function maps() {
    const heads = present().layers[layer.value()].map((map) => map.map((row) => row.map((number) => number / ONE)));
    if (head.value() === "all") return heads.map((map, index) => [map, `var(${COLORS[index % COLORS.length]})`]);
    if (head.value() !== "mean") return [[heads[head.value()], "var(--s0)"]];
    return [[meanOf(heads), "var(--s0)"]];
  }

  const meanOf = (heads) => heads[0].map((row, r) => row.map((_, c) =>
    heads.reduce((sum, map) => sum + map[r][c], 0) / heads.length));

  function column(side, tokens, caption) {
    const box = book.element("div", { class: side, role: "group", "aria-label": caption });
    box.append(book.element("div", { class: "caption" }, caption));
    const buttons = tokens.map((token, index) => book.element("button", {
      type: "button", tabindex: index === 0 ? 0 : -1, "aria-pressed": false,
      onpointerenter: () => point({ side, index }),
      onpointerleave: () => point(null),
      onfocus: (event) => { if (event.target.matches(":focus-visible")) point({ side, index }); },
      onblur: () => point(null),
      onclick: () => {
        pinned = pinned?.side === side && pinned.index === index ? null : { side, index };
        point(pinned);
      },
    }, word(token)));
    box.append(...buttons);
    box.addEventListener("keydown", (event) => {
      const from = buttons.indexOf(document.activeElement);
      const aside = { ArrowLeft: ".queries", ArrowRight: ".keys" }[event.key];
      const others = aside && [...words.querySelectorAll(`${aside} button`)];
      const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: buttons.length - 1 }[event.key];
      const target = others ? others[Math.min(from, others.length - 1)] : buttons[to];
      if (event.key === "Escape") { pinned = null; point(null); }
      if (target === undefined) return;
      event.preventDefault();
      for (const button of target.parentElement.querySelectorAll("button")) button.tabIndex = -1;
      target.tabIndex = 0;
      target.focus();
    });
    return box;
  }

  let lines = [];

  function point(what) {
    pointed = what;
    const shown = pointed ?? pinned;
    for (const { line, row, column } of lines) {
      const isOn = shown === null || (shown.side === "queries" ? row : column) === shown.index;
      line.style.display = isOn ? "" : "none";
    }
    const map = meanOf(maps().map(([map]) => map));
    const { rows, columns } = present();
    for (const side of ["queries", "keys"]) {
      [...words.querySelectorAll(`.${side} button`)].forEach((button, index) => {
        const isOther = shown !== null && shown.side !== side;
        const weight = isOther ? (side === "keys" ? map[shown.index][index] : map[index][shown.index]) : 0;
        button.style.background = weight < FAINT ? ""
          : `color-mix(in srgb, var(--accent) ${Math.round(60 * weight)}%, transparent)`;
        button.setAttribute("aria-pressed", pinned?.side === side && pinned.index === index);
      });
    }
    if (shown === null) {
      said.textContent = "Point at a word, or tap it, to see its weights alone; the arrow keys go from word to word. "
        + "The higher a weight, the stronger its line.";
      return;
    }
    const isQuery = shown.side === "queries";
    const weights = isQuery ? map[shown.index] : map.map((row) => row[shown.index]);
    const [self, others] = isQuery ? [rows[shown.index], columns] : [columns[shown.index], rows];
    const ranked = weights.map((weight, index) => [weight, word(others[index])]).sort((a, b) => b[0] - a[0]);
    const listed = ranked.slice(0, 4).map(([weight, name]) => `${name} ${percent(weight)}`).join(", ");
    const mean = head.value() === "all" ? " (mean of the heads)" : "";
    said.textContent = isQuery ? `“${word(self)}” attends to: ${listed}${mean}.`
      : `“${word(self)}” is attended to by: ${listed}${mean}.`;
  }

  const draw = book.drawn(root, (width) => {
    const { rows, columns, name } = present();
    const [, left, right] = KINDS[name];
    const n = Math.max(rows.length, columns.length);
    const across = Math.max(60, Math.min(300, width - 2 * 130));
    const svg = book.svg("svg", { width: across, height: 26 + n * HEIGHT, "aria-hidden": true });
    lines = [];
    const shown = maps();
    shown.forEach(([map, color], number) => {
      const shift = shown.length === 1 ? 0 : 3 * (number - (shown.length - 1) / 2);
      map.forEach((weights, row) => weights.forEach((weight, column) => {
        if (weight < FAINT) return;
        const [from, to] = [row, column].map((index) => 26 + HEIGHT * (index + 0.5) + shift);
        const line = book.svg("path", {
          class: "line", d: `M2 ${from}L${across - 2} ${to}`, style: `stroke:${color};stroke-opacity:${weight}`,
        });
        lines.push({ line, row, column });
        svg.append(line);
      }));
    });
    legend.replaceChildren(shown.length === 1 ? ""
      : book.legend(shown.map(([, color], index) => [color, `head ${index + 1}`])));
    const focused = [".queries", ".keys"].map((side) => [side, [...words.querySelectorAll(`${side} button`)]])
      .map(([side, buttons]) => [side, buttons.indexOf(document.activeElement)]).find(([, at]) => at >= 0);
    words.replaceChildren(column("queries", rows, left), svg, column("keys", columns, right));
    if (focused) [...words.querySelectorAll(`${focused[0]} button`)].at(focused[1])?.focus({ preventScroll: true });
    // The captions may take two lines; the lines begin below them.
    const caption = Math.max(...[...words.querySelectorAll(".caption")].map((it) => it.offsetHeight));
    for (const it of words.querySelectorAll(".caption")) it.style.height = `${caption - 4}px`;
    svg.style.marginTop = `${caption - 26}px`;
    point(pointed);
  });
};
