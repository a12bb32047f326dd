#!/usr/bin/env python3
"""Translates generated HTML fragments, and checks with html5lib that their markup survives.

    python benchmarks/html_fragments.py --model MODEL --text LINES [--fragments 1000] [--seed 1] [--program PATH]

Fragments are sentences of LINES, one a line, plain or gzip, with inline and block elements around random words, void
elements, comments, entities, placeholders, protected elements, and in a quarter of them tags that are misnested or
missing. Each is translated by a call of `transformer-infer translate`. Then

- source and translation must parse to the same tree, as transformer-infer/tests/fixtures/html/check_trees.py compares
  them: blocks in order, inline elements and attributes as multisets in each block, protected text equal;
- every placeholder must be there, byte for byte, as often as in the source;
- no tag may be inside of a word, unless one is in the source.

Prints what differs, and the number of fragments. Needs html5lib 1.1.
"""

import argparse
import gzip
import importlib.util
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECK = ROOT / "transformer-infer/tests/fixtures/html/check_trees.py"
INLINE = ["b", "i", "em", "strong", "span", "a", "u", "mark", "small"]
BLOCKS = ["p", "div", "li", "h2", "td", "blockquote"]
VOID = ["<br>", "<img src=\"x.png\" alt=\"a dog\">", "<wbr>", "<!-- note -->", "<hr>"]
PLACEHOLDERS = ["{name}", "%s", "$1", ":smile:", "https://example.org/a?b=1", "{{ count }}", "me@example.org", "%(n)d"]
PROTECTED = ["<code>let x = 1;</code>", "<span translate=\"no\">Burn &amp; Co</span>", "<kbd>Ctrl</kbd>"]
ATTRIBUTES = ["", "", " class=\"a b\"", " id=x", " title='It is'", " data-n=\"1\""]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def inline(rng, words, depth):
    """Puts elements around some of the words."""
    if not words:
        return ""
    if depth == 0 or len(words) < 2 or rng.random() < 0.4:
        return " ".join(words)
    start = rng.randrange(len(words))
    end = rng.randint(start + 1, len(words))
    tag = rng.choice(INLINE)
    attributes = " href=\"/a?b=1&amp;c=2\"" if tag == "a" else rng.choice(ATTRIBUTES)
    inside = inline(rng, words[start:end], depth - 1)
    pieces = [inline(rng, words[:start], depth - 1), f"<{tag}{attributes}>{inside}</{tag}>"]
    pieces.append(inline(rng, words[end:], depth - 1))
    return " ".join(piece for piece in pieces if piece)


def fragment(rng, lines):
    blocks = []
    for _ in range(rng.randint(1, 3)):
        sentences = []
        for _ in range(rng.randint(1, 3)):
            words = [escape(word) for word in rng.choice(lines).split()]
            for kind, chance in ((PLACEHOLDERS, 0.3), (PROTECTED, 0.15), (VOID, 0.15)):
                if rng.random() < chance:
                    words.insert(rng.randint(0, len(words)), rng.choice(kind))
            sentences.append(inline(rng, words, 3))
        tag = rng.choice(BLOCKS)
        body = f"<{tag}{rng.choice(ATTRIBUTES)}>{' '.join(sentences)}</{tag}>"
        if tag == "td":
            body = f"<table><tbody><tr>{body}</tr></tbody></table>"
        blocks.append(body)
    text = "\n".join(blocks)
    if rng.random() < 0.25:
        tags = list(re.finditer(r"</?[a-z0-9]+[^>]*>", text))
        for _ in range(rng.randint(1, 2)):
            tag = rng.choice(tags)
            text = text.replace(tag.group(), rng.choice(["", "</b>", "<i>", "</p>"]), 1)
    return text + "\n"


def tags_in_words(text):
    return len(re.findall(r"[^\W\d_](?:<[^>]*>)+[^\W\d_]", re.sub(r"<!--.*?-->", "", text)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--fragments", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=Path, default=Path("target/debug/transformer-infer"))
    arguments = parser.parse_args()
    opened = gzip.open if arguments.text.suffix == ".gz" else open
    with opened(arguments.text, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    spec = importlib.util.spec_from_file_location("check_trees", CHECK)
    check_trees = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check_trees)

    rng = random.Random(arguments.seed)
    n_wrong = n_placeholders = 0
    with tempfile.TemporaryDirectory() as scratch:
        source, translation = Path(scratch, "source.html"), Path(scratch, "translation.html")
        for index in range(arguments.fragments):
            text = fragment(rng, lines)
            source.write_text(text, encoding="utf-8")
            command = [arguments.program, "translate", "--quiet", "--beam", "1", "--model", arguments.model]
            command += ["--in", source, "--out", translation, "--overwrite"]
            called = subprocess.run(command, capture_output=True, text=True)
            wrong = [called.stderr] if called.returncode else []
            if not wrong:
                translated = translation.read_text(encoding="utf-8")
                trees = check_trees.parse(source), check_trees.parse(translation)
                wrong = list(check_trees.differences(*trees, frozenset()))
                for placeholder in PLACEHOLDERS + PROTECTED:
                    n_placeholders += text.count(placeholder)
                    if text.count(placeholder) != translated.count(placeholder):
                        wrong.append(f"{placeholder} is there {translated.count(placeholder)} times")
                if tags_in_words(translated) > tags_in_words(text):
                    wrong.append("a tag is inside of a word")
            if wrong:
                n_wrong += 1
                print(f"--- fragment {index}", text, translation.read_text() if translation.exists() else "", *wrong, sep="\n")
    print(f"{arguments.fragments} fragments with {n_placeholders} placeholders and protected elements, {n_wrong} wrong")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
