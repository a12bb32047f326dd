#!/usr/bin/env python3
"""Measures the memory of translation beside CTranslate2's and Hugging Face's, and what a decoder's cache saves.

The model and the sources are those of decoding_speed.py, which lies beside this script. Every program is a process
of its own, which reads the model from the disk and says itself the most memory that it ever held (VmHWM of
/proc/self/status, its interpreter and libraries included). Then ours runs with the decoder's cache and without it: every
step computes all tokens so far again.

    cargo build -p examples --example decoding_speed
    python decoding_memory.py --program target/debug/examples/decoding_speed

Needs what decoding_speed.py needs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "2"

LEN = 24


def most_memory():
    """Returns the most memory that this process held, in MiB."""
    status = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def child(program, folder, batch, beam):
    """Translates with one of the other programs, once, and prints its memory."""
    sources = json.loads((folder / "sources.json").read_text())
    if program == "transformers":
        import torch
        import transformers

        torch.set_num_threads(2)
        model = transformers.MarianMTModel.from_pretrained(folder / "hf").eval()
        with torch.inference_mode():
            for at in range(0, len(sources), batch):
                rows = torch.tensor([source + [3] for source in sources[at : at + batch]])
                model.generate(
                    rows, attention_mask=torch.ones_like(rows), num_beams=beam, do_sample=False,
                    max_new_tokens=LEN, length_penalty=1.0, early_stopping=False)
    else:
        import ctranslate2

        translator = ctranslate2.Translator(
            str(folder / "ct2"), device="cpu", intra_threads=2, inter_threads=1,
            compute_type=program.split()[1])
        tokens = json.loads((folder / "tokens.json").read_text())
        for at in range(0, len(sources), batch):
            lines = [[tokens[id] for id in source] for source in sources[at : at + batch]]
            translator.translate_batch(
                lines, beam_size=beam, max_decoding_length=LEN, max_batch_size=0, length_penalty=1.0)
    print(most_memory())


def make(folder, args):
    """Writes the model three times, and the sources."""
    import numpy

    import decoding_speed

    model = decoding_speed.marian(args)
    decoding_speed.write_ours(model, folder)
    model.save_pretrained(folder / "hf")
    (folder / "ct2").mkdir()
    tokens = decoding_speed.write_ctranslate2(model, folder / "ct2")
    (folder / "tokens.json").write_text(json.dumps(tokens))
    sources = numpy.random.default_rng(args.seed).integers(4, args.vocab, (args.batch, LEN)).tolist()
    (folder / "sources.json").write_text(json.dumps(sources))


def main():
    if sys.argv[1:2] == ["--child"]:
        program, folder, batch, beam = sys.argv[2:]
        return child(program, Path(folder), int(batch), int(beam))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--backend", default="flex")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--d-model", type=int, default=512)
    parser.add_argument("--vocab", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--runs", type=int, default=1, help="with and without the cache, after one to warm up")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    from decoding_speed import agreement, call_ours

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make(folder, args)
        print(f"most memory at batch {args.batch}, beam {args.beam}, in MiB")
        sources = folder / "sources.json"
        numbers = [args.batch, args.beam, 1, LEN]
        ours = call_ours(args.program, args.backend, folder, sources, *numbers)
        print(f"{'ours, ' + args.backend:24} {ours['most_memory_kib'] / 1024:6.0f}", flush=True)
        for program in ["ctranslate2 float32", "ctranslate2 int8", "transformers"]:
            called = [sys.executable, __file__, "--child", program, scratch, str(args.batch), str(args.beam)]
            done = subprocess.run(called, check=True, capture_output=True, text=True)
            print(f"{program:24} {float(done.stdout):6.0f}", flush=True)

        print("\nwith the decoder's cache and without, in seconds a batch")
        for beam, max_len in [(1, LEN // 2), (1, LEN), (1, 2 * LEN), (args.beam, LEN)]:
            numbers = [args.batch, beam, args.runs + 1, max_len]
            cached = call_ours(args.program, args.backend, folder, sources, *numbers)
            again = call_ours(args.program, args.backend, folder, sources, *numbers, "recompute")
            with_cache, without = (statistics.median(it["seconds"][1:]) for it in (cached, again))
            same = agreement(again["ids"], cached["ids"])
            print(f"beam {beam}, {max_len:3} tokens: {with_cache:6.2f} {without:6.2f}  "
                  f"{without / with_cache:.2f} times as long, {same:.0%} of the outputs the same", flush=True)


if __name__ == "__main__":
    main()
