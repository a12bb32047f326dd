#!/usr/bin/env python3
"""Compares the speed of a model of Firefox Translations here and in fxtranslate's crate, in turns, in 8-bit integers.

    cargo build -p transformer-infer
    python benchmarks/firefox_speed.py --program target/debug/transformer-infer --model enpt-1693087644 --text en.txt

fxtranslate is built from its crate with its fastest kernel for x86-64 (AVX2), maps the file, and translates lines one by one
and 32 at a time, which is the faster of the sizes tried. Prints the median of the rounds: lines a second without the
start, milliseconds from the start to the first translation, and the largest memory. Needs a quiet machine.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from firefox_agreement import build_crate


def run(command, text):
    """Returns seconds and megabytes."""
    with tempfile.TemporaryFile() as source:
        source.write(text)
        source.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"error: {command[0]} failed")
        return time.perf_counter() - start, usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder of Firefox's files")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    text = args.text.read_bytes()
    n_lines, first = text.count(b"\n"), text[: text.index(b"\n") + 1]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        other = build_crate("AVX2", scratch)
        ours = scratch / "model"
        subprocess.run([args.program, "import", "--from", args.model, "--out", scratch / "f32"], check=True)
        subprocess.run(
            [args.program, "quantize", "--model", scratch / "f32", "--out", ours, "--precision", "int8"], check=True)
        paths = [next(args.model.glob(it)) for it in ("model.*.bin", "vocab.*.spm", "lex.*.bin")]
        commands = {}
        for threads in sorted({1, os.cpu_count()}):
            for name, flags, n in (("shortlist", [], 3), ("all tokens", ["--shortlist", "off"], 2)):
                here = [args.program, "translate", "--model", ours, "--beam", "1", "--threads", str(threads), *flags]
                commands[f"here, {threads} threads, {name}"] = here
                commands[f"fxtranslate, 32 lines, {threads} threads, {name}"] = [other, "32", str(threads), *paths[:n]]
                if threads == 1:
                    commands[f"here, one line at a time, {name}"] = [*here, "--batch-tokens", "1"]
                    commands[f"fxtranslate, one line at a time, {name}"] = [other, "1", "1", *paths[:n]]
        found = {name: [] for name in commands}
        for _ in range(args.rounds):
            for name, command in commands.items():
                start = min(run(command, first)[0] for _ in range(3))
                seconds, memory = run(command, text)
                found[name].append((n_lines / (seconds - start), 1000 * start, memory))
    print("| | lines/s | ms to the first | MB |\n|---|--:|--:|--:|")
    for name, rows in found.items():
        print(f"| {name} | " + " | ".join(f"{statistics.median(column):.0f}" for column in zip(*rows)) + " |")


if __name__ == "__main__":
    main()
