//! Tests of [`Glossary`].

use super::*;

fn read(text: &str) -> Result<Glossary, TranslatorError> {
    Glossary::from_reader("`terms.tsv`", text.as_bytes())
}

fn targets(glossary: &str, sentence: &str) -> Vec<String> {
    let glossary = read(glossary).expect("the glossary is valid");
    let terms = glossary.terms_in(sentence).into_iter();
    terms.map(|term| term.target.to_owned()).collect()
}

fn refusal(text: &str) -> String {
    read(text)
        .expect_err("the glossary is not valid")
        .to_string()
}

#[test]
fn terms_are_whole_words() {
    assert!(targets("dog\tHund", "The dogs of hotdog stands").is_empty());
    assert_eq!(targets("dog\tHund", "(dog), a dog's tail"), ["Hund"; 2]);
}

#[test]
fn the_longest_term_counts_and_terms_do_not_overlap() {
    let glossary = "dog\tHund\nguard dog\tWachhund\ndog house\tHundehütte";
    assert_eq!(
        targets(glossary, "a guard  dog house for a dog"),
        ["Wachhund", "Hund"]
    );
}

#[test]
fn a_term_that_was_only_begun_is_no_term() {
    assert_eq!(targets("a b c\t1\nb\t2", "a b d"), ["2"]);
}

#[test]
fn a_lower_case_term_may_begin_the_sentence_with_a_capital() {
    let glossary = "dog\tHund";
    assert_eq!(targets(glossary, "\"Dog bites Dog\""), ["Hund"]);
    assert!(targets("dog Rex\tHund", "Dog Rex").is_empty());
}

#[test]
fn a_term_as_it_is_written_counts_before_one_with_another_capital() {
    let glossary = "polish\tpolieren\nPolish\tpolnisch";
    assert_eq!(targets(glossary, "Polish polish"), ["polnisch", "polieren"]);
}

#[test]
fn terms_may_have_characters_that_are_no_letters() {
    assert_eq!(
        targets(" #1\tNr. 1\nC++\tC++", "the #1 in C++."),
        ["Nr. 1", "C++"]
    );
}

#[test]
fn comments_blank_lines_and_spaces_are_ignored() {
    let glossary = read("# a comment\n\n  ice \u{a0} cream \t Eis\r\n").expect("it is valid");
    assert_eq!(glossary.len(), 1);
    assert_eq!(glossary.terms_in("ice cream")[0].source, "ice cream");
}

#[test]
fn a_line_without_a_tab_is_refused_with_its_number() {
    assert_eq!(
        refusal("dog\tHund\ncat Katze"),
        "`terms.tsv`, line 2 has 0 tabs; write a term, one tab, and its translation, or begin a comment with #"
    );
}

#[test]
fn pairs_make_the_glossary_that_their_lines_do() {
    let pairs = [("ice\n cream", "Eis"), ("#1", "Nr.\t1")];
    let glossary = Glossary::from_pairs("`terms`", pairs).expect("it is valid");
    let terms = glossary.terms_in("#1 ice cream");
    let targets: Vec<&str> = terms.iter().map(|term| term.target).collect();
    assert_eq!(targets, ["Nr. 1", "Eis"]);
    let twice = Glossary::from_pairs("`terms`", [("a b", "c"), ("a  b", "d")]);
    assert!(matches!(
        twice,
        Err(TranslatorError::DuplicateTerm {
            line: 2,
            first: 1,
            ..
        })
    ));
}

#[test]
fn too_many_bytes_of_pairs_are_refused() {
    let terms: Vec<String> = (0..4200).map(|n| format!("a{n}")).collect();
    let target = "b".repeat(4000);
    let pairs = terms.iter().map(|term| (term.as_str(), target.as_str()));
    let message = Glossary::from_pairs("`terms`", pairs)
        .expect_err("it has 16.8 million bytes")
        .to_string();
    assert!(message.contains("more than 16777216 bytes"), "{message}");
}

#[test]
fn a_term_without_a_translation_is_refused() {
    assert_eq!(
        refusal("dog\t "),
        "`terms.tsv`, line 1 has no translation; add it, or remove the line"
    );
}

#[test]
fn a_term_that_occurs_twice_is_refused_with_both_lines() {
    assert_eq!(
        refusal("big dog\tHund\n\nbig  dog\tKöter"),
        "`terms.tsv`, line 3: the term is that of line 1, too; keep one of the lines, since a term has one \
         translation"
    );
}

#[test]
fn a_long_line_is_refused() {
    let message = refusal(&format!("{}\tHund", "dog".repeat(2000)));
    assert!(
        message.contains("line 1 has more than 4096 bytes"),
        "{message}"
    );
}

#[test]
fn too_many_terms_are_refused() {
    let lines = (0..=Glossary::MOST_TERMS).map(|n| format!("a{n}\tb\n"));
    let message = refusal(&lines.collect::<String>());
    assert!(
        message.contains("more than 100000 terms at line 100001"),
        "{message}"
    );
}

#[test]
fn terms_of_too_many_signs_are_refused() {
    // Of 4000 signs each, so that 132 terms have more than 524,288 after their numbers.
    let signs = "!?".repeat(2000);
    let terms: Vec<String> = (0..200).map(|n| format!("a{n}{signs}")).collect();
    let pairs = terms.iter().map(|term| (term.as_str(), "b"));
    let message = Glossary::from_pairs("`terms`", pairs.clone())
        .expect_err("it has 800,000 signs")
        .to_string();
    assert!(
        message.contains("more than 524288 words, spaces and signs at line 132"),
        "{message}"
    );
    let most = Glossary::from_pairs("`terms`", pairs.take(131)).expect("it has 524,131 pieces");
    assert_eq!(most.len(), 131);
}

#[test]
fn an_empty_glossary_finds_nothing() {
    assert!(targets("", "a dog").is_empty());
    assert!(Glossary::default().terms_in("a dog").is_empty());
}

proptest::proptest! {
    #[test]
    fn every_range_is_text_that_spells_the_term(text in "[abAB \u{301}é-]{0,40}") {
        let glossary = read("a\t1\nab a\t2\nb-a\t3\né\t4").expect("it is valid");
        let mut end = 0;
        for term in glossary.terms_in(&text) {
            proptest::prop_assert!(term.range.start >= end);
            end = term.range.end;
            let words = text[term.range].split_whitespace().collect::<Vec<_>>().join(" ");
            let lower = uncapitalized(&words).unwrap_or_default();
            proptest::prop_assert!(words == term.source || lower == term.source);
        }
    }
}
