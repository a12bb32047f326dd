"""Counts the pages of Office files and of their translations, as LibreOffice lays them out.

    cargo build --package transformer-infer --example reverse_document
    python benchmarks/document_pages.py --program target/debug/examples/reverse_document FOLDER ...

Needs `soffice` and `pdfinfo` (Debian's libreoffice-writer, libreoffice-calc, libreoffice-impress and poppler-utils). A program that
reverses the words of each clause keeps the length of the text, so the pages must be as many; with `--program transformer-infer
--model runs/en-de` a model translates, and longer text may need more of them. Ends with status 1 if a translation cannot be
opened, or if the pages of more than `--tolerance` of the files differ.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

EXTENSIONS = ("docx", "pptx", "xlsx", "odt", "ods", "odp")


def pages(files, folder):
    """Returns the number of pages of each file; `None` if it has none. Their names without the extension must differ."""
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", folder, *files]
    try:
        subprocess.run(command, capture_output=True, timeout=60 + 30 * len(files))
    except subprocess.TimeoutExpired:
        print(f"timeout: {len(files)} files", flush=True)

    def count(file):
        shown = subprocess.run(["pdfinfo", pathlib.Path(folder, file.stem + ".pdf")], capture_output=True, text=True)
        found = re.search(r"^Pages: +(\d+)$", shown.stdout, re.MULTILINE)
        return int(found.group(1)) if found else None

    return [count(file) for file in files]


def chosen(folders, extension, most, max_bytes):
    """Returns files of one extension, from all folders, without copies; the largest come first."""
    found = {}
    for folder in folders:
        for path in sorted(pathlib.Path(folder).expanduser().rglob(f"*.{extension}")):
            if path.is_file() and 0 < path.stat().st_size <= max_bytes:
                found.setdefault(path.read_bytes(), path)
    return sorted(found.values(), key=lambda path: -path.stat().st_size)[:most]


def compare(paths, arguments):
    """Returns how many files had which outcome."""
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        originals, translations = [], []
        for index, path in enumerate(paths):
            original = pathlib.Path(folder, f"{index}-original{path.suffix}")
            translation = pathlib.Path(folder, f"{index}-translation{path.suffix}")
            original.write_bytes(path.read_bytes())
            command = [*arguments.program.split(), "translate", "--in", original, "--out", translation]
            command += ["--format", path.suffix[1:]] + (["--model", arguments.model] if arguments.model else [])
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                originals.append((path, original))
                translations.append(translation)
            else:
                outcome = "refused" if done.returncode == 1 else "crashed"
                counts[outcome] += 1
                print(f"{outcome}: {path} {done.stderr.strip()}", flush=True)
        before = pages([original for _, original in originals], folder)
        after = pages(translations, folder)
        for (path, _), n_before, n_after in zip(originals, before, after):
            if n_before is None:
                outcome = "not opened"
            elif n_after is None:
                outcome = "lost"
            else:
                outcome = "equal" if n_before == n_after else "different"
            counts[outcome] += 1
            if outcome in ("different", "lost"):
                print(f"{outcome}: {path} {n_before} {n_after}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--program", default="transformer-infer")
    parser.add_argument("--model", help="a model directory; without it, the program has one of its own")
    parser.add_argument("--most", type=int, default=20, help="number of files of each extension")
    parser.add_argument("--max-bytes", type=int, default=300_000)
    parser.add_argument("--tolerance", type=float, default=0.0, help="share of the files whose pages may differ")
    arguments = parser.parse_args()
    total = collections.Counter()
    print("| extension | files | equal | different | lost | refused | not opened before |\n|---|--:|--:|--:|--:|--:|--:|")
    for extension in EXTENSIONS:
        paths = chosen(arguments.folders, extension, arguments.most, arguments.max_bytes)
        counts = sum((compare(paths[at : at + 10], arguments) for at in range(0, len(paths), 10)), collections.Counter())
        total += counts
        numbers = [counts[it] for it in ("equal", "different", "lost", "refused", "not opened")]
        print("|", " | ".join(map(str, [extension, len(paths), *numbers])), "|", flush=True)
    n_compared = total["equal"] + total["different"]
    if total["lost"] or total["crashed"] or n_compared < 10 * total["refused"] or n_compared == 0 or total["different"] > arguments.tolerance * n_compared:
        sys.exit("error: pages differ, a file was lost or crashed the program, or too few could be compared, see above")


if __name__ == "__main__":
    main()
