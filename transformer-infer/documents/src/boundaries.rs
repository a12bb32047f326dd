//! [`boundaries`]: the boundaries between sentences.

use transformer_text::is_without_spaces;

/// Abbreviations in lower case that do not end a sentence, in addition to those that sentencex knows for a language.
const ABBREVIATIONS: [&str; 54] = [
    "abb", "approx", "assoc", "attn", "bsp", "bzw", "c.-à-d", "chap", "dr", "dra", "env", "excl",
    "exkl", "fig", "figs", "frl", "geb", "govt", "hr", "hrsg", "incl", "inkl", "insb", "intl",
    "mevr", "mgr", "misc", "mlle", "mm", "mme", "mr", "mrs", "ms", "natl", "np", "nr", "prof",
    "resp", "sr", "sra", "srta", "st", "ste", "tj", "tsd", "tzw", "vgl", "vol", "vols", "zzgl",
    "им", "рис", "см", "ул",
];

/// Words in lower case that do not end a sentence before a number.
const BEFORE_NUMBERS: [&str; 57] = [
    "abs", "anm", "app", "art", "aufl", "avg", "bd", "blz", "c", "ca", "cap", "ch", "ed", "eq",
    "eqs", "est", "ex", "ext", "hrs", "kap", "kl", "klo", "lit", "max", "min", "mind", "n", "no",
    "nos", "num", "núm", "ok", "ong", "p", "pag", "par", "para", "pg", "pp", "pág", "s", "sec",
    "sect", "sects", "str", "t", "tab", "tel", "temp", "tél", "v", "ver", "vers", "ziff", "гл",
    "ст", "стр",
];

/// Languages that write `3.` for "third".
const WITH_ORDINALS: [&str; 19] = [
    "bs", "cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is", "lv", "nb", "nn", "no", "pl", "sk",
    "sl", "sr", "tr",
];

/// Maximum number of characters to search for a letter. Without it, the time would be quadratic in the length.
const MAX_CHARS: usize = 64;

/// Returns the starts of the sentences of a text without line ends, except for the first. sentencex knows the sentence
/// ends of many languages, but also ends sentences inside words, as in `./configure`, and before words in lower case.
pub(super) fn boundaries(language: &str, text: &str) -> Vec<usize> {
    let (mut found, mut start, mut end) = (Vec::new(), 0, 0);
    // The pieces together are the text.
    for piece in sentencex::segment(language, text) {
        if let Some(at) = boundary(language, text, start, end).filter(|at| *at > start) {
            found.push(at);
            start = at;
        }
        end += piece.len();
    }
    found
}

/// Returns the end of the sentence that begins at `start`, given that sentencex ends one at `end`.
fn boundary(language: &str, text: &str, start: usize, end: usize) -> Option<usize> {
    let is_closing = |c: char| matches!(c, ')' | ']' | '}' | '"' | '\'' | '”' | '’' | '»');
    let is_space = char::is_whitespace;
    // A closing bracket or quotation mark after the full stop belongs to the sentence.
    let behind = text[end..].trim_start_matches(is_closing);
    let has_closing = behind.len() < text.len() - end && !text[..end].ends_with(is_space);
    let end = if has_closing {
        text.len() - behind.len()
    } else {
        end
    };
    let (head, tail) = text.split_at(end);
    let (sentence, next) = (head.get(start..)?.trim_end(), tail.trim_start());
    let is_boundary = match head.ends_with(is_space) || tail.starts_with(is_space) {
        false => ends_without_space(head, tail),
        true => !goes_on(language, sentence, next),
    };
    is_boundary.then_some(end)
}

/// Returns whether a sentence ends between two characters without whitespace: after a full stop that is not part of a
/// word, or between characters of scripts without spaces.
fn ends_without_space(head: &str, tail: &str) -> bool {
    let is_general = |c: char| c.is_ascii() || matches!(c, '\u{2000}'..='\u{206f}');
    let is_closing = |c: char| matches!(c, '」' | '』' | '）' | '】' | '》' | '”' | '’');
    let stop = head.trim_end_matches(is_closing).chars().next_back();
    let is_in_word = |c: &char| !is_general(*c) || c.is_alphanumeric();
    let word = head.chars().rev().take(MAX_CHARS).find(is_in_word);
    let next = tail.chars().next();
    match stop {
        Some('．') => !next.is_some_and(char::is_numeric),
        Some(stop) if !is_general(stop) && !stop.is_alphanumeric() => true,
        _ => word.is_some_and(is_without_spaces) && next.is_some_and(is_without_spaces),
    }
}

/// Returns whether a sentence continues after an apparent end.
fn goes_on(language: &str, sentence: &str, next: &str) -> bool {
    // Only text in lower case has sentences that begin in lower case.
    let mut first = sentence.chars().take(MAX_CHARS);
    let first = first.find(|c| c.is_alphabetic());
    if next.starts_with(char::is_lowercase) && !first.is_some_and(char::is_lowercase) {
        return true;
    }
    let Some(words) = sentence.strip_suffix('.') else {
        return false;
    };
    let word = words.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = word.to_lowercase();
    let has = |list: &[&str]| list.contains(&lower.as_str());
    let is_number = matches!(word.len(), 1 | 2) && word.bytes().all(|it| it.is_ascii_digit());
    let is_initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    let is_short = |part: &str| part.chars().count() <= 3 && part.chars().all(char::is_alphabetic);
    let is_dotted = word.contains('.') && word.split('.').all(is_short);
    has(&ABBREVIATIONS)
        || has(&BEFORE_NUMBERS) && next.starts_with(char::is_numeric)
        // For English, sentencex handles initials and abbreviations with full stops.
        || (is_initial || is_dotted) && language != "en"
        || is_number && words.len() > word.len() && WITH_ORDINALS.contains(&language)
}

