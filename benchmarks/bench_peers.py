#!/usr/bin/env python3
"""Measures PyTorch or CTranslate2 as `cargo xtask bench-backends --peers PYTHON` measures the backends.

    python bench_peers.py PEER tiny|c-d256|base|big RUNS SECONDS
    python bench_peers.py check

PEER is `pytorch` (eager, as a careful user writes it), `pytorch-bf16` (forward and loss under autocast to bfloat16),
`pytorch-compile` or `ctranslate2`, on the CPU, or one of

    pytorch-gpu           on an NVIDIA GPU, in float32, products too (TF32 is off)
    pytorch-gpu-tf32      products round their factors to TF32, as Burn's do on CUDA
    pytorch-gpu-bf16      forward and loss under autocast to bfloat16
    pytorch-compile-gpu   as pytorch-gpu, compiled
    ctranslate2-gpu       float32

Prints figures as `examples/bench_backend` does: lines of JSON, the same names, the same work: updates of 32
sentences of 32 tokens on both sides, vocabularies of 8000, and translations of 24 tokens. Training is that
of `multi30k_pytorch.py`, on tensors that are made before, and every update is waited for. Translation is Hugging
Face's `generate` (for `pytorch`, `pytorch-gpu` and `pytorch-gpu-tf32`) and CTranslate2, both with the Marian-shaped
model of `decoding_speed.py`; for `tiny` it is post-norm, without the two final normalizations of ours. On the CPU it
is as many threads as this process may use cores. The process's memory is
not measured: all three libraries are in it. A GPU's is, as what is taken of all NVIDIA GPUs more than before.
`check` prints which peers cannot be measured here, and why. Needs what `bench_peers.txt` lists.
"""

import contextlib
import json
import os
import statistics
import subprocess
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

PEERS = [
    "pytorch", "pytorch-bf16", "pytorch-compile", "ctranslate2",
    "pytorch-gpu", "pytorch-gpu-tf32", "pytorch-gpu-bf16", "pytorch-compile-gpu", "ctranslate2-gpu",
]
TRANSLATING = ["pytorch", "pytorch-gpu", "pytorch-gpu-tf32", "ctranslate2", "ctranslate2-gpu"]

