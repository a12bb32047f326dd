#!/usr/bin/env python3
"""Compares the speed of translation with CTranslate2's, on a trained model and text of natural lengths.

Reads a model directory (docs/model-directory.md) without any program of ours: the container of the weights, the
config and the tokenizer. CTranslate2 gets the same weights, and both translate the same ids in the same batches, the lines
sorted by length. Then ours translates the text again and again in one process, to see whether its memory grows, and
with other directories of the model (--reduced), to see what less precision saves and changes.

    cargo build -p examples --example decoding_speed
    python trained_decoding_speed.py --program target/debug/examples/decoding_speed --model m30k/model --text test.en.gz

Needs ctranslate2 4.8.5, tokenizers, numpy, and what decoding_speed.py needs, which lies beside this script. Reads
models with sinusoidal positions, normalization behind each layer, and one vocabulary.
"""

import argparse
import gzip
import json
import os
import statistics
import struct
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "2"

import ctranslate2
import numpy
from ctranslate2.specs import TransformerSpec
from tokenizers import Tokenizer

from decoding_speed import agreement, call_ours

MAX_LEN = 100


def cbor(data, at=0):
    """Decodes the value at a place, and returns it with the place behind it: what burnpack uses of CBOR."""
    kind, info = data[at] >> 5, data[at] & 31
    at += 1
    if kind == 7:
        return {20: False, 21: True, 22: None}[info], at
    if info >= 24:
        n_bytes = 1 << (info - 24)
        info, at = int.from_bytes(data[at : at + n_bytes], "big"), at + n_bytes
    if kind == 0:
        return info, at
    if kind == 3:
        return data[at : at + info].decode(), at + info
    items = []
    for _ in range(info * {4: 1, 5: 2}[kind]):
        item, at = cbor(data, at)
        items.append(item)
    return (items, at) if kind == 4 else (dict(zip(items[::2], items[1::2])), at)


def read_weights(path):
    """Reads a burnpack file of 32-bit floats."""
    data = path.read_bytes()
    magic, _, size = struct.unpack("<IHI", data[:10])
    assert magic == 0x4255524E, f"{path} is no burnpack file"
    tensors = cbor(data[10 : 10 + size])[0]["tensors"]
    start = (10 + size + 255) // 256 * 256
    read = {}
    for name, tensor in tensors.items():
        begin, end = tensor["data_offsets"]
        numbers = numpy.frombuffer(data[start + begin : start + end], "<f4")
        read[name] = numbers.reshape(tensor["shape"])
    return read


