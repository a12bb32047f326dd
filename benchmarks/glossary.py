#!/usr/bin/env python3
"""Measures translation with a glossary: the share of terms that are met, BLEU and the time, with and without it.

    python3 benchmarks/glossary.py PROGRAM MODEL SRC REF [--terms 50] [--beams 1,4]

PROGRAM is `transformer-infer`, MODEL a model directory, SRC and REF a test set, plain or gzip, for example
Multi30k's test_2016_flickr.en.gz and .de.gz. The glossary is drawn from the test set itself: the pairs of a
source word and a word of the reference that occur together in most of the sentences that have either (Dice
coefficient of at least 0.5, in at least 5 sentences, words of at least 4 letters, each in one pair). So a
term asks for a word that most references have, and for the wrong form of it where the reference inflects.
"""

import argparse
import collections
import gzip
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORD = re.compile(r"\w+")


def lines(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def draw_terms(src, ref, n_terms):
    counts = [collections.Counter(), collections.Counter()]
    together = collections.Counter()
    for pair in zip(src, ref):
        words = [{w for w in WORD.findall(line)[1:] if len(w) >= 4} for line in pair]
        for side in (0, 1):
            counts[side].update(words[side])
        together.update((a, b) for a in words[0] for b in words[1])

    def dice(pair):
        return 2 * together[pair] / (counts[0][pair[0]] + counts[1][pair[1]])

    likely = [pair for pair, n in together.items() if n >= 5 and dice(pair) >= 0.5]
    likely.sort(key=lambda pair: (-dice(pair), pair))
    terms = {}
    for a, b in likely:
        if a not in terms and b not in terms.values() and len(terms) < n_terms:
            terms[a] = b
    return terms


def has(text, word):
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text))


def run(program, model, beam, src, ref, out, terms):
    command = [program, "evaluate", "--model", model, "--src", src, "--ref", ref, "--beam", str(beam)]
    command += ["--out", out] + (["--terms", terms] if terms else [])
    start = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    bleu = re.search(r"^BLEU.*? = ([\d.]+) ", done.stdout, re.MULTILINE)
    return lines(out), bleu.group(1), time.monotonic() - start, done.stderr


def bleu_of(program, folder, hypotheses, ref, chosen):
    for name, texts in (("hyp", hypotheses), ("ref", ref)):
        (folder / name).write_text("".join(f"{texts[n]}\n" for n in chosen), encoding="utf-8")
    command = [program, "bleu", "--hyp", folder / "hyp", "--ref", folder / "ref"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return re.search(r"^BLEU.*? = ([\d.]+) ", done.stdout, re.MULTILINE).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("src", type=Path)
    parser.add_argument("ref", type=Path)
    parser.add_argument("--terms", type=int, default=50)
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--show", type=int, default=0, help="print this many sentences that the glossary changed")
    args = parser.parse_args()
    src, ref = lines(args.src), lines(args.ref)
    terms = draw_terms(src, ref, args.terms)
    occurrences = [(n, b) for n, line in enumerate(src) for a, b in terms.items() for _ in range(has(line, a))]
    agrees = {n for n, _ in occurrences} - {n for n, b in occurrences if not has(ref[n], b)}
    in_reference = sum(has(ref[n], b) > 0 for n, b in occurrences)
    print(f"{len(terms)} terms, {len(occurrences)} occurrences in {len({n for n, _ in occurrences})} of {len(src)}"
          f" sentences; {in_reference} of the references have the term, in {len(agrees)} sentences all terms")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        glossary = folder / "terms.tsv"
        glossary.write_text("".join(f"{a}\t{b}\n" for a, b in terms.items()), encoding="utf-8")
        for beam in args.beams.split(","):
            outputs = []
            for name, path in (("without", None), ("with", glossary)):
                output = run(args.program, args.model, beam, args.src, args.ref, folder / name, path)
                outputs.append(output[0])
                met = sum(has(output[0][n], b) > 0 for n, b in occurrences)
                print(f"beam {beam} {name:8}{met}/{len(occurrences)} met ({100 * met / len(occurrences):.1f} %), "
                      f"BLEU {output[1]}, where the reference has all terms "
                      f"{bleu_of(args.program, folder, output[0], ref, sorted(agrees))}, {output[2]:.1f} s")
                if path:
                    print("   " + "\n   ".join(output[3].splitlines()[1:]))
            changed = [n for n in range(len(src)) if outputs[0][n] != outputs[1][n]]
            print(f"   {len(changed)} sentences changed")
            for n in changed[: args.show]:
                required = [b for m, b in occurrences if m == n]
                print(f"\n   {src[n]}\n   {required}\n   {ref[n]}\n - {outputs[0][n]}\n + {outputs[1][n]}")


if __name__ == "__main__":
    sys.exit(main())
