#!/usr/bin/env python3
"""Compares the speed of training with PyTorch's at the best of its settings, in one run, in turns.

    cargo build -p examples --example bench_backend
    python training_speed.py [--presets tiny,c-d256,base] [--rounds 5] [--seconds 8]

An update has 32 sentences of 32 tokens on both sides, as in `bench_peers.py`, whose model and update of PyTorch this
uses. Settings: one thread; a thread for each core; a process for each core with one thread and a part of the sentences,
whose gradients are averaged (DistributedDataParallel, gloo), or for ours summed over threads of one process, as always.
PyTorch is eager, and with --compile compiled, too. Target tokens a second, medians over the rounds; the ratio is that
to the fastest setting of PyTorch's. Linux only. Needs what `bench_peers.txt` lists.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

CORES = sorted(os.sched_getaffinity(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=Path("target/debug/examples/bench_backend"))
    parser.add_argument("--presets", default="tiny,c-d256,base")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--compile", action="store_true", help="measure torch.compile, too")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        peer, preset, n_processes, seconds = arguments.child
        return child(peer, preset, int(n_processes), float(seconds))
    several = len(CORES)
    print("preset | program | processes × threads | tokens/s | of each round")
    for preset in arguments.presets.split(","):
        settings = {("ours", 1, 1): [], ("ours", 1, several): []}
        peers = ["pytorch", "pytorch-compile"] if arguments.compile else ["pytorch"]
        for peer in peers:
            settings |= {(peer, 1, 1): [], (peer, 1, several): []}
        settings["pytorch", several, 1] = []
        for _ in range(arguments.rounds):
            for setting, speeds in settings.items():
                speeds.append(measure(arguments, preset, *setting))
        medians = {setting: statistics.median(speeds) for setting, speeds in settings.items()}
        for (program, processes, threads), speeds in settings.items():
            rounds = ", ".join(f"{speed:.0f}" for speed in speeds)
            median = medians[program, processes, threads]
            print(f"{preset} | {program} | {processes} × {threads} | {median:.0f} | {rounds}", flush=True)
        ours = max(speed for (program, *_), speed in medians.items() if program == "ours")
        theirs = max(speed for (program, *_), speed in medians.items() if program != "ours")
        print(f"{preset} | ours/theirs at best | | {ours / theirs:.2f} |", flush=True)


def measure(arguments, preset, program, n_processes, n_threads):
    """Returns the target tokens a second of one program with one setting."""
    cores = ",".join(map(str, CORES[: n_processes * n_threads]))
    if program == "ours":
        command = [arguments.program, preset, "1", str(arguments.seconds)]
    else:
        command = [sys.executable, __file__, "--child", program, preset, str(n_processes), str(arguments.seconds)]
    environment = os.environ | {"BURN_DEVICE": "flex", "OMP_NUM_THREADS": str(n_threads)}
    process = subprocess.Popen(
        ["taskset", "-c", cores, *map(str, command)], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        for line in process.stdout:
            if line.startswith("{") and "training" in (figures := json.loads(line)):
                return figures["training"]["tokens_per_second"][0]
    finally:
        process.kill()  # the program would go on with translations
        process.wait()
    raise SystemExit(f"{program} said no speed")


def child(peer, preset, n_processes, seconds):
    if n_processes == 1:
        import bench_peers
        import torch

        torch.set_num_threads(bench_peers.THREADS)
        bench_peers.train(peer, preset, 1, seconds)
        return
    import torch

    torch.multiprocessing.spawn(one_of_several, (n_processes, preset, seconds), nprocs=n_processes)


def one_of_several(rank, n_processes, preset, seconds):
    """Trains on a part of the sentences of each update."""
    import time

    import bench_peers
    import multi30k_pytorch
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=n_processes)
    sizes = bench_peers.PRESETS[preset]
    model = multi30k_pytorch.Transformer(sizes, bench_peers.VOCAB)
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    n = bench_peers.SENTENCES
    pairs = list(zip(bench_peers.sentences(n, 1), bench_peers.sentences(n, 2)))[rank::n_processes]
    src, tgt, gold = multi30k_pytorch.tensors(pairs)
    labels = n * (bench_peers.LEN + 1)

    def update():
        loss = multi30k_pytorch.smoothed_sum(model, src, tgt, gold, 0.1) * n_processes / labels
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        optimizer.step()

    update()
    update()
    n_updates, started = 0, time.perf_counter()
    go_on = torch.ones(1)
    while go_on.item():
        update()
        n_updates += 1
        if n_updates % 4 == 0:  # all processes end together
            go_on.fill_(time.perf_counter() - started < seconds)
            torch.distributed.broadcast(go_on, 0)
    mean = (time.perf_counter() - started) / n_updates
    if rank == 0:
        bench_peers.say(training={"labels": labels, "tokens_per_second": [labels / mean]})
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
