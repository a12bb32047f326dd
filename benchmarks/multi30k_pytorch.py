#!/usr/bin/env python3
"""The PyTorch yardstick: the model and recipe of `transformer-train`, to compare speed and BLEU.

Trains the Transformer of "Attention Is All You Need" (pre-norm with final norms, as the preset `tiny`,
or with `--norm post` as in the paper; one embedding for both inputs and the output) and translates a
test set, with the sizes, loss, schedule and clipping of the Rust program, the very same batches in the
same order for the same seed, and the same search. What differs is what is drawn: the first weights and
dropout. Eager PyTorch as a careful user writes it: packed projections, fused attention, fused Adam,
cached decoding.

    python multi30k_pytorch.py --train train.en.gz train.de.gz --valid val.en.gz val.de.gz \
        --test test_2016_flickr.en.gz test_2016_flickr.de.gz \
        --tokenizer MODEL/tokenizer.json --updates 3000 --threads 2 --out /tmp/yardstick

By default glibc returns large buffers to the kernel after each step, which clears them anew. With
`MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184` in the environment it keeps them, which is
faster; a fair comparison measures both. The minutes printed count validation, target_tokens/s
does not, nor does it count padding. Needs torch 2.9.0, tokenizers, sacrebleu.
"""

import argparse
import gzip
import itertools
import math
import time
from collections import deque
from pathlib import Path

import sacrebleu
import tokenizers
import torch
import torch.nn.functional as F
from torch import nn

PAD, UNK, BOS, EOS = range(4)
MASK = 2**64 - 1
SPECIAL_TOKENS = ["<pad>", "<unk>", "<s>", "</s>"]


