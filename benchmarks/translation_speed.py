#!/usr/bin/env python3
"""Compares the speed of translation with CTranslate2's at the best of its settings, in one run, in turns.

    cargo build -p transformer-infer -p examples --bins --example decoding_speed
    python3 benchmarks/translation_speed.py --model MODEL --text TEXT [--length 24] [--rounds 5] [--out FILE]

MODEL is a model directory with a joint vocabulary, TEXT a file of lines, plain or gzip. Both programs get the
same weights (`transformer-infer export`) and translate the same token ids, in float32 and in int8, greedily and with a
beam of 4: sentences one after the other, 32 with one call, and all lines (at most 1000) with one call. With
--length every translation takes so many steps (ours has one token less, and the end); without, translations end where
the model ends them, and at 100 tokens at the latest.

CTranslate2 first translates 128 sentences at most with each sensible setting: one worker of one thread, one worker of
all threads, a worker for each core, and several batch sizes. The fastest counts, and takes turns with ours, which runs as users call it,
with its defaults. Speeds are tokens of the best hypotheses per second, medians over the rounds. Needs ctranslate2
(4.8.5 was used) and tokenizers. With --python, ours is `transformer_burn.ctranslate2` of the installed wheel
(`cargo xtask wheel`), which reads the same exported files.
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

import ctranslate2
from tokenizers import Tokenizer

MAX_LEN = 100
N_TO_CHOOSE = 128
TARGET = Path("target/debug")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--length", type=int, help="tokens of each translation")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precisions", default="f32,int8")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--calls", default="1,32,all", help="sentences of each call")
    parser.add_argument("--program", type=Path, default=TARGET / "examples/decoding_speed")
    parser.add_argument("--exporter", type=Path, default=TARGET / "transformer-infer")
    parser.add_argument("--python", action="store_true", help="compare with the wheel, not with the program")
    parser.add_argument("--out", type=Path, help="JSON file of all measurements")
    arguments = parser.parse_args()

    opened = gzip.open if arguments.text.suffix == ".gz" else open
    with opened(arguments.text, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file][: arguments.lines]
    tokenizer = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    encoded = [it.ids for it in tokenizer.encode_batch(lines, add_special_tokens=False)]
    encoded = [ids for ids in encoded if ids]
    measured = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        exported = scratch / "ctranslate2"
        command = [arguments.exporter, "export", "--model", arguments.model]
        command += ["--format", "ctranslate2", "--out", exported]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        tokens = json.loads((exported / "shared_vocabulary.json").read_text())
        print("precision | beam | sentences | CTranslate2 | its setting | ours | ratio | equal | MiB, both")
        for precision in arguments.precisions.split(","):
            for sources, n_together in cells(encoded, arguments.calls.split(",")):
                for beam in map(int, arguments.beams.split(",")):
                    cell = Cell(arguments, scratch, exported, tokens, precision, beam, sources, n_together)
                    measured.append(cell.measure(arguments.rounds))
    if arguments.out:
        arguments.out.write_text(json.dumps(measured, indent=1) + "\n")


def cells(encoded, calls):
    """Yields sources and the number of sentences of each call."""
    middle = sorted(encoded, key=len)[len(encoded) // 2 :][:8]
    of_calls = {"1": (middle, 1), "32": (encoded[:32], 32), "all": (encoded, len(encoded))}
    yield from (of_calls[call] for call in calls)


class Cell:
    """One precision, beam and number of sentences."""

    def __init__(self, arguments, scratch, exported, tokens, precision, beam, sources, n_together):
        self.precision, self.beam, self.n_together = precision, beam, n_together
        self.arguments, self.exported, self.tokens = arguments, exported, tokens
        self.ids = {token: id for id, token in enumerate(tokens)}
        self.sources = sources
        self.lines = [[tokens[id] for id in source] for source in sources]
        self.file = scratch / "sources.json"
        self.file.write_text(json.dumps(sources))

    def measure(self, rounds):
        n_cores = len(os.sched_getaffinity(0))
        settings = [
            (workers, threads, batch)
            for workers, threads in sorted({(1, 1), (1, n_cores), (n_cores, 1)})
            for batch in self.batch_sizes(workers)
        ]
        # A part of many sentences is enough to choose.
        speeds = {setting: self.ctranslate2(setting, N_TO_CHOOSE)[0] for setting in settings}
        best = max(speeds, key=speeds.get)
        theirs, ours = [], []
        for _ in range(rounds):
            speed, their_ids, their_memory = self.ctranslate2(best)
            theirs.append(speed)
            speed, our_ids, our_memory = self.ours()
            ours.append(speed)
        # A forced length counts the end in ours, and not in theirs.
        length = self.arguments.length and self.arguments.length - 1
        equal = sum(a[:length] == b for a, b in zip(their_ids, our_ids)) / len(our_ids)
        ratio = statistics.median(ours) / statistics.median(theirs)
        workers, threads, batch = best
        print(
            f"{self.precision} | {self.beam} | {self.n_together} | {statistics.median(theirs):.0f} | "
            f"{workers}×{threads} threads, batch {batch} | {statistics.median(ours):.0f} | {ratio:.2f} | "
            f"{equal:.1%} | {their_memory}, {our_memory}",
            flush=True,
        )
        return {
            "precision": self.precision, "beam": self.beam, "sentences": self.n_together,
            "setting": best, "ctranslate2": theirs, "ours": ours, "equal": equal,
            "all_settings": [[*setting, speed] for setting, speed in speeds.items()],
        }

    def batch_sizes(self, workers):
        if self.n_together == 1:
            return [1] if workers == 1 else []  # a single sentence keeps one worker busy
        if self.n_together == 32:
            return [32 // workers]
        return [32, 64]

    def ctranslate2(self, setting, most_lines=None):
        return self.fork(ctranslate2, setting, most_lines)

    def fork(self, module, setting, most_lines=None):
        """Returns the speed, the ids and the memory of a process of its own, after a warm-up."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, json.dumps(self.run(module, *setting, most_lines)).encode() + b"\n")
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            found = json.loads(pipe.read())
        os.waitpid(child, 0)
        return found

    def run(self, module, workers, threads, batch, most_lines):
        translator = module.Translator(
            str(self.exported), inter_threads=workers, intra_threads=threads,
            compute_type={"f32": "float32", "int8": "int8"}[self.precision],
        )
        length = self.arguments.length
        limits = {"max_decoding_length": length or MAX_LEN, "min_decoding_length": length or 1}
        options = {"beam_size": self.beam, "length_penalty": 1.0, "disable_unk": True, **limits}

        def translate(lines):
            if self.n_together == 1:
                return [translator.translate_batch([line], **options)[0] for line in lines]
            return translator.translate_batch(lines, max_batch_size=batch, **options)

        translate(self.lines[:32])  # warm-up
        started = time.perf_counter()
        found = translate(self.lines[:most_lines])
        seconds = time.perf_counter() - started
        ids = [[self.ids[token] for token in result.hypotheses[0]] for result in found]
        return sum(map(len, ids)) / seconds, ids, peak_memory()

    def ours(self):
        if self.arguments.python:
            from transformer_burn import ctranslate2 as module

            return self.fork(module, (1, 0, 0))  # the defaults: one worker, all threads
        length = self.arguments.length
        command = [self.arguments.program, self.arguments.model, self.file, str(self.n_together)]
        # The first run of a short measurement is the warm-up.
        runs = "2" if self.n_together <= 32 else "1"
        command += [str(self.beam), runs, str(-length if length else MAX_LEN)]
        environment = {**os.environ, "PRECISION": self.precision, "BURN_DEVICE": "flex"}
        done = subprocess.run(command, env=environment, check=True, capture_output=True)
        found = json.loads(done.stdout)
        n_tokens = sum(map(len, found["ids"]))
        return n_tokens / found["seconds"][-1], found["ids"], found["most_memory_kib"] // 1024


def peak_memory():
    """Returns the peak memory of this process in MiB."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
