#!/usr/bin/env python3
"""Counts what translations of real lines lose without and with the check: numbers, placeholders, addresses, and words.

    python3 benchmarks/checked.py OUT --program transformer-infer --model DIR    # after apt-get update

Downloads Debian packages (0.1 GB) into OUT/debs without installing them, and takes as many lines of each kind from their
messages, changelogs, manual pages and documents: prices, dates, codes, list items, titles in capitals, single words,
messages with placeholders, and sentences with numbers. Of each kind, the lines with the least hash are taken. The
program translates them as lines (`translate`), as lines with `--check`, and as a text file without and with it, into a language
that writes numbers as Portuguese does, or with --points as English does. Everything is counted by the rules of this
script, which share nothing with those of the program. Needs polib from PyPI.
"""

import argparse
import collections
import gzip
import hashlib
import html
import re
import resource
import subprocess
import sys
from pathlib import Path

import polib

PACKAGES = """anarchism aptitude-common calligra-data claws-mail-i18n debian-reference-en evolution-common fortunes gimp-data
    git gnucash-common gnumeric-common hledger kmymoney-common ledger libreoffice-help-en-us nautilus-data
    transmission-gtk wget""".split()

MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
NUMBER = r"\d+(?:[.,]\d+)*"
TAG = r"</?(?:a|b|big|br|code|em|font|h\d|i|img|kbd|li|nobr|ol|p|pre|qt|s|small|span|strong|sub|sup|table|td|tr|tt|u|ul)(?:\s[^<>]*)?/?>"
PLACEHOLDER = re.compile(
    r"%\d+\$[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]|%\(\w+\)[-#0]*\d*(?:\.\d+)?[a-zA-Z]|(?<![\d%])%(?:[-+#0]*\d*(?:\.\d+)?(?:ll|l|h|z)?"
    r"[diouxXeEfgGcsp]\b|\d\b|%)|\$?\{\{?[\w.:!\[\] ]*\}?\}|\$[A-Za-z_]\w*|" + TAG
)
ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>\"')\]]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
CODE = re.compile(r"\b(?:[A-Z]{2,}-\d[\d-]*|[0-9a-f]*(?:[a-f]\d|\d[a-f])[0-9a-f]{5,})\b")
WORD = r"\b[a-z']{2,}\b"
KINDS = {
    "prices": re.compile(rf"[$€£]\s?\d|\d (?:dollars|euros|pounds|cents)\b|\d(?:USD|EUR)\b"),
    "dates": re.compile(rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH} \d{{1,2}}\b|{MONTH},? \d{{4}}|\d{{4}}[-/]\d\d?[-/]\d\d?|"
                        rf"\d\d?[-/.]\d\d?[-/.]\d{{2,4}})\b"),
    "codes": re.compile(r"\b(?:CVE-\d|[A-Z]{2,}[-_]\d{2,}|[a-z]+\d+[a-z]+\d*|[0-9a-f]*[a-f]+\d[0-9a-f]{5,}|\w+_\w+\(?\)?|0x[0-9A-Fa-f]+|"
                        r"v\d+\.\d+\.\d+|[A-Za-z]+-\d+\.\d+[\w.-]*)"),
    "items": re.compile(r"^(?:[-*•+]|\d{1,2}[.)]|\(?[a-z]\))\s+\w"),
    "capitals": re.compile(r"^[A-Z]{2,}[^a-z_]*[ -][A-Z]{3,}[^a-z_]*$"),
    "words": re.compile(r"^[A-Za-z][A-Za-z-]*[.:!?…]*$"),
    "placeholders": PLACEHOLDER,
    "numbers": re.compile(rf"^[A-Z].*\b{NUMBER}\b.*[.?!]$"),
}
DOCUMENT = ["--in", "-", "--format", "txt", "--split", "lines"]
PATTERNS = {"tag": re.compile(TAG), "placeholder": PLACEHOLDER, "address": ADDRESS, "code": CODE}
WAYS = {"lines": [], "lines, checked": ["--check"], "document": [*DOCUMENT, "--no-check"], "document, checked": DOCUMENT}


def unpacked(out):
    """Returns the folders of the packages."""
    debs, folders = out / "debs", out / "packages"
    debs.mkdir(parents=True, exist_ok=True)
    wanted = [it for it in PACKAGES if not list(debs.glob(f"{it}_*.deb"))]
    if wanted:
        subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *wanted], cwd=debs, check=True)
    for package in PACKAGES:
        if not (folders / package).is_dir():
            [deb] = debs.glob(f"{package}_*.deb")
            subprocess.run(["dpkg-deb", "-x", deb, folders / package], check=True)
    return [folders / package for package in PACKAGES]


