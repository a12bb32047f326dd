//! Several models: names, pairs of languages, pivots, and loading them again.

use std::fs;

use serde_json::{Value, json};
use transformer_infer::serve::{ServeError, ServeOptions, ServerSignal};

use super::running::{Models, Running, options, set_training};
use crate::multilingual::{fixture, imported, translator};

/// Returns the model that translates between two languages, or the error.
fn model(server: &Running, source: Option<&str>, target: Option<&str>) -> String {
    let request = json!({ "text": "a b", "source": source, "target": target });
    let reply = server.post("/v1/translate", &request).json();
    let found = reply["model"].as_str().or(reply["error"].as_str());
    found.expect("there is a model or an error").to_owned()
}

/// Starts a server with these models.
fn serve(models: &Models, pairs: &[(&str, &str, &str)], pivot: Option<&str>) -> Running {
    let paths = pairs
        .iter()
        .map(|(name, from, to)| models.write(name, Some((from, to))));
    Running::ready(ServeOptions {
        pivot: pivot.map(|code| code.parse().expect("it is a code")),
        ..options(&paths.collect::<Vec<_>>())
    })
}

/// Returns why a server does not start.
fn refusal(options: ServeOptions) -> ServeError {
    Running::start(options)
        .end()
        .expect_err("the models do not fit")
}

#[test]
fn models_are_found_by_languages() {
    let models = Models::new();
    let pairs = [("a", "en", "de"), ("b", "de", "en"), ("c", "en", "pt-BR")];
    let server = serve(&models, &pairs, None);
    assert_eq!(model(&server, Some("en"), Some("de")), "a");
    assert_eq!(model(&server, Some("en-US"), Some("pt")), "c");
    assert_eq!(model(&server, Some("de"), None), "b");
    assert_eq!(model(&server, Some("auto"), Some("en")), "b");
    let several = "several models can translate this; give `source`, `target` or `model`";
    assert_eq!(model(&server, Some("en"), None), several);
    assert_eq!(model(&server, None, None), several);
    let missing = "pt-BR is not available as a target language from de";
    assert_eq!(model(&server, Some("de"), Some("pt-BR")), missing);
}

#[test]
fn the_closest_pair_is_found_and_not_each_closest_language() {
    let models = Models::new();
    let pairs = [("a", "zh", "en"), ("b", "zh-Hant", "de"), ("c", "en", "fr")];
    let server = serve(&models, &pairs, Some("en"));
    assert_eq!(model(&server, Some("zh-TW"), Some("en")), "a");
    assert_eq!(model(&server, Some("zh-TW"), Some("de")), "b");
    assert_eq!(model(&server, Some("zh-TW"), None), "b");
    assert_eq!(model(&server, Some("zh-TW"), Some("fr")), "a+c");
}

#[test]
fn two_models_translate_through_a_third_language() {
    let models = Models::new();
    let server = serve(&models, &[("a", "de", "en"), ("b", "en", "fr")], Some("en"));
    let text = "Ein Hund. Er   rennt {x}.";
    let html = "<p>Ein <b>Hund</b></p>";
    let translated = |text: &str, format: &str| {
        let request = json!({ "text": text, "source": "de", "target": "fr", "format": format });
        server.post("/v1/translate", &request).json()
    };
    let reply = translated(text, "text");
    assert_eq!(
        (&reply["model"], &reply["source"]),
        (&json!("a+b"), &json!("de"))
    );
    assert_eq!(reply["translations"][0]["text"], text);
    let sentence = json!({ "source": [10, 25], "target": [10, 25], "text": "Er   rennt {x}." });
    assert_eq!(reply["translations"][0]["sentences"][1], sentence);
    assert_eq!(translated(html, "html")["translations"][0]["text"], html);
}

#[test]
fn words_are_aligned_through_a_third_language() {
    let models = Models::new();
    let server = serve(&models, &[("a", "de", "en"), ("b", "en", "fr")], Some("en"));
    let request =
        json!({ "text": "Ab cd. Ef  gh.", "source": "de", "target": "fr", "alignments": true });
    let reply = server.post("/v1/translate", &request).json();
    let pairs = |index: usize| reply["translations"][0]["sentences"][index]["alignment"].clone();
    let pair = |start: usize, end: usize| json!({ "source": [start, end], "target": [start, end] });
    assert_eq!(pairs(0), json!([pair(0, 2), pair(3, 5), pair(5, 6)]));
    assert_eq!(pairs(1), json!([pair(7, 9), pair(11, 13), pair(13, 14)]));
}

#[test]
fn terms_of_the_source_are_required_of_the_second_model() {
    let models = Models::new();
    let server = serve(&models, &[("a", "de", "en"), ("b", "en", "fr")], Some("en"));
    let terms = json!({ "Hund": "chien" });
    let text = "Ein Hund rennt. Er rennt.";
    let request = json!({ "text": text, "source": "de", "target": "fr", "terms": terms });
    let reply = server.post("/v1/translate", &request).json();
    let sentences = &reply["translations"][0]["sentences"];
    let first = sentences[0]["text"].as_str();
    assert!(
        first.is_some_and(|first| first.contains("chien")),
        "{reply}"
    );
    assert_eq!(sentences[1]["text"], "Er rennt.");
}