def write_ctranslate2(model, folder):
    """Writes the model in CTranslate2's format; returns the spelling of its tokens."""
    config = json.loads((model / "config.json").read_text())
    assert (config["norm_placement"], config["positions"], config["tying"]) == ("post", "sinusoidal", "all")
    manifest = json.loads((model / "manifest.json").read_text())
    weights = read_weights(model / manifest["files"]["weights"]["name"])
    spec = TransformerSpec.from_config(
        (config["n_encoder_layers"], config["n_decoder_layers"]), config["n_heads"], pre_norm=False)

    def linear(spec, *names):
        spec.weight = numpy.concatenate([weights[f"{name}.weight"].T for name in names])
        if f"{names[0]}.bias" in weights:
            spec.bias = numpy.concatenate([weights[f"{name}.bias"] for name in names])

    def norm(spec, name):
        spec.gamma, spec.beta = weights[f"{name}_residual.norm.gamma"], weights[f"{name}_residual.norm.beta"]

    embeddings = weights["src_vocabulary.weight"]
    d_model = config["d_model"]
    place, feature = numpy.ogrid[: config["max_positions"], : d_model // 2]
    angles = place / 10000 ** (2 * feature / d_model)
    positions = numpy.stack([numpy.sin(angles), numpy.cos(angles)], 2).reshape(-1, d_model)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = embeddings
    spec.decoder.projection.weight = embeddings
    for stack, name in [(spec.encoder, "encoder"), (spec.decoder, "decoder")]:
        stack.scale_embeddings = config["scale_embeddings"]
        stack.position_encodings.encodings = positions.astype("float32")
        for number, layer in enumerate(stack.layer):
            head = f"{name}.layers.{number}"
            own, cross = f"{head}.self_attention", f"{head}.cross_attention"
            linear(layer.self_attention.linear[0], f"{own}.query", f"{own}.key", f"{own}.value")
            linear(layer.self_attention.linear[1], f"{own}.output")
            norm(layer.self_attention.layer_norm, own)
            if name == "decoder":
                linear(layer.attention.linear[0], f"{cross}.query")
                linear(layer.attention.linear[1], f"{cross}.key", f"{cross}.value")
                linear(layer.attention.linear[2], f"{cross}.output")
                norm(layer.attention.layer_norm, cross)
            linear(layer.ffn.linear_0, f"{head}.feed_forward.inner")
            linear(layer.ffn.linear_1, f"{head}.feed_forward.outer")
            norm(layer.ffn.layer_norm, f"{head}.feed_forward")
    # Other spellings do: ids are what is translated.
    tokens = ["<pad>", "<unk>", "<s>", "</s>"] + [str(id) for id in range(4, config["src_vocab_size"])]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = True
    spec.validate()
    spec.save(str(folder))
    return tokens


def run_ctranslate2(folder, tokens, sources, batch, beam, runs):
    translator = ctranslate2.Translator(
        str(folder), device="cpu", intra_threads=2, inter_threads=1, compute_type="float32")
    lines = [[tokens[id] for id in source] for source in sources]
    ids = {token: id for id, token in enumerate(tokens)}
    seconds, found = [], []
    for _ in range(runs):
        start = time.perf_counter()
        results = []
        for at in range(0, len(lines), batch):
            results += translator.translate_batch(
                lines[at : at + batch], beam_size=beam, max_decoding_length=MAX_LEN,
                max_batch_size=0, length_penalty=1.0, disable_unk=True)
        seconds.append(time.perf_counter() - start)
        found = [[ids[token] for token in result.hypotheses[0]] for result in results]
    return seconds, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--reduced", type=Path, nargs="*", default=[], help="what `transformer-infer quantize` wrote")
    parser.add_argument("--backend", default="flex")
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--lines", type=int, default=1000, help="of the text; a quarter for batch 1")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10, help="over the text, for the memory")
    args = parser.parse_args()

    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    opened = gzip.open if args.text.suffix == ".gz" else open
    with opened(args.text, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file][: args.lines]
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(lines, add_special_tokens=False)]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        tokens = write_ctranslate2(args.model, scratch)
        print(f"{'batch':>5} {'beam':>4} {'ctranslate2':>12} {'ours':>8} {'ratio':>6} {'same':>6}  tokens a second")
        for batch in map(int, args.batches.split(",")):
            sources = encoded if batch > 1 else encoded[::4]
            sources = sorted((source for source in sources if source), key=len, reverse=True)
            (scratch / "sources.json").write_text(json.dumps(sources))
            for beam in map(int, args.beams.split(",")):
                numbers = [batch, beam, args.runs + 1, MAX_LEN]
                ours = call_ours(args.program, args.backend, args.model, scratch / "sources.json", *numbers)
                seconds, found = run_ctranslate2(scratch, tokens, sources, batch, beam, args.runs + 1)
                # The first one warms up; EOS is a token that was generated.
                speeds = [
                    sum(len(ids) + 1 for ids in ids_of) / statistics.median(seconds_of[1:])
                    for seconds_of, ids_of in [(seconds, found), (ours["seconds"], ours["ids"])]
                ]
                print(f"{batch:5} {beam:4} {speeds[0]:12.0f} {speeds[1]:8.0f} {speeds[1] / speeds[0]:6.2f} "
                      f"{agreement(ours['ids'], found):6.1%}", flush=True)
        (scratch / "sources.json").write_text(json.dumps([source for source in encoded if source]))
        ours = call_ours(
            args.program, args.backend, args.model, scratch / "sources.json", 32, 4, args.rounds, MAX_LEN)
        in_order = ours["ids"]
        memory = ", ".join(f"{kib / 1024:.0f}" for kib in ours["memory_kib"])
        print(f"memory after each {len(encoded)} lines, batch 32, beam 4, in MiB: {memory}; "
              f"at most {ours['most_memory_kib'] / 1024:.0f}")
        for model in [args.model, *args.reduced] if args.reduced else []:
            ours = call_ours(
                args.program, args.backend, model, scratch / "sources.json", 32, 4, args.runs + 1, MAX_LEN)
            weights = json.loads((model / "manifest.json").read_text())["files"]["weights"]["bytes"]
            speed = sum(len(ids) + 1 for ids in ours["ids"]) / statistics.median(ours["seconds"][1:])
            print(f"{model}: {weights} bytes of weights, loaded in {ours['load_seconds'] * 1000:.0f} ms, at most "
                  f"{ours['most_memory_kib'] / 1024:.0f} MiB, {speed:.0f} tokens a second, "
                  f"{1 - agreement(ours['ids'], in_order):.1%} of the translations differ", flush=True)


if __name__ == "__main__":
    main()
