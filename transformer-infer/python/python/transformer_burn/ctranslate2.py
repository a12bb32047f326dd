"""The part of CTranslate2's ``Translator`` that other programs use, on this engine.

A program that imports ``ctranslate2`` runs unchanged after these lines::

    import sys
    import transformer_burn.ctranslate2
    sys.modules["ctranslate2"] = transformer_burn.ctranslate2

Options without an equivalent are refused by name. ``<unk>`` is never generated, as with ``disable_unk``, and a
repetition penalty multiplies log-probabilities instead of logits.
"""

import json
import struct
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, islice, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from ._native import PieceTranslator

__version__ = "4.8.5"
"""The version of CTranslate2 that this interface is of."""

AsyncTranslationResult = AsyncScoringResult = Future

_INT8 = ["int8", "int8_float32", "int8_float16", "int8_bfloat16"]
_FLOATS = ["int16", "float16", "bfloat16", "float32"]
_seeds = count(1)


def set_random_seed(seed):
    """Sets the seed of the next sampling."""
    global _seeds
    _seeds = count(seed)


def contains_model(path):
    """Returns whether a folder has a model."""
    return (Path(path) / "model.bin").exists()


def get_supported_compute_types(device, device_index=0):
    """Returns the number formats of a device."""
    _check_device(device, device_index)
    return {"int8", "int8_float32", "float32"}


def get_cuda_device_count():
    """Returns 0: the engine in the wheel computes on CPUs."""
    return 0


@dataclass
class TranslationResult:
    """The translations of a line, best first."""

    hypotheses: list
    scores: list = field(default_factory=list)
    attention: list = field(default_factory=list)
    logits: list = field(default_factory=list)

    def __len__(self):
        return len(self.hypotheses)

    def __getitem__(self, index):
        result = {"tokens": self.hypotheses[index]}
        if self.scores:
            result["score"] = self.scores[index]
        return result


@dataclass
class ScoringResult:
    """The log-probabilities of a given translation."""

    tokens: list
    log_probs: list