#[test]
fn a_placeholder_that_spells_a_term_requires_nothing_of_the_second_model() {
    let models = Models::new();
    let server = serve(&models, &[("a", "de", "en"), ("b", "en", "fr")], Some("en"));
    let terms = json!({ "Hund": "chien" });
    let request =
        json!({ "text": "Siehe {Hund}.", "source": "de", "target": "fr", "terms": terms });
    let reply = server.post("/v1/translate", &request).json();
    assert_eq!(reply["translations"][0]["text"], "Siehe {Hund}.");
}

#[test]
fn languages_have_names_and_are_listed_once_with_the_third_language() {
    let models = Models::new();
    let server = serve(&models, &[("a", "de", "en"), ("b", "en", "fr")], Some("en"));
    let reply = server.get("/v1/models").json();
    let german = json!({ "code": "de", "name": "German", "native_name": "Deutsch" });
    assert_eq!(reply["models"][0]["source"], german);
    let languages = reply["languages"].as_array().expect("it is a list").iter();
    let codes: Vec<&Value> = languages.map(|language| &language["code"]).collect();
    assert_eq!(codes, ["de", "en", "fr"]);
    assert_eq!(reply["models"][1]["source_languages"], json!(["en"]));
    assert_eq!(reply["models"][1]["target_languages"], json!(["fr"]));
    assert_eq!(reply["pivot"], "en");
    let listed = server.get("/languages").json();
    assert_eq!(listed[0]["targets"], json!(["de", "en", "fr"]));
    assert_eq!(listed[1]["targets"], json!(["en", "fr"]));
}

#[test]
fn a_model_without_languages_is_served_to_requests_that_name_none() {
    let models = Models::new();
    let server = Running::ready(options(&[models.write("a", None)]));
    assert_eq!(model(&server, None, None), "a");
    assert_eq!(model(&server, Some("auto"), None), "a");
    let error = model(&server, None, Some("de"));
    assert!(
        error.starts_with("the languages of the model `a` are not known"),
        "{error}"
    );
}

