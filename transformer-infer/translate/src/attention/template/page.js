"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ONE = 10000; // the integer in the data for a weight of 1
  const FAINT = 0.01; // lines with a lower weight are not drawn
  const WORDS = {
    cross: {
      label: "Cross", title: "Attention from output to source",
      note: "Each row is a generated token; its weights over the source tokens sum to 1.",
      verb: "attends to", back: "is attended to by",
    },
    encoder: {
      label: "Encoder", title: "Encoder self-attention",
      note: "Each row is a source token; its weights over all source tokens sum to 1.",
      verb: "attends to", back: "is attended to by",
    },
    decoder: {
      label: "Decoder", title: "Decoder self-attention",
      note: "Each row is a generated token; it attends only to the tokens before it, from <s> on.",
      verb: "attends to", back: "is attended to by",
    },
  };
  const byId = (id) => document.getElementById(id);
  const kinds = new Map(data.kinds.map((kind) => [kind.name, kind]));
  const darkness = matchMedia("(prefers-color-scheme: dark)");

  /** The selection; layers are counted from 0, and head 0 is the mean. */
  const shown = { ...data.start, ...fromAddress() };
  /** The row and the column under the pointer, or null; pinned ones stay when the pointer leaves. */
  let here = { row: null, column: null };
  let isPinned = false;

  function fromAddress() {
    const [kind, layer, head, view] = decodeURIComponent(location.hash.slice(1)).split("/");
    const layers = kinds.get(kind)?.layers;
    const isThere = layers?.[layer - 1] && (head === "mean" || layers[layer - 1][head - 1]);
    if (!isThere || !["map", "lines"].includes(view)) return {};
    return { kind, layer: layer - 1, head: head === "mean" ? 0 : Number(head), view };
  }

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") made.className = value;
      else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  /** A token for display: whitespace as a visible sign, the marker of a word start dimmed. */
  function spelled(token) {
    const bdi = element("bdi", { dir: "auto" });
    if (token.trim() === "") bdi.append("␣");
    else if (token.startsWith("▁") && token.length > 1) {
      bdi.append(element("span", { class: "mark" }, "▁"), token.slice(1));
    } else bdi.append(token);
    return bdi;
  }

  const plain = (token) => (token.trim() === "" ? "␣" : token.replace(/^▁(?=.)/u, ""));
  const percent = (weight) => (weight * 100).toFixed(weight < 0.0995 ? 1 : 0) + " %";

  // ---- weights -------------------------------------------------------------------------------------

  const means = new Map();

  /** Returns one map, row by row; the mean of all heads if `head` is 0. */
  function mapOf(kind, layer, head) {
    const heads = kind.layers[layer];
    if (head > 0) return heads[head - 1];
    const key = `${kind.name}/${layer}`;
    if (!means.has(key)) {
      means.set(key, heads[0].map((row, r) => row.map((_, c) => {
        let sum = 0;
        for (const map of heads) sum += map[r][c];
        return sum / heads.length;
      })));
    }
    return means.get(key);
  }

  const kindShown = () => kinds.get(shown.kind);
  const mapShown = () => mapOf(kindShown(), shown.layer, shown.head);

  // ---- colors --------------------------------------------------------------------------------------

  let palette = [];

  /** Prepares 256 colors, from the weight 0 to 1. */
  function readColors() {
    const style = getComputedStyle(document.documentElement);
    const stops = ["--ramp-low", "--ramp-middle", "--ramp-high"].map((name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
    });
    palette = Array.from({ length: 256 }, (_, step) => {
      const position = (step / 255) * 2;
      const [from, to] = position < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
      const share = position < 1 ? position : position - 1;
      return from.map((value, i) => Math.round(value + (to[i] - value) * share));
    });
  }

  /** The position of a weight in the range of colors: its square root, which makes small weights visible, or itself. */
  const positionOf = (weight) => (byId("linear").checked ? Math.min(weight, 1) : Math.sqrt(Math.min(weight, 1)));
  const colorOf = (number) => palette[Math.round(positionOf(number / ONE) * 255)];
  const headColor = (head, n) => `hsl(${Math.round((head * 360) / n + 215) % 360} 72% ${darkness.matches ? 64 : 44}%)`;

  /** Returns the map as a canvas with one pixel per cell. */
  function pixels(map) {
    const canvas = element("canvas");
    canvas.width = map[0].length;
    canvas.height = map.length;
    const image = new ImageData(canvas.width, canvas.height);
    let at = 0;
    for (const row of map) {
      for (const number of row) {
        const [red, green, blue] = colorOf(number);
        image.data.set([red, green, blue, 255], at);
        at += 4;
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  // ---- choices -------------------------------------------------------------------------------------

  /** Moves with the arrow keys within a group of radio buttons that has `nColumns` columns. */
  function steer(group, nColumns) {
    group.onkeydown = (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: nColumns, ArrowUp: -nColumns };
      const buttons = [...group.querySelectorAll("button")];
      const from = buttons.indexOf(document.activeElement);
      const to = { Home: 0, End: buttons.length - 1 }[event.key] ?? from + steps[event.key];
      if (from < 0 || !buttons[to]) return;
      event.preventDefault();
      buttons[to].click();
      group.querySelectorAll("button")[to].focus();
    };
  }

  function radio(isChecked, attributes, ...children) {
    const state = { role: "radio", "aria-checked": isChecked, tabindex: isChecked ? 0 : -1, type: "button" };
    return element("button", { ...state, ...attributes }, ...children);
  }

  function check(group, isChecked) {
    for (const button of group.querySelectorAll("button")) {
      const checked = isChecked(button.dataset);
      button.setAttribute("aria-checked", checked);
      button.tabIndex = checked ? 0 : -1;
    }
  }

  function drawChoices() {
    byId("kinds").append(...data.kinds.map(({ name }) => radio(false, {
      "data-kind": name, onclick: () => change({ kind: name }),
    }, WORDS[name].label)));
    byId("views").append(...[["map", "Heat map"], ["lines", "Lines"]].map(([view, label]) => radio(false, {
      "data-view": view, onclick: () => change({ view }),
    }, label)));
    steer(byId("kinds"), 1);
    steer(byId("views"), 1);
  }

  /** Draws thumbnails of all maps of the kind: a row per layer, with the mean and a column per head. */
  function drawOverview() {
    const kind = kindShown();
    const nHeads = kind.layers[0].length;
    const size = Math.max(18, Math.min(46, Math.floor(284 / (nHeads + 1)) - 5));
    const box = byId("overview");
    box.style.gridTemplateColumns = `auto repeat(${nHeads + 1}, auto)`;
    box.replaceChildren(element("span"), element("span", { class: "name" }, "mean"));
    for (let head = 1; head <= nHeads; head++) box.append(element("span", { class: "name" }, String(head)));
    kind.layers.forEach((_, layer) => {
      box.append(element("span", { class: "name layer" }, String(layer + 1)));
      for (let head = 0; head <= nHeads; head++) {
        const canvas = element("canvas");
        canvas.width = canvas.height = size * 2;
        const context = canvas.getContext("2d");
        const map = mapOf(kind, layer, head);
        context.imageSmoothingEnabled = map.length > size || map[0].length > size;
        context.imageSmoothingQuality = "high";
        context.drawImage(pixels(map), 0, 0, canvas.width, canvas.height);
        const name = `layer ${layer + 1}, ${head === 0 ? "mean of all heads" : `head ${head}`}`;
        const button = radio(false, {
          "aria-label": name, title: name, "data-layer": layer, "data-head": head,
          class: head === 0 ? "mean" : "", style: `width:${size}px;height:${size}px`,
          onclick: () => change({ layer, head }),
        }, canvas);
        box.append(button);
      }
    });
    steer(box, nHeads + 1);
  }

  // ---- the figure ----------------------------------------------------------------------------------

  let view = null; // { point(row, column) } of the present figure

  function drawFigure() {
    const kind = kindShown();
    const map = mapShown();
    const words = WORDS[kind.name];
    const nHeads = kind.layers[shown.layer].length;
    const all = shown.view === "lines" && byId("by-head").checked ? `all ${nHeads} heads` : `mean of ${nHeads} heads`;
    const head = shown.head === 0 ? all : `head ${shown.head}`;
    byId("figure-title").textContent = `${words.title}, layer ${shown.layer + 1} of ${kind.layers.length}, ${head}`;
    byId("figure-note").textContent = shown.view === "map" ? words.note
      : "Tokens on the left attend to those on the right: the higher the weight, the stronger the line. "
        + "Weights below 1 % are not drawn.";
    byId("legend").hidden = shown.view !== "map";
    byId("linear-label").hidden = shown.view !== "map";
    byId("by-head-label").hidden = shown.view !== "lines" || shown.head !== 0;
    byId("unit").textContent = "";
    byId("swatches").replaceChildren();
    const figure = byId("figure");
    figure.replaceChildren();
    view = (shown.view === "map" ? drawMap : drawLines)(figure, kind, map);
    check(byId("kinds"), ({ kind }) => kind === shown.kind);
    check(byId("views"), ({ view }) => view === shown.view);
    check(byId("overview"), ({ layer, head }) => Number(layer) === shown.layer && Number(head) === shown.head);
    point(here.row, here.column);
  }

  function drawMap(figure, kind, map) {
    const [nRows, nColumns] = [map.length, map[0].length];
    const longest = Math.max(...kind.rows.map((token) => token.length));
    const room = figure.clientWidth - Math.min(170, longest * 9 + 16) - 8;
    const most = 8000 / Math.max(nRows, nColumns) / devicePixelRatio; // pixels that a canvas can have
    const cell = Math.floor(Math.min(Math.max(13, Math.min(room / nColumns, Math.max(400, innerHeight - 310) / nRows, 58)), most));
    const font = Math.max(9, Math.min(15, cell * 0.72));
    const label = (token, style) => {
      const made = element("span", { class: "token", title: token, style: `${style};font-size:${font}px` });
      if (cell >= 9) made.append(spelled(token));
      return made;
    };
    const columns = element("div", { class: "columns", "aria-hidden": "true" });
    const rows = element("div", { class: "rows", "aria-hidden": "true" });
    columns.append(...kind.columns.map((token) => label(token, `width:${cell}px`)));
    rows.append(...kind.rows.map((token) => label(token, `height:${cell}px;line-height:${cell}px`)));
    const canvas = element("canvas", { id: "picture" });
    paint(canvas, map, cell);
    const bands = ["row", "column"].map(() => element("div", { class: "band" }));
    const field = element("div", {
      class: "field", tabindex: 0, role: "application",
      "aria-label": "Heat map. Arrow keys move from cell to cell, Enter pins a cell, Escape unpins it.",
    }, canvas, ...bands);
    const cellAt = (event) => {
      const box = canvas.getBoundingClientRect();
      const [row, column] = [(event.clientY - box.top) / cell, (event.clientX - box.left) / cell].map(Math.floor);
      return row >= 0 && row < nRows && column >= 0 && column < nColumns ? [row, column] : null;
    };
    const follow = (target, find) => {
      target.onpointermove = (event) => { if (!isPinned) point(...(find(event) ?? [null, null])); };
      target.onpointerleave = () => { if (!isPinned) point(null, null); };
      target.onclick = (event) => pin(...(find(event) ?? [null, null]));
    };
    const among = (list) => (event) => {
      const index = [...list.children].indexOf(event.target.closest(".token"));
      return index < 0 ? null : list === rows ? [index, null] : [null, index];
    };
    follow(field, cellAt);
    follow(rows, among(rows));
    follow(columns, among(columns));
    field.onkeydown = (event) => {
      const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (event.key === "Enter" || event.key === " ") pin(here.row, here.column);
      else if (step) move(step);
      else return;
      event.preventDefault();
    };
    const move = ([down, right]) => {
      const within = (at, by, n) => (at === null ? 0 : Math.max(0, Math.min(n - 1, at + by)));
      point(within(here.row, down, nRows), within(here.column, right, nColumns));
      bands[0].scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    field.onfocus = () => { if (field.matches(":focus-visible") && here.row === null) point(0, 0); };
    figure.append(element("div", { class: "map" }, element("div", { class: "corner" }), columns, rows, field));
    return {
      point(row, column) {
        [...rows.children].forEach((token, index) => token.classList.toggle("on", index === row));
        [...columns.children].forEach((token, index) => token.classList.toggle("on", index === column));
        bands[0].classList.toggle("on", row !== null);
        bands[1].classList.toggle("on", column !== null);
        const frame = (band, left, top, width, height) => {
          Object.assign(band.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
        };
        frame(bands[0], 0, row * cell, nColumns * cell, cell);
        frame(bands[1], column * cell, 0, cell, nRows * cell);
      },
    };
  }

  /** Paints the cells; larger ones have gaps between them, and the largest ones show percentages. */
  function paint(canvas, map, cell) {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [map[0].length * cell, map.length * cell];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    context.drawImage(pixels(map), 0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    if (cell >= 16) {
      context.fillStyle = style.getPropertyValue("--card");
      const gap = cell >= 24 ? 2 : 1;
      for (let x = cell; x < width; x += cell) context.fillRect(x - gap, 0, gap, height);
      for (let y = cell; y < height; y += cell) context.fillRect(0, y - gap, width, gap);
    }
    if (cell < 32) return;
    byId("unit").textContent = "weights in percent";
    context.font = `${Math.round(cell * 0.3)}px ${style.getPropertyValue("--text")}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    map.forEach((row, r) => row.forEach((number, c) => {
      const hundredths = Math.round((number / ONE) * 100);
      if (hundredths === 0) return;
      const [red, green, blue] = colorOf(number);
      context.fillStyle = red * 0.3 + green * 0.59 + blue * 0.11 > 105 ? "#101828" : "#ffffff";
      context.fillText(hundredths, (c + 0.5) * cell - 1, (r + 0.5) * cell);
    }));
  }

  function drawLines(figure, kind, map) {
    const svgElement = (name, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    };
    const [nRows, nColumns] = [map.length, map[0].length];
    const n = Math.max(nRows, nColumns);
    const height = Math.max(19, Math.min(30, Math.floor(700 / n)));
    const width = Math.max(110, Math.min(420, figure.clientWidth - 260));
    const at = (index, count) => height * (index + 0.5 + (n - count) / 2);
    const svg = svgElement("svg", { id: "picture", width, height: n * height, "aria-hidden": "true" });
    const nHeads = kind.layers[shown.layer].length;
    const isColored = shown.head === 0 && byId("by-head").checked;
    if (isColored) {
      byId("swatches").append(...kind.layers[shown.layer].map((_, head) => element(
        "span", { style: `color:${headColor(head, nHeads)}` }, `head ${head + 1}`)));
    }
    const layers = isColored ? kind.layers[shown.layer] : [map];
    layers.forEach((weights, head) => weights.forEach((row, r) => row.forEach((number, c) => {
      if (number / ONE < FAINT) return;
      const shift = isColored ? (head - (nHeads - 1) / 2) * Math.min(2, (height * 0.6) / nHeads) : 0;
      const line = svgElement("line", {
        x1: 0, y1: at(r, nRows) + shift, x2: width, y2: at(c, nColumns) + shift,
        "stroke-opacity": number / ONE, "data-row": r, "data-column": c,
      });
      if (isColored) line.style.stroke = headColor(head, nHeads);
      svg.append(line);
    })));
    const lines = [...svg.children];
    const group = (tokens, name, side) => {
      const column = element("div", { class: `column ${name}`, role: "group", "aria-label": side });
      column.append(...tokens.map((token, index) => {
        const where = name === "queries" ? [index, null] : [null, index];
        return element("button", {
          type: "button", title: token, tabindex: index === 0 ? 0 : -1, class: "token",
          style: `height:${height}px;line-height:${height}px;font-size:${Math.min(15, height * 0.68)}px`,
          onpointerenter: () => { if (!isPinned) point(...where); },
          onpointerleave: () => { if (!isPinned) point(null, null); },
          onfocus: (event) => { if (event.target.matches(":focus-visible")) { isPinned = false; point(...where); } },
          onclick: () => pin(...where),
        }, spelled(token));
      }));
      column.onkeydown = (event) => {
        const from = [...column.children].indexOf(document.activeElement);
        const aside = { ArrowLeft: queries, ArrowRight: keys }[event.key];
        const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: tokens.length - 1 }[event.key];
        const target = aside ? aside.children[Math.min(from, aside.children.length - 1)] : column.children[to];
        if (!target) return;
        event.preventDefault();
        target.focus();
      };
      return column;
    };
    const queries = group(kind.rows, "queries", "queries");
    const keys = group(kind.columns, "keys", "keys");
    const box = element("div", { class: "lines", style: "grid-template-columns:auto auto auto" }, queries, svg, keys);
    figure.append(box);
    return {
      point(row, column) {
        const isPointed = row !== null || column !== null;
        box.classList.toggle("is-focused", isPointed);
        for (const line of lines) {
          const isOn = row === null ? Number(line.dataset.column) === column : Number(line.dataset.row) === row;
          line.classList.toggle("on", isPointed && isOn);
        }
        const tint = (list, self, weightOf) => [...list.children].forEach((token, index) => {
          token.classList.toggle("on", index === self);
          const weight = isPointed && self === null ? weightOf(index) : 0;
          token.style.background = weight >= FAINT ? `color-mix(in srgb, var(--accent) ${weight * 70}%, transparent)` : "";
        });
        tint(queries, row, (index) => (column === null ? 0 : map[index][column] / ONE));
        tint(keys, row === null ? column : null, (index) => (row === null ? 0 : map[row][index] / ONE));
      },
    };
  }

  // ---- pointing ------------------------------------------------------------------------------------

  function point(row, column) {
    const [nRows, nColumns] = [kindShown().rows.length, kindShown().columns.length];
    here = {
      row: row === null || row >= nRows ? null : row,
      column: column === null || column >= nColumns ? null : column,
    };
    view.point(here.row, here.column);
    drawReading();
  }

  /** Pins a row and a column, so that they stay when the pointer leaves; unpins them if they are pinned. */
  function pin(row, column) {
    const isSame = isPinned && here.row === row && here.column === column;
    isPinned = !isSame && (row !== null || column !== null);
    point(row, column);
    drawReading();
  }

  function drawReading() {
    const { rows, columns, name } = kindShown();
    const { row, column } = here;
    const box = byId("reading");
    document.querySelector(".reading").classList.toggle("is-idle", row === null && column === null);
    if (row === null && column === null) {
      box.replaceChildren(element("p", { class: "hint" },
        "Point at a token or a cell to see its weights; click to pin it. With the keyboard: ",
        element("kbd", {}, "Tab"), " to the figure, arrow keys, ", element("kbd", {}, "Esc"), " to unpin."));
      return;
    }
    const map = mapShown();
    const words = WORDS[name];
    const isRow = row !== null;
    const weights = isRow ? map[row] : map.map((weights) => weights[column]);
    const tokens = isRow ? columns : rows;
    const other = isRow ? column : null;
    const ranked = weights.map((number, index) => [number / ONE, index]).sort((a, b) => b[0] - a[0]).slice(0, 6);
    if (other !== null && !ranked.some(([, index]) => index === other)) {
      ranked.splice(-1, 1, [weights[other] / ONE, other]);
    }
    const bars = element("div", { class: "bars" });
    for (const [weight, index] of ranked) {
      const mark = index === other ? " is-here" : "";
      const fill = element("i", { style: `width:${weight * 100}%` });
      bars.append(
        element("span", { class: `word token${mark}`, title: tokens[index] }, spelled(tokens[index])),
        element("span", { class: `bar${mark}` }, fill),
        element("span", { class: `number${mark}` }, index === other ? weight.toFixed(4) : percent(weight)),
      );
    }
    const self = isRow ? rows[row] : columns[column];
    const verb = isRow ? words.verb : words.back;
    box.replaceChildren(
      element("p", { class: "from" }, element("b", {}, spelled(self)), ` ${verb}`, isPinned ? " (pinned)" : ""), bars);
    const [first, at] = other === null ? ranked[0] : [weights[other] / ONE, other];
    byId("spoken").textContent = `${plain(self)} ${verb} ${plain(tokens[at])}: ${first.toFixed(4)}`;
  }

  // ---- changes -------------------------------------------------------------------------------------

  function unpin() {
    here = { row: null, column: null };
    isPinned = false;
  }

  function change(choice) {
    const isOtherKind = choice.kind !== undefined && choice.kind !== shown.kind;
    Object.assign(shown, choice);
    // Encoder and decoder may have different numbers of layers.
    shown.layer = Math.min(shown.layer, kindShown().layers.length - 1);
    if (isOtherKind) drawOverview();
    if (isOtherKind || choice.view) unpin();
    const head = shown.head === 0 ? "mean" : shown.head;
    history.replaceState(null, "", `#${shown.kind}/${shown.layer + 1}/${head}/${shown.view}`);
    drawFigure();
  }

  /** Draws all colors, with marks where weights are: not equally spaced unless the colors are in proportion. */
  function drawLegend() {
    const { width, height } = byId("ramp");
    const ramp = byId("ramp").getContext("2d");
    for (let x = 0; x < width; x++) {
      ramp.fillStyle = `rgb(${palette[Math.round((x / (width - 1)) * 255)].join()})`;
      ramp.fillRect(x, 0, 1, height);
    }
    const marks = byId("linear").checked ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.05, 0.25, 0.5, 1];
    byId("marks").replaceChildren(...marks.map((weight) => element(
      "span", { style: `left:${100 * positionOf(weight)}%` }, String(weight))));
  }

  function drawAll() {
    readColors();
    drawLegend();
    drawOverview();
    drawFigure();
  }

  byId("src").textContent = data.src;
  byId("tgt").textContent = data.tgt;
  document.querySelector("header").classList.toggle("is-long", data.src.length + data.tgt.length > 240);
  byId("linear").checked = data.start.scale === "linear";
  byId("by-head").checked = data.start.by_head;
  drawChoices();
  drawAll();
  byId("by-head").onchange = drawFigure;
  byId("linear").onchange = drawAll;
  darkness.addEventListener("change", drawAll);
  addEventListener("hashchange", () => { Object.assign(shown, fromAddress()); unpin(); drawAll(); });
  addEventListener("keydown", (event) => { if (event.key === "Escape") { unpin(); point(null, null); } });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    const parts = () => [...byId("figure").querySelectorAll("[tabindex]")];
    const focused = parts().indexOf(document.activeElement);
    const [pinned, { row, column }] = [isPinned, here];
    drawFigure();
    parts()[focused]?.focus({ preventScroll: true });
    isPinned = pinned;
    point(row, column);
  });
})();