def sentences(paragraph):
    return re.split(r"(?<=[.?!]) (?=[A-Z(])", " ".join(paragraph.split()))


def lines_of(path):
    """Yields the lines of a file that a reader sees as lines."""
    name = path.name.removesuffix(".gz")
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", errors="replace")
    if name.endswith(".html"):
        text = re.sub(r"(?s)<(script|style|pre)\b.*?</\1>", " ", text)
        for block in re.split(r"</?(?:p|h\d|li|td|th|dt|dd|div|tr|ul|ol|table|br|title|body|blockquote)\b[^>]*>", text):
            yield from sentences(html.unescape(re.sub(r"<[^>]*>", "", block)))
    elif re.search(r"\.[1-8]$", name):
        for part in re.split(r"\n(?=\.)|\n\n", text):
            heading = re.match(r'\.S[HS] "?([^"\n]+)', part)
            if heading:
                yield heading[1]
            text = re.sub(r"^\.(?:TP|PP|P|LP|IP|RS|RE|sp|B|I|BR|IR|br)\b[^\n]*\n?", "", part)
            if not text.startswith("."):
                yield from sentences(re.sub(r"\\f[BIRP(CW]|\\\*\([A-Z]+|\\&", "", text).replace(r"\-", "-"))
    else:
        for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•+]|\d{1,2}[.)]|\(?[a-z]\))\s)|\n%\n", text):
            yield " ".join(part.split())
            yield from sentences(part)


def candidates(folder):
    """Yields the lines of a package, each with True if it is a message of a program."""
    for path in sorted(folder.rglob("*")):
        is_foreign = re.search(r"[/._-](?:cs|da|de|es|fi|fr|gl|it|ja|nl|pl|ru|sk|sv|zh)\b(?:_[A-Z]{2})?(?=[/.])", str(path))
        if path.is_symlink() or not path.is_file() or is_foreign and path.suffix != ".mo":
            continue
        if path.suffix == ".mo" and path.parts[-3] == "pt_BR":
            for entry in polib.mofile(str(path)):
                yield from ((" ".join(it.split()), True) for it in (entry.msgid, entry.msgid_plural) if it)
        elif re.search(r"\.(html|txt|info|[1-8])(\.gz)?$|^(README|NEWS|changelog|TODO|AUTHORS)[^/]*$", path.name) \
                and "/man/" not in str(path).replace("/man/man", "/") or path.parent.name == "fortunes" and not path.suffix:
            yield from ((line, False) for line in lines_of(path))


def is_english(line):
    """Returns whether a line is a line of text, and not code or another language."""
    letters = sum(it.isalpha() or it == " " for it in line)
    is_code = re.search(r"[\\|;{}]|\w[=&]|=\w|\$ \w|&&|\s-[a-zA-Z]\b|^[=#$'(]", line)
    return line.isprintable() and line.isascii() and len(line) <= 200 and letters >= 0.55 * len(line) and not is_code


def chosen(folders, n_each):
    """Returns lines by their kinds, each in one kind."""
    found = {kind: set() for kind in KINDS}
    for folder in folders:
        for line, is_message in candidates(folder):
            is_text, is_message = is_english(line), is_message and line.isprintable() and len(line) <= 200
            for kind, pattern in KINDS.items():
                if not pattern.search(line):
                    continue
                n_words = len(re.findall(WORD, re.sub(r"<[^>]*>|\S+[@/_.]\S+", " ", line)))
                if kind == "placeholders" and n_words >= 2 and is_message \
                        or is_text and (kind in ("capitals", "words") or kind != "placeholders" and n_words >= 4):
                    found[kind].add(line)
    taken = {}
    for kind, lines in sorted(found.items(), key=lambda it: len(it[1])):
        of_kind = sorted(lines - taken.keys(), key=lambda it: hashlib.sha256(it.encode()).digest())[:n_each]
        taken.update(dict.fromkeys(of_kind, kind))
        if len(of_kind) < n_each:
            print(f"only {len(of_kind)} lines of the kind {kind}", file=sys.stderr)
    return sorted(taken.items(), key=lambda it: (list(KINDS).index(it[1]), it[0]))


