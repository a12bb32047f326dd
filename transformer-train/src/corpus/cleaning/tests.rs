//! Tests of cleaning: each defect in text that is otherwise usual, and pairs that must stay.

use transformer_core::text::LanguageCode;

use super::judge::Judge;
use super::*;

/// Translations with lines of ordinary lengths, from which the languages are known.
const USUAL: [(&str, &str); 8] = [
    (
        "A man in an orange hat is starting at something.",
        "Ein Mann mit einem orangefarbenen Hut, der etwas anstarrt.",
    ),
    (
        "A girl in a karate uniform is breaking a stick with a kick.",
        "Ein Mädchen in einem Karateanzug bricht einen Stock mit einem Tritt.",
    ),
    (
        "Five people in winter jackets stand in the snow.",
        "Fünf Leute in Winterjacken stehen im Schnee.",
    ),
    (
        "People are repairing the roof of a house.",
        "Leute reparieren das Dach eines Hauses.",
    ),
    (
        "A group of people is standing in front of an igloo.",
        "Eine Gruppe von Menschen steht vor einem Iglu.",
    ),
    (
        "A boy in a red uniform is trying to avoid the others.",
        "Ein Junge in einem roten Trikot versucht, den anderen auszuweichen.",
    ),
    (
        "A guy is working on a building.",
        "Ein Typ arbeitet an einem Gebäude.",
    ),
    (
        "A mother and her young son enjoy a beautiful day outside.",
        "Eine Mutter und ihr kleiner Sohn genießen einen schönen Tag im Freien.",
    ),
];

/// Returns the names of the defects of pairs among usual ones, in their order; empty for a pair that stays.
fn defects(pairs: &[(&str, &str)], given: [Option<&str>; 2]) -> Vec<&'static str> {
    let all = USUAL.iter().chain(pairs);
    let all = all
        .map(|&(src, tgt)| (src.to_owned(), tgt.to_owned()))
        .collect();
    let codes = given.map(|code| code.map(|it| it.parse::<LanguageCode>().expect("a code")));
    let languages = codes.each_ref().map(Option::as_ref);
    let cleaning = Cleaning::of(ParallelText::from_pairs(all), languages, 1);
    let cleaning = cleaning.expect("the pairs are in memory");
    let name = |index: usize| {
        let mut dropped = cleaning.dropped.iter();
        dropped
            .find(|(it, _)| *it == index as u64)
            .map_or("", |(_, defect)| defect.name())
    };
    assert!((0..USUAL.len()).all(|index| name(index).is_empty()));
    (USUAL.len()..USUAL.len() + pairs.len()).map(name).collect()
}

#[test]
fn each_defect_is_found() {
    let pairs = [
        (USUAL[6], "identical"),
        (
            (
                "The GNU General Public License",
                "The GNU General Public License",
            ),
            "copy",
        ),
        (
            ("A dog on a couch", "Ein Hund auf einer C\u{c3}\u{bc}ste"),
            "damaged",
        ),
        (("A dog on a couch", "Ein Hund \u{fffd} Sofa"), "damaged"),
        (("A dog on a couch", "Ein\u{7}Hund auf dem Sofa"), "damaged"),
        (
            (
                "Yes",
                "Ja, und danach gingen alle Leute in das Haus, in dem der Mann mit dem Hut wohnte",
            ),
            "lengths",
        ),
        (
            ("A dog is running over the grass", "Собака бежит по траве"),
            "script",
        ),
        (
            (
                "The children are playing in the garden behind the house",
                "The children are playing in the garden of the old house",
            ),
            "language",
        ),
        (
            (
                "Les enfants jouent dans le jardin derrière la maison de leur grand-mère",
                "Die Kinder spielen im Garten hinter dem Haus ihrer Großmutter",
            ),
            "language",
        ),
        (("Cannot open %s", "Kann die Datei nicht öffnen"), "copied"),
        (("See https://a.example/b", "Siehe dort"), "copied"),
        (("Page 15 of 20", "Seite 16 von 21"), "numbers"),
        (
            (
                "He shouts and shouts",
                "Er ruft und ruft und ruft und ruft und ruft",
            ),
            "repetition",
        ),
    ];
    let found = defects(&pairs.map(|(pair, _)| pair), [Some("en"), Some("de")]);
    assert_eq!(found, pairs.map(|(_, defect)| defect));
}

