"""Compares argostranslate on CTranslate2 with argostranslate on this engine.

It makes an Argos package of a model directory with a joint unigram vocabulary, translates lines with argostranslate as
PyPI has it, once on CTranslate2 and once on `transformer_burn.ctranslate2`, and counts equal lines. Models that find
sentences are not needed: each line is one sentence.

    python3 -m venv venv
    venv/bin/pip install --no-deps argostranslate==1.11.0 ctranslate2==4.8.5 sentencepiece==0.2.3 transformer_burn-*.whl
    venv/bin/pip install numpy packaging protobuf
    venv/bin/python benchmarks/argostranslate_agreement.py --model runs/en-de/model --text lines.en --lines 200
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import zipfile
from pathlib import Path

METADATA = {"package_version": "1.0", "argos_version": "1.0", "from_code": "en", "to_code": "de", "type": "translate"}
METADATA |= {"from_name": "English", "to_name": "German"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="model directory")
    parser.add_argument("--text", type=Path, required=True, help="file of lines")
    parser.add_argument("--lines", type=int, default=200, help="number of lines")
    parser.add_argument("--compute-type", default="float32", help="float32 or int8")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = make_package(flags.model, Path(folder))
        lines = flags.text.read_text(encoding="utf-8").splitlines()[: flags.lines]
        results = {}
        for engine in ["ctranslate2", "transformer_burn"]:
            command = [sys.executable, __file__, engine, package]
            variables = os.environ | {
                "XDG_DATA_HOME": f"{folder}/{engine}",
                "XDG_CONFIG_HOME": f"{folder}/{engine}",
                "XDG_CACHE_HOME": f"{folder}/{engine}",
                "ARGOS_COMPUTE_TYPE": flags.compute_type,
            }
            output = subprocess.run(
                command, input=json.dumps(lines), env=variables, check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            results[engine] = json.loads(output.splitlines()[-1])
            print(f"{engine}: {results[engine]['seconds']:.2f} s")
        texts = [results[engine]["texts"] for engine in results]
        n_equal = sum(a == b for a, b in zip(*texts))
        print(f"{n_equal} of {len(lines)} lines are equal")


def make_package(model, folder):
    """Writes an Argos package of a model, and returns its path."""
    import transformer_burn

    transformer_burn.export_model(model, folder / "model")
    tokenizer = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    package = folder / "translate-en_de.argosmodel"
    with zipfile.ZipFile(package, "w") as archive:
        for file in (folder / "model").iterdir():
            archive.write(file, f"en_de/model/{file.name}")
        archive.writestr("en_de/metadata.json", json.dumps(METADATA))
        archive.writestr("en_de/sentencepiece.model", sentencepiece_model(tokenizer["model"]["vocab"]))
    return package


def sentencepiece_model(pieces):
    """Returns a unigram model with pieces and their scores."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    kinds = {"<unk>": 2, "<pad>": 3, "<s>": 3, "</s>": 3}
    for piece, score in pieces:
        model.pieces.add(piece=piece, score=score, type=kinds.get(piece, 1))
    model.trainer_spec.unk_id, model.trainer_spec.bos_id, model.trainer_spec.eos_id = 1, 2, 3
    return model.SerializeToString()


def translate(engine, package):
    """Translates the lines of standard input, as JSON, by argostranslate on an engine."""
    if engine == "transformer_burn":
        import transformer_burn.ctranslate2

        sys.modules["ctranslate2"] = transformer_burn.ctranslate2
    # They split text into sentences, with models that they download.
    sys.modules["stanza"] = types.ModuleType("stanza")
    sys.modules["minisbd"] = minisbd = types.ModuleType("minisbd")
    minisbd.SBDetect = lambda *_, **__: types.SimpleNamespace(sentences=lambda text: [text])
    minisbd.models = types.SimpleNamespace(list_models=lambda: ["en"])
    from argostranslate import package as packages, translate as argos

    lines = json.load(sys.stdin)
    packages.install_from_path(package)
    argos.translate("Warm.", "en", "de")
    begin = time.perf_counter()
    texts = [argos.translate(line, "en", "de") for line in lines]
    print(json.dumps({"seconds": time.perf_counter() - begin, "texts": texts}))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ["ctranslate2", "transformer_burn"]:
        translate(*sys.argv[1:])
    else:
        main()