def read_lines(path):
    """Reads the lines of a gzip-compressed text; only a line feed ends a line."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n").removesuffix("\r") for line in file]


def load_tokenizer(args, lines):
    """Opens `--tokenizer`, or trains a joint unigram model on `lines`."""
    if args.tokenizer:
        tokenizer = tokenizers.Tokenizer.from_file(args.tokenizer)
    else:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
        tokenizer.normalizer = tokenizers.normalizers.NFC()
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        tokenizer.decoder = tokenizers.decoders.Metaspace()
        tokenizer.train_from_iterator(lines, tokenizers.trainers.UnigramTrainer(
            vocab_size=args.vocab_size, special_tokens=SPECIAL_TOKENS,
            unk_token=SPECIAL_TOKENS[UNK], show_progress=False))
    if [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS] != [PAD, UNK, BOS, EOS]:
        raise SystemExit(f"the tokenizer must give {SPECIAL_TOKENS} the ids 0 to 3")
    tokenizer.encode_special_tokens = True  # "<s>" in a text is text, not a control token
    return tokenizer


def encode(tokenizer, lines):
    """Tokenizes lines without adding BOS or EOS."""
    return [e.ids for e in tokenizer.encode_batch(lines, add_special_tokens=False)]


def mixed(bits):
    """The finalizer of SplitMix64."""
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & MASK
    return bits ^ bits >> 31


def splitmix(seed, index):
    """`transformer_train::plan::hash`: output `index` of the SplitMix64 that starts with `mixed(seed)`."""
    return mixed(mixed(seed) + 0x9E3779B97F4A7C15 * (index + 1) & MASK)


def shuffle(items, seed):
    """Brings a list into a random order, that of the Rust program (Fisher and Yates)."""
    for n, last in enumerate(range(len(items) - 1, 0, -1)):
        chosen = splitmix(seed, n) * (last + 1) >> 64
        items[last], items[chosen] = items[chosen], items[last]


def budget_batches(pairs, budget, window, seed):
    """Yields lists of n pairs with n * max(src_len + 1, tgt_len + 1) <= budget, pass after pass.

    Within a shuffled window, of which there are four or more in a pass of 64 batches, pairs are sorted by
    the longer side, and among equals by the other one, up and down in turns, so that little is padded.
    """
    def sizes(pair):
        return len(pair[0]) + 1, len(pair[1]) + 1

    def key(pair):
        src, tgt = sizes(pair)
        longer = max(src, tgt) - 1
        return longer, (tgt - src) * (1 if longer % 2 == 0 else -1)

    fewest = min(max(sum(max(sizes(pair)) for pair in pairs) // budget // 16, 1), 4)
    size = math.ceil(len(pairs) / max(math.ceil(len(pairs) / window), fewest))
    for number in itertools.count():
        own_seed, batches = splitmix(seed, number), []
        order = list(pairs)
        shuffle(order, splitmix(own_seed, 0))
        for start in range(0, len(order), size):
            batch, longest = [], 0
            for pair in sorted(order[start:start + size], key=key):
                longest = max(longest, *sizes(pair))
                if not batch or (len(batch) + 1) * longest > budget:
                    batch, longest = [], max(sizes(pair))
                    batches.append(batch)
                batch.append(pair)
        shuffle(batches, splitmix(own_seed, 1))
        yield from batches


def pad(rows):
    """Stacks id lists of unequal length: `[batch, len]`."""
    rows = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


def tensors(batch):
    """Turns pairs into source, decoder input (shifted right) and decoder target."""
    return (pad([src + [EOS] for src, _ in batch]), pad([[BOS] + tgt for _, tgt in batch]),
            pad([tgt + [EOS] for _, tgt in batch]))


class Attention(nn.Module):
    """Multi-head attention over the queries' own sequence or, when `cross`, over the memory."""

    def __init__(self, d_model, n_heads, cross):
        super().__init__()
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        # One product makes all the projections of an input; each keeps its own Xavier bound.
        packed = [1, 2] if cross else [3]
        self.inputs = nn.ModuleList(nn.Linear(d_model, n * d_model) for n in packed)
        self.output = nn.Linear(d_model, d_model)
        for linear in [*self.inputs, self.output]:
            nn.init.zeros_(linear.bias)
            for part in linear.weight.split(d_model):
                nn.init.xavier_uniform_(part)

    def project(self, x, index=0):
        """Projects and splits into heads: a list of `[batch, n_heads, len, d_k]`."""
        batch, length, _ = x.shape
        heads = self.inputs[index](x).view(batch, length, -1, self.n_heads, self.d_k)
        return heads.permute(2, 0, 3, 1, 4).unbind(0)

    def attend(self, q, k, v, mask, causal=False):
        """Mixes the values that `mask` (true = visible) shows."""
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """An encoder layer, or a decoder layer when `cross`.

    Each sub-layer is LayerNorm(x + Dropout(Sublayer(x))), or with pre-norm x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, args, cross):
        super().__init__()
        d = args.d_model
        self.attention = Attention(d, args.n_heads, cross=False)
        self.cross = Attention(d, args.n_heads, cross=True) if cross else None
        self.expand, self.contract = nn.Linear(d, args.d_ff), nn.Linear(args.d_ff, d)
        for linear in (self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(3 if cross else 2))
        self.dropout = nn.Dropout(args.dropout)
        self.is_pre_norm = args.norm == "pre"

    def pre_norm(self, index, x):
        return self.norms[index](x) if self.is_pre_norm else x

    def post_norm(self, index, x):
        return x if self.is_pre_norm else self.norms[index](x)

    def forward(self, x, memory_kv=None, mask=None, past=None):
        """Returns the output and the keys and values of self-attention, `past` ones included."""
        q, k, v = self.attention.project(self.pre_norm(0, x))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        # Padding follows the real tokens, so a causal decoder needs no padding mask of its own; a
        # cached step has one query, which sees every key.
        decoder = self.cross is not None
        own_mask, causal = None if decoder else mask, decoder and past is None
        x = self.post_norm(0, x + self.dropout(self.attention.attend(q, k, v, own_mask, causal)))
        if decoder:  # in a beam several rows are the queries of one sentence
            (q,) = self.cross.project(self.pre_norm(1, x).reshape(mask.size(0), -1, x.size(2)))
            seen = self.cross.attend(q, *memory_kv, mask).view_as(x)
            x = self.post_norm(1, x + self.dropout(seen))
        x = self.post_norm(-1, x + self.dropout(self.contract(F.relu(self.expand(self.pre_norm(-1, x))))))
        return x, (k, v)


class Transformer(nn.Module):
    """Encoder, decoder and the one embedding that they share with the output (section 3.4)."""

    def __init__(self, args, vocab_size, max_len=1024):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, args.d_model)
        nn.init.normal_(self.embedding.weight, std=args.d_model**-0.5)
        self.encoder = nn.ModuleList(Layer(args, cross=False) for _ in range(args.n_layers))
        self.decoder = nn.ModuleList(Layer(args, cross=True) for _ in range(args.n_layers))
        norm = nn.LayerNorm if args.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = norm(args.d_model), norm(args.d_model)
        self.dropout = nn.Dropout(args.dropout)
        rates = 10_000 ** (-torch.arange(0, args.d_model, 2) / args.d_model)
        angles = torch.arange(max_len)[:, None] * rates
        table = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
        self.register_buffer("positions", table, persistent=False)

    def embed(self, ids, start=0):
        """Embeds ids that stand at the places from `start` on."""
        x = self.embedding(ids) * math.sqrt(self.positions.size(1))
        return self.dropout(x + self.positions[start:start + ids.size(1)])

    def encode(self, src):
        """Returns each decoder layer's keys and values, and the mask of the real tokens."""
        mask, x = (src != PAD)[:, None, None, :], self.embed(src)
        for layer in self.encoder:
            x, _ = layer(x, mask=mask)
        x = self.encoder_norm(x)
        return [layer.cross.project(x, 1) for layer in self.decoder], mask

    def decode(self, tgt, memory, mask, past, place=0):
        """Returns logits `[rows, len, vocab]` and the grown cache; a sentence may have n rows."""
        x, grown = self.embed(tgt, place), []
        for layer, kv, old in zip(self.decoder, memory, past):
            x, new = layer(x, kv, mask, old)
            grown.append(new)
        return F.linear(self.decoder_norm(x), self.embedding.weight), grown

    def forward(self, src, tgt):
        """Returns the logits of every place of the decoder input: `[batch, tgt_len, vocab]`."""
        return self.decode(tgt, *self.encode(src), [None] * len(self.decoder))[0]