@dataclass
class ExecutionStats:
    """The counts of a translated file."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float


_UNAVAILABLE = """AsyncGenerationResult DataType Device Encoder EncoderForwardOutput GenerationResult
GenerationStepResult Generator MpiInfo StorageView converters extensions get_log_level logging models set_log_level
specs""".split()


def __getattr__(name):
    if name in _UNAVAILABLE:
        raise AttributeError(f"ctranslate2.{name} is not available on this engine; use ctranslate2 itself")
    raise AttributeError(f"module 'transformer_burn.ctranslate2' has no attribute '{name}'")


class Translator:
    """A model of CTranslate2 that translates tokens, such as ``Translator("model").translate_batch([["▁Hi"]])``."""

    device = "cpu"
    device_index = [0]
    num_queued_batches = 0

    def __init__(
        self,
        model_path,
        device="cpu",
        *,
        device_index=0,
        compute_type="default",
        inter_threads=1,
        intra_threads=0,
        max_queued_batches=0,
        **options,
    ):
        _check_device(device, device_index)
        _refuse(options, flash_attention=False, tensor_parallel=False, files=None)
        if isinstance(compute_type, dict):
            compute_type = compute_type.get("cpu", "default")
        if not isinstance(compute_type, str):
            raise TypeError("incompatible constructor arguments: compute_type must be a name or a dictionary")
        if compute_type not in ["default", "auto", *_INT8, *_FLOATS]:
            raise ValueError(f"invalid compute type: {compute_type}; choose int8 or float32")
        if not contains_model(model_path):
            raise RuntimeError(f"unable to open file 'model.bin' in model '{model_path}'; check the path")
        self._folder = Path(model_path)
        self._int8 = None if compute_type == "default" else compute_type not in _FLOATS
        self._n_threads = intra_threads * inter_threads or None
        self._threads = ThreadPoolExecutor(inter_threads)
        self._running = []
        # Held to load and unload the model, and while the list of running work changes.
        self._lock = Lock()
        self._model = None
        self.num_translators = inter_threads
        self.load_model()
        self.compute_type = "int8_float32" if self._model.is_int8 else "float32"

    def load_model(self, keep_cache=False):
        """Loads the model, unless it is loaded."""
        with self._lock:
            if self._model is None:
                with TemporaryDirectory() as folder:
                    pieces = _write_pieces(self._folder, Path(folder))
                    self._model = PieceTranslator(self._folder, pieces, int8=self._int8, n_threads=self._n_threads)

    def unload_model(self, to_cpu=False):
        """Frees the memory of the model, unless it is in use or work is queued."""
        with self._lock:
            if not to_cpu and not self._n_running():
                self._model = None

    @property
    def model_is_loaded(self):
        return self._model is not None

    @property
    def num_active_batches(self):
        with self._lock:
            return self._n_running()

    def _n_running(self):
        self._running = [it for it in self._running if not it.done()]
        return len(self._running)

    def translate_batch(
        self,
        source,
        target_prefix=None,
        *,
        max_batch_size=0,
        batch_type="examples",
        asynchronous=False,
        return_scores=False,
        return_end_token=False,
        max_input_length=1024,
        **options,
    ):
        """Translates tokens, and returns a ``TranslationResult`` for each source.

        The engine makes its own batches, so ``max_batch_size`` and ``batch_type`` change nothing.
        """
        source = [tokens[: max_input_length or None] for tokens in source]
        prefixes = [prefix or [] for prefix in target_prefix or [[]] * len(source)]
        if len(prefixes) != len(source):
            raise ValueError(f"target_prefix has length {len(prefixes)}, and source {len(source)}; give as many")
        end = ["</s>"] if return_end_token else []

        def translate(model):
            found = model.translate(source, prefixes, **_search(**options))
            for translations in found:
                # Samples come in the order of drawing.
                translations.sort(key=lambda it: -it[1])
            return [
                TranslationResult([tokens + end for tokens, _ in it], [score for _, score in it if return_scores])
                for it in found
            ]

        return self._run(translate, len(source), asynchronous)

    def translate_iterable(self, source, target_prefix=None, max_batch_size=32, **options):
        """Translates the tokens of an iterable, and yields the results in order."""
        options.pop("asynchronous", None)
        pairs = _pairs(source, target_prefix)
        while chunk := list(islice(pairs, max(max_batch_size, 1) * 16)):
            sources, prefixes = map(list, zip(*chunk))
            yield from self.translate_batch(sources, prefixes, **options)

    def translate_file(
        self,
        source_path,
        output_path,
        target_path=None,
        *,
        read_batch_size=0,
        with_scores=False,
        source_tokenize_fn=None,
        target_tokenize_fn=None,
        target_detokenize_fn=None,
        **options,
    ):
        """Translates a file of lines of tokens, or of text with the functions that tokenize it."""
        if bool(source_tokenize_fn) != bool(target_detokenize_fn):
            raise ValueError("source_tokenize_fn and target_detokenize_fn must be given together")
        if source_tokenize_fn and target_path and not target_tokenize_fn:
            raise ValueError("target_tokenize_fn must be given with target_path")
        begin = time.monotonic()
        n_tokens = n_lines = 0
        source = _tokens(source_path, source_tokenize_fn)
        prefixes = target_path and _tokens(target_path, target_tokenize_fn)
        join = target_detokenize_fn or " ".join
        with open(output_path, "w", encoding="utf-8") as output:
            try:
                for result in self.translate_iterable(source, prefixes, return_scores=with_scores, **options):
                    n_lines += 1
                    for index, tokens in enumerate(result.hypotheses):
                        n_tokens += len(tokens)
                        score = f"{result.scores[index]:.6f} ||| " if with_scores else ""
                        output.write(f"{score}{join(tokens)}\n")
            except _Length as error:
                raise RuntimeError(f"one of the files has less examples: {error}") from None
        return ExecutionStats(n_tokens, n_lines, (time.monotonic() - begin) * 1000)

    def score_batch(
        self,
        source,
        target,
        *,
        max_batch_size=0,
        batch_type="examples",
        max_input_length=1024,
        asynchronous=False,
        **options,
    ):
        """Returns the log-probabilities of given translations; those of an empty source are 0.

        The limit of a target counts its end, as there.
        """
        _refuse(options, offset=0)
        source = [tokens[: max_input_length or None] for tokens in source]
        target = [tokens[: max_input_length - 1 if max_input_length else None] for tokens in target]

        def score(model):
            if not model.has_scorer:
                with TemporaryDirectory() as folder:
                    model.read_scorer(_write_pieces(self._folder, Path(folder)))
            log_probs = model.score(source, target)
            return [
                ScoringResult([*tgt, "</s>"][: len(values)], values if src else [0.0] * len(values))
                for src, tgt, values in zip(source, target, log_probs)
            ]

        if len(target) != len(source):
            raise ValueError(f"target has length {len(target)}, and source {len(source)}; give as many")
        return self._run(score, len(source), asynchronous)

    def score_iterable(self, source, target, max_batch_size=64, **options):
        """Scores the pairs of two iterables, and yields the results in order."""
        pairs = _pairs(source, target)
        while chunk := list(islice(pairs, max(max_batch_size, 1))):
            yield from self.score_batch(*map(list, zip(*chunk)), **options)

    def _run(self, work, n_results, asynchronous):
        """Returns the results of work with the model, or with `asynchronous` a future for each."""
        with self._lock:
            model = self._model
            if model is None:
                raise RuntimeError("the model is unloaded; call load_model")
            if asynchronous:
                running = self._threads.submit(work, model)
                self._running.append(running)
        if not asynchronous:
            return work(model)
        futures = [Future() for _ in range(n_results)]

        def done(running):
            error = running.exception()
            for index, future in enumerate(futures):
                if not future.set_running_or_notify_cancel():
                    continue
                if error:
                    future.set_exception(error)
                else:
                    future.set_result(running.result()[index])

        running.add_done_callback(done)
        return futures


class _Length(ValueError):
    """Two iterables have different lengths."""


def _pairs(first, second):
    """Yields the pairs of two iterables of the same length; of `None`, if there is no second one."""
    missing = object()
    if second is None:
        yield from ((it, None) for it in first)
        return
    for pair in zip_longest(first, second, fillvalue=missing):
        if missing in pair:
            raise _Length("the iterables have different length; give a prefix, or an empty one, for each source")
        yield pair


def _tokens(path, tokenize):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            yield tokenize(line) if tokenize else line.split()


def _search(
    *,
    beam_size=2,
    num_hypotheses=1,
    length_penalty=1,
    coverage_penalty=0,
    repetition_penalty=1,
    no_repeat_ngram_size=0,
    disable_unk=False,
    suppress_sequences=None,
    max_decoding_length=256,
    min_decoding_length=1,
    sampling_topk=1,
    sampling_topp=1,
    sampling_temperature=1,
    replace_unknowns=False,
    **options,
):
    """Returns the engine's search for the options of ``translate_batch``."""
    _refuse(
        options,
        patience=1,
        end_token=None,
        prefix_bias_beta=0,
        use_vmap=False,
        return_logits_vocab=False,
        return_attention=False,
        return_alternatives=False,
        min_alternative_expansion_prob=0,
        callback=None,
    )
    if min_decoding_length > max_decoding_length:
        raise ValueError(
            f"min_decoding_length ({min_decoding_length}) is greater than max_decoding_length "
            f"({max_decoding_length}); lower it"
        )
    sampling = {"top_k": sampling_topk or None, "top_p": sampling_topp, "temperature": sampling_temperature}
    return {
        "beam_size": beam_size,
        "n_best": num_hypotheses,
        "length_penalty": f"power:{length_penalty}",
        "coverage_penalty": coverage_penalty,
        "repetition_penalty": repetition_penalty,
        "no_repeat_ngram": no_repeat_ngram_size or None,
        "max_len": max_decoding_length,
        # The minimum there does not count the end.
        "min_len": min(min_decoding_length + 1, max_decoding_length),
        # With a penalty, it stops after as many hypotheses as beams.
        "stop": "beam-finished" if length_penalty or coverage_penalty else "present-length",
        "sampling": {**sampling, "seed": next(_seeds)} if sampling_topk != 1 else None,
        "suppressed": suppress_sequences or [],
        # There, tokens are excluded before the softmax.
        "renormalize": True,
    }


