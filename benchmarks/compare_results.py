#!/usr/bin/env python3
"""Compares the results of two builds of the programs bit by bit: weights, optimizer, scores, translations.

    python3 benchmarks/compare_results.py BEFORE AFTER MULTI30K [--out DIR]

BEFORE and AFTER are folders with the programs `transformer-train` and `transformer-infer`, for example
`target/debug` of two checkouts. MULTI30K is the folder of the Multi30k files.

Each build trains 200 updates of three runs on two threads: the built-in task; the preset `tiny` on 2,000
pairs; and a pre-norm model with BPE-dropout, gradient accumulation, an exponential moving average, clipping
and weight decay. Each then translates 1,000 sentences greedily and with a beam of 4 (scores and 2-best), and
scores 1,000 given pairs. Compared are all tensors of all checkpoints (optimizer included) and of the model
directories, the tokenizers, the metrics and every line of output. Burn's parameter ids are random and the
speed is a measurement, so these two are left out. The exit status is 1 if anything differs. DIR keeps the
files, and a result that is already there is not computed again.
"""

import argparse
import gzip
import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path

N_PAIRS = 2000
SECOND_RUN = """
[tokenizer]
kind = "bpe"
vocab_size = 2000
dropout = 0.1

[model]
preset = "tiny"
attention_dropout = 0.1
norm_placement = "pre"
final_norm = true

[training]
accumulate = 2
tokens_per_batch = 1000
ema_decay = 0.99
clip_norm = 1.0
weight_decay = 0.01
warmup_steps = 100
validation_interval = 50
"""
MEASURED = ("Target tokens/s", "Waiting")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("multi30k", type=Path)
    parser.add_argument("--out", type=Path, default=Path("compare-results"))
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    write_data(arguments.multi30k, out)
    before = results(arguments.before.resolve(), out, "before")
    after = results(arguments.after.resolve(), out, "after")
    differ = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in differ[:40]:
        print(f"differs: {name}")
    print(f"{len(before.keys() | after.keys())} results, {len(differ)} of them differ")
    sys.exit(1 if differ or not before else 0)


def write_data(multi30k, out):
    """Writes the first pairs to train on, the validation pairs and the test sentences."""
    for side in ("en", "de"):
        for split, n_lines in (("train", N_PAIRS), ("val", None), ("test_2016_flickr", 1000)):
            lines = gzip.open(multi30k / f"{split}.{side}.gz").read().splitlines(keepends=True)
            (out / f"{split}.{side}").write_bytes(b"".join(lines[:n_lines]))
    (out / "second.toml").write_text(SECOND_RUN)


def results(programs, out, name):
    """Runs one build, unless it was run before, and returns a hash for each result."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    pairs = ["--src", "train.en", "--tgt", "train.de", "--valid-src", "val.en", "--valid-tgt", "val.de"]
    few = ["--set", "validation.max_sentences=100"]
    interval = ["--set", "training.validation_interval=100"]
    tiny = ["--preset", "tiny", "--set", "training.tokens_per_batch=2000"]
    train(programs, out, folder / "task", interval)
    train(programs, out, folder / "tiny", tiny + pairs + interval + few)
    train(programs, out, folder / "second", ["--config", "second.toml"] + pairs + few)
    found = {}
    for model in ("tiny", "second"):
        infer(programs, out, folder, model, "greedy", ["--beam", "1", "--scores"])
        infer(programs, out, folder, model, "beam", ["--beam", "4", "--n-best", "2", "--scores"])
        infer(programs, out, folder, model, "scores", None)
    for path in sorted(folder.rglob("*")):
        label = str(path.relative_to(folder))
        if path.suffix == ".bpk":
            found.update({f"{label} {tensor}": value for tensor, value in tensors(path).items()})
        elif path.name == "metrics.csv":
            rows = [row for row in path.read_text().splitlines() if not any(it in row for it in MEASURED)]
            found[label] = digest("\n".join(rows).encode())
        elif path.name in ("tokenizer.json", "config.json", "samples.tsv") or path.suffix == ".out":
            found[label] = digest(path.read_bytes())
    return found


def train(programs, out, folder, arguments):
    if (folder / "model").exists():
        return
    always = ["--threads", "2", "--plain", "--seed", "7", "--updates", "200", "--out", str(folder)]
    run([programs / "transformer-train", *always, *arguments], out)


def infer(programs, out, folder, model, what, search):
    target = folder / f"{model}.{what}.out"
    if target.exists():
        return
    command = [programs / "transformer-infer", "translate" if search else "score", "--model", folder / model]
    if search:
        lines = (out / "test_2016_flickr.en").read_bytes()
        target.write_bytes(run(command + search, out, lines))
    else:
        pair = ["--src", "test_2016_flickr.en", "--tgt", "test_2016_flickr.de"]
        target.write_bytes(run(command + pair, out))


def run(command, folder, stdin=b""):
    environment = {key: value for key, value in os.environ.items() if key != "BURN_DEVICE"}
    done = subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stderr.decode()}")
    return done.stdout


def digest(content):
    return hashlib.sha256(content).hexdigest()


def tensors(path):
    """Returns a hash for each tensor of a burnpack file, with parameters named by the model and not by their ids."""
    metadata, data = burnpack(path)
    names = {}
    if path.name.startswith("optim-"):
        model, _ = burnpack(path.with_name(path.name.replace("optim-", "model-")))
        names = {str(entry["param_id"]): name for name, entry in model["tensors"].items()}
    found = {}
    for name, entry in metadata["tensors"].items():
        parameter, _, rest = name.partition(".")
        begin, end = entry["data_offsets"]
        shape = f"{entry['dtype']} {entry['shape']}".encode()
        found[f"{names.get(parameter, parameter)}.{rest}"] = digest(shape + data[begin:end])
    if len(found) != len(metadata["tensors"]):
        sys.exit(f"{path}: two tensors have one name")
    return found


def burnpack(path):
    """Reads a burnpack file: magic, version, length of the metadata, metadata in CBOR, aligned data."""
    content = path.read_bytes()
    magic, _, length = struct.unpack_from("<4sHI", content)
    if magic != b"NRUB":
        sys.exit(f"{path} is not a burnpack file")
    metadata, end = cbor(content, 10)
    if end != 10 + length:
        sys.exit(f"{path}: the metadata end at {end}, not at {10 + length}")
    last = max((entry["data_offsets"][1] for entry in metadata["tensors"].values()), default=0)
    return metadata, content[len(content) - last:] if last else b""


def cbor(content, at):
    """Decodes one CBOR value (RFC 8949); returns it and the offset behind it."""
    major, info = content[at] >> 5, content[at] & 31
    at += 1
    if major == 7 and info in (25, 26, 27):
        size = {25: ">e", 26: ">f", 27: ">d"}[info]
        return struct.unpack_from(size, content, at)[0], at + struct.calcsize(size)
    value = info
    if info >= 24:
        width = 1 << (info - 24)
        value = int.from_bytes(content[at:at + width], "big")
        at += width
    if major == 0:
        return value, at
    if major == 1:
        return -1 - value, at
    if major in (2, 3):
        text = content[at:at + value]
        return (text.decode() if major == 3 else text), at + value
    if major == 4:
        items = []
        for _ in range(value):
            item, at = cbor(content, at)
            items.append(item)
        return items, at
    if major == 5:
        items = {}
        for _ in range(value):
            key, at = cbor(content, at)
            items[key], at = cbor(content, at)
        return items, at
    if major == 7:
        return {20: False, 21: True, 22: None}[value], at
    sys.exit(f"CBOR of major type {major} is not read here")


if __name__ == "__main__":
    main()