@torch.inference_mode()
def search(model, src, beam, penalty):
    """Returns the best ids of each row of `src`; a beam of 1 is greedy search.

    A hypothesis of n tokens, EOS included, ranks by log-probability / penalty(n). The search ends when the
    likeliest running hypothesis, at its present length, is not better than the last of `beam` finished
    ones, or at 50 tokens over the source's length (section 6.1).
    """
    (memory, mask), past = model.encode(src), [None] * len(model.decoder)
    limits = [n - 1 + 50 for n in (src != PAD).sum(1).tolist()]  # EOS does not count
    active, found = list(range(src.size(0))), [[] for _ in limits]
    ids = torch.full((src.size(0), beam), BOS)
    history = ids[:, :, None]
    scores = torch.full((src.size(0), beam), -math.inf)
    scores[:, 0] = 0.0  # all rows of a beam begin equal: only the first counts
    for place in itertools.count():
        logits, past = model.decode(ids.view(-1, 1), memory, mask, past, place)
        log_probs = logits.log_softmax(2)
        log_probs[:, :, [PAD, UNK, BOS]] = -math.inf
        totals = scores[:, :, None] + log_probs.view(len(active), beam, -1)
        top, index = totals.flatten(1).topk(2 * beam)
        parent, ids = index // totals.size(2), index % totals.size(2)
        for row, rank in (ids[:, :beam] == EOS).nonzero().tolist():
            score = top[row, rank].item() / penalty(place + 1)
            found[active[row]].append((score, history[row, parent[row, rank], 1:].tolist()))
            found[active[row]] = sorted(found[active[row]], reverse=True)[:beam]
        scores, kept = top.masked_fill(ids == EOS, -math.inf).topk(beam)
        parent, ids = parent.gather(1, kept), ids.gather(1, kept)
        past_ids = history.gather(1, parent[:, :, None].expand(-1, -1, place + 1))
        history = torch.cat([past_ids, ids[:, :, None]], 2)
        likeliest = (scores[:, 0] / penalty(place + 1)).tolist()
        on = [row for row, i in enumerate(active) if place + 1 < limits[i] and (
            len(found[i]) < beam or beam > 1 and likeliest[row] > found[i][-1][0])]
        for row in set(range(len(active))).difference(on):
            if not found[active[row]]:
                found[active[row]].append((0.0, history[row, 0, 1:].tolist()))
        if not on:
            return [max(hypotheses)[1] for hypotheses in found]
        rows = (torch.tensor(on)[:, None] * beam + parent[on]).flatten()
        past = [(k[rows], v[rows]) for k, v in past]
        if len(on) < len(active):
            memory, mask = [(k[on], v[on]) for k, v in memory], mask[on]
            ids, history, scores = ids[on], history[on], scores[on]
            active = [active[row] for row in on]


