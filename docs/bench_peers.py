#!/usr/bin/env python3
"""Measures PyTorch or CTranslate2 as `cargo xtask bench-backends --peers PYTHON` measures the backends.

    python bench_peers.py pytorch|pytorch-compile|ctranslate2 tiny|c-d256|base|big RUNS SECONDS

Prints figures as `examples/bench_backend` does: lines of JSON, the same names, the same work: updates of 32
sentences of 32 tokens on both sides, vocabularies of 8000, and translations of 24 tokens. Training is that
of `multi30k_pytorch.py`: eager PyTorch as a careful user writes it, or compiled. Translation is Hugging
Face's `generate` (for `pytorch`) and CTranslate2, both with the Marian-shaped model of `decoding_speed.py`.
As many threads as this process may use cores. Memory is not measured: all three libraries are in it.
Needs what `bench_peers.txt` lists.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))

import torch

import decoding_speed
import multi30k_pytorch

VOCAB, LEN, SENTENCES = 8000, 31, 32
PRESETS = {
    "tiny": Namespace(d_model=128, d_ff=256, n_heads=4, n_layers=4, dropout=0.1),
    "c-d256": Namespace(d_model=256, d_ff=2048, n_heads=8, n_layers=6, dropout=0.1),
    "base": Namespace(d_model=512, d_ff=2048, n_heads=8, n_layers=6, dropout=0.1),
    "big": Namespace(d_model=1024, d_ff=4096, n_heads=16, n_layers=6, dropout=0.3),
}


def say(**figures):
    print(json.dumps(figures), flush=True)


def seconds(runs, duration, work):
    """Calls `work` again and again, and returns the mean seconds of a call in every run."""
    means = []
    for _ in range(runs):
        start, n = time.perf_counter(), 0
        while n == 0 or time.perf_counter() - start < duration:
            work()
            n += 1
        means.append((time.perf_counter() - start) / n)
    return means


def sentences(n, seed):
    """Makes sentences of which no two are alike, as the Rust program does."""
    ids = [4 + i * 2_654_435_761 % (VOCAB - 4) for i in range(seed * n * LEN, (seed + 1) * n * LEN)]
    return [ids[i:i + LEN] for i in range(0, len(ids), LEN)]


def train(preset, runs, duration, compiled):
    """Measures updates, and the parts of an update."""
    torch.manual_seed(1)
    model = multi30k_pytorch.Transformer(PRESETS[preset], VOCAB)
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    batch = list(zip(sentences(SENTENCES, 1), sentences(SENTENCES, 2)))
    parts = []

    def update():
        start = time.perf_counter()
        loss, n_tokens = multi30k_pytorch.summed_loss(forward, batch, 0.1)
        loss = loss / n_tokens
        forward_end = time.perf_counter()
        optimizer.zero_grad()
        loss.backward()
        backward_end = time.perf_counter()
        optimizer.step()
        parts.append((forward_end - start, backward_end - forward_end,
                      time.perf_counter() - backward_end))

    start = time.perf_counter()
    update()
    say(first_update_s=time.perf_counter() - start,
        parameters=sum(p.numel() for p in model.parameters()))
    update()
    parts.clear()
    labels = SENTENCES * (LEN + 1)
    speeds = [labels / mean for mean in seconds(runs, duration, update)]
    say(training={"labels": labels, "tokens_per_second": speeds})
    forward_s, backward_s, optimizer_s = map(statistics.median, zip(*parts))
    say(parts={"forward_s": [forward_s], "backward_s": [backward_s], "optimizer_s": [optimizer_s]})


def marian(preset):
    sizes = PRESETS[preset]
    return decoding_speed.marian(
        Namespace(seed=1, vocab=VOCAB, d_model=sizes.d_model, layers=sizes.n_layers),
        sizes.n_heads, sizes.d_ff)


def decode(translate, runs, duration):
    """Measures translation; `translate(sources, beam, n_tokens)` gives the tokens of each."""
    for batch in (1, 32):
        for beam in (1, 4):
            sources = sentences(batch, 1)
            lengths = {len(ids) for ids in translate(sources, beam, 24)}
            assert lengths == {24}, f"translations have {lengths} tokens"
            first = seconds(runs, duration, lambda: translate(sources, beam, 1))
            whole = seconds(runs, duration, lambda: translate(sources, beam, 24))
            say(decoding={
                "batch": batch, "beam": beam,
                "tokens_per_second": [24 * batch / mean for mean in whole],
                "first_token_ms": [1e3 * mean for mean in first]})


def hugging_face(preset):
    model = marian(preset)

    @torch.inference_mode()
    def translate(sources, beam, n_tokens):
        rows = torch.tensor([source + [decoding_speed.EOS] for source in sources])
        found = model.generate(
            rows, attention_mask=torch.ones_like(rows), num_beams=beam, do_sample=False,
            max_new_tokens=n_tokens, length_penalty=1.0, early_stopping=False)
        return found[:, 1:].tolist()

    return translate


def ctranslate2(preset, folder):
    import ctranslate2 as program
    tokens = decoding_speed.write_ctranslate2(marian(preset), folder)
    translator = program.Translator(
        str(folder), device="cpu", intra_threads=THREADS, inter_threads=1,
        compute_type="float32")

    def translate(sources, beam, n_tokens):
        found = translator.translate_batch(
            [[tokens[id] for id in source] for source in sources], beam_size=beam,
            max_decoding_length=n_tokens, max_batch_size=0, length_penalty=1.0)
        return [result.hypotheses[0] for result in found]

    return translate


def main():
    if len(sys.argv) != 5 or sys.argv[2] not in PRESETS:
        raise SystemExit(__doc__)
    peer, preset, runs, duration = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(THREADS)
    say(backend=peer, threads=THREADS)
    if peer == "ctranslate2":
        with tempfile.TemporaryDirectory() as folder:
            decode(ctranslate2(preset, Path(folder)), runs, duration)
    elif peer in ("pytorch", "pytorch-compile"):
        if peer == "pytorch":
            decode(hugging_face(preset), runs, duration)
        train(preset, runs, duration, compiled=peer == "pytorch-compile")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
