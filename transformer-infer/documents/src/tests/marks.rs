//! The positions of marks and protected text in translations, by hand.

use super::doubles::{LineTranslator, markup, translate, translate_parts};
use super::{Copies, Reverses};
use crate::{DocumentLine, LineLimits, Notation, Part, Protection, Split, TranslatedLine};

fn copied(source: &str) -> String {
    translate(&Copies { most: 1000 }, source)
}

fn reversed(source: &str) -> String {
    translate(&Reverses, source)
}

#[test]
fn a_pair_encloses_the_translation_of_its_words() {
    assert_eq!(reversed("one <b>two</b> three."), "THREE <b>TWO</b> ONE.");
    assert_eq!(
        reversed("one <b>two three</b> four"),
        "FOUR <b>THREE TWO</b> ONE"
    );
}

#[test]
fn pairs_stay_nested() {
    assert_eq!(
        reversed("<a>one <b>two</b></a> three"),
        "THREE <a><b>TWO</b> ONE</a>"
    );
}

#[test]
fn a_pair_around_a_sentence_stays_around_it() {
    assert_eq!(
        reversed("<b>One two.</b> Three four."),
        "<b>TWO ONE.</b> FOUR THREE."
    );
}

#[test]
fn a_pair_that_runs_over_sentences_encloses_the_end_of_one_and_the_start_of_the_next() {
    assert_eq!(
        copied("One <b>two. Three</b> four."),
        "One <b>two. Three</b> four."
    );
    assert_eq!(
        reversed("One <b>two. Three</b> four."),
        "<b>TWO ONE. </b>FOUR THREE."
    );
}

#[test]
fn a_placeholder_follows_the_word_before_it() {
    assert_eq!(reversed("one {x} two three"), "THREE TWO ONE {x}");
    assert_eq!(reversed("one two {x}."), "TWO {x} ONE.");
}

#[test]
fn a_placeholder_that_touches_the_next_word_still_does() {
    assert_eq!(reversed("one two {x}three"), "{x}THREE TWO ONE");
}

#[test]
fn a_placeholder_in_a_tag_goes_with_the_word_that_touches_the_tag() {
    assert_eq!(reversed("one <b>{x}</b>two."), "<b>{x}</b>TWO ONE.");
    assert_eq!(reversed("<b>{x}</b>one two."), "TWO <b>{x}</b>ONE.");
}

#[test]
fn a_placeholder_does_not_touch_another_word() {
    assert_eq!(
        reversed("one <b>two {x}</b>three four."),
        "FOUR THREE <b>TWO {x}</b> ONE."
    );
}

#[test]
fn a_placeholder_at_the_start_or_at_the_end_stays_there() {
    assert_eq!(reversed("{x} one two"), "{x} TWO ONE");
    assert_eq!(reversed("one two {x}"), "TWO ONE {x}");
}

#[test]
fn a_placeholder_that_punctuation_touches_gets_spaces_among_words() {
    assert_eq!(reversed("one ({x} two)"), ") TWO ( {x} ONE");
}

#[test]
fn a_tag_beside_a_placeholder_leaves_words_apart() {
    let translated = reversed("one <b><i>{x} two</i> three</b> four");
    assert_eq!(translated, "FOUR <b>THREE<i> {x} TWO</i></b> ONE");
}

#[test]
fn placeholders_that_meet_do_not_touch() {
    assert_eq!(reversed("one {x} {y} two"), "TWO ONE {x} {y}");
    assert_eq!(reversed("one {x} - two {y}"), "TWO - ONE {x} {y}");
}

#[test]
fn a_sentence_of_placeholders_is_copied() {
    assert_eq!(reversed("{x} {y}!"), "{x} {y}!");
}

#[test]
fn breaks_keep_their_order_and_have_words_between_them() {
    assert_eq!(
        reversed("one two <br/> three <br/> four"),
        "FOUR THREE <br/> TWO <br/> ONE"
    );
}

#[test]
fn whitespace_between_words_is_kept() {
    assert_eq!(
        copied("one  two\tthree. \n four"),
        "one  two\tthree. \n four"
    );
}

#[test]
fn a_pair_inside_of_a_word_that_is_copied_stays_inside() {
    assert_eq!(copied("un<b>believ</b>able"), "un<b>believ</b>able");
    assert_eq!(
        reversed("un<b>believ</b>able dog"),
        "DOG <b>UNBELIEVABLE</b>"
    );
}

#[test]
fn a_pair_without_a_translation_is_kept() {
    assert_eq!(reversed("one <b>!</b> two"), "TWO <b>!</b> ONE");
    assert_eq!(reversed("one <b></b> two"), "TWO ONE <b></b>");
}

#[test]
fn a_long_sentence_is_translated_in_parts_and_said() {
    let mut split = Vec::new();
    let source = "one, two three <b>four</b> five";
    let translated = translate_parts(
        &Copies { most: 9 },
        vec![Part::Passage(markup(source))],
        Split::Sentences,
        &Protection::placeholders(),
        &mut |sentence, n_parts| split.push((sentence.to_owned(), n_parts)),
    );
    assert_eq!(translated, [source]);
    assert_eq!(split, [("one, two three four five".to_owned(), 3)]);
}

#[test]
fn line_ends_without_room_between_words_are_dropped() {
    // There are two words, with room for one line end between them.
    let translated = reversed("one <br/> (two) <br/> three");
    assert_eq!(translated.matches("<br/>").count(), 2);
    let source = "one\n(\ntwo";
    let passage = crate::Passage {
        notation: std::sync::Arc::new(Soft),
        ..crate::Passage::plain(source)
    };
    let parts = vec![Part::Passage(passage)];
    let protection = Protection::default();
    let translated = translate_parts(&Joins, parts, Split::Sentences, &protection, &mut |_, _| ());
    assert_eq!(translated, ["one\n(two"]);
}

/// A translator that removes the second space of every line.
#[derive(Debug)]
struct Joins;

impl LineLimits for Joins {}

impl LineTranslator for Joins {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine {
        TranslatedLine {
            text: line.text.replace("( ", "("),
            ..TranslatedLine::default()
        }
    }
}

#[derive(Debug)]
struct Soft;

impl Notation for Soft {
    fn has_soft_line_ends(&self) -> bool {
        true
    }
}