def length_penalty(text):
    """Reads `gnmt:ALPHA` or `power:ALPHA` as a function of the number of tokens."""
    kind, _, alpha = text.partition(":")
    alpha = float(alpha)
    return {"gnmt": lambda n: ((5 + n) / 6) ** alpha, "power": lambda n: n ** alpha}[kind]


def translate(model, tokenizer, lines, beam, penalty, batch_size):
    """Translates lines in batches of like length, and returns them in their order."""
    sources = [ids + [EOS] for ids in encode(tokenizer, lines)]
    order = sorted(range(len(lines)), key=lambda i: len(sources[i]))
    hypotheses = [""] * len(lines)
    for start in range(0, len(order), batch_size):
        some = order[start:start + batch_size]
        best = search(model, pad([sources[i] for i in some]), beam, penalty)
        for i, text in zip(some, tokenizer.decode_batch(best)):
            hypotheses[i] = text
    return hypotheses


def smoothed_sum(forward, src, tgt, gold, smoothing):
    """Returns the sum of the smoothed loss of tensors that `tensors` has made."""
    logits = forward(src, tgt).flatten(0, 1)
    return F.cross_entropy(
        logits, gold.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing)


def summed_loss(forward, batch, smoothing):
    """Returns the sum of the smoothed loss, and the number of target tokens."""
    src, tgt, gold = tensors(batch)
    loss = smoothed_sum(forward, src, tgt, gold, smoothing)
    return loss, (gold != PAD).sum().item()


@torch.inference_mode()
def validate(model, pairs):
    """Prints the negative log-likelihood per target token, in nats, and the perplexity."""
    model.eval()
    sums = [summed_loss(model, pairs[i:i + 64], 0.0) for i in range(0, len(pairs), 64)]
    nll, tokens = (sum(column) for column in zip(*sums))
    print(f"  valid_nll {nll / tokens:.4f} perplexity {math.exp(nll / tokens):.2f}", flush=True)
    model.train()


