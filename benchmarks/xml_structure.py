"""The structure of XML, and of packages of XML, as `document_structure.py` compares it.

A passage is an element with text. Its letters, and the elements inside it, may come in any order, since a translation has
another word order; all other elements keep theirs. Everything is read with lxml, and what translators work with also by
translate-toolkit.
"""

import collections
import copy
import io
import re
import sys
import tempfile
import zipfile

import ebooklib.epub
import lxml.etree
from translate.storage import aresource, resx, tmx, ts2, xliff, xliff2

sys.setrecursionlimit(20_000)

# Runs and their formatting, which a translation divides in another way; python-docx and others compare these.
RUNS = set("r t rPr rPh phoneticPr proofErr lastRenderedPageBreak softHyphen soft-page-break span".split())
# Their text is not text of the document.
WITHOUT_TEXT = {"rPr", "rPh", "phoneticPr"}
# In XLIFF, their text is code.
CODES = {"bpt", "ept", "it", "ph"}

PASSAGES = {
    "office": set("p h si is text".split()),
    "android": {"string", "item"},
    "resx": {"value"},
    "bilingual": {"source", "target", "translation", "seg"},
    "page": set("p h1 h2 h3 h4 h5 h6 li dt dd td th caption figcaption title div section blockquote pre body".split()),
}


def letters(text):
    return sorted(re.sub(r"\W", "", text.upper()))


def name_of(element):
    return str(element.tag).rpartition("}")[2]


def parsed(file):
    parser = lxml.etree.XMLParser(resolve_entities=False, load_dtd=False, huge_tree=True)
    return lxml.etree.fromstring(file, parser)


def text_of(element, without=WITHOUT_TEXT):
    """Returns the text of an element and of those inside it."""
    if not isinstance(element.tag, str):
        return str(element) if element.tag is lxml.etree.Entity else ""
    if name_of(element) in without:
        return ""
    return (element.text or "") + "".join(text_of(it, without) + (it.tail or "") for it in element)


def marks(element):
    """Returns the elements inside a passage, without runs."""
    found = collections.Counter()
    for it in element:
        name = name_of(it) if isinstance(it.tag, str) else repr(it)
        if name in WITHOUT_TEXT:
            continue
        before = it.getprevious()
        # In OpenDocument, two links to one place, side by side, are one.
        is_link = name == "a" and "opendocument" in str(it.tag)
        goes_on = is_link and before is not None and not before.tail and (before.tag, before.attrib) == (it.tag, it.attrib)
        if name not in RUNS and not goes_on:
            found[name, tuple(sorted(it.attrib.items()))] += 1
        found += marks(it)
    return found


def tree(element, passages):
    """Returns the elements in order, up to the passages."""
    label = (str(element.tag), sorted(element.attrib.items()), (element.tail or "").strip())
    if name_of(element) in passages:
        return label, letters(text_of(element)), sorted(marks(element).items(), key=repr)
    text = "" if name_of(element) in WITHOUT_TEXT else (element.text or "").strip()
    return label, text, [tree(it, passages) for it in element]


def units(storage, file):
    """Returns the units of a file as translate-toolkit reads them."""
    found = storage.parsestring(file).units
    return [(it.getid(), letters(str(it.source or "")), letters(str(it.target or "")), it.getnotes()) for it in found]


def android(file):
    return tree(parsed(file), PASSAGES["android"]), units(aresource.AndroidResourceFile, file)


def dot_net(file):
    return tree(parsed(file), PASSAGES["resx"]), units(resx.RESXFile, file)


def qt(file):
    return tree(parsed(file), PASSAGES["bilingual"]), units(ts2.tsfile, file)


def xliff_1(file):
    return tree(parsed(file), PASSAGES["bilingual"]), units(xliff.xlifffile, file)


def xliff_2(file):
    return tree(parsed(file), PASSAGES["bilingual"]), units(xliff2.Xliff2File, file)


def translation_memory(file):
    return tree(parsed(file), PASSAGES["bilingual"]), units(tmx.tmxfile, file)


def filled(file):
    """Fills the empty targets of XLIFF and Qt with copies of their sources, as a translation fills them."""
    root = parsed(file)
    target_name = "translation" if name_of(root) == "TS" else "target"
    # Modules of XLIFF 2 have elements of this name, too.
    sources = root.iter(root.tag[: -len(name_of(root))] + "source")
    for source in [it for it in sources if any(map(str.isalpha, text_of(it, CODES)))]:
        around = [source, *source.iterancestors()]
        is_copied = lambda it: it.get("translate") == "no" or it.get("numerus") == "yes" or name_of(it) == "alt-trans"
        siblings = {name_of(it): it for it in source.getparent() if isinstance(it.tag, str)}
        target = siblings.get(target_name)
        if any(map(is_copied, around)) or target is not None and (len(target) or (target.text or "").strip()):
            continue
        if target is None:
            target = lxml.etree.Element(source.tag[: -len("source")] + target_name)
            after = siblings.get("seg-source", source)
            target.tail, after.tail = after.tail, ""
            after.addnext(target)
        target.text = source.text
        target.extend(copy.deepcopy(it) for it in source)
    return lxml.etree.tostring(root)


def filled_memory(file):
    """Fills the missing and empty variants of a translation memory in the first other language, likewise."""
    root = parsed(file)
    # Before version 1.4, the attribute was `lang`.
    keys = ["{http://www.w3.org/XML/1998/namespace}lang", "lang"]
    variants = [(it, next((it.get(key) for key in keys if key in it.attrib), "")) for it in root.iter("tuv")]
    key = next((key for key in keys if any(key in it.attrib for it, _ in variants)), None)
    codes = {it: code.lower() for it, code in variants}
    src = root.find("header").get("srclang")
    src = variants[0][1] if src == "*all*" and variants else src
    tgt = next((code for _, code in variants if code.lower() != src.lower()), None)
    for unit in root.iter("tu") if tgt else []:
        of_unit = unit.get("srclang", "*all*").lower().replace("*all*", src.lower())
        source = next((it for it in unit.iter("tuv") if codes[it] == of_unit), None)
        target = next((it for it in unit.iter("tuv") if codes[it].startswith(tgt.lower())), None)
        has_text = source is not None and any(map(str.isalpha, text_of(source.find("seg"), CODES)))
        if not has_text or target is not None and text_of(target).strip():
            continue
        if target is None:
            target = lxml.etree.Element("tuv", {key: tgt})
            target.append(lxml.etree.Element("seg"))
            target.tail, source.tail = source.tail, ""
            source.addnext(target)
        target.find("seg").text = source.find("seg").text
        target.find("seg").extend(copy.deepcopy(it) for it in source.find("seg"))
    return lxml.etree.tostring(root)


def entries(file, passages=PASSAGES["office"], text=(".xml",)):
    """Returns the names of all entries with the structure of those with text, and the content of the others."""
    package = zipfile.ZipFile(io.BytesIO(file))

    def content(name):
        found = package.read(name)
        return tree(parsed(found), passages) if found.strip() and name.endswith(text) else found

    return [(name, content(name)) for name in package.namelist()]


def book(file):
    with tempfile.NamedTemporaryFile(suffix=".epub") as named:
        named.write(file)
        named.flush()
        try:
            found = ebooklib.epub.read_epub(named.name)
        except KeyError as error:  # The book lacks a file that it lists.
            known = repr(error)
        else:
            items = [(it.get_id(), it.file_name, it.media_type) for it in found.get_items()]
            known = items, found.spine, found.metadata
    return known, entries(file, PASSAGES["page"], (".xhtml", ".html", ".htm"))
