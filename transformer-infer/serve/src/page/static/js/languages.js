// The choice of languages and of the model, and what is known of the model.
import { byId, element, grouped } from "./dom.js";
import { nameOf, t } from "./messages.js";
import { change, settings } from "./settings.js";

/** Languages that are written from right to left, which an empty field cannot show by its text. */
const RIGHT_TO_LEFT = /^(ar|arc|ckb|dv|fa|he|iw|khw|ks|ps|sd|syr|ug|ur|yi)(-|$)|-(arab|hebr)/i;

/** The value of the list of sources that has the language detected. */
const AUTO = "auto";

const PRECISIONS = { f32: "32-bit floats", f16: "16-bit floats", bf16: "16-bit floats (bfloat16)", int8: "8-bit integers" };

export const isRightToLeft = (code) => RIGHT_TO_LEFT.test(code ?? "");

export class Languages {
  #models;
  #pairs;
  #names;
  #source = byId("source-language");
  #target = byId("target-language");
  #model = byId("model");
  #onChange;
  /** The code of the detected language, or null. */
  #detected = null;

  /**
   * `models`, `languages` and `pivot` are those of `/v1/models`. `onChange` is called when the choice changed, with
   * whether the languages were swapped.
   */
  constructor({ models, languages, pivot }, onChange) {
    this.#models = models;
    this.#onChange = onChange;
    this.#pairs = pairs(models, pivot);
    this.#names = new Map(languages.map((it) => [it.code, it.name]));
    this.#source.onchange = () => this.choose(this.#source.value, this.#target.value);
    this.#target.onchange = () => this.choose(this.#source.value, this.#target.value);
    this.#model.onchange = () => {
      change({ model: this.#model.value });
      this.#drawModels();
      this.#onChange(false);
    };
    byId("swap").onclick = () => this.swap();
    this.#draw(settings.source, settings.target);
  }

  /** What requests send: only what the server needs to know. */
  get pair() {
    const pair = {};
    if (this.source) pair.source = this.source;
    if (this.target) pair.target = this.target;
    if (this.#candidates().length > 1 || !this.source) pair.model = this.model?.name;
    return pair;
  }

  get source() {
    if (this.isDetecting) return this.#detected ?? this.#sources[0];
    return this.#source.value || null;
  }

  /** Whether the models read several languages, of which that of a text can be detected. */
  get canDetect() {
    return this.#sources.length > 1;
  }

  /** Whether the language of the text is detected. */
  get isDetecting() {
    return this.#source.value === AUTO;
  }

  /** Takes over the detected language of the text, or null; if no model reads it, the last one stays. */
  set detected(code) {
    const known = this.#sources.find((it) => it === code) ?? null;
    if (known === this.#detected || (!known && code)) return;
    const before = this.source;
    this.#detected = known;
    if (!this.isDetecting) return;
    this.#draw(AUTO, this.target);
    if (this.source !== before) this.#onChange(false);
  }

  /** Returns the name of a language that the models read other than the chosen one, or null. */
  other(code) {
    const isOther = !this.isDetecting && code !== this.source && this.#sources.includes(code);
    return isOther ? this.#nameOf(code) : null;
  }

  get #sources() {
    return [...new Set(this.#pairs.map(([from]) => from))];
  }

  get target() {
    return this.#target.value || null;
  }

  /** The model that translates, or undefined if several do one after the other. */
  get model() {
    const candidates = this.#candidates();
    return candidates.find((it) => it.name === settings.model) ?? candidates[0];
  }

  /** Whether the translation goes through a third language, of which no words and no attention are known. */
  get isPivot() {
    return this.#pairs.length > 0 && this.#candidates().length === 0;
  }

  get canSwap() {
    return this.#pairs.some(([from, to]) => from === this.target && to === this.source);
  }

  swap() {
    if (this.canSwap) this.choose(this.target, this.source, true);
  }

  #candidates() {
    if (this.#pairs.length === 0) return this.#models;
    return this.#models.filter((it) => translates(it, this.source, this.target));
  }

  /** Chooses the languages, as far as the models have them. */
  choose(source, target, isSwap = false) {
    this.#draw(source, target);
    change({ source: this.isDetecting ? AUTO : this.source, target: this.target });
    this.#onChange(isSwap);
  }

  /** Fills the lists; a target that the source does not have becomes one that it has. */
  #draw(source, target) {
    const sources = this.#sources;
    const isAuto = source === AUTO && this.canDetect;
    const from = isAuto ? this.#detected ?? sources[0] : sources.includes(source) ? source : sources[0];
    const targets = this.#pairs.filter((pair) => pair[0] === from).map((pair) => pair[1]);
    const to = targets.includes(target) ? target : targets[0];
    this.#fill(this.#source, sources, isAuto ? AUTO : from);
    this.#fill(this.#target, targets, to);
    const swap = byId("swap");
    swap.setAttribute("aria-disabled", !this.canSwap);
    swap.title = t(this.canSwap ? "Swap the languages" : "No model translates in the other direction");
    this.#drawModels();
  }

  #fill(select, codes, chosen) {
    if (codes.length === 0) {
      select.replaceChildren(element("option", { value: "" }, t(select === this.#source ? "Source" : "Translation")));
      return;
    }
    const options = codes.map((it) => [this.#nameOf(it), it]).sort((a, b) => a[0].localeCompare(b[0]));
    if (select === this.#source && codes.length > 1) {
      const language = this.#detected && this.#nameOf(this.#detected);
      options.unshift([language && chosen === AUTO ? t("{language}, detected", { language }) : t("Detect the language"), AUTO]);
    }
    select.replaceChildren(...options.map(([name, it]) => element("option", { value: it }, name)));
    select.value = chosen;
  }

  #nameOf(languageCode) {
    return nameOf(languageCode, this.#names.get(languageCode));
  }

  #drawModels() {
    const candidates = this.#candidates();
    const { model } = this;
    byId("model-choice").hidden = candidates.length < 2;
    this.#model.replaceChildren(...candidates.map((it) => element("option", { value: it.name }, it.name)));
    this.#model.value = model?.name ?? "";
    byId("facts").replaceChildren(...facts(model).map(([name, value]) => (
      element("div", {}, element("dt", {}, name), element("dd", { dir: "auto" }, value)))));
  }
}

/** Returns whether a model translates between two languages. */
function translates(model, source, target) {
  return model.source_languages.includes(source) && model.target_languages.includes(target)
    && (source !== target || model.source_languages.length === 1);
}

/** Returns the pairs of languages, in the order of their codes: those of the models, and those through a third one. */
function pairs(models, pivot) {
  const found = new Map();
  const add = (from, to) => found.set(`${from} ${to}`, [from, to]);
  for (const model of models) {
    for (const from of model.source_languages) {
      for (const to of model.target_languages) {
        if (from !== to || model.source_languages.length === 1) add(from, to);
      }
    }
  }
  const direct = [...found.values()];
  for (const [from] of direct.filter((pair) => pair[1] === pivot)) {
    for (const [, to] of direct.filter((pair) => pair[0] === pivot)) {
      if (from !== to) add(from, to);
    }
  }
  return [...found.keys()].sort().map((it) => found.get(it));
}

/** Returns what is known of a model, as pairs of a name and a value. */
function facts(model) {
  if (!model) return [[t("Translated"), t("in two steps")]];
  const sizes = [model.src_vocab_size, model.tgt_vocab_size].filter(Boolean);
  const vocabulary = model.joint_vocabulary ? sizes.slice(0, 1) : sizes;
  return [
    [t("Model"), model.name],
    [t("Parameters"), model.n_parameters && shortened(model.n_parameters)],
    [t("Precision"), model.precision && t(PRECISIONS[model.precision] ?? model.precision)],
    [t("Vocabulary"), vocabulary.map(grouped).join(" + ")],
    [t("Search"), model.beam_size && (model.beam_size === 1 ? t("greedy") : t("beam of {n}", { n: model.beam_size }))],
    ["BLEU", model.bleu && model.bleu.toFixed(1)],
  ].filter(([, value]) => value);
}

/** Returns a number as 2.1 M. */
function shortened(number) {
  const format = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  return format.format(number).replace(/(?<=\d)(?=[A-Z])/, "\u202f");
}
