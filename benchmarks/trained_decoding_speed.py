#!/usr/bin/env python3
"""Compares the speed of translation with CTranslate2's, on a trained model and text of natural lengths.

CTranslate2 gets the weights that `transformer-infer export` writes, and both translate the same ids in the same batches,
the lines sorted by length. Then ours translates the text again and again in one process, to see whether its memory grows, and
with other directories of the model (--reduced), to see what less precision saves and changes.

    cargo build -p transformer-infer -p examples --bins --example decoding_speed
    python trained_decoding_speed.py --program target/debug/examples/decoding_speed \
        --exporter target/debug/transformer-infer --model m30k/model --text test.en.gz

Needs ctranslate2 4.8.5, tokenizers, and what decoding_speed.py needs, which lies beside this script. Reads models with
one vocabulary.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "2"

import ctranslate2
from tokenizers import Tokenizer

from decoding_speed import agreement, call_ours

MAX_LEN = 100


def export_ctranslate2(exporter, model, folder):
    """Writes the model in CTranslate2's format; returns the spelling of its tokens."""
    command = [exporter, "export", "--model", model, "--format", "ctranslate2", "--out", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "shared_vocabulary.json").read_text())


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
    parser.add_argument("--exporter", type=Path, required=True, help="transformer-infer")
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
        tokens = export_ctranslate2(args.exporter, args.model, scratch)
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
