//! Documents in a program of one's own, with a model of random weights.

use transformer_infer::Translator;
use transformer_infer::document::format::{Format, FormatOptions};
use transformer_infer::document::{DocumentTranslator, ModelLines, Protection, Split, Splitter};

use crate::model::{test_device, write_model_of};

/// Ten sentences with different spaces between them.
const SENTENCES: [&str; 10] = [
    "A cab.",
    "Bad dad!",
    "A bad cab faded.",
    "Did dad feed a cab?",
    "Feed a bad cab.",
    "Ed added a bead.",
    "Abe!",
    "Be a cab.",
    "Deaf dad faded.",
    "A decade?",
];

const SPACES: [&str; 10] = [
    " ", "  ", "\n", " ", "\n\n\t", " ", "\r\n", "   ", " ", "\n",
];

#[test]
fn a_paragraph_is_what_its_sentences_are_as_lines() {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    write_model_of(folder.path(), &SENTENCES);
    let translator = Translator::open(folder.path(), &test_device()).expect("it was just written");
    let search = translator.search();
    let single = SENTENCES.map(|sentence| {
        let translated = translator.translate_with(&[sentence], search);
        translated.expect("the weights are finite")[0]
            .text()
            .to_owned()
    });
    let text: String = SENTENCES
        .iter()
        .zip(SPACES)
        .flat_map(|(text, space)| [*text, space])
        .collect();
    let expected: String = single
        .iter()
        .zip(SPACES)
        .flat_map(|(text, space)| [text.as_str(), space])
        .collect();

    let lines = ModelLines::new(&translator, search);
    let (splitter, protection) = (
        Splitter::new(Split::Sentences, "en"),
        Protection::placeholders(),
    );
    let mut documents = DocumentTranslator::new(&lines, &splitter, &protection);
    let input = std::io::Cursor::new(text);
    let parts = Format::Text.read("a text".to_owned(), input, &FormatOptions::default());
    let mut translated = Vec::new();
    let summary = documents.translate(parts.expect("it is UTF-8"), &mut translated, &mut |_| ());
    assert_eq!(String::from_utf8_lossy(&translated), expected);
    assert_eq!(summary.expect("the weights are finite").n_sentences, 10);
}
