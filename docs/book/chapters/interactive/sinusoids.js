// Chapter 2: the positional encoding, with sliders for its width, length and base.
"use strict";
/** The paper's §3.5: feature 2i is sin(pos / base^(2i / d_model)), feature 2i+1 the cosine; the base is 10000. */
book.sinusoid = (position, feature, dModel, base = 10000) => {
  const angle = position / base ** ((feature - (feature % 2)) / dModel);
  return feature % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
};

book.shows.sinusoids = (root) => {
  const evens = Array.from({ length: 64 }, (_, index) => 2 * (index + 1));
  const widths = [...evens, 160, 192, 256, 384, 512];
  const changed = () => draw();
  const dModel = book.slider({ name: "d_model", label: "d_model, features", values: widths, start: 32, changed });
  const lengths = Array.from({ length: 49 }, (_, index) => 8 + 4 * index);
  const length = book.slider({ name: "length", label: "length, tokens", values: lengths, start: 100, changed });
  const bases = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 1000000];
  const base = book.slider({ name: "base", label: "base (the paper: 10000)", values: bases, start: 10000, changed });
  const pair = book.slider({
    name: "pair", label: "features shown as curves", values: Array.from({ length: 256 }, (_, index) => index),
    start: 2, show: (index) => `${2 * index} and ${2 * index + 1}`, changed,
  });
  const position = book.slider({
    name: "position", label: "position", values: Array.from({ length: 200 }, (_, index) => index), start: 10, changed,
  });
  const map = book.element("div");
  const curves = book.element("div");
  const said = book.element("p", { "aria-live": "polite" });
  const products = book.element("div");
  root.append(
    book.element("h4", {}, "Positions with sliders"),
    book.element("div", { class: "controls" }, dModel.root, length.root, base.root, pair.root, position.root),
    map, curves, said, products,
  );
  const value = (at, feature) => book.sinusoid(at, feature, dModel.value(), base.value());

  function drawMap(width) {
    const [n, d] = [length.value(), dModel.value()];
    const [left, top, bottom, right] = [68, 10, 42, 22];
    const [across, down] = [width - left - right, Math.min(260, 4 * n)];
    const canvas = book.element("canvas", { width: n, height: d, style: "display:none" });
    const image = new ImageData(n, d);
    const tones = { negative: [33, 102, 172], zero: [247, 247, 247], positive: [178, 24, 43] };
    for (let feature = 0; feature < d; feature++) {
      for (let at = 0; at < n; at++) {
        const share = value(at, feature);
        const end = share < 0 ? tones.negative : tones.positive;
        const color = tones.zero.map((zero, index) => Math.round(zero + (end[index] - zero) * Math.abs(share)));
        image.data.set([...color, 255], 4 * (feature * n + at));
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    const svg = book.svg("svg", {
      width, height: top + down + bottom, role: "img",
      "aria-label": `Heat map of ${d} features over ${n} positions; values from −1 to 1`,
    });
    svg.append(book.svg("image", {
      x: left, y: top, width: across, height: down, href: canvas.toDataURL(), preserveAspectRatio: "none",
      style: "image-rendering:pixelated",
    }));
    const text = (x, y, anchor, words, more = {}) =>
      svg.append(book.svg("text", { x, y, "text-anchor": anchor, class: "small", ...more }, words));
    for (const tick of book.ticks(0, n - 1, Math.max(2, Math.floor(width / 110)))) {
      if (Number.isInteger(tick)) text(left + ((tick + 0.5) / n) * across, top + down + 16, "middle", tick);
    }
    for (const tick of book.ticks(0, d - 1, Math.min(5, d))) {
      if (Number.isInteger(tick)) text(left - 6, top + ((tick + 0.5) / d) * down + 4, "end", tick);
    }
    const x = left + ((position.value() + 0.5) / n) * across;
    const y = top + (2 * pair.value() / d) * down;
    svg.append(
      book.svg("path", { class: "mark", d: `M${x} ${top}v${down}`, style: "stroke:#24292f" }),
      book.svg("rect", {
        class: "mark", x: left, y, width: across, height: Math.max(2, (2 / d) * down),
        style: "stroke:#24292f;stroke-width:1.5;stroke-dasharray:none",
      }),
    );
    text(left + across / 2, top + down + 34, "middle", "position, tokens; blue −1, white 0, red 1", { class: "" });
    text(0, 0, "middle", "feature", { class: "", transform: `translate(13 ${top + down / 2}) rotate(-90)` });
    map.replaceChildren(svg);
  }

  const draw = book.drawn(root, (width) => {
    const [n, d] = [length.value(), dModel.value()];
    // Sliders that depend on others end where the others let them.
    if (2 * pair.value() >= d) pair.set(d / 2 - 1);
    if (position.value() >= n) position.set(n - 1);
    pair.input.max = d / 2 - 1;
    position.input.max = n - 1;
    drawMap(width);
    const [even, odd, at] = [2 * pair.value(), 2 * pair.value() + 1, position.value()];
    const points = (feature) => Array.from({ length: 4 * n - 3 }, (_, step) => [step / 4, value(step / 4, feature)]);
    const legend = [["var(--s0)", `feature ${even}: sine`], ["var(--s1)", `feature ${odd}: cosine`]];
    curves.replaceChildren(book.legend(legend), book.chart({
      width, height: 200, title: `Features ${even} and ${odd} over the positions`, marks: [at],
      x: { low: 0, high: n - 1, label: "position, tokens" }, y: { low: -1, high: 1, label: "value" },
      lines: [{ points: points(even), color: "var(--s0)" }, { points: points(odd), color: "var(--s1)" }],
    }));
    const wavelength = 2 * Math.PI * base.value() ** (even / d);
    const shown = (number) => number.toFixed(3).replace("-", "−");
    said.textContent = `Position ${at}: feature ${even} = sin(${at} / ${base.value()}^(${even}/${d})) = `
      + `${shown(value(at, even))}, feature ${odd} = cos(…) = ${shown(value(at, odd))}. `
      + `This pair turns once in ${wavelength < 100 ? wavelength.toFixed(1) : Math.round(wavelength)} tokens.`;
    const product = (distance) => {
      let sum = 0;
      for (let feature = 0; feature < d; feature++) sum += value(0, feature) * value(distance, feature);
      return sum / (d / 2);
    };
    const distances = Array.from({ length: n }, (_, distance) => [distance, product(distance)]);
    const low = Math.min(0, ...distances.map(([, it]) => it));
    products.replaceChildren(book.chart({
      width, height: 170, title: "Dot product of two positions over their distance",
      x: { low: 0, high: n - 1, label: "distance of two positions, tokens" },
      y: { low, high: 1, label: "dot product" }, lines: [{ points: distances, color: "var(--s2)" }],
    }));
  });
};