#[cfg(test)]
mod tests {
    use transformer_text::random::SplitMix64;

    use super::*;

    /// Returns the sentences of a text.
    fn sentences<'a>(language: &str, text: &'a str) -> Vec<&'a str> {
        let found = boundaries(language, text);
        let starts = [0].into_iter().chain(found.iter().copied());
        let ends = found.iter().copied().chain([text.len()]);
        starts
            .zip(ends)
            .map(|(start, end)| text[start..end].trim())
            .collect()
    }

    fn assert_whole(language: &str, text: &str) {
        assert_eq!(sentences(language, text), [text]);
    }

    #[test]
    fn a_word_with_full_stops_is_not_cut() {
        for word in [
            "./configure",
            "/a/../b",
            ".bashrc",
            "GNU.Gettext.X",
            "'A'..'Z'",
            "a.B!C?D",
        ] {
            assert_whole("en", &format!("Run {word} in the park."));
        }
    }

    #[test]
    fn a_bracket_behind_a_full_stop_belongs_to_the_sentence() {
        assert_whole("en", "The answers!) about dogs.");
        assert_whole("en", "The dogs (5).) here.");
        assert_eq!(
            sentences("en", "Are they here?) They are."),
            ["Are they here?)", "They are."]
        );
    }

    #[test]
    fn text_without_capitals_has_sentences() {
        let found = sentences("en", "we went by car. it rained.");
        assert_eq!(found, ["we went by car.", "it rained."]);
    }

    #[test]
    fn sentences_without_spaces_end_behind_their_full_stops() {
        assert_eq!(
            sentences("zh", "他在跑!她在睡。A是B"),
            ["他在跑!", "她在睡。", "A是B"]
        );
        assert_eq!(
            sentences("ja", "３．５です。犬．猫"),
            ["３．５です。", "犬．", "猫"]
        );
        assert_eq!(sentences("hi", "वह है।यह है।"), ["वह है।", "यह है।"]);
        assert_whole("zh", "3.5版A.中文");
    }

    #[test]
    fn initials_and_ordinals_go_on_in_their_languages() {
        assert_whole("ru", "А. С. Пушкин, т. е. он.");
        assert_whole("fr", "M. Dupont est là.");
        assert_whole("de", "Der 2. Weltkrieg begann am 1. September.");
        assert_eq!(
            sentences("de", "Er kam 1990. Sie ging."),
            ["Er kam 1990.", "Sie ging."]
        );
        assert_eq!(
            sentences("en", "He is 5. She is 6."),
            ["He is 5.", "She is 6."]
        );
    }

    /// Words that do not end a sentence, by language: names of files and programs, amounts, dates, versions,
    /// references, abbreviations, and punctuation.
    const KINDS: [(&str, &str); 3] = [
        (
            "en",
            "./configure|/a/../b|../..|.bashrc|GNU.Gettext.X|'A'..'Z'|a.out|Node.js|\
             http://a.org/b.html?c=D!E|https://a.org/wiki/Dog_(animal)|bob@example.org|\
             std::io|Dir::Bin::Solvers|foo.Bar()|$20.50|US$5,000|€1.234,56|3.5%|10:30|1/2|\
             2024-05-01|v1.2.3|1.2.3.4|#5|5.|vol. 4|vol. 4.|No. 5|Fig. 3|Figs. 3|ch. 7|\
             sec. 3.2|p. 5|pp. 5-7|approx. 20|max. 5|e.g. this|e.g. Paris|i.e. that|\
             U.S. troops|U.S. Army|Mr. Smith|Dr. No|St. John|J. R. R. Tolkien|\
             Prof. Dr. Smith|a.m. today|5 p.m. on|etc. and|vs. them|incl. VAT|well... maybe|\
             well… maybe|wow! that|answers!) about|(5).) and|(why?) or|Yahoo! is|et al. show|\
             Jan. 5|dept. of|:q! to|. and ..",
        ),
        (
            "de",
            "z. B. hier|d. h. dort|z.B. Hunde|Nr. 5|Abb. 3|S. 12|Bd. 4|5. Mai|3. Platz|\
             Dr. Müller|ca. 20|inkl. MwSt.|vgl. Abb. 3|i. d. R. so|usw. und|1.234,56 €|3,5 %|\
             12.10.2024|Ludwig XIV. und|v1.2.3|A. Merkel|bzw. Hunde|/a/../b|Mio. Euro",
        ),
        (
            "fr",
            "M. Dupont|Mme. Dupont|Dr. Dupont|p. ex. un|env. 20|vol. 4|chap. 3|av. J.-C. et|\
             ./a.out|3,5 %|etc. été|« Oui ! » dit-il",
        ),
    ];

    #[test]
    fn of_500_drawn_texts_each_is_cut_between_its_sentences_only() {
        let mut draws = SplitMix64::new(1);
        let mut wrong = Vec::new();
        for _ in 0..500 {
            let (language, kinds) = KINDS[[0, 0, 1, 2][draws.below(4) as usize]];
            let kinds: Vec<&str> = kinds.split('|').collect();
            let mut kind = || kinds[draws.below(kinds.len() as u64) as usize];
            let drawn = [(); 3].map(|()| format!("We saw {} dogs.", kind()));
            let text = drawn.join(" ");
            if sentences(language, &text) != drawn {
                wrong.push((language, text));
            }
        }
        assert!(wrong.is_empty(), "{} of 500: {wrong:#?}", wrong.len());
    }
}
