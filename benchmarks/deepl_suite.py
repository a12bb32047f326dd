#!/usr/bin/env python3
"""Runs the tests of DeepL's client for Python against `transformer-infer serve`.

    pip install deepl==1.32.0 click pytest 'pydantic<2'
    cargo build --workspace
    python3 benchmarks/deepl_suite.py --suite DEEPL_PYTHON

DEEPL_PYTHON is a checkout of https://github.com/DeepLcom/deepl-python. Its tests translate one phrase between 31
languages, so this trains small models that know the phrase by heart (two minutes on two cores). The tests run twice:
against a server with a key, as against DeepL's own, and with the settings for DeepL's mock server, some of whose
tests need no more than a server. A test passes if it passes in one of them. Prints those that do not, with the
reason, and the numbers.
"""

import argparse
import ast
import json
import os
import secrets
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from serving import HOST, Server

KEY = secrets.token_hex(16)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, default=Path("target/debug"))
    parser.add_argument("--suite", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        models = make_models(arguments, scratch)
        keys = scratch / "keys"
        keys.write_text(KEY + "\n")
        environment = {"DEEPL_AUTH_KEY": KEY}
        results = run(arguments, scratch, models, environment, "--api-keys", keys)
        environment = {"DEEPL_MOCK_SERVER_PORT": "1", "DEEPL_AUTH_KEY": "mock_server"}
        for name, outcome in run(arguments, scratch, models, environment).items():
            if results[name][0] != "passed" and outcome[0] != "skipped":
                results[name] = outcome
    for name, (state, reason) in sorted(results.items()):
        if state != "passed":
            print(f"{state:8} {name}: {reason}")
    states = [state for state, _ in results.values()]
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    print(f"{len(results)} tests: {counts}")


def phrases(suite):
    """Returns the phrase of the tests in each language."""
    text = (suite / "tests" / "conftest.py").read_text(encoding="utf-8")
    start = text.index("example_text = ") + len("example_text = ")
    found = ast.literal_eval(text[start:])
    return {code.split("-")[0].lower(): phrase for code, phrase in found.items()}


def make_models(arguments, scratch):
    """Trains a model for each target, and serves it for each source."""
    texts = phrases(arguments.suite)
    sources = {"en": [code for code in texts if code != "en"], "de": ["en", "fr"], "fr": ["en"]}
    # The words of the tests' glossaries, and of their texts with tags, of which the tests expect the translation.
    words = "fruit\tApfel, Banane\npainter\tMaler\ngain\tGewinn\n"
    words += "A document's title\tDer Titel eines Dokuments\nMy First Heading\tMeine erste Überschrift\n"
    models = scratch / "models"
    for target, known in sources.items():
        pairs = "".join(f"{texts[source]}\t{texts[target]}\n" for source in known)
        pairs += words if target == "de" else ""
        (scratch / "valid.tsv").write_text(pairs, encoding="utf-8")
        (scratch / "train.tsv").write_text(pairs * (600 // pairs.count("\n")), encoding="utf-8")
        settings = {
            "tokenizer.kind": "char", "tokenizer.vocabulary": "separate", "model.d_model": 64, "model.d_ff": 128,
            "model.n_heads": 4, "model.n_encoder_layers": 2 if target == "en" else 1, "model.n_decoder_layers": 1,
            "training.validation_interval": 75,
        }
        command = [
            arguments.programs / "transformer-train", "--plain", "--preset", "tiny", "--threads", "1",
            "--tsv", scratch / "train.tsv", "--valid-tsv", scratch / "valid.tsv", "--out", scratch / target,
            "--updates", "450",
        ]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for source in known:
            write_model(scratch / target / "model", models / f"{source}-{target}", source, target)
    # Tests translate into these languages, and do not look at the translation.
    for target in ["tr", "ar"]:
        write_model(scratch / "de" / "model", models / f"en-{target}", "en", target)
    return models


def write_model(model, folder, source, target):
    folder.mkdir(parents=True)
    for file in model.iterdir():
        if file.name != "manifest.json":
            (folder / file.name).symlink_to(file.resolve())
    manifest = json.loads((model / "manifest.json").read_text())
    manifest["training"] |= {"src_lang": source, "tgt_lang": target}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def run(arguments, scratch, models, environment, *flags):
    """Returns the state and the reason of each test."""
    command = [arguments.programs / "transformer-infer", "serve", "--host", HOST, "--port", "PORT"]
    command += ["--models-dir", models, "--pivot", "en", "--glossaries", scratch / "glossaries", *flags]
    report = scratch / "report.xml"
    with Server(command, scratch / "log") as server:
        environment = os.environ | environment | {"DEEPL_SERVER_URL": server.url}
        tests = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", "tests"]
        subprocess.run(tests, cwd=arguments.suite, env=environment, stdout=subprocess.DEVNULL)
    results = {}
    for case in ElementTree.parse(report).iter("testcase"):
        state, reason = "passed", ""
        for child in case:
            if child.tag in ["failure", "error", "skipped"]:
                state = "skipped" if child.tag == "skipped" else "failed"
                reason = child.get("message", "").splitlines()[0][:120]
        module = case.get("classname").rsplit(".", 1)[-1]
        results[f"{module}::{case.get('name')}"] = (state, reason)
    return results


if __name__ == "__main__":
    main()
