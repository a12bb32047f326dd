// Chapter 10: the learning rate over the updates, with sliders for width, warmup and factor.
"use strict";
/** The paper's Equation 3, times a factor: d_model^−0.5 · min(step^−0.5, step · warmup^−1.5); steps from 1. */
book.noamRate = (step, dModel, warmup, factor = 1) =>
  factor * dModel ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);

book.shows.schedule = (root) => {
  const changed = () => draw();
  const widths = [32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048];
  const dModel = book.slider({ name: "d_model", label: "d_model, features", values: widths, start: 512, changed });
  const warmups = [100, 200, 400, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 10000, 12000, 16000];
  const warmup = book.slider({ name: "warmup", label: "warmup, updates", values: warmups, start: 4000, changed });
  const factors = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5];
  const factor = book.slider({ name: "factor", label: "factor (the paper: 1)", values: factors, start: 1, changed });
  const totals = [1000, 2000, 5000, 10000, 20000, 50000, 100000];
  const total = book.slider({ name: "updates", label: "updates in all", values: totals, start: 20000, changed });
  const share = Array.from({ length: 101 }, (_, index) => index / 100);
  const step = book.slider({
    name: "step", label: "read at update", values: share, start: 0.5, show: (it) => String(stepOf(it)), changed,
  });
  const picture = book.element("div");
  const said = book.element("p", { "aria-live": "polite" });
  root.append(
    book.element("h4", {}, "Equation 3 with sliders"),
    book.element("div", { class: "controls" }, dModel.root, warmup.root, factor.root, total.root, step.root),
    picture, said,
  );
  function stepOf(part) {
    return Math.max(1, Math.round(part * total.value()));
  }
  const shown = (rate) => rate.toPrecision(3);
  const draw = book.drawn(root, (width) => {
    step.set(step.value()); // its text depends on the number of updates
    const [n, at] = [total.value(), stepOf(step.value())];
    const rate = (update) => book.noamRate(update, dModel.value(), warmup.value(), factor.value());
    const paper = (update) => book.noamRate(update, 512, 4000);
    // The peak is a point of its own, so that it is not cut off.
    const updates = Array.from({ length: 201 }, (_, index) => Math.max(1, (index * n) / 200));
    updates.push(...[warmup.value(), 4000].filter((update) => update < n));
    updates.sort((a, b) => a - b);
    const curve = (of) => updates.map((update) => [update, of(update)]);
    const high = 1.05 * Math.max(...updates.map((update) => Math.max(rate(update), paper(update))));
    picture.replaceChildren(
      book.legend([["var(--s0)", "your setting"], ["var(--plain)", "the paper: 512, 4000, 1"]]),
      book.chart({
        width, height: 250, title: "Learning rate over the updates", marks: [at],
        x: { low: 0, high: n, label: "update" }, y: { low: 0, high, label: "learning rate" },
        lines: [{ points: curve(paper), color: "var(--plain)", dashed: true },
          { points: curve(rate), color: "var(--s0)" }],
      }),
    );
    const peak = rate(warmup.value());
    const isCut = warmup.value() > n ? " The training ends before the peak: the rate never falls." : "";
    said.textContent = `Peak: ${shown(peak)} at update ${warmup.value()}. At update ${at}: ${shown(rate(at))}, `
      + `${at <= warmup.value() ? "while it rises" : "while it falls"}.${isCut}`;
  });
};
