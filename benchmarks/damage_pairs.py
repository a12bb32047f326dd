#!/usr/bin/env python3
"""Damages a share of parallel lines in the ways that text from the web is damaged, to measure what cleaning is worth.

    python3 benchmarks/damage_pairs.py train.en.gz train.de.gz damaged.tsv [--share 0.3] [--seed 1]

The ways are: the source as its own translation, the sides exchanged, the translation of another line, half of the
translation, its first word twelve times, and UTF-8 read as Latin-1. Khayrallah and Koehn 2018, On the Impact of Various
Types of Noise on Neural Machine Translation (https://aclanthology.org/W18-2709/), did the like with other ways.
"""

import argparse
import gzip
import random
from pathlib import Path

WAYS = {
    "copied": lambda src, tgt, other: (src, src),
    "exchanged": lambda src, tgt, other: (tgt, src),
    "of another line": lambda src, tgt, other: (src, other),
    "cut": lambda src, tgt, other: (src, " ".join(tgt.split()[: len(tgt.split()) // 2])),
    "repeated": lambda src, tgt, other: (src, " ".join(tgt.split()[:1] * 12)),
    "misread": lambda src, tgt, other: (src, tgt.encode().decode("latin-1")),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("src", type=Path)
    parser.add_argument("tgt", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sides = [gzip.open(path, "rt", encoding="utf-8").read().split("\n") for path in (arguments.src, arguments.tgt)]
    pairs = [[side.replace("\t", " ") for side in pair] for pair in zip(*sides, strict=True) if all(pair)]
    chance = random.Random(arguments.seed)
    damaged = 0
    with open(arguments.out, "w", encoding="utf-8") as file:
        for src, tgt in pairs:
            if chance.random() < arguments.share:
                other = chance.choice(pairs)[1]
                ways = [way(src, tgt, other) for way in WAYS.values()]
                src, tgt = chance.choice([pair for pair in ways if pair != (src, tgt) and all(pair)])
                damaged += 1
            print(src, tgt, sep="\t", file=file)
    print(f"{damaged} of {len(pairs)} pairs are damaged")


if __name__ == "__main__":
    main()