#[test]
fn translations_and_names_stay() {
    let pairs = [
        ("OpenOffice Writer", "OpenOffice Writer"),
        ("30 somethings", "Leute in den Dreißigern"),
        (
            "3 men are sitting along a walkway.",
            "Drei Männer sitzen an einem Weg.",
        ),
        ("It costs 1,234.56 euros", "Es kostet 1.234,56 Euro"),
        ("Meet at 3:30 pm", "Treffen um 15:30 Uhr"),
        ("%s of %s", "%2$s von %1$s"),
        ("Wearing the #19 jersey", "Im Trikot mit der Nummer 19"),
        ("Never, never, never!", "Nie, nie, nie!"),
        ("", "Ein Hund"),
    ];
    let found = defects(&pairs, [Some("en"), Some("de")]);
    assert_eq!(found, pairs.map(|_| ""));
}

#[test]
fn good_pairs_of_other_languages_stay() {
    for (src, tgt, source, translation) in [
        (
            "en",
            "zh",
            "Open settings.json in Microsoft Visual Studio Code",
            "在 Microsoft Visual Studio Code 中打开 settings.json",
        ),
        (
            "en",
            "sr-Latn",
            "A white dog is running over the meadow behind the house",
            "Beli pas trči preko livade iza kuće prema dečaku",
        ),
        (
            "en",
            "fr",
            "12,500 dogs and 13,500 cats",
            "12 500 chiens et 13 500 chats",
        ),
        ("en", "tr", "It rose by 15%", "%15 arttı"),
        ("en", "th", "In 2010 and 2011", "ในปี 2553"),
        (
            "en",
            "zh",
            "See https://a.b/c for more",
            "访问https://a.b/c了解更多",
        ),
        (
            "de",
            "de",
            "Das ist ein guter Satz.",
            "Das ist ein guter Satz.",
        ),
    ] {
        let codes = [src, tgt].map(|code| code.parse::<LanguageCode>().expect("a code"));
        let judge = Judge::new(&[], [Some(&codes[0]), Some(&codes[1])]);
        assert_eq!(judge.defect(source, translation), None, "{translation}");
    }
}

#[test]
fn languages_are_guessed_from_enough_text() {
    let lines = |n: usize| -> Vec<(String, String)> {
        let pairs = USUAL.iter().cycle().take(n);
        pairs
            .map(|&(src, tgt)| (src.to_owned(), tgt.to_owned()))
            .collect()
    };
    let guessed = |n| Judge::new(&lines(n), [None, None]).languages();
    assert_eq!(guessed(200), [Some("English"), Some("German")]);
    assert_eq!(guessed(199), [None, None]);
}

#[test]
fn the_report_and_the_file_name_what_was_left_out() {
    let pairs = [USUAL[0], ("Open\t%s", "Öffnen"), USUAL[1]];
    let text = ParallelText::from_pairs(
        pairs
            .map(|(src, tgt)| (src.to_owned(), tgt.to_owned()))
            .into(),
    );
    let cleaning = Cleaning::of(text, [None, None], 1).expect("the pairs are in memory");
    let report = cleaning.report();
    assert!(report[0].contains("3 pairs of"), "{report:?}");
    assert!(report[0].ends_with("1 dropped (33.3%)"), "{report:?}");
    let line =
        "  1 with other placeholders, tags or addresses, first line 2: \"Open %s\" | \"Öffnen\"";
    assert_eq!(report[1..], [line]);
    let mut file = String::new();
    let written = cleaning.write_dropped(|line| {
        file.push_str(&line);
        Ok(())
    });
    written.expect("in memory");
    assert_eq!(file, "copied\tthe list of pairs\t2\tOpen %s\tÖffnen\n");
    let kept: Result<Vec<_>, _> = cleaning.cleaned().pairs().expect("in memory").collect();
    let kept = kept.expect("in memory");
    assert_eq!(
        kept.iter().map(|(src, _)| src.as_str()).collect::<Vec<_>>(),
        [USUAL[0].0, USUAL[1].0]
    );
}
