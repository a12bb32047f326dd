//! Terms that translations must contain, in the library and as a user of the program gives them.

use std::fs;
use std::path::Path;

use transformer_infer::search::{LengthLimit, Request, Sampling, Search, SearchError};
use transformer_infer::{Input, Translation, Translator, TranslatorError, Warning};

use crate::command::{model, stderr, stdout, translate};
use crate::model::{LINES, random_model, tokenizers};
use crate::options::refusal;

fn translator() -> Translator {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    Translator::new(model, &config, tokenizers).expect("the tokenizers are the model's")
}

fn search(beam_size: usize) -> Search {
    Search {
        beam_size,
        max_len: LengthLimit {
            factor: 1.0,
            extra: 20,
        },
        ..Search::default()
    }
}

fn translated(beam_size: usize, terms: &[&[&str]]) -> Vec<Translation> {
    let inputs: Vec<Input<'_>> = (0..)
        .zip(LINES.iter().zip(terms))
        .map(|(index, (text, terms))| Input {
            text,
            terms,
            index,
            ..Input::default()
        })
        .collect();
    let found = translator().translate_inputs(&inputs, &search(beam_size), &mut |_| ());
    found.expect("the weights are finite")
}

#[test]
fn translations_contain_their_terms_as_whole_words() {
    let terms: [&[&str]; 5] = [&["fed"], &[], &["bad cab", "cab"], &["d", "d"], &["deaf"]];
    for beam_size in [1, 4] {
        for (translation, terms) in translated(beam_size, &terms).iter().zip(terms) {
            assert!(translation.unmet_terms.is_empty(), "{translation:?}");
            let words: Vec<&str> = translation.text().split(' ').collect();
            for word in terms.iter().flat_map(|term| term.split(' ')) {
                assert!(words.contains(&word), "{translation:?}");
            }
        }
    }
}

#[test]
fn lines_without_terms_are_translated_as_without_any() {
    let none: [&[&str]; 5] = [&[]; 5];
    let some: [&[&str]; 5] = [&["fed"], &[], &["bad"], &[], &["deaf"]];
    for beam_size in [1, 4] {
        let (without, with) = (translated(beam_size, &none), translated(beam_size, &some));
        assert_eq!(without[1], with[1]);
        assert_eq!(without[3], with[3]);
    }
}

#[test]
fn a_term_that_the_vocabulary_lacks_is_unmet_and_no_error() {
    let terms: [&[&str]; 1] = [&["fed", "xyz"]];
    let found = translated(4, &terms);
    assert_eq!(found[0].unmet_terms, [1]);
    assert!(found[0].text().split(' ').any(|word| word == "fed"));
}

#[test]
fn terms_beyond_the_most_that_are_required_are_named_in_a_warning() {
    let n = Request::MOST_PHRASES;
    for n_terms in [n, n + 1] {
        let terms = vec!["d"; n_terms];
        let input = Input {
            text: "bad",
            terms: &terms,
            ..Input::default()
        };
        let found = translator().translate_inputs(&[input], &search(1), &mut |_| ());
        let found = found.expect("the weights are finite");
        let expected = (n_terms > n).then_some(Warning::ManyTerms {
            n_terms,
            n_required: n,
        });
        assert_eq!(found[0].warning, expected);
    }
}

#[test]
fn a_blank_line_meets_no_term() {
    let input = Input {
        text: " ",
        terms: &["fed"],
        ..Input::default()
    };
    let found = translator().translate_inputs(&[input], &search(4), &mut |_| ());
    let found = found.expect("the weights are finite");
    assert_eq!((found[0].text(), &found[0].unmet_terms[..]), ("", &[0][..]));
}

#[test]
fn samples_with_terms_are_refused() {
    let search = Search {
        sampling: Some(Sampling::default()),
        ..search(1)
    };
    let input = Input {
        text: "bad",
        terms: &["fed"],
        ..Input::default()
    };
    let refused = translator().translate_inputs(&[input], &search, &mut |_| ());
    assert!(matches!(
        refused,
        Err(TranslatorError::Search(SearchError::SampledPhrases))
    ));
}

/// Writes a glossary next to the model, and returns its path.
fn glossary(model: &Path, text: &str) -> String {
    let path = model.join("terms.tsv");
    fs::write(&path, text).expect("the directory is writable");
    path.to_str().expect("the path is UTF-8").to_owned()
}

#[test]
fn a_glossary_prescribes_words_and_its_use_is_reported() {
    let model = model();
    let glossary = glossary(model.path(), "cab\tfed\nbad\txyz\n");
    let flags = ["--terms", &glossary, "--beam", "2"];
    let output = translate(model.path(), &flags, b"a cab\nbad\nd\n");
    let lines = stdout(&output);
    assert!(lines[0].split(' ').any(|word| word == "fed"), "{lines:?}");
    let messages = stderr(&output);
    assert!(messages.contains("warning: line 2: the translation lacks the term `xyz`\n"));
    assert!(messages.ends_with("terms: 1 of 2 were met\n"), "{messages}");
}

#[test]
fn json_lists_the_terms_that_a_translation_lacks() {
    let model = model();
    let glossary = glossary(model.path(), "cab\tfed\nbad\txyz\n");
    let flags = ["--terms", &glossary, "--json", "--quiet"];
    let output = translate(model.path(), &flags, b"a cab\nbad cab\n");
    let lines: Vec<serde_json::Value> = stdout(&output)
        .iter()
        .map(|line| serde_json::from_str(line).expect("the line is JSON"))
        .collect();
    assert!(lines[0].get("unmet_terms").is_none());
    assert_eq!(lines[1]["unmet_terms"], serde_json::json!(["xyz"]));
    assert_eq!(stderr(&output), "");
}

#[test]
fn at_most_ten_terms_are_listed() {
    let model = model();
    let glossary = glossary(model.path(), "d\t\u{1b}xyz\n");
    let output = translate(model.path(), &["--terms", &glossary], &b"d\n".repeat(12));
    let messages = stderr(&output);
    let n_listed = messages.matches("lacks the term `\\u{1b}xyz`").count();
    assert_eq!(n_listed, 10, "{messages}");
    assert!(messages.contains("warning: 2 more terms are missing\n"));
}

#[test]
fn a_glossary_that_is_not_valid_is_refused_with_file_and_line() {
    let model = model();
    let glossary = glossary(model.path(), "cab\tfed\ncab bad\n");
    let refused = refusal(model.path(), &["--terms", &glossary], 1);
    assert_eq!(
        refused,
        format!(
            "error: `{glossary}`, line 2 has 0 tabs; write a term, one tab, and its translation, or begin a comment \
             with #"
        )
    );
}

#[test]
fn a_glossary_and_sampling_exclude_each_other() {
    let model = model();
    let glossary = glossary(model.path(), "cab\tfed\n");
    let refused = refusal(model.path(), &["--terms", &glossary, "--sample"], 2);
    assert!(
        refused.contains("cannot be combined with phrases or terms"),
        "{refused}"
    );
}
