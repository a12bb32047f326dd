#!/usr/bin/env python3
"""Makes a large parallel corpus of made-up words: source, tab, target on each line.

    python3 benchmarks/generate_pairs.py --pairs 10000000 > big.tsv

Words are drawn by Zipf's law from 50,000; the target has the words of the source in another spelling, last one
first. Sentences have 3 to 21 words. The same arguments give the same text.
"""

import argparse
import itertools
import random
import sys

SYLLABLES = [c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"]


def words(n, seed):
    """Returns n different words of two to four syllables."""
    rng = random.Random(seed)
    made = dict.fromkeys("".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(2 * n))
    return list(made)[:n]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, required=True, help="number of lines")
    parser.add_argument("--words", type=int, default=50_000, help="number of words on each side")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    src, tgt = words(arguments.words, 1), words(arguments.words, 2)
    n_words = min(len(src), len(tgt))
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(n_words)))
    rng = random.Random(arguments.seed)
    ranks = range(n_words)
    left = arguments.pairs
    while left > 0:
        n = min(left, 10_000)
        left -= n
        lengths = [3 + int(19 * rng.random()) for _ in range(n)]
        drawn = iter(rng.choices(ranks, cum_weights=weights, k=sum(lengths)))
        lines = []
        for length in lengths:
            sentence = list(itertools.islice(drawn, length))
            there = " ".join([src[word] for word in sentence])
            here = " ".join([tgt[word] for word in reversed(sentence)])
            lines.append(f"{there}\t{here}\n")
        sys.stdout.write("".join(lines))


if __name__ == "__main__":
    main()
