"""Tokenizers, metrics, import and export, and the facade of CTranslate2."""

import json
from threading import Event, Thread

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


@pytest.mark.parametrize(
    "name", ["Encoder", "Generator", "StorageView", "converters", "models", "specs", "set_log_level"]
)
def test_the_facade_refuses_other_parts_by_name(name):
    with pytest.raises(AttributeError, match=rf"ctranslate2\.{name} is not available"):
        getattr(ctranslate2, name)


def test_the_facade_has_no_unknown_parts():
    with pytest.raises(AttributeError, match="has no attribute 'Translater'"):
        ctranslate2.Translater


def test_a_cancelled_future_leaves_the_others(exported):
    facade = ctranslate2.Translator(str(exported))
    release = Event()
    blocker = facade._threads.submit(release.wait)
    cancelled, other = facade.translate_batch([["7"], ["7"]], asynchronous=True)
    assert cancelled.cancel()
    release.set()
    assert blocker.result()
    assert other.result(timeout=60) == facade.translate_batch([["7"]])[0]


def test_a_model_is_not_unloaded_while_work_is_queued(exported):
    facade = ctranslate2.Translator(str(exported))
    release = Event()
    facade._threads.submit(release.wait)
    futures = facade.translate_batch([["7"]], asynchronous=True)
    assert facade.num_active_batches == 1
    facade.unload_model()
    assert facade.model_is_loaded
    release.set()
    futures[0].result(timeout=60)


def test_an_unloaded_model_refuses_work_until_it_is_loaded(exported):
    facade = ctranslate2.Translator(str(exported))
    expected = facade.translate_batch([["7"]])
    facade.unload_model()
    assert not facade.model_is_loaded
    for asynchronous in [False, True]:
        with pytest.raises(RuntimeError, match="call load_model"):
            facade.translate_batch([["7"]], asynchronous=asynchronous)
    facade.load_model()
    assert facade.translate_batch([["7"]]) == expected


def test_a_model_is_not_unloaded_while_work_is_being_queued(exported):
    facade = ctranslate2.Translator(str(exported))
    release = Event()
    facade._threads.submit(release.wait)
    submit = facade._threads.submit
    unloading = Thread(target=facade.unload_model)

    def submit_late(*arguments):
        unloading.start()
        unloading.join(0.2)
        return submit(*arguments)

    facade._threads.submit = submit_late
    [future] = facade.translate_batch([["7"]], asynchronous=True)
    unloading.join()
    assert facade.model_is_loaded
    release.set()
    future.result(timeout=60)


def test_the_facade_limits_targets_as_sources(exported, translator):
    facade = ctranslate2.Translator(str(exported))
    source = translator.src_tokenizer.tokenize("seven thousand and forty")
    target = tuple(translator.tgt_tokenizer.tokenize("7 0 4 0"))
    [result] = facade.score_batch([source], [target], max_input_length=3)
    assert result.tokens == [*target[:2], "</s>"]
    assert result == facade.score_batch([source[:3]], [target[:2]])[0]
    [result] = facade.score_batch([source], [target], max_input_length=0)
    assert result.tokens == [*target, "</s>"]


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
