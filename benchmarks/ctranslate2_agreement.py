#!/usr/bin/env python3
"""Counts for how many lines CTranslate2 finds, with an exported model, what this project finds.

    cargo build -p transformer-infer
    python benchmarks/ctranslate2_agreement.py --program target/debug/transformer-infer --model MODEL --text test.en.gz

exports the model for CTranslate2; with --convert a post-norm model goes out as Hugging Face's Transformers has Marian's, and
CTranslate2's own converter does the rest. Tokens come from the tokenizers that were exported with it, read by the
libraries they are made for. Both translate in single precision, greedily and with a beam, by CTranslate2's rules: the
probability of what is not written is shared out among the rest, and a beam ends with as many as it holds.

Needs ctranslate2 4.8.5, tokenizers, sentencepiece 0.2.1; with --convert torch 2.9.0 and transformers 4.57.1.
"""

import argparse
import gzip
import json
import re
import subprocess
import tempfile
from pathlib import Path

import ctranslate2


def tokenizer_of(folder):
    """Returns how a line becomes tokens, and tokens a line."""
    if (folder / "source.spm").exists():
        import sentencepiece

        src, tgt = (sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm")) for side in ("source", "target"))

        def encode(line):
            tag = re.match(">>.+<<", line)  # of a language, one token as in MarianTokenizer
            tag = tag.group(0) if tag else ""
            return [tag] * bool(tag) + src.encode(line[len(tag):], out_type=str)

        return encode, lambda tokens: tgt.decode(tokens).strip()  # as MarianTokenizer
    from tokenizers import Tokenizer

    joint = (folder / "tokenizer.json").exists()
    src, tgt = (Tokenizer.from_file(str(folder / ("tokenizer.json" if joint else f"{side}_tokenizer.json")))
                for side in ("src", "tgt"))
    return (lambda line: src.encode(line, add_special_tokens=False).tokens), lambda tokens: tgt.decode([tgt.token_to_id(token) for token in tokens])


def config_of(model):
    """Finds the config of a model directory, or of the model in the folder of a run."""
    return next(path for path in (model / "config.json", model / "model" / "config.json") if path.exists())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="one sentence a line, plain or gzip")
    parser.add_argument("--convert", action="store_true", help="by way of Transformers' format")
    parser.add_argument("--max-len", type=int, default=60)
    args = parser.parse_args()
    read = gzip.open if args.text.suffix == ".gz" else open
    with read(args.text, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    lines = [line for line in lines if line.strip()]
    with tempfile.TemporaryDirectory() as scratch:
        folder = exported = Path(scratch) / "exported"
        if args.convert and json.loads(config_of(args.model).read_text())["norm_placement"] == "pre":
            parser.error("--convert needs a post-norm model: CTranslate2's converter of Pegasus starts from <pad>")
        form = "hf-marian" if args.convert else "ctranslate2"
        subprocess.run([args.program, "export", "--model", args.model, "--format", form, "--out", exported],
                       check=True, stdout=subprocess.DEVNULL)
        if args.convert:
            folder = Path(scratch) / "converted"
            ctranslate2.converters.TransformersConverter(str(exported)).convert(str(folder))
            added_end, suppressed = ["</s>"], None  # its converter leaves the end to the tokenizer
        else:
            added_end, suppressed = [], [["<pad>"], ["<s>"]]
            assert json.loads((folder / "config.json").read_text())["add_source_eos"]
        encode, decode = tokenizer_of(exported)
        translator = ctranslate2.Translator(str(folder), device="cpu", intra_threads=2, compute_type="float32")
        sources = [encode(line) + added_end for line in lines]
        for beam in (1, 4):
            ours = subprocess.run(
                [args.program, "translate", "--quiet", "--model", args.model, "--beam", str(beam),
                 "--max-len", str(args.max_len), "--at-limit", "compete", "--length-penalty", "power:1",
                 "--stop", "beam-finished", "--renormalize", "true"],
                input="".join(line + "\n" for line in lines), text=True, check=True, stdout=subprocess.PIPE).stdout
            results = translator.translate_batch(
                sources, beam_size=beam, min_decoding_length=0, max_decoding_length=args.max_len, length_penalty=1,
                disable_unk=True, suppress_sequences=suppressed)
            theirs = [decode(result.hypotheses[0]) for result in results]
            same = sum(a == b for a, b in zip(ours.split("\n"), theirs))
            print(f"beam {beam}: {same} of {len(lines)} lines are the same", flush=True)


if __name__ == "__main__":
    main()