#[test]
fn models_that_cannot_be_told_apart_are_refused() {
    let models = Models::new();
    let (a, b) = (
        models.write("a", Some(("en", "de"))),
        models.write("b", Some(("en", "de"))),
    );
    let error = refusal(options(&[a.clone(), b]));
    let expected =
        "`a` and `b` both translate from en to de; serve one of them, or start a second server";
    assert_eq!(error.to_string(), expected);
    let error = refusal(options(&[a.clone(), a]));
    assert!(matches!(error, ServeError::SameName { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_model_has_the_name_of_its_link() {
    let models = Models::new();
    let (run, link) = (models.path("run17"), models.path("en-de"));
    fs::create_dir(&run).expect("the directory is writable");
    models.write("run17/model", Some(("en", "de")));
    std::os::unix::fs::symlink(&run, &link).expect("the directory is writable");
    let server = Running::ready(options(&[link.join("")]));
    assert_eq!(model(&server, Some("en"), Some("de")), "en-de");
}

#[test]
fn aliases_of_codes_find_their_model() {
    let models = Models::new();
    let pairs = [("a", "en", "nb"), ("b", "en", "zh-Hans"), ("c", "iw", "en")];
    let server = serve(&models, &pairs, None);
    assert_eq!(model(&server, Some("en"), Some("no")), "a");
    assert_eq!(model(&server, Some("en"), Some("zh-CN")), "b");
    assert_eq!(model(&server, Some("he"), Some("en")), "c");
}

#[test]
fn a_pivot_needs_models_into_it_and_from_it() {
    let models = Models::new();
    let path = models.write("a", Some(("en", "de")));
    for (pivot, direction) in [("en", "into"), ("de", "from")] {
        let error = refusal(ServeOptions {
            pivot: Some(pivot.parse().expect("it is a code")),
            ..options(std::slice::from_ref(&path))
        });
        let expected = format!("no model translates {direction} {pivot}, the language of --pivot");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn a_model_that_is_missing_stops_the_server() {
    let models = Models::new();
    let error = refusal(options(&[models.path("none")]));
    assert!(matches!(error, ServeError::Translator(_)), "{error}");
}

#[test]
fn a_model_is_replaced_and_a_broken_one_is_not() {
    let models = Models::new();
    let server = serve(&models, &[("a", "en", "de")], None);
    let bleu = || server.get("/v1/models").json()["models"][0]["bleu"].clone();
    let reload = |result: &str| {
        server.signal(ServerSignal::Reload);
        let counter = format!("reloads_total{{result=\"{result}\"}}");
        server.wait("the models are read again", |server| {
            server.metric(&counter) > 0.0
        });
    };
    assert_eq!(bleu(), Value::Null);

    let scores = json!({ "scores": { "valid_bleu": 37.5 }, "src_lang": "en", "tgt_lang": "de" });
    let weights = models.path("a").join("weights.bpk");
    let content = fs::read(&weights).expect("the weights were written");
    set_training(&models.path("a"), &scores);
    fs::write(&weights, &content[..content.len() / 2]).expect("the directory is writable");
    reload("failed");
    assert_eq!(bleu(), Value::Null);
    assert_eq!(model(&server, Some("en"), Some("de")), "a");

    fs::write(&weights, content).expect("the directory is writable");
    reload("ok");
    assert_eq!(bleu(), json!(37.5));
    assert_eq!(model(&server, Some("en"), Some("de")), "a");
}

#[test]
fn a_multilingual_model_translates_between_all_its_languages() {
    let (_, cases) = translator(fixture("nllb").path());
    let is_wanted = |src: &str, tgt: &str| src == "de" && tgt == "en";
    let case = cases
        .iter()
        .find(|case| is_wanted(&case.src_lang, &case.tgt_lang));
    let case = case.expect("the fixture has this pair");
    let (_folder, path) = imported("nllb", &[]);
    // The small model repeats letters, which a check would mend.
    let server = Running::ready(ServeOptions {
        check: false,
        ..options(&[path.into()])
    });
    for (source, target) in [("de", "en"), ("deu_Latn", "eng_Latn"), ("de-AT", "en-US")] {
        let request =
            json!({ "text": case.line, "source": source, "target": target, "split": false });
        let reply = server.post("/v1/translate", &request).json();
        assert_eq!(reply["translations"][0]["text"], case.text, "{reply}");
        assert_eq!([&reply["source"], &reply["target"]], ["de", "en"]);
    }
    let request = json!({ "q": case.line, "source": "de", "target": "en" });
    let reply = server.post("/translate", &request).json();
    assert_eq!(reply["translatedText"], case.text, "{reply}");
    let request = json!({ "text": [case.line], "source_lang": "DE", "target_lang": "EN-GB" });
    let reply = server.post("/v2/translate", &request).json();
    assert_eq!(reply["translations"][0]["text"], case.text, "{reply}");
}

#[test]
fn a_pair_of_several_models_is_translated_by_that_of_the_pair_then_by_the_first() {
    let models = Models::new();
    let (first, first_path) = imported("nllb", &[]);
    let (_second, second_path) = imported("m2m100", &[]);
    let pair = models.write("pair", Some(("en", "de")));
    let server = Running::ready(options(&[first_path.into(), second_path.into(), pair]));
    let first = first.path().file_name().expect("it has a name");
    let first = first.to_string_lossy();
    assert_eq!(model(&server, Some("en"), Some("de")), "pair");
    assert_eq!(model(&server, Some("de"), Some("en")), first);
    let request = json!({ "q": "A dog.", "source": "en", "target": "de" });
    let reply = server.post("/translate", &request).json();
    assert_eq!(reply["translatedText"], "A dog.", "{reply}");
    let request = json!({ "text": ["A dog."], "source_lang": "DE", "target_lang": "EN-GB" });
    let reply = server.post("/v2/translate", &request).json();
    assert!(reply["translations"][0]["text"].is_string(), "{reply}");
}

#[test]
fn a_language_in_another_script_is_not_translated_by_a_multilingual_model() {
    let models = Models::new();
    let (_folder, path) = imported("m2m100", &[]);
    let pair = models.write("pair", Some(("en", "de")));
    let server = Running::ready(options(&[path.into(), pair]));
    let error = model(&server, Some("en"), Some("zh-Hant"));
    assert!(error.contains("zh-Hant"), "{error}");
    let request = json!({ "q": "a", "source": "en", "target": "zt" });
    let reply = server.post("/translate", &request).json();
    assert!(reply["error"].is_string(), "{reply}");
}

#[test]
fn a_multilingual_model_is_listed_with_its_languages() {
    let (_folder, path) = imported("m2m100", &[]);
    let server = Running::ready(options(&[path.into()]));
    let reply = server.get("/v1/models").json();
    for side in ["source_languages", "target_languages"] {
        let languages = reply["models"][0][side].as_array();
        let languages = languages.expect("there is a list");
        assert_eq!(languages.len(), 100);
        assert!(languages.contains(&json!("de")));
    }
    let n_bytes = reply.to_string().len();
    assert!(
        n_bytes < 10_000,
        "each language is listed once: {n_bytes} bytes"
    );
    let listed = server.get("/languages").json();
    let german = listed
        .as_array()
        .expect("it is a list")
        .iter()
        .find(|it| it["code"] == "de");
    let targets = &german.expect("German is listed")["targets"];
    assert_eq!(targets.as_array().map(Vec::len), Some(100));
    let error = |request: Value| server.post("/v1/translate", &request).json()["error"].clone();
    let missing = error(json!({ "text": "a", "source": "de" })).to_string();
    assert!(
        missing.ends_with("is multilingual; give `target`, such as af\""),
        "{missing}"
    );
    let unknown = error(json!({ "text": "a", "source": "de", "target": "dee" }));
    assert_eq!(
        unknown,
        "the model has no language `dee`; the nearest code is de"
    );
}
