"""Translates files of others, and compares their structure with that of the translation by parsers of others.

    pip install html5lib markdown-it-py linkify-it-py polib webvtt-py srt python-docx python-pptx openpyxl odfpy \
        ebooklib lxml translate-toolkit javaproperties pyyaml
    cargo build --package transformer-infer --example reverse_document
    python benchmarks/document_structure.py --program target/debug/examples/reverse_document /usr/share ~/.cargo/registry

The structure does not depend on the model, so a program that reverses the words of each sentence takes its place; with
`--program transformer-infer --model runs/en-de` a model translates. What a sentence may move (inline markup in a paragraph) is
compared without its order. `msgfmt` must be installed.
"""

import argparse
import collections
import concurrent.futures
import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile

import docx
import html5lib
import javaproperties
import markdown_it
import odf.opendocument
import odf.teletype
import odf.text
import openpyxl
import polib
import pptx
import srt
import webvtt
import xml_structure
import yaml
from markdown_it.tree import SyntaxTreeNode
from openpyxl.worksheet.formula import ArrayFormula
from translate.storage import properties
from xml_structure import entries, letters

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location(
    "check_trees", ROOT / "transformer-infer/tests/fixtures/html/check_trees.py"
)
CHECK_TREES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CHECK_TREES)


def html(page):
    """Reads the bytes of a page, in the encoding that it declares."""
    return CHECK_TREES.describe(html5lib.parse(page, likely_encoding="utf-8"), ())


MARKDOWN = markdown_it.MarkdownIt("gfm-like")
# GitHub links neither bare names such as `README.md` nor `//host/path`.
MARKDOWN.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
MARKDOWN.linkify.add("//", None)


def markdown_tree(node):
    kinds = ("text", "softbreak", "text_special")
    inside = [markdown_tree(child) for child in node.children if child.type not in kinds]
    if node.type in ("inline", "em", "strong", "s", "link"):
        inside.sort(key=repr)
    is_copied = node.type in ("code_inline", "code_block", "fence", "html_inline", "html_block")
    attributes = sorted(node.attrs.items()) if node.type != "root" else []
    return (node.type, attributes, node.content if is_copied else "", inside)


def markdown(text):
    # The parser reads front matter as text.
    text = re.sub(r"\A(---|\+\+\+)\n.*?\n\1\n", "", text, flags=re.DOTALL)
    return markdown_tree(SyntaxTreeNode(MARKDOWN.parse(text)))


