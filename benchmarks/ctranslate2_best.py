#!/usr/bin/env python3
"""Measures CTranslate2 at the best of its settings on this machine.

    python3 benchmarks/ctranslate2_best.py MODEL TOKENS [--length 24]

MODEL is the folder of a CTranslate2 model, TOKENS a file with one sentence of tokens a line, separated by
spaces. Every translation has `--length` tokens. For float32 and int8, greedy search and a beam of 4, single
sentences and batches of 32, each sensible way to use the cores is measured three times: one worker of one
thread, one worker of all threads, and one worker for each core. The median counts. Prints one JSON object:
for each cell the tokens of the best hypothesis per second, and the workers and threads that reached it.
Needs ctranslate2; 4.8.5 was used.
"""

import argparse
import json
import os
import statistics
import time

import ctranslate2

N_ROUNDS = 3
N_SINGLE_SENTENCES = 24


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("tokens")
    parser.add_argument("--length", type=int, default=24, help="tokens of each translation")
    arguments = parser.parse_args()
    with open(arguments.tokens, encoding="utf-8") as lines:
        sentences = [line.split() for line in lines if line.strip()]
    n_cores = len(os.sched_getaffinity(0))
    best = {}
    for compute_type in ("float32", "int8"):
        for workers, threads in sorted({(1, 1), (1, n_cores), (n_cores, 1)}):
            translator = ctranslate2.Translator(
                arguments.model,
                compute_type=compute_type,
                inter_threads=workers,
                intra_threads=threads,
            )
            for cell, speed in speeds(translator, sentences, workers, arguments.length):
                key = f"{compute_type} {cell}"
                if speed > best.get(key, {"speed": 0})["speed"]:
                    best[key] = {"speed": round(speed), "workers": workers, "threads": threads}
    print(json.dumps(best, indent=1))


def speeds(translator, sentences, workers, length):
    """Yields each cell with its tokens per second, the median of three rounds."""
    translate(translator, sentences[: 32 * workers], 1, 32, length)  # warm-up
    for batch in (1, 32):
        if batch == 1 and workers > 1:
            continue  # a single sentence keeps one worker busy
        chosen = sentences[:N_SINGLE_SENTENCES] if batch == 1 else sentences
        for beam in (1, 4):
            rounds = [translate(translator, chosen, beam, batch, length) for _ in range(N_ROUNDS)]
            yield f"beam {beam} batch {batch}", statistics.median(rounds)


def translate(translator, sentences, beam, batch, length):
    """Translates the sentences and returns the tokens per second."""
    started = time.perf_counter()
    results = translator.translate_batch(
        sentences,
        beam_size=beam,
        max_batch_size=batch,
        max_decoding_length=length,
        min_decoding_length=length,
    )
    seconds = time.perf_counter() - started
    return sum(len(result.hypotheses[0]) for result in results) / seconds


if __name__ == "__main__":
    main()