def train(model, pairs, valid, args):
    """Trains `model` and leaves the average of its last checkpoints in it."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=args.adam_epsilon,
                                 fused=True)
    forward = torch.compile(model, dynamic=True) if args.compile else model
    batches = budget_batches(pairs, args.tokens_per_batch, args.window, args.seed)
    checkpoints = deque(maxlen=args.average_last)
    loss = recent_tokens = all_tokens = pauses = 0
    start = time.perf_counter()
    for update, batch in enumerate(batches, 1):
        batch_loss, n_tokens = summed_loss(forward, batch, args.label_smoothing)
        rate = args.factor * args.d_model**-0.5 * min(update**-0.5, update * args.warmup**-1.5)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        (batch_loss / n_tokens).backward()
        if args.clip_norm < math.inf:
            nn.utils.clip_grad_norm_(model.parameters(), args.clip_norm)
        optimizer.step()
        loss += batch_loss.item()
        recent_tokens, all_tokens = recent_tokens + n_tokens, all_tokens + n_tokens
        seconds = time.perf_counter() - start
        last = update == args.updates or seconds > args.minutes * 60
        if update % 50 == 0 or last:
            print(f"update {update} minutes {seconds / 60:.2f} smoothed loss {loss / recent_tokens:.4f} "
                  f"target tokens {all_tokens}, {all_tokens / (seconds - pauses):.0f}/s", flush=True)
            loss = recent_tokens = 0
        if update % args.interval == 0 or last:
            checkpoints.append([p.detach().clone() for p in model.parameters()])
            validate(model, valid)
            pauses += time.perf_counter() - start - seconds
        if last:
            break
    with torch.no_grad():
        for parameter, *same in zip(model.parameters(), *checkpoints):
            parameter.copy_(torch.stack(same).mean(0))


def parse_args():
    """Reads the command line; the defaults are the recipe for Multi30k."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("train", "valid", "test"):
        parser.add_argument(f"--{name}", nargs=2, required=True, metavar=("SRC", "TGT"))
    parser.add_argument("--tokenizer", help="tokenizer.json; without it one is trained")
    parser.add_argument("--out", type=Path, required=True, help="directory for results")
    for name, default in {
        "vocab-size": 6000, "d-model": 128, "d-ff": 256, "n-heads": 4, "n-layers": 4,
        "dropout": 0.2, "label-smoothing": 0.1, "factor": 0.8, "warmup": 500, "adam-epsilon": 1e-9,
        "clip-norm": math.inf, "updates": 3000, "minutes": 1e9, "tokens-per-batch": 4096,
        "window": 131_072, "interval": 250, "average-last": 5, "beam": 4, "batch-size": 64, "seed": 1,
        "threads": torch.get_num_threads(),
    }.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--length-penalty", type=length_penalty, default="power:1")
    parser.add_argument("--norm", choices=["pre", "post"], default="pre",
                        help="pre-norm, with a final normalization of each stack; or post-norm, as in the paper")
    parser.add_argument("--tokenize", default="13a", help="sacreBLEU's, none for tokenized text")
    parser.add_argument("--compile", action="store_true", help="torch.compile the training step")
    return parser.parse_args()


def main():
    """Trains, translates the test set with both searches and prints its BLEU."""
    args = parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    text = {name: [read_lines(path) for path in getattr(args, name)]
            for name in ("train", "valid", "test")}
    tokenizer = load_tokenizer(args, text["train"][0] + text["train"][1])
    tokenizer.save(str(args.out / "tokenizer.json"))
    train_pairs, valid_pairs = (
        list(zip(*(encode(tokenizer, side) for side in text[name]), strict=True))
        for name in ("train", "valid"))
    model = Transformer(args, tokenizer.get_vocab_size())
    print(f"torch {torch.__version__}, {args.threads} threads, {len(train_pairs)} pairs, "
          f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    train(model, train_pairs, valid_pairs, args)
    validate(model, valid_pairs)
    model.eval()
    for beam in (1, args.beam):
        start = time.perf_counter()
        hypotheses = translate(model, tokenizer, text["test"][0], beam, args.length_penalty,
                               args.batch_size)
        seconds = time.perf_counter() - start
        (args.out / f"beam{beam}.txt").write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
        bleu = sacrebleu.BLEU(tokenize=args.tokenize, force=True)
        score = bleu.corpus_score(hypotheses, [text["test"][1]])
        print(f"beam {beam}: {score} {bleu.get_signature()} {seconds:.1f} s")


if __name__ == "__main__":
    main()