def po(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a.po")
        path.write_text(text.removeprefix("\ufeff"), "utf-8")
        check = subprocess.run(["msgfmt", "-c", "-o", os.devnull, path], capture_output=True, text=True)
    entries = polib.pofile(text)
    kept = [(e.msgid, e.msgid_plural, e.msgctxt, e.flags, e.occurrences, e.obsolete, len(e.msgstr_plural)) for e in entries]
    ends = [e.msgid for e in entries if e.msgstr and edges(e.msgstr) != edges(e.msgid)]
    return kept, check.returncode, ends


def filled(text):
    """Fills a catalog with copies, to see whether it can be valid at all."""
    catalog = polib.pofile(text)
    for entry in catalog:
        if entry.msgid_plural:
            entry.msgstr_plural = {form: entry.msgid_plural for form in entry.msgstr_plural}
        else:
            entry.msgstr = entry.msgid
    return str(catalog)


def json_tree(value):
    if isinstance(value, dict):
        return {key: json_tree(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [json_tree(inside) for inside in value]
    return value if not isinstance(value, str) else [tags(value), edges(value)]


def tags(text):
    return sorted(re.findall(r"</?[a-zA-Z0-9][^<>]*>|&\w+;|\{[^{}]*\}", text)) if "<" in text else ""


def edges(text):
    return bool(text.strip()), text[:1] == "\n", text[-1:] == "\n"


def cues(cues):
    """Returns times and tags of cues; the tags of a cue are balanced if they were."""
    return [(cue.start, cue.end, sorted(re.findall(r"\{\\[^}]*\}", cue_text(cue))), bool(cue_text(cue).strip())) for cue in cues]


def cue_text(cue):
    return getattr(cue, "raw_text", None) or getattr(cue, "content", "")


def is_balanced(text):
    open_tags = []
    for end, name in re.findall(r"<(/?)([biuc]|lang|ruby|rt)\b[^>]*>", text):
        if not end:
            open_tags.append(name)
        elif not open_tags or open_tags.pop() != name:
            return False
    return not open_tags


def vtt(text):
    parsed = list(webvtt.from_buffer(io.StringIO(text)))
    times = [re.findall(r"<([\d:.]+)>", cue_text(cue)) for cue in parsed]
    return cues(parsed), [sorted(found) == found for found in times], all(is_balanced(cue_text(cue)) for cue in parsed)


def subrip(text):
    parsed = list(srt.parse(text))
    return cues(parsed), [cue.index for cue in parsed], all(is_balanced(cue_text(cue)) for cue in parsed)


def table(text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    return rows[:1], [len(row) for row in rows], [[bool(cell.strip()) for cell in row] for row in rows]


# A word; scripts without spaces are compared by character.
WORD = r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+"


class Formats:
    """The formatting of each word; `runs` are pairs of both.

    A word with several formats in the original, on the left of `==`, may have any of them in the translation.
    """

    def __init__(self, runs):
        letters = [(repr(format), char) for format, text in runs for char in text]
        self.words, self.mixed = collections.Counter(), set()
        for word in re.finditer(WORD, "".join(char for _, char in letters)):
            formats = {format for format, _ in letters[word.start() : word.end()]}
            text = word.group().upper()
            self.words[min(formats), text] += 1
            self.mixed |= {text} if len(formats) > 1 else set()

    def __eq__(self, other):
        known = lambda it: {key: n for key, n in it.words.items() if key[1] not in self.mixed}
        return known(self) == known(other)

    def __repr__(self):
        return f"{self.words} {self.mixed}"


def runs(paragraph, element, format):
    """Returns the formatting and the text of the runs of a paragraph; what stands between them separates words."""
    known = {run._r: run for run in paragraph.runs}
    for child in element:
        if child in known:
            yield format(known[child]), known[child].text
        elif xml_structure.name_of(child) in ("br", "fld", "hyperlink", "ins", "moveTo", "smartTag", "sdt"):
            yield None, " "


def paragraphs(file, describe):
    """Describes each paragraph of a text, in order."""
    document = docx.Document(io.BytesIO(file))
    found = []

    def add(container):
        found.extend(map(describe, container.paragraphs))
        for row in (row for table in container.tables for row in table.rows):
            for cell in row.cells:
                add(cell)

    for part in [document, *(it for section in document.sections for it in (section.header, section.footer))]:
        add(part)
    return found


def word(file):
    """Returns the style and the links of each paragraph."""
    describe = lambda it: (it.style.name, letters(it.text), len(it.hyperlinks))
    return paragraphs(file, describe), entries(file)


def words(file):
    format = lambda run: (run.bold, run.italic, run.underline, run.font.size, run.font.name)
    return paragraphs(file, lambda it: Formats(runs(it, it._p, format)))


def slides(file):
    found = []
    for shape in (shape for slide in pptx.Presentation(io.BytesIO(file)).slides for shape in slide.shapes):
        for paragraph in shape.text_frame.paragraphs if shape.has_text_frame else []:
            format = lambda run: (run.font.bold, run.font.italic, run.font.size)
            found.append((shape.name, letters(paragraph.text), Formats(runs(paragraph, paragraph._p, format))))
    return found, entries(file)


def sheets(file):
    cells = (cell for sheet in openpyxl.load_workbook(io.BytesIO(file)) for row in sheet.iter_rows() for cell in row)
    is_text = lambda value: isinstance(value, str) and not value.startswith("=")
    text = lambda value: value.text if isinstance(value, ArrayFormula) else value
    values = ((cell.coordinate, text(cell.value)) for cell in cells if cell.value is not None)
    return [(at, letters(value) if is_text(value) else repr(value)) for at, value in values], entries(file)


def open_document(file):
    document = odf.opendocument.load(io.BytesIO(file))
    kinds = (odf.text.P, odf.text.H)
    paragraphs = (paragraph for kind in kinds for paragraph in document.getElementsByType(kind))
    # Comments move with the words around them.
    return sorted(letters(odf.teletype.extractText(it)) for it in paragraphs), entries(file)


def java(file):
    """Reads properties as Java does: UTF-8, or else ISO 8859-1."""
    try:
        text = file.decode("utf-8")
    except UnicodeDecodeError:
        text = file.decode("iso-8859-1")
    found = list(javaproperties.parse(text))
    values = [(it.key, letters(it.value), edges(it.value)) for it in found if isinstance(it, javaproperties.KeyValue)]
    return values, [it.source for it in found if not isinstance(it, javaproperties.KeyValue)]


def apple(file):
    units = properties.propfile(personality="strings-utf8")
    units.parse(file)
    return [(it.name, letters(it.source), edges(it.source), it.getnotes()) for it in units.units]


def yaml_tree(text):
    """Returns the nodes of all documents; strings are compared by their letters, everything else by its text."""

    def describe(node):
        if isinstance(node, yaml.MappingNode):
            return node.tag, [(key.value if isinstance(key.value, str) else describe(key), describe(it)) for key, it in node.value]
        if isinstance(node, yaml.SequenceNode):
            return node.tag, [describe(it) for it in node.value]
        is_text = node.tag == "tag:yaml.org,2002:str"
        return node.tag, (letters(node.value), edges(node.value)) if is_text else node.value

    return [describe(node) for node in yaml.compose_all(text, yaml.SafeLoader)]


Kind = collections.namedtuple("Kind", "extensions structure kept parser begins", defaults=[""])
TREE = "elements with attributes, text of each unit, notes"

# A kind with `begins` has files that contain it, a regular expression, in their first bytes.
KINDS = {
    "html": Kind({".html", ".htm"}, html, "elements, attributes, comments", "html5lib"),
    "md": Kind({".md", ".markdown"}, markdown, "blocks, links, images, code, HTML, emphasis", "markdown-it-py (GFM)"),
    "po": Kind({".po"}, po, "messages, flags, line ends; `msgfmt -c` passes", "polib, msgfmt"),
    "json": Kind({".json"}, lambda text: json_tree(json.loads(text)), "keys, other values, tags, line ends", "json"),
    "arb": Kind({".arb"}, lambda text: json_tree(json.loads(text)), "keys, other values, tags, line ends", "json"),
    "vtt": Kind({".vtt"}, vtt, "times, which ascend; tags in their cues", "webvtt-py"),
    "srt": Kind({".srt"}, subrip, "times, numbers; tags in their cues", "srt"),
    "csv": Kind({".csv"}, table, "header, rows, cells", "csv"),
    "docx": Kind({".docx", ".docm"}, word, "paragraphs, styles, links, all elements", "python-docx, lxml"),
    "docx-words": Kind({".docx", ".docm"}, words, "formatting of each word", "python-docx"),
    "pptx": Kind({".pptx", ".pptm"}, slides, "paragraphs, formatting, all elements", "python-pptx, lxml"),
    "xlsx": Kind({".xlsx", ".xlsm"}, sheets, "cells, formulas, all elements", "openpyxl, lxml"),
    "odt": Kind({".odt"}, open_document, "paragraphs, headings, all elements", "odfpy, lxml"),
    "ods": Kind({".ods"}, open_document, "paragraphs, all elements", "odfpy, lxml"),
    "odp": Kind({".odp"}, open_document, "paragraphs, all elements", "odfpy, lxml"),
    "epub": Kind({".epub"}, xml_structure.book, "pages, order, elements, metadata", "ebooklib, lxml"),
    "android": Kind({".xml"}, xml_structure.android, TREE, "translate-toolkit, lxml", r"<resources[\s\S]*<(string|plurals)\b"),
    "resx": Kind({".resx", ".resw"}, xml_structure.dot_net, TREE, "translate-toolkit, lxml"),
    "qt": Kind({".ts"}, xml_structure.qt, TREE, "translate-toolkit, lxml", r"<TS\b"),
    "xliff1": Kind({".xlf", ".xliff"}, xml_structure.xliff_1, TREE, "translate-toolkit, lxml", r"<xliff\b[^>]*\sversion=.1"),
    "xliff2": Kind({".xlf", ".xliff"}, xml_structure.xliff_2, TREE, "translate-toolkit, lxml", r"<xliff\b[^>]*\sversion=.2"),
    "tmx": Kind({".tmx"}, xml_structure.translation_memory, TREE, "translate-toolkit, lxml"),
    "properties": Kind({".properties"}, java, "keys, text of each value, comments", "javaproperties"),
    "strings": Kind({".strings"}, apple, "keys, text of each value, comments", "translate-toolkit"),
    "yaml": Kind({".yaml", ".yml"}, yaml_tree, "keys, text of each value, other values, their types", "PyYAML"),
}

# Kinds with translations beside the source, which are filled.
FILLED = {
    "po": filled,
    "qt": xml_structure.filled,
    "xliff1": xml_structure.filled,
    "xliff2": xml_structure.filled,
    "tmx": xml_structure.filled_memory,
}

# Kinds of files that are read as text.
TEXT = {"md", "po", "json", "arb", "vtt", "srt", "csv", "yaml"}


def text_of(path, kind):
    return path.read_bytes().decode("utf-8") if kind in TEXT else path.read_bytes()


def check(path, kind, arguments):
    """Returns the outcome for a file, and what is to be said about it."""
    structure = KINDS[kind].structure
    try:
        source = text_of(path, kind)
        expected = structure(FILLED.get(kind, lambda it: it)(source))
    except Exception as error:  # The parser refuses some files; so they cannot be compared.
        return "not compared", repr(error)[:80]
    if kind == "po" and expected[1:] != (0, []):
        return "not compared", "msgfmt refuses it"
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out" + path.suffix)
        command = [*arguments.program.split(), "translate", "--in", path, "--out", output, "--format", path.suffix[1:].lower()]
        command += ["--model", arguments.model] if arguments.model else []
        if kind == "csv":
            n_columns = len(expected[0][0]) if expected[0] else 0
            command += ["--columns", ",".join(str(n + 1) for n in range(n_columns))]
        if kind == "po":
            command += ["--retranslate"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if run.returncode != 0:
            outcome = "refused" if run.returncode == 1 and "panicked" not in run.stderr else "crash"
            return outcome, run.stderr.strip()[-300:]
        if arguments.keep:
            kept = pathlib.Path(arguments.keep, str(path).replace("/", "%"))
            kept.write_bytes(output.read_bytes())
        translation = text_of(output, kind)
    try:
        found = structure(translation)
    except Exception as error:
        return "different", repr(error)[:80]
    return ("equal", "") if found == expected else ("different", "")


def files(folders, kinds, most, max_bytes):
    """Returns at most `most` files of each kind, from all folders, without copies."""
    found = collections.defaultdict(dict)
    for folder in folders:
        for path in sorted(pathlib.Path(folder).expanduser().rglob("*")):
            for kind in kinds:
                is_kind = path.suffix.lower() in KINDS[kind].extensions and len(found[kind]) < most
                if is_kind and path.is_file() and 0 < path.stat().st_size <= max_bytes:
                    content = path.read_bytes()
                    if re.search(KINDS[kind].begins, content[:20_000].decode("utf-8", "replace")):
                        found[kind].setdefault(content, path)
    return [(path, kind) for kind in kinds for path in found[kind].values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--program", default="transformer-infer")
    parser.add_argument("--model", help="a model directory; without it, the program has one of its own")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--most", type=int, default=300, help="number of files of each kind")
    parser.add_argument("--max-bytes", type=int, default=60_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="a folder for the translations")
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    counts = {kind: collections.Counter() for kind in kinds}
    chosen = files(arguments.folders, kinds, arguments.most, arguments.max_bytes)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = pool.map(lambda it: check(*it, arguments), chosen)
        for (path, kind), (outcome, note) in zip(chosen, outcomes):
            counts[kind][outcome] += 1
            if outcome != "equal":
                print(f"{outcome}: {path} {note}", flush=True)
    print("| kind | what is kept | parser | files | equal | different | refused | crashes | not compared |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for kind, count in counts.items():
        n_files = sum(count.values()) - count["not compared"]
        numbers = [n_files, *(count[it] for it in ("equal", "different", "refused", "crash", "not compared"))]
        print("|", " | ".join([kind, KINDS[kind].kept, KINDS[kind].parser, *map(str, numbers)]), "|")


if __name__ == "__main__":
    main()
