//! Translations with faults are made again in other ways.

use crate::{
    Attempt, DocumentLine, DocumentRules, Form, LineLimits, Part, Passage, Protection, Split,
    Splitter, TranslatedLine, Trial, Way, Window,
};

/// The limits of lines of any length.
struct AnyLength;

impl LineLimits for AnyLength {}

/// Translates a text into German with a check, by a function. Returns the faults that are left, and the translation.
fn translated(text: &str, translate: impl Fn(&DocumentLine<'_>) -> &'static str) -> [String; 2] {
    let (found, _) = kept(text, translate);
    found
}

/// Like [`translated`], and returns the way of the translation that is kept.
fn kept(
    text: &str,
    translate: impl Fn(&DocumentLine<'_>) -> &'static str,
) -> ([String; 2], Option<Way>) {
    let german = "de".parse().expect("a code");
    let protection = Protection::placeholders().with_check(Some(&german));
    let rules = DocumentRules {
        limits: &AnyLength,
        splitter: &Splitter::new(Split::None, "en"),
        protection: &protection,
    };
    let mut window = Window::new(vec![Part::Passage(Passage::plain(text))], 5);
    let mut way = None;
    while window.begin_level(&rules, |_, _| ()) {
        while !window.is_level_done() {
            let lines = window.sentences();
            let line = |line| TranslatedLine {
                text: translate(line).to_owned(),
                links: Vec::new(),
            };
            let translations = lines.iter().map(line).collect();
            window.write(translations, &protection);
        }
        way = window.kept_attempt(5).map(|attempt| attempt.way);
    }
    let faults = window.doubtful().iter();
    let faults: String = faults.map(|(_, faults)| faults.to_string()).collect();
    ([faults, window.into_texts().concat()], way)
}

#[test]
fn the_first_translation_without_faults_is_kept() {
    let found = translated("Open room 7", |line| match line.attempt.way {
        Way::Wide => "Zimmer 7 öffnen",
        _ => "Zimmer öffnen",
    });
    assert_eq!(found, ["", "Zimmer 7 öffnen"]);
}

#[test]
fn the_first_of_equally_faulty_translations_is_kept() {
    let (found, way) = kept("Open room 7", |line| match line.attempt.way {
        Way::Wide => "Zimmer",
        _ => "Öffnen",
    });
    assert_eq!(found, ["numbers", "Öffnen"]);
    assert_eq!(way, Some(Way::Usual), "the wide beam was tried in vain");
}

#[test]
fn a_number_that_a_translation_changes_comes_back_in_the_notation_of_its_language() {
    let found = kept("They took 2,833 rifles", |line| match line.text {
        "They took 2,000 rifles" => "Sie nahmen 2.000 Gewehre",
        _ => "Sie nahmen 2.383 Gewehre",
    });
    let expected = ["", "Sie nahmen 2.833 Gewehre"].map(str::to_owned);
    assert_eq!(found, (expected, Some(Way::Round)));
}

#[test]
fn a_translation_that_loses_round_numbers_is_not_kept_without_a_check_either() {
    for protection in [
        Protection::placeholders(),
        Protection::placeholders().with_check(None),
    ] {
        let rules = DocumentRules {
            limits: &AnyLength,
            splitter: &Splitter::new(Split::None, "en"),
            protection: &protection,
        };
        let draft = rules.draft("12,345 dogs").sentences.remove(0);
        let mut trial = Trial::default();
        let mut ways = vec![trial.attempt()];
        let translate = |attempt: Attempt| match (attempt.form, attempt.way) {
            (Form::Hidden, _) => "Hunde",
            (_, Way::Round) => "1万",
            _ => "ein Hund",
        };
        let mut has_next = true;
        while has_next {
            let text = translate(trial.attempt());
            has_next = draft.take(&mut trial, text, text, &protection);
            ways.push(trial.attempt());
        }
        assert_eq!(ways[1].way, Way::Round);
        let best = trial.take_best().map(|best| best.translation);
        assert_eq!(best, Some("Hunde"));
    }
}

#[test]
fn the_line_itself_is_translated_where_tokens_are_shown() {
    let protection = Protection::placeholders().with_check(None);
    let rules = DocumentRules {
        limits: &AnyLength,
        splitter: &Splitter::new(Split::None, "en"),
        protection: &protection,
    };
    for line in ["2,833 rifles", "2,833 RIFLES"] {
        let draft = rules.draft(line).sentences.remove(0);
        let mut trial = Trial::shown();
        while draft.take(&mut trial, "2.383 Gewehre", (), &protection) {
            assert_eq!(draft.line(trial.attempt()), line);
        }
    }
}

#[test]
fn a_line_of_capitals_is_translated_in_lower_case() {
    let found = translated("OPEN 7 FILES IN %s", |line| match line.attempt.way {
        Way::LowerCase if line.text == "Open 7 files in %s" => {
            assert_eq!(line.in_its_case(), "OPEN 7 FILES IN %s");
            "7 Dateien in %s öffnen"
        }
        _ => "DIE in %s",
    });
    assert_eq!(found, ["", "7 DATEIEN IN %s ÖFFNEN"]);
}

#[test]
fn a_loop_that_a_required_placeholder_makes_is_mended_without_it() {
    let found = translated("Cost of %s", |line| match line.attempt.form {
        Form::Shown => "Kosten",
        Form::Required => "Kosssssssss %s",
        Form::Hidden => "Kosten von",
    });
    assert_eq!(found[0], "");
    assert!(
        found[1].contains("%s") && found[1].contains("Kosten von"),
        "{found:?}"
    );
}

#[test]
fn repeated_words_are_mended_without_repeated_ngrams() {
    let found = translated("A dog runs", |line| match line.attempt.way {
        Way::NoRepeats => "Ein Hund rennt",
        _ => "Ein Ein Ein Ein Ein Ein Hund",
    });
    assert_eq!(found, ["", "Ein Hund rennt"]);
}
