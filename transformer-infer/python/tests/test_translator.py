"""Translations equal those of the program; options, errors, streams and documents."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy
import pytest
import transformer_burn
from conftest import LINES, MODEL


def test_translations_are_those_of_the_program(translator, translated_by_program):
    expected = translated_by_program("--beam", "3", "--n-best", "2", "--alignments")
    found = translator.translate(LINES, beam_size=3, n_best=2, alignments=True)
    assert [[it.text for it in line.candidates] for line in found] == [
        [it["text"] for it in line["translations"]] for line in expected
    ]
    for line, answer in zip(found, expected):
        for candidate, other in zip(line.candidates, answer["translations"]):
            assert candidate.score == pytest.approx(other["score"], abs=1e-4)
            assert [list(it) for it in candidate.alignment] == other["alignment"]


def test_samples_are_those_of_the_program(translator, translated_by_program):
    expected = translated_by_program("--sample", "--seed", "7", "--temperature", "1.5")
    found = translator.translate(LINES, sampling={"seed": 7, "temperature": 1.5})
    assert [it.text for it in found] == [it["translations"][0]["text"] for it in expected]


def test_settings_that_are_none_are_the_models_own(translator):
    found = translator.translate(LINES, beam_size=None, max_len=None, glossary=None)
    assert [it.text for it in found] == [it.text for it in translator.translate(LINES)]


def test_the_models_own_search_is_options(translator):
    found = translator.translate(LINES, **translator.search)
    assert [it.text for it in found] == [it.text for it in translator.translate(LINES)]


def test_more_translations_than_beams_raise_the_beam_size(translator):
    assert len(translator.translate(["twelve"], n_best=6)[0].candidates) == 6


def test_a_prefix_begins_the_translation(translator):
    found = translator.translate(["twelve", "twelve"], prefixes=["7", ""])
    assert found[0].text.startswith("7")
    assert found[1].text == translator.translate(["twelve"])[0].text


def test_a_line_contains_the_terms_of_its_glossary(translator):
    found = translator.translate(["twelve"], glossary={"twelve": "0"})
    assert "0" in found[0].text.split() or found[0].unmet_terms == [0]


def test_the_length_is_limited_as_by_the_programs_flag(translator, translated_by_program):
    expected = translated_by_program("--max-len", "0.5x+1")
    found = translator.translate(LINES, max_len="0.5x+1")
    assert [it.text for it in found] == [it["translations"][0]["text"] for it in expected]


def test_rows_of_attention_sum_to_one(translator):
    found = translator.translate(["twelve", ""], attention=True)
    attention = found[0].candidates[0].attention
    src_len, tgt_len = len(attention.src_tokens), len(attention.tgt_tokens)
    assert attention.encoder.shape == (1, 2, src_len, src_len)
    assert attention.decoder.shape == (1, 2, tgt_len, tgt_len)
    assert attention.cross.shape == (1, 2, tgt_len, src_len)
    assert numpy.allclose(attention.cross.sum(-1), 1, atol=1e-5)
    assert found[1].candidates[0].attention is None


def test_importing_the_package_does_not_import_numpy():
    code = "import sys, transformer_burn; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_scores_are_those_of_the_program(translator, program, tmp_path):
    (tmp_path / "src").write_text("twelve\nnine\n")
    (tmp_path / "tgt").write_text("12\n9\n")
    output = program("score", "--model", MODEL, "--src", tmp_path / "src", "--tgt", tmp_path / "tgt")
    expected = [float(line.split()[0]) for line in output.splitlines()[:2]]
    scores = translator.score(["twelve", "nine"], ["12", "9"])
    assert [score for score, _ in scores] == pytest.approx(expected, abs=1e-3)
    assert all(score == pytest.approx(sum(of_tokens)) for score, of_tokens in scores)


def test_an_iterable_is_read_as_it_is_translated(translator):
    n_read = 0

    def lines():
        nonlocal n_read
        for line in LINES:
            n_read += 1
            yield line

    translations = translator.translate_iter(lines(), lines_at_once=2)
    first = next(translations)
    assert n_read == 2
    found = [first.text, *(it.text for it in translations)]
    assert found == [it.text for it in translator.translate(LINES)]


def test_samples_of_an_iterable_do_not_depend_on_its_chunks(translator):
    options = {"sampling": {"seed": 3, "temperature": 1.5}}
    found = translator.translate_iter(LINES, lines_at_once=2, **options)
    assert [it.text for it in found] == [it.text for it in translator.translate(LINES, **options)]


def test_a_stream_ends_with_the_translations(translator):
    texts, translations = {}, {}
    for line, text, translation in translator.stream(LINES, beam_size=1):
        assert line not in translations
        assert len(text) >= len(texts.get(line, ""))
        texts[line] = text
        if translation:
            translations[line] = translation.text
    expected = translator.translate(LINES, beam_size=1)
    assert [translations[line] for line in range(len(LINES))] == [it.text for it in expected]


def test_a_stream_ends_every_line_after_its_translator_is_freed():
    lines = LINES * 20
    stream = transformer_burn.Translator(MODEL).stream(lines)
    gc.collect()
    assert sorted(line for line, _, translation in stream if translation) == list(range(len(lines)))


def test_a_stream_refuses_what_it_does_not_have(translator):
    with pytest.raises(ValueError, match="no alignments"):
        translator.stream(LINES, alignments=True)


def test_a_document_is_that_of_the_program(translator, program, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<p>one <b>million</b> and seven</p><p>twelve</p>")
    program("translate", "--model", MODEL, "--in", page, "--out", tmp_path / "expected.html")
    translator.translate_file(page, tmp_path / "found.html")
    assert (tmp_path / "found.html").read_text() == (tmp_path / "expected.html").read_text()


def test_a_document_replaces_a_file_only_on_request(translator, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("twelve\n")
    with pytest.raises(FileExistsError, match="overwrite"):
        translator.translate_file(text, text)
    translator.translate_file(text, text, overwrite=True)
    assert text.read_text() != "twelve\n"


def test_other_threads_run_while_lines_are_translated(translator):
    seen = threading.Event()
    is_translating = False

    def watch():
        while not seen.is_set():
            if is_translating:
                seen.set()
            time.sleep(0)

    # No thread is made to give way, so the other one runs only while the lock is released.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        for _ in range(1000):
            is_translating = True
            translator.translate(LINES)
            is_translating = False
            if seen.is_set():
                break
        assert seen.is_set()
    finally:
        seen.set()
        sys.setswitchinterval(interval)


def test_threads_share_a_translator(translator):
    expected = [it.text for it in translator.translate(LINES)]
    found = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: translator.translate(LINES)})) for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[it.text for it in found[n]] for n in range(3)] == [expected] * 3


def test_an_interrupt_is_noticed_between_lines():
    code = (
        "import signal, sys, transformer_burn\n"
        "translator = transformer_burn.Translator(sys.argv[1])\n"
        "def interrupt(*_): raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGALRM, interrupt)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "try: translator.translate(['seven thousand and forty'] * 1_000_000)\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, MODEL]).returncode == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 4}, "unknown field `beam`"),
        ({"beam_size": 0}, "`beam_size` is 0"),
        ({"beam_size": 2, "n_best": 3}, "`n_best` is 3"),
        ({"length_penalty": "gnmt:x"}, "gnmt:x"),
        ({"sampling": {"temperature": 0}}, "`temperature` is 0"),
        ({"prefixes": ["7"]}, "1 prefixes and 2 lines"),
        ({"target_lang": "de"}, "`de`|languages"),
    ],
)
def test_an_invalid_option_is_a_value_error(translator, options, message):
    with pytest.raises(ValueError, match=message):
        translator.translate(["twelve", "nine"], **options)


def test_text_in_place_of_lines_is_a_type_error(translator):
    with pytest.raises(TypeError):
        translator.translate("twelve")


def test_a_missing_model_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        transformer_burn.Translator(tmp_path / "nowhere")


def test_a_damaged_model_is_a_value_error(tmp_path):
    for name in os.listdir(os.path.join(MODEL, "model")):
        with open(os.path.join(MODEL, "model", name), "rb") as file:
            (tmp_path / name).write_bytes(file.read())
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="config.json"):
        transformer_burn.Translator(tmp_path)
