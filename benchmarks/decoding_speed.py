#!/usr/bin/env python3
"""Compares the speed of translation with CTranslate2's and Hugging Face's, on the same weights.

Makes a Marian-shaped model of the paper's base size (6+6 layers, 512 features, 2048 inner ones, vocabulary
10,000) with random weights, and the same sources for all: N sentences of 24 tokens. A bias keeps every
translation from ending before 24 tokens, so that each program does the same work. All run with two
threads in single precision, one after the other, each as often in a row as asked; the table has medians. On a machine
whose speed changes, compare only what differs by more than that. What the programs find is compared as well: a fast one that is wrong would show.

    cargo build -p examples --example decoding_speed
    python decoding_speed.py --program target/debug/examples/decoding_speed

Needs torch 2.9.0, transformers 4.57.1, ctranslate2 4.8.5, safetensors, numpy.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "2"

import numpy
import torch
import transformers
from safetensors.torch import save_file

PAD, UNK, BOS, EOS = range(4)
LEN = 24


def marian(args, n_heads=None, d_ff=None):
    """Makes the model: Marian's layers, with the special tokens where `transformer-core` has them.

    Heads have 64 features and inner layers 4 times the model's, unless their numbers are given.
    """
    n_heads, d_ff = n_heads or args.d_model // 64, d_ff or 4 * args.d_model
    torch.manual_seed(args.seed)
    config = transformers.MarianConfig(
        vocab_size=args.vocab,
        d_model=args.d_model,
        encoder_layers=args.layers,
        decoder_layers=args.layers,
        encoder_attention_heads=n_heads,
        decoder_attention_heads=n_heads,
        encoder_ffn_dim=d_ff,
        decoder_ffn_dim=d_ff,
        activation_function="relu",
        max_position_embeddings=512,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS,
    )
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name and parameter.dim() == 2:
                parameter.normal_(0, parameter.shape[1] ** -0.5)
        # No program may end a sentence, and none may write what the others never do.
        model.final_logits_bias[0, [PAD, UNK, BOS, EOS]] = -1e4
    return model


def write_ours(model, folder):
    """Writes the model as that of a `torch.nn.Transformer`."""
    state, config = model.state_dict(), model.config
    layer_names = {
        "self_attn_layer_norm": "norm1",
        "fc1": "linear1",
        "fc2": "linear2",
        "encoder_attn": "multihead_attn",
        "encoder_attn_layer_norm": "norm2",
    }
    tensors = {
        "src_embedding.weight": state["model.shared.weight"],
        "output.bias": state["final_logits_bias"][0],
    }
    for name, tensor in state.items():
        parts = name.split(".")
        if parts[1:2] not in (["encoder"], ["decoder"]) or parts[2] != "layers":
            continue
        stack, layer, block, rest = parts[1], parts[3], parts[4], parts[5:]
        head = f"model.{stack}.layers.{layer}"
        if block == "final_layer_norm":
            block = "norm2" if stack == "encoder" else "norm3"
        block = layer_names.get(block, block)
        if rest[0] in ("k_proj", "v_proj"):
            continue
        if rest[0] == "q_proj":
            packed = [state[name.replace("q_proj", f"{kind}_proj")] for kind in "qkv"]
            tensors[f"{head}.{block}.in_proj_{rest[1]}"] = torch.cat(packed)
            continue
        tensors[".".join([head, block, *rest])] = tensor
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()},
              folder / "weights.safetensors")
    ours = {
        "src_vocab_size": config.vocab_size,
        "tgt_vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "d_ff": config.encoder_ffn_dim,
        "n_heads": config.encoder_attention_heads,
        "n_encoder_layers": config.encoder_layers,
        "n_decoder_layers": config.decoder_layers,
        "positions": "sinusoidal_halves",
        "tying": "all",
        "output_bias": True,
    }
    (folder / "config.json").write_text(json.dumps(ours))


def write_ctranslate2(model, folder):
    """Converts with CTranslate2's own converter; Marian's needs a tokenizer, which there is none of."""
    from ctranslate2.converters.transformers import BartLoader  # here, so that others do without it

    model.config.normalize_before = False
    model.config.normalize_embedding = False
    spec = BartLoader().get_model_spec(model)
    tokens = ["<pad>", "<unk>", "<s>", "</s>"] + [str(i) for i in range(4, model.config.vocab_size)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = True
    spec.validate()
    spec.save(str(folder))
    return tokens


def run_ctranslate2(folder, tokens, sources, batch, beam, runs, compute_type):
    import ctranslate2

    translator = ctranslate2.Translator(
        str(folder), device="cpu", intra_threads=2, inter_threads=1, compute_type=compute_type)
    lines = [[tokens[id] for id in source] for source in sources]
    ids = {token: id for id, token in enumerate(tokens)}
    seconds, found = [], []
    for _ in range(runs):
        start = time.perf_counter()
        results = []
        for at in range(0, len(lines), batch):
            results += translator.translate_batch(
                lines[at : at + batch], beam_size=beam, max_decoding_length=LEN,
                max_batch_size=0, length_penalty=1.0, replace_unknowns=False)
        seconds.append(time.perf_counter() - start)
        found = [[ids[token] for token in result.hypotheses[0]] for result in results]
    return seconds, found


def run_transformers(model, sources, batch, beam, runs):
    torch.set_num_threads(2)
    seconds, found = [], []
    with torch.inference_mode():
        for _ in range(runs):
            start = time.perf_counter()
            results = []
            for at in range(0, len(sources), batch):
                rows = torch.tensor([source + [EOS] for source in sources[at : at + batch]])
                results += model.generate(
                    rows, attention_mask=torch.ones_like(rows), num_beams=beam, do_sample=False,
                    max_new_tokens=LEN, length_penalty=1.0, early_stopping=False).tolist()
            seconds.append(time.perf_counter() - start)
            found = [row[1:] for row in results]
    return seconds, found


def call_ours(program, backend, model, sources, *numbers, threads=2):
    environment = os.environ | {"BURN_DEVICE": backend, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [program, model, sources, *map(str, numbers)],
        env=environment, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    assert result["backend"] == backend, f"{backend} was asked for, {result['backend']} ran"
    return result


def run_ours(program, backend, folder, batch, beam, runs):
    result = call_ours(program, backend, folder, folder / "sources.json", batch, beam, runs, LEN)
    return result["seconds"], result["ids"]


def agreement(ours, theirs):
    """Returns the share of sentences that are the same, token for token."""
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--backends", default="flex", help="comma-separated, as compiled into the program")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--d-model", type=int, default=512)
    parser.add_argument("--vocab", type=int, default=10_000)
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--sentences", type=int, default=64, help="for batches; a quarter for batch 1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", default="", help="comma-separated: ctranslate2, int8, transformers")
    args = parser.parse_args()
    skipped = args.skip.split(",")

    model = marian(args)
    generator = numpy.random.default_rng(args.seed)
    all_sources = generator.integers(4, args.vocab, (args.sentences, LEN)).tolist()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        write_ours(model, scratch)
        (scratch / "ct2").mkdir()
        tokens = write_ctranslate2(model, scratch / "ct2")
        print(f"{'program':24} {'batch':>5} {'beam':>4} {'tok/s':>8} {'spread':>7}  {'same':>6}")
        for batch in map(int, args.batches.split(",")):
            sources = all_sources if batch > 1 else all_sources[: args.sentences // 4]
            (scratch / "sources.json").write_text(json.dumps(sources))
            for beam in map(int, args.beams.split(",")):
                programs = {}
                if "ctranslate2" not in skipped:
                    programs["ctranslate2 float32"] = lambda n: run_ctranslate2(
                        scratch / "ct2", tokens, sources, batch, beam, n, "float32")
                if "int8" not in skipped:
                    programs["ctranslate2 int8"] = lambda n: run_ctranslate2(
                        scratch / "ct2", tokens, sources, batch, beam, n, "int8")
                for backend in args.backends.split(","):
                    programs[f"ours, {backend}"] = lambda n, backend=backend: run_ours(
                        args.program, backend, scratch, batch, beam, n)
                if "transformers" not in skipped:
                    programs["transformers"] = lambda n: run_transformers(model, sources, batch, beam, n)
                reference = None
                for name, run in programs.items():
                    seconds, found = run(args.runs + 1)
                    seconds = seconds[1:]  # the first one warms up
                    reference = found if reference is None else reference
                    n_tokens = sum(map(len, found))
                    speeds = sorted(n_tokens / second for second in seconds)
                    print(f"{name:24} {batch:5} {beam:4} {statistics.median(speeds):8.0f} "
                          f"{(speeds[-1] - speeds[0]) / speeds[-1]:7.0%}  {agreement(found, reference):6.0%}",
                          flush=True)


if __name__ == "__main__":
    main()
