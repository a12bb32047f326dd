"""Tokenizers, metrics, import and export, and the facade of CTranslate2."""

import json

import pytest
import transformer_burn
from conftest import LINES, MODEL
from transformer_burn import Bleu, Chrf, Ter, Tokenizer, ctranslate2

HYPOTHESES = ["The cat sat.", "A dog!"]
REFERENCES = [["The cat sat.", "The dog!"]]


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "model"
    transformer_burn.export_model(MODEL, folder)
    return folder


def test_a_tokenizer_restores_a_line(translator):
    tokenizer = translator.src_tokenizer
    ids = tokenizer.encode("nine hundred")
    assert tokenizer.decode(ids) == "nine hundred"
    assert [tokenizer.id(token) for token in tokenizer.tokenize("nine hundred")] == ids
    assert max(ids) < len(tokenizer)


def test_a_file_that_is_no_tokenizer_is_a_value_error(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="tokenizer.json"):
        Tokenizer(tmp_path / "tokenizer.json")


def test_bleu_is_that_of_the_documentation():
    score = Bleu().corpus_score(HYPOTHESES, REFERENCES)
    assert f"{score.score:.2f}" == "82.23"
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_equal_texts_have_the_best_scores():
    assert Chrf(word_order=2).corpus_score(HYPOTHESES, [HYPOTHESES]).score == 100
    assert Ter().corpus_score(HYPOTHESES, [HYPOTHESES]).score == 0


def test_metrics_refuse_other_numbers_of_references():
    with pytest.raises(ValueError, match="1 lines, and there are 2 hypotheses"):
        Bleu().corpus_score(HYPOTHESES, [["The cat sat."]])


def test_an_exported_model_translates_as_before_after_its_import(translator, exported, tmp_path):
    out = tmp_path / "imported"
    transformer_burn.import_model(exported, out)
    imported = transformer_burn.Translator(out)
    options = {key: translator.search[key] for key in ["beam_size", "max_len", "min_len", "length_penalty", "stop"]}
    found = imported.translate(LINES, **options, at_limit="cut")
    assert [it.text for it in found] == [it.text for it in translator.translate(LINES)]
    with pytest.raises(FileExistsError, match="imported"):
        transformer_burn.import_model(exported, out)


def test_the_facade_translates_tokens_as_the_model_translates_lines(translator, exported):
    facade = ctranslate2.Translator(str(exported), compute_type="float32", intra_threads=1)
    sources = [translator.src_tokenizer.tokenize(line) for line in LINES]
    found = facade.translate_batch(sources, beam_size=3, num_hypotheses=2, return_scores=True)
    expected = translator.translate(
        LINES,
        beam_size=3,
        n_best=2,
        length_penalty="power:1",
        max_len=256,
        min_len=2,
        at_limit="compete",
        stop="beam-finished",
        renormalize=True,
    )
    for result, translation in zip(found, expected):
        assert result.hypotheses == [it.tokens for it in translation.candidates]
        assert result.scores == pytest.approx([it.score for it in translation.candidates])


def test_the_facade_begins_with_a_prefix(exported, translator):
    facade = ctranslate2.Translator(str(exported))
    prefix = translator.tgt_tokenizer.tokenize("7")
    source = translator.src_tokenizer.tokenize("twelve")
    [with_prefix, without] = facade.translate_batch([source, source], [prefix, None])
    assert with_prefix.hypotheses[0][: len(prefix)] == prefix
    assert without == facade.translate_batch([source])[0]


def test_the_facade_scores_as_the_model(translator, exported):
    facade = ctranslate2.Translator(str(exported))
    source, target = translator.src_tokenizer.tokenize("twelve"), translator.tgt_tokenizer.tokenize("12")
    [result] = facade.score_batch([source], [target])
    [(_, expected)] = translator.score(["twelve"], ["12"])
    assert result.log_probs == pytest.approx(expected, abs=1e-4)
    assert result.tokens == [*target, "</s>"]


def test_the_facade_draws_the_samples_of_its_seed(exported, translator):
    facade = ctranslate2.Translator(str(exported))
    source = translator.src_tokenizer.tokenize("twelve")
    options = {"beam_size": 1, "sampling_topk": 0, "sampling_temperature": 2, "num_hypotheses": 9}

    def draw():
        return facade.translate_batch([source], return_scores=True, **options)[0]

    ctranslate2.set_random_seed(5)
    first, second = draw(), draw()
    ctranslate2.set_random_seed(5)
    assert first == draw() != second
    assert first.scores == sorted(first.scores, reverse=True)


def test_the_facade_returns_futures_on_request(exported, translator):
    facade = ctranslate2.Translator(str(exported))
    source = translator.src_tokenizer.tokenize("twelve")
    [future] = facade.translate_batch([source], asynchronous=True)
    assert future.result() == facade.translate_batch([source])[0]
    [future] = facade.translate_batch([source], asynchronous=True, min_decoding_length=9, max_decoding_length=2)
    with pytest.raises(ValueError, match="is greater than"):
        future.result()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"return_attention": True}, ValueError, "return_attention is not available"),
        ({"beams": 2}, TypeError, "beams"),
        ({"target_prefix": [[], []]}, ValueError, "length 2"),
    ],
)
def test_the_facade_refuses_options_by_name(exported, options, error, message):
    facade = ctranslate2.Translator(str(exported))
    with pytest.raises(error, match=message):
        facade.translate_batch([["7"]], **options)


def test_the_facade_has_no_encoder():
    with pytest.raises(RuntimeError, match="Encoder"):
        ctranslate2.Encoder("model")


def test_the_facade_reads_vocabularies_of_either_kind(exported, tmp_path):
    for file in exported.iterdir():
        if file.name.endswith("_vocabulary.json"):
            tokens = json.loads(file.read_text(encoding="utf-8"))
            text = "".join(f"{token}\n" for token in tokens)
            (tmp_path / file.name).with_suffix(".txt").write_text(text, encoding="utf-8")
        elif not file.name.endswith("tokenizer.json"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    source = [["▁twelve", "▁hundred"]]
    [expected, found] = [ctranslate2.Translator(str(it)).translate_batch(source) for it in [exported, tmp_path]]
    assert found == expected
