#!/usr/bin/env python3
"""Prepares two targets for one model from Multi30k, and checks that the model writes the one that its tag requests.

    python tagged.py prepare DATA FOLDER        # DATA has train, val and test_2016_flickr, as .en.gz and .de.gz
    transformer-train --config FOLDER/tagged.toml --out FOLDER/run
    python tagged.py check FOLDER PROGRAM       # PROGRAM is transformer-infer

The targets are German (`<2de>`) and German with its words in reverse order (`<2reversed>`), so that both have the same
words, and only the tag decides. `check` translates the test set with either tag, prints sacreBLEU's score, and counts
the translations that obey, by two rules that know nothing of the model: BLEU of the sentence is higher with the
reference that the tag requests than with the other one; and the full stop is at the end of the sentence, or of its first
word. BLEU decides nothing about a translation that shares no pair of words with either reference. Needs sacrebleu.
"""

import gzip
import subprocess
import sys
from pathlib import Path

TAGS = ["<2de>", "<2reversed>"]

CORPUS = """
[[data.corpora]]
src = "{data}/train.en.gz"
tgt = "{tgt}"
tag = "{tag}"
valid_src = "{data}/val.en.gz"
valid_tgt = "{valid}"
"""

SETTINGS = """
[model]
preset = "tiny"
n_encoder_layers = 2
n_decoder_layers = 2

[tokenizer]
vocab_size = 5000

[training]
updates = {updates}
tokens_per_batch = 4096
warmup_steps = 400
learning_rate_factor = 0.6
validation_interval = 150
average_last = 2

[validation]
max_sentences = 60
"""


def read(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().splitlines()


def in_reverse(line):
    return " ".join(reversed(line.split()))


def prepare(data, folder, updates="1500"):
    data, folder = Path(data).resolve(), Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = ""
    for tag in TAGS:
        files = {}
        for part in ["train", "val"]:
            files[part] = data / f"{part}.de.gz"
            if tag == "<2reversed>":
                lines = [in_reverse(line) for line in read(files[part])]
                files[part] = folder / f"{part}.reversed.gz"
                with gzip.open(files[part], "wt", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
        settings += CORPUS.format(data=data, tgt=files["train"], tag=tag, valid=files["val"])
    (folder / "tagged.toml").write_text(settings + SETTINGS.format(updates=updates))
    for side in ["en", "de"]:
        lines = read(data / f"test_2016_flickr.{side}.gz")
        (folder / f"test.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def full_stop_obeys(tag, line):
    words = line.split()
    if tag == "<2de>":
        return line.endswith(".")
    return bool(words) and words[0].endswith(".") and not line.endswith(".")


def check(folder, program):
    import sacrebleu

    folder = Path(folder)
    sources = (folder / "test.en").read_text(encoding="utf-8").splitlines()
    german = (folder / "test.de").read_text(encoding="utf-8").splitlines()
    references = {"<2de>": german, "<2reversed>": [in_reverse(line) for line in german]}
    for tag in TAGS:
        (other,) = set(TAGS) - {tag}
        lines = "".join(f"{tag} {line}\n" for line in sources)
        command = [program, "translate", "--model", str(folder / "run"), "--beam", "4"]
        done = subprocess.run(command, input=lines, text=True, capture_output=True, check=True, encoding="utf-8")
        translations = done.stdout.splitlines()
        assert len(translations) == len(sources), (len(translations), len(sources))
        (folder / f"translations.{tag[2:-1]}").write_text(done.stdout, encoding="utf-8")
        bleu = sacrebleu.corpus_bleu(translations, [references[tag]])
        of_other = sacrebleu.corpus_bleu(translations, [references[other]])

        def score(line, tag, number):
            return sacrebleu.sentence_bleu(line, [references[tag][number]]).score

        numbered = list(enumerate(translations))
        gains = [score(line, tag, number) - score(line, other, number) for number, line in numbered]
        nearer, farther = sum(gain > 1e-9 for gain in gains), sum(gain < -1e-9 for gain in gains)
        # A reference without a full stop where the tag wants it says nothing.
        by_stop = [(n, line) for n, line in numbered if full_stop_obeys(tag, references[tag][n])]
        stops = sum(full_stop_obeys(tag, line) for _, line in by_stop)
        print(f"{tag}: BLEU {bleu.score:.1f}, {of_other.score:.1f} with the other reference")
        undecided = len(gains) - nearer - farther
        print(f"  nearer to the requested reference: {nearer}, to the other: {farther}, undecided: {undecided}")
        print(f"  full stop as requested: {stops} of {len(by_stop)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["prepare"]:
        prepare(*sys.argv[2:])
    elif sys.argv[1:2] == ["check"]:
        check(*sys.argv[2:])
    else:
        sys.exit(__doc__)
