#!/usr/bin/env python3
"""Writes what Hugging Face's Transformers computes with a Marian model, for `import --check`.

    python marian_reference.py FOLDER reference.safetensors < lines.txt

Each line is translated greedily, and the logits along the way are kept. The file holds `src` and `tgt`
(`[n_sentences, len]`, Marian's ids, -1 behind the end) and `logits` (`[n_sentences, tgt_len, vocab]`, single
precision).

Needs torch 2.9.0, transformers 4.57.1, sentencepiece 0.2.1, safetensors 0.6.2.
"""

import argparse
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import MarianMTModel, MarianTokenizer

NOTHING = -1


def padded(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [NOTHING] * (width - len(row)) for row in rows])


def write(model, tokenizer, lines, path, most_tokens):
    """Writes the reference of some lines, with at most so many target tokens each."""
    sources, targets, logits = [], [], []
    with torch.inference_mode():
        for line in lines:
            src = tokenizer([line])["input_ids"]
            row = torch.tensor(src)
            tgt = model.generate(row, attention_mask=torch.ones_like(row), num_beams=1, do_sample=False,
                                 max_length=most_tokens)[:, :most_tokens]
            out = model(input_ids=row, attention_mask=torch.ones_like(row), decoder_input_ids=tgt)
            sources += src
            targets += tgt.tolist()
            logits.append(out.logits[0])
    longest = max(map(len, logits))
    filled = [torch.nn.functional.pad(one, (0, 0, 0, longest - len(one))) for one in logits]
    tensors = {"src": padded(sources), "tgt": padded(targets), "logits": torch.stack(filled)}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tokens", type=int, default=40, help="most target tokens of a line")
    args = parser.parse_args()
    model = MarianMTModel.from_pretrained(args.folder).eval()
    tokenizer = MarianTokenizer.from_pretrained(args.folder)
    lines = [line.rstrip("\n") for line in sys.stdin]
    write(model, tokenizer, lines, args.out, args.tokens)


if __name__ == "__main__":
    main()
