//! Copied text in translations, by hand.

use super::doubles::{Writes, translate};
use super::{Copies, Reverses};

#[test]
fn the_model_sees_what_is_copied() {
    let lines = Writes::new(|_| "»%s« als »%s« umbenennen".to_owned());
    let translated = translate(&lines, "Rename “%s” as “%s”");
    assert_eq!(translated, "»%s« als »%s« umbenennen");
    assert_eq!(lines.lines.borrow().len(), 1);
}

#[test]
fn the_search_must_write_what_a_translation_lacks() {
    let lines = Writes::new(|line| match line.terms.is_empty() {
        true => "Ein Bild.".to_owned(),
        false => "Ein Bild von %dx%d.".to_owned(),
    });
    let translated = translate(&lines, "A picture of %dx%d.");
    assert_eq!(translated, "Ein Bild von %dx%d.");
    let (line, terms) = &lines.lines.borrow()[1];
    assert_eq!(
        (line.as_str(), terms.as_slice()),
        ("A picture of %dx%d.", &["%dx%d".to_owned()][..])
    );
}

#[test]
fn what_no_search_writes_is_taken_out_with_its_quotes() {
    let lines = Writes {
        can_write: false,
        ..Writes::new(|line| line.text.to_owned())
    };
    let source = "Rename “{a}” as ({b}) now";
    assert_eq!(translate(&lines, source), source);
    let seen = lines.lines.borrow();
    assert_eq!(*seen, [("Rename as now".to_owned(), Vec::new())]);
}

#[test]
fn a_translation_with_more_than_the_source_is_not_searched_again() {
    let lines = Writes::new(|line| line.text.replace("%s", "%s %s"));
    assert_eq!(translate(&lines, "Delete %s now"), "Delete %s now");
    let seen: Vec<_> = lines
        .lines
        .borrow()
        .iter()
        .map(|(line, _)| line.clone())
        .collect();
    assert_eq!(seen, ["Delete %s now", "Delete now"]);
}

#[test]
fn what_has_no_number_keeps_its_order() {
    let reversed = |source| translate(&Reverses, source);
    assert_eq!(reversed("one %s two %d three"), "THREE TWO %s ONE %d");
    assert_eq!(reversed("one {a} two {b} three"), "THREE TWO {b} ONE {a}");
    // Where an item touches a word, another item takes its place.
    assert_eq!(reversed("one %s two x%d end"), "END X%s TWO ONE %d");
}

#[test]
fn a_tag_goes_around_what_is_copied_and_not_into_it() {
    let source = "See <b>{name}</b>, <i>“%s”</i> and <a>$20.50</a> there.";
    assert_eq!(translate(&Copies { most: 1000 }, source), source);
    let lines = Writes::new(|_| "Dort ist {name}.".to_owned());
    assert_eq!(
        translate(&lines, "See <b>{name}</b> there."),
        "Dort ist <b>{name}</b>."
    );
}

#[test]
fn amounts_are_not_cut() {
    let lines = Writes::new(|line| match line.text.contains("$20.50") {
        true => "Ein Mann verkauft Hunde für $20.".to_owned(),
        false => "Ein Mann verkauft Hunde.".to_owned(),
    });
    let translated = translate(&lines, "A man sells dogs for $20.50.");
    assert!(translated.contains("$20.50"), "{translated}");
}

#[test]
fn a_sentence_of_what_is_copied_is_not_translated() {
    let lines = Writes::new(|_| String::new());
    for source in ["{x} {y}!", "5%", "$20.50", "https://a.b/c", "%d/%d"] {
        assert_eq!(translate(&lines, source), source);
    }
    assert!(lines.lines.borrow().is_empty());
}

#[test]
fn what_the_model_invents_is_left_out() {
    let lines = Writes::new(|line| match line.text.contains("%s") {
        true => "Lösche es.".to_owned(),
        false => "Lösche %d jetzt {x}.".to_owned(),
    });
    assert_eq!(translate(&lines, "Delete %s"), "Lösche jetzt. %s");
}