def _refuse(options, **allowed):
    """Refuses options that are unknown, or that have another value than the one that is allowed."""
    for name, value in options.items():
        if name not in allowed:
            raise TypeError(f"incompatible arguments: unknown option {name}")
        if value != allowed[name]:
            raise ValueError(f"{name} is not available on this engine; leave it out")


def _check_device(device, device_index):
    if device not in ["cpu", "auto"]:
        raise ValueError(f"unsupported device {device}; choose cpu")
    if device_index not in [0, [0]]:
        raise ValueError(f"invalid device index {device_index}; there is one CPU, 0")


def _write_pieces(model, folder):
    """Writes SentencePiece models with the tokens of both vocabularies, and returns their paths.

    Text arrives as tokens, so the models only list them.
    """
    paths = []
    for side in ["shared", "source", "target"]:
        names = [model / f"{side}_vocabulary.{kind}" for kind in ["json", "txt"]]
        found = [it for it in names if it.exists()]
        if not found:
            continue
        text = found[0].read_text(encoding="utf-8")
        tokens = json.loads(text) if found[0].suffix == ".json" else text.split("\n")
        path = folder / side
        path.write_bytes(b"".join(map(_piece, dict.fromkeys(["<unk>", *filter(None, tokens)]))))
        paths.append(path)
    return paths


def _piece(token):
    """Returns a message ``SentencePiece`` of ``sentencepiece_model.proto`` as the first field of a model."""
    text = token.encode()
    kind = 2 if token == "<unk>" else 1  # UNKNOWN, NORMAL
    fields = b"\x0a" + _varint(len(text)) + text + b"\x15" + struct.pack("<f", 0) + b"\x18" + bytes([kind])
    return b"\x0a" + _varint(len(fields)) + fields


def _varint(value):
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])