VOCAB, LEN, SENTENCES = 8000, 31, 32
PRESETS = {
    "tiny": Namespace(d_model=128, d_ff=256, n_heads=4, n_layers=4, dropout=0.2, norm="pre"),
    "c-d256": Namespace(d_model=256, d_ff=2048, n_heads=8, n_layers=6, dropout=0.1, norm="post"),
    "base": Namespace(d_model=512, d_ff=2048, n_heads=8, n_layers=6, dropout=0.1, norm="post"),
    "big": Namespace(d_model=1024, d_ff=4096, n_heads=16, n_layers=6, dropout=0.3, norm="post"),
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


def device_of(peer):
    return "cuda" if "gpu" in peer.split("-") else "cpu"


def gpu_memory():
    """Returns the MiB that all programs hold of all NVIDIA GPUs, or `None` if nobody says."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        numbers = list(map(float, told.stdout.splitlines()))
        return sum(numbers) if numbers else None
    except (OSError, ValueError):
        return None


def train(peer, preset, runs, duration):
    """Measures updates, and the parts of an update; returns the seconds of the first two."""
    torch.manual_seed(1)
    device = device_of(peer)
    model = multi30k_pytorch.Transformer(PRESETS[preset], VOCAB).to(device)
    forward = torch.compile(model) if "compile" in peer else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    batch = list(zip(sentences(SENTENCES, 1), sentences(SENTENCES, 2)))
    src, tgt, gold = (tensor.to(device) for tensor in multi30k_pytorch.tensors(batch))
    labels = SENTENCES * (LEN + 1)
    bf16 = peer.endswith("bf16")
    precision = torch.autocast(device, torch.bfloat16) if bf16 else contextlib.nullcontext()
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def update(between=lambda: None):
        with precision:
            loss = multi30k_pytorch.smoothed_sum(forward, src, tgt, gold, 0.1) / labels
        between()
        optimizer.zero_grad()
        loss.backward()
        between()
        torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])  # as every update of ours
        optimizer.step()
        wait()

    parts = []

    def update_in_parts():
        times = [time.perf_counter()]

        def end_part():
            wait()
            times.append(time.perf_counter())

        update(end_part)
        end_part()
        parts.append([end - start for start, end in zip(times, times[1:])])

    start = time.perf_counter()
    update()
    first = time.perf_counter() - start
    say(first_update_s=first, parameters=sum(p.numel() for p in model.parameters()))
    update()
    first_two = time.perf_counter() - start
    speeds = [labels / mean for mean in seconds(runs, duration, update)]
    say(training={"labels": labels, "tokens_per_second": speeds})
    seconds(runs, duration, update_in_parts)
    forward_s, backward_s, optimizer_s = map(statistics.median, zip(*parts))
    say(parts={"forward_s": [forward_s], "backward_s": [backward_s], "optimizer_s": [optimizer_s]})
    return first_two


def marian(preset):
    sizes = PRESETS[preset]
    return decoding_speed.marian(
        Namespace(seed=1, vocab=VOCAB, d_model=sizes.d_model, layers=sizes.n_layers),
        sizes.n_heads, sizes.d_ff)


def decode(translate, runs, duration):
    """Measures translation; `translate(sources, beam, n_tokens)` gives the tokens of each.

    Returns the seconds of the first translations.
    """
    warm_up = 0.0
    for batch in (1, 32, 1000):
        for beam in (1, 4):
            sources = sentences(batch, 1)
            start = time.perf_counter()
            lengths = {len(ids) for ids in translate(sources, beam, 24)}
            warm_up += time.perf_counter() - start
            assert lengths == {24}, f"translations have {lengths} tokens"
            first = seconds(runs, duration, lambda: translate(sources, beam, 1))
            whole = seconds(runs, duration, lambda: translate(sources, beam, 24))
            say(decoding=[{
                "batch": batch, "beam": beam,
                "tokens_per_second": [24 * batch / mean for mean in whole],
                "first_token_ms": [1e3 * mean for mean in first]}])
    return warm_up


def hugging_face(preset, device):
    model = marian(preset).to(device)

    @torch.inference_mode()
    def translate(sources, beam, n_tokens):
        ids = [source + [decoding_speed.EOS] for source in sources]
        rows = torch.tensor(ids, device=device)
        found = model.generate(
            rows, attention_mask=torch.ones_like(rows), num_beams=beam, do_sample=False,
            max_new_tokens=n_tokens, length_penalty=1.0, early_stopping=False)
        return found[:, 1:].tolist()

    return translate


def ctranslate2(preset, device, folder):
    import ctranslate2 as program
    tokens = decoding_speed.write_ctranslate2(marian(preset), folder)
    # Workers and threads of each; on a GPU one worker. The fastest translates each shape.
    settings = [(1, 1), (1, THREADS), (THREADS, 1)] if device == "cpu" else [(1, 1)]
    translators = {
        (workers, threads): program.Translator(
            str(folder), device=device, intra_threads=threads, inter_threads=workers,
            compute_type="float32")
        for workers, threads in sorted(set(settings))
    }
    fastest = {}

    def with_setting(setting, lines, beam, n_tokens):
        batch = max(1, min(64, len(lines) // setting[0]))
        return translators[setting].translate_batch(
            lines, beam_size=beam, max_decoding_length=n_tokens, max_batch_size=batch,
            length_penalty=1.0)

    def seconds(setting, *arguments):
        started = time.perf_counter()
        with_setting(setting, *arguments)
        return time.perf_counter() - started

    def translate(sources, beam, n_tokens):
        lines = [[tokens[id] for id in source] for source in sources]
        shape = (len(lines), beam, n_tokens)
        if shape not in fastest:
            with_setting((1, 1), lines, beam, n_tokens)  # warm-up
            times = {setting: seconds(setting, lines, beam, n_tokens) for setting in translators}
            fastest[shape] = min(times, key=times.get)
        found = with_setting(fastest[shape], lines, beam, n_tokens)
        return [result.hypotheses[0] for result in found]

    return translate


def missing():
    """Returns why the peers that cannot be measured here cannot."""
    why = {}
    if not torch.cuda.is_available():
        reason = f"torch {torch.__version__} sees no CUDA device"
        why |= {peer: reason for peer in PEERS if device_of(peer) == "cuda"}
    try:
        import ctranslate2 as program
    except (ImportError, OSError) as error:
        why |= {peer: str(error) for peer in PEERS if peer.startswith("ctranslate2")}
    else:
        if not program.get_cuda_device_count():
            why.setdefault("ctranslate2-gpu", "CTranslate2 sees no CUDA device")
    return why


def measure(peer, preset, runs, duration):
    """Prints all figures of a peer."""
    device = device_of(peer)
    is_gpu = device == "cuda"
    before = gpu_memory() if is_gpu else None  # CUDA is not begun yet
    torch.set_num_threads(THREADS)
    if is_gpu:
        torch.set_float32_matmul_precision("high" if peer.endswith("tf32") else "highest")
    name = torch.cuda.get_device_name() if is_gpu else "cpu"
    say(backend=peer, device=name, threads=1 if is_gpu else THREADS)

    def tell_memory():
        if before is not None and (after := gpu_memory()) is not None:
            say(gpu_memory_mib=after - before)

    warm_up = 0.0
    if peer.startswith("pytorch"):
        warm_up += train(peer, preset, runs, duration)
        tell_memory()
    if peer in TRANSLATING:
        with tempfile.TemporaryDirectory() as folder:
            if peer.startswith("ctranslate2"):
                translate = ctranslate2(preset, device, Path(folder))
            else:
                translate = hugging_face(preset, device)
            warm_up += decode(translate, runs, duration)
            tell_memory()
    say(warm_up_s=warm_up)


def main():
    match sys.argv[1:]:
        case ["check"]:
            say(missing=missing())
        case [peer, preset, runs, duration] if peer in PEERS and preset in PRESETS:
            measure(peer, preset, int(runs), float(duration))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
