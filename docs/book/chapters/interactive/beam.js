// Chapters 13 and 19: a recorded beam search, step by step. A column holds what a step ranked, the best on top.
"use strict";
book.shows.beam = (root) => {
  const { beam_size: beamSize, nodes, found } = bookData[root.dataset.from];
  const [WIDTH, HEIGHT, COLUMN, ROW, TOP] = [104, 36, 134, 44, 26];
  const nSteps = Math.max(...nodes.map(({ step }) => step));
  const separator = nodes.some(({ text }) => text.startsWith(" ")) ? "" : " ";
  const FATES = {
    kept: "kept", finished: "finished", dropped: "dropped", left: "in the beam at the end",
  };
  const ofStep = (step) => nodes.map((node, index) => ({ ...node, index })).filter((node) => node.step === step);
  const path = (index) => (index === 0 ? [] : [...path(nodes[index].parent), nodes[index].text]);
  const sentence = (index) => path(index).join(separator).trim();
  const number = (value) => value.toFixed(3).replace("-", "−");
  const probability = (logProb) => {
    const value = Math.exp(logProb);
    if (value >= 0.0005) return value.toFixed(3);
    const [digit, power] = value.toExponential(0).split("e-");
    return `${digit}·10⁻${[...power].map((it) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[it]).join("")}`;
  };

  // Two moments for each step: ranked, and chosen. Moment 0 is the beginning, the last one the result.
  const last = 2 * nSteps + 1;
  let moment = 0;
  const go = (to) => { moment = Math.max(0, Math.min(last, to)); slider.set(moment); draw(); };
  const button = (label, name, to) => book.element("button", { type: "button", name, onclick: () => go(to()) }, label);
  const back = button("◀ Back", "back", () => moment - 1);
  const next = button("Next ▶", "next", () => moment + 1);
  const slider = book.slider({
    name: "moment", label: "moment of the search", values: Array.from({ length: last + 1 }, (_, index) => index),
    start: 0, show: (it) => `${it} of ${last}`, changed: () => go(slider.value()),
  });
  const said = book.element("p", { "aria-live": "polite" });
  const tree = book.element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "The tree of the search" });
  const table = book.element("div");
  root.append(
    book.element("h4", {}, root.dataset.title),
    slider.root, book.element("div", { class: "row" }, back, next), said, tree,
    book.legend([["var(--s0)", "kept"], ["var(--s2)", "finished"], ["var(--rule)", "dropped"],
      ...(nodes.some(({ fate }) => fate === "left") ? [["var(--s4)", FATES.left]] : [])]), table,
  );

  const fateAt = (node) => (2 * node.step <= moment || node.step === 0 ? node.fate : "ranked");
  /** Returns the rank of a node in its step, from 0. */
  const rankOf = (node) => ofStep(node.step).findIndex(({ index }) => index === node.index);
  const at = (node) => [10 + COLUMN * node.step, TOP + ROW * (node.step === 0 ? 0 : rankOf(node))];

  function drawTree() {
    const shown = Math.ceil(Math.min(moment, 2 * nSteps) / 2);
    const [width, height] = [20 + COLUMN * nSteps + WIDTH, TOP + ROW * 2 * beamSize];
    const svg = book.svg("svg", { width, height, role: "img", "aria-label": `The tree after step ${shown}` });
    const best = new Set();
    if (moment === last && found.length > 0) {
      for (let index = found[0].node; index > 0; index = nodes[index].parent) best.add(index);
    }
    const boxes = book.svg("g");
    for (let step = 0; step <= shown; step++) {
      const name = step === 0 ? "begin" : `step ${step}`;
      svg.append(book.svg("text", { x: 10 + COLUMN * step + WIDTH / 2, y: 15, "text-anchor": "middle", class: "small" }, name));
      for (const node of ofStep(step)) {
        const [x, y] = at(node);
        const fate = fateAt(node);
        if (step > 0) {
          const [px, py] = at({ ...nodes[node.parent], index: node.parent });
          const [from, to] = [`${px + WIDTH} ${py + HEIGHT / 2}`, `${x} ${y + HEIGHT / 2}`];
          const middle = (px + WIDTH + x) / 2;
          const bend = `C${middle} ${py + HEIGHT / 2} ${middle} ${y + HEIGHT / 2} ${to}`;
          svg.append(book.svg("path", { class: `edge ${fate}`, d: `M${from}${bend}` }));
        }
        const center = { x: x + WIDTH / 2, "text-anchor": "middle" };
        boxes.append(book.svg("g", { class: `node ${fate}${best.has(node.index) ? " best" : ""}` },
          book.svg("title", {}, `${sentence(node.index)}: log-probability ${number(node.log_prob)}, ${FATES[fate] ?? fate}`),
          book.svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 5 }),
          book.svg("text", { ...center, y: y + (step === 0 ? 23 : 15) }, node.text.trim() || "␣"),
          book.svg("text", { ...center, y: y + 30, class: "small" }, step === 0 ? "" : probability(node.log_prob))));
      }
    }
    svg.append(boxes);
    tree.replaceChildren(svg);
    tree.scrollLeft = Math.max(0, COLUMN * (shown + 1) + WIDTH - tree.clientWidth);
  }

  function drawTable() {
    const step = Math.ceil(moment / 2);
    const cell = (name, text, type = "td") => book.element(type, { class: name }, text);
    const rowOf = (cells, type) => book.element("tr", {}, ...cells.map(([name, text]) => cell(name, text, type)));
    const make = (head, rows) => book.element("table", {},
      book.element("thead", {}, rowOf(head, "th")), book.element("tbody", {}, ...rows.map((row) => rowOf(row))));
    if (moment === 0) {
      table.replaceChildren();
    } else if (moment === last) {
      table.replaceChildren(make([["", "result"], ["text", "sentence"], ["number", "score"]],
        found.map(({ node, score }, index) => [["", String(index + 1)], ["text", sentence(node)], ["number", number(score)]])));
    } else {
      table.replaceChildren(make([["", "rank"], ["text", "so far"], ["number", "log p"], ["", "fate"]],
        ofStep(step).map((node, rank) => [["", String(rank + 1)], ["text", sentence(node.index)],
          ["number", number(node.log_prob)], ["", moment % 2 === 1 ? "…" : FATES[node.fate]]])));
    }
  }

  function tell() {
    const step = Math.ceil(moment / 2);
    const rows = step === 0 ? [] : new Set(ofStep(step).map(({ parent }) => parent));
    const count = (fate) => ofStep(step).filter((node) => node.fate === fate).length;
    if (moment === 0) {
      said.textContent = "The search begins with nothing but <s>. Go on with Next, or with the slider and the arrow keys.";
    } else if (moment === last) {
      said.textContent = `Nothing unfinished can win any more. ${found.length} finished sentences, the best score first; `
        + "a score is the log-probability, divided by the length penalty if there is one.";
    } else if (moment % 2 === 1) {
      said.textContent = `Step ${step}: the model scores every token behind ${rows.size === 1 ? "the one beginning" : "each beginning"}. `
        + `These ${ofStep(step).length} continuations of all have the highest log-probabilities.`;
    } else {
      const [kept, finished, left] = ["kept", "finished", "left"].map(count);
      const parts = [kept > 0 && `${kept} kept`, finished > 0 && `${finished} finished`,
        left > 0 && `${left} in the beam as the search ends`, `${count("dropped")} dropped`];
      said.textContent = `Step ${step}: ${parts.filter(Boolean).join(", ")}.`;
    }
  }

  const draw = book.drawn(root, () => {
    back.disabled = moment === 0;
    next.disabled = moment === last;
    drawTree();
    drawTable();
    tell();
  });
};