def forms(number, points):
    """Returns the ways to write a number of an English text in a translation."""
    groups = re.fullmatch(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?", number)
    if not groups:
        return {number}  # a version, a date or a list
    whole, decimals = groups[1].replace(",", ""), groups[2]
    grouped = f"{int(whole):,}" if whole[0] != "0" else whole
    wholes = {whole, grouped, *(grouped.replace(",", sign) for sign in " \u00a0\u202f'")}
    wholes |= set() if points else {grouped.replace(",", ".")}
    if decimals is None:
        return wholes
    return {f"{it}{sign}{decimals}" for it in wholes for sign in ("." if points else ".,") if sign not in it}


def without_copied(text):
    """Returns a text without its placeholders, addresses and codes."""
    for pattern in PATTERNS.values():
        text = pattern.sub(" ", text)
    return text


def numbers(text):
    """Returns the numbers of a text, without those of codes and ordinals: `21st` is `XXI` in some languages."""
    rest = re.sub(r"(?<=\d) (?=\d{3} \d{3}\b)|(?<=\d{3}) (?=\d{3}\b)", ",", without_copied(text))
    return re.findall(rf"{NUMBER}(?!\d|st\b|nd\b|rd\b|th\b)", rest)


def lost_numbers(source, translation, points):
    """Returns the numbers of a line that its translation lacks, in any notation that has their value."""
    rest = re.sub(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))", "\u00a0", without_copied(translation))
    lost = []
    for number in sorted(numbers(source), key=len, reverse=True):
        for form in sorted(forms(number, points), key=len, reverse=True):
            pattern = rf"(?<!\d)(?<!\d[.,\u00a0]){re.escape(form)}(?![.,\u00a0]?\d)"
            rest, n_found = re.subn(pattern, "#", rest, count=1)
            if n_found:
                break
        else:
            lost.append(number)
    return lost


def repeats(text):
    """Returns the most repetitions of a word or a span in succession."""
    most = max((len(it[0]) // len(it[1]) for it in re.finditer(r"(.{2,60}?)\1{2,}", text) if re.search(r"[^\W\d_]", it[1])),
               default=1)
    return max(most, max((len(it[0]) - 3 for it in re.finditer(r"([^\W\d_])\1{4,}", text)), default=1))


def faults(source, translation, points):
    """Yields the faults of a translation, each with what it lost."""
    if re.search(r"[^\W\d_]", source) and not re.search(r"\w", translation):
        yield "empty", source
    yield from (("number", it) for it in lost_numbers(source, translation, points))
    for name, pattern in PATTERNS.items():
        found = [collections.Counter(it for it in pattern.findall(text) if (name == "tag") >= it.startswith("<"))
                 for text in (source, translation)]
        yield from ((name, it) for it in ((found[0] - found[1]) + (found[1] - found[0])).elements())
    if repeats(translation) > max(2, repeats(source)):
        yield "loop", translation
    if len(translation) > 3 * len(source) + 20 or len(source) > 3 * len(translation) + 20:
        yield "length", f"{len(source)} to {len(translation)} characters"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--each", type=int, default=250, help="lines of each kind")
    parser.add_argument("--points", action="store_true", help="the target language has decimal points, as English")
    parser.add_argument("--show", action="store_true", help="print each fault")
    arguments = parser.parse_args()
    out = arguments.out
    lines = chosen(unpacked(out), arguments.each)
    (out / "source.txt").write_text("".join(f"{line}\n" for line, _ in lines))
    totals = collections.Counter()
    for line, _ in lines:
        totals["number"] += len(numbers(line))
        for name, pattern in PATTERNS.items():
            totals[name] += sum((name == "tag") >= it.startswith("<") for it in pattern.findall(line))
    print(f"{len(lines)} lines with {dict(totals)}")
    for way, flags in WAYS.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        file = out / f"{way.replace(', ', '-')}.txt"
        command = [arguments.program.resolve(), "translate", "--model", arguments.model, *flags]
        with (out / "source.txt").open() as source, file.open("w") as target:
            done = subprocess.run(command, stdin=source, stdout=target, stderr=subprocess.PIPE, text=True, check=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        translations = file.read_text().split("\n")[:-1]
        assert len(translations) == len(lines), (len(translations), len(lines))
        counts, faulty = collections.Counter(), 0
        print(f"== {way}")
        for (line, kind), translation in zip(lines, translations):
            found = list(faults(line, translation, arguments.points))
            counts.update(name for name, _ in found)
            faulty += bool(found)
            if arguments.show and found:
                print(f"[{kind}] {line}\n    {translation}\n    {found}")
        said = [it for it in done.stderr.splitlines() if "doubtful" in it]
        print(f"{way}: {faulty} lines with faults, {dict(counts)}; {seconds:.1f} s of CPU; {' '.join(said)}")


if __name__ == "__main__":
    main()
