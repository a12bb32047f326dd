// What the interactive parts share: controls, charts, and the start. A chapter contains
// <div class="interactive" data-shows="NAME">; the script NAME.js registers book.shows.NAME, which fills it.
"use strict";
globalThis.book = {
  shows: {},

  /** Makes an HTML element; attributes that begin with "on" are listeners. */
  element(name, attributes = {}, ...children) {
    return book.fill(document.createElement(name), attributes, children);
  },

  /** Makes an SVG element. */
  svg(name, attributes = {}, ...children) {
    return book.fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  },

  fill(made, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  },

  /**
   * Makes a slider with a label and its value. `values` are all values in order, so that steps need not be equal;
   * `show` writes one. The slider's `value()` is the chosen one.
   */
  slider({ name, label, values, start, show = String, changed }) {
    const nearest = (wanted) => values.reduce((best, value, index) =>
      (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? index : best), 0);
    const input = book.element("input", { type: "range", min: 0, max: values.length - 1, step: 1, name });
    input.value = nearest(start);
    const output = book.element("output");
    const root = book.element("label", {}, book.element("span", {}, label), output, input);
    const value = () => values[input.value];
    const write = () => {
      output.textContent = show(value());
      input.setAttribute("aria-valuetext", show(value()));
    };
    const set = (wanted) => { input.value = nearest(wanted); write(); };
    input.addEventListener("input", () => { write(); changed(); });
    write();
    return { root, value, set, input };
  },

  /** Makes a list to choose from, of pairs of a value and its name. */
  choice({ name, label, options, changed }) {
    const select = book.element("select", { name, onchange: () => changed() });
    const offer = (pairs) => {
      const old = select.value;
      select.replaceChildren(...pairs.map(([value, text]) => book.element("option", { value }, text)));
      if (pairs.some(([value]) => String(value) === old)) select.value = old;
    };
    offer(options);
    const root = book.element("label", {}, book.element("span", {}, label), select);
    return { root, value: () => select.value, set: (value) => { select.value = value; }, offer };
  },

  /** Calls `draw(width)` with the width in pixels, now and when it changes. */
  drawn(root, draw) {
    let width = 0;
    const measure = () => {
      const style = getComputedStyle(root);
      const now = Math.floor(root.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
      if (now !== width && now > 0) draw(width = now);
    };
    new ResizeObserver(measure).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(width));
    measure();
    return () => draw(width);
  },

  /** Returns about `n` round numbers from `low` to `high`. */
  ticks(low, high, n) {
    const rough = (high - low) / n || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const ticks = [];
    for (let index = Math.ceil(low / step - 1e-9); index <= high / step + 1e-9; index++) ticks.push(index * step);
    return ticks;
  },

  /** Writes a number at an axis. */
  number(value) {
    if (value === 0) return "0";
    return String(Number(value.toPrecision(3))).replace("-", "−");
  },

  /**
   * Draws lines over axes as an SVG element. `lines` have `points` (pairs), a `color`, and perhaps `dashed`;
   * `x` and `y` have `low`, `high` and `label`; `marks` are dashed vertical lines.
   */
  chart({ width, height, title, x, y, lines, marks = [] }) {
    const [left, right, top, bottom] = [68, 22, 10, 42];
    const at = ([px, py]) => [
      left + ((px - x.low) / (x.high - x.low)) * (width - left - right),
      top + ((y.high - py) / (y.high - y.low)) * (height - top - bottom),
    ].map((value) => value.toFixed(1));
    const svg = book.svg("svg", { width, height, role: "img", "aria-label": title });
    const text = (px, py, anchor, words, more = {}) =>
      svg.append(book.svg("text", { x: px, y: py, "text-anchor": anchor, ...more }, words));
    for (const tick of book.ticks(x.low, x.high, Math.max(2, Math.floor(width / 110)))) {
      const [px] = at([tick, 0]);
      svg.append(book.svg("path", { class: "grid", d: `M${px} ${top}V${height - bottom}` }));
      text(px, height - bottom + 16, "middle", book.number(tick), { class: "small" });
    }
    for (const tick of book.ticks(y.low, y.high, 4)) {
      const [, py] = at([x.low, tick]);
      svg.append(book.svg("path", { class: "grid", d: `M${left} ${py}H${width - right}` }));
      text(left - 6, Number(py) + 4, "end", book.number(tick), { class: "small" });
    }
    svg.append(book.svg("path", {
      class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}`,
    }));
    for (const mark of marks) {
      const [px] = at([mark, 0]);
      svg.append(book.svg("path", { class: "mark", d: `M${px} ${top}V${height - bottom}` }));
    }
    for (const { points, color, dashed } of lines) {
      const d = "M" + points.map((point) => at(point).join(" ")).join("L");
      svg.append(book.svg("path", {
        class: "line", d, style: `stroke:${color}${dashed ? ";stroke-dasharray:6 4" : ""}`,
      }));
    }
    text((left + width - right) / 2, height - 8, "middle", x.label);
    const middle = (top + height - bottom) / 2;
    text(0, 0, "middle", y.label, { transform: `translate(13 ${middle}) rotate(-90)` });
    return svg;
  },

  /** Makes the legend of lines: pairs of a color and a name. */
  legend(entries) {
    return book.element("div", { class: "legend" }, ...entries.map(([color, name]) =>
      book.element("span", { style: `--color:${color}` }, name)));
  },

  start() {
    for (const root of document.querySelectorAll(".interactive[data-shows]")) {
      const show = book.shows[root.dataset.shows];
      if (show === undefined || root.dataset.ready !== undefined) continue;
      root.replaceChildren();
      show(root);
      root.dataset.ready = "";
    }
  },
};
addEventListener("DOMContentLoaded", () => book.start());
