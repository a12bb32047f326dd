//! [`LanguageDetector`]: detects the language of a text among the served ones.

use transformer_core::text::language_codes::three_letter_code;
use whatlang::{Detector, Lang};

/// Maximum number of bytes of a text that are examined: a sentence is enough.
pub(crate) const MAX_DETECTED_BYTES: usize = 4096;

/// Minimum confidence at which a text is judged by itself, and not together with the others of its request.
const SURE: f64 = 0.9;

/// Detects languages with two crates, because each knows something that the other does not.
///
/// whichlang is right more often, but knows only 16 languages and always answers one of them. whatlang knows 70, and
/// can be limited to a set. So whichlang's answer, if it is a served language, is compared with the served languages
/// that whichlang does not know. Measured in docs/decisions.md.
#[derive(Clone, Debug, Default)]
pub(crate) struct LanguageDetector {
    /// The code of each served language that can be detected.
    languages: Vec<(String, Lang)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detection {
    pub(crate) code: String,
    /// From 0, a mere guess, to 1.
    pub(crate) confidence: f64,
}

impl Detection {
    pub(crate) fn is_sure(&self) -> bool {
        self.confidence >= SURE
    }
}

impl LanguageDetector {
    /// Creates a detector of these languages, given as codes of BCP 47; unknown ones are never detected.
    pub(crate) fn new<'a>(codes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut languages: Vec<(String, Lang)> = Vec::new();
        for code in codes {
            if let Some(lang) = lang_of(code)
                && languages.iter().all(|(_, known)| *known != lang)
            {
                languages.push((code.to_owned(), lang));
            }
        }
        Self { languages }
    }

    /// Returns the language of a text, or `None` without letters of a served language.
    pub(crate) fn detect(&self, text: &str) -> Option<Detection> {
        let text = &text[..text.floor_char_boundary(MAX_DETECTED_BYTES)];
        if !text.contains(char::is_alphabetic) {
            return None;
        }
        let among = |langs: Vec<Lang>| Detector::with_allowlist(langs).detect(text);
        let all = self.languages.iter().map(|(_, lang)| *lang);
        let guess = among(all.clone().collect());
        let whichlang = whichlang::detect_language(text).three_letter_code();
        let known = all.clone().find(|lang| lang.code() == whichlang);
        let (lang, confidence) = match (known, guess) {
            (Some(known), guess) => {
                let is_rival = |lang: &Lang| *lang == known || !is_known_to_whichlang(lang.code());
                let rivals: Vec<Lang> = all.filter(is_rival).collect();
                let lang = match rivals.len() {
                    1 => known,
                    _ => among(rivals).map_or(known, |info| info.lang()),
                };
                let agreeing = guess.filter(|info| info.lang() == lang);
                (
                    lang,
                    agreeing.map_or(0.7, |info| SURE + (1.0 - SURE) * info.confidence()),
                )
            }
            (None, Some(info)) => (info.lang(), info.confidence()),
            (None, None) => return None,
        };
        let (code, _) = self.languages.iter().find(|(_, known)| *known == lang)?;
        Some(Detection {
            code: code.clone(),
            confidence: confidence.clamp(0.0, 1.0),
        })
    }

    /// Returns the languages of texts that belong together: uncertain ones get the language of all.
    pub(crate) fn detect_each(&self, texts: &[&str]) -> Vec<Option<Detection>> {
        let mut found: Vec<Option<Detection>> =
            texts.iter().map(|text| self.detect(text)).collect();
        let is_sure = |it: &Option<Detection>| it.as_ref().is_some_and(Detection::is_sure);
        if texts.len() > 1 && !found.iter().all(is_sure) {
            let mut all = String::new();
            for text in texts {
                if all.len() >= MAX_DETECTED_BYTES {
                    break;
                }
                all.push_str(&text[..text.floor_char_boundary(MAX_DETECTED_BYTES)]);
                all.push('\n');
            }
            let of_all = self.detect(&all);
            for it in found.iter_mut().filter(|it| !is_sure(it)) {
                it.clone_from(&of_all);
            }
        }
        found
    }
}

fn is_known_to_whichlang(code: &str) -> bool {
    let mut known = whichlang::LANGUAGES.iter();
    known.any(|lang| lang.three_letter_code() == code)
}

/// Returns the language of a code such as `pt-BR`, without its region.
fn lang_of(code: &str) -> Option<Lang> {
    let base = code.split('-').next().unwrap_or_default();
    Lang::from_code(three_letter_code(base)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(served: &[&str], text: &str) -> Option<String> {
        let detector = LanguageDetector::new(served.iter().copied());
        detector.detect(text).map(|found| found.code)
    }

    #[test]
    fn every_language_that_can_be_detected_has_a_code() {
        for lang in Lang::all() {
            assert_eq!(lang_of(lang.code()), Some(*lang));
        }
    }

    #[test]
    fn a_sentence_is_detected_among_many_languages() {
        let served = ["cs", "de", "en", "es", "fr", "it", "pl", "pt-BR", "ru"];
        // Article 1 of the Universal Declaration of Human Rights.
        let sentences = [
            (
                "cs",
                "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.",
            ),
            (
                "de",
                "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
            ),
            (
                "en",
                "All human beings are born free and equal in dignity and rights.",
            ),
            (
                "es",
                "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
            ),
            (
                "fr",
                "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
            ),
            (
                "it",
                "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti.",
            ),
            (
                "pl",
                "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
            ),
            (
                "pt-BR",
                "Todos os seres humanos nascem livres e iguais em dignidade e em direitos.",
            ),
            (
                "ru",
                "Все люди рождаются свободными и равными в своем достоинстве и правах.",
            ),
        ];
        for (expected, text) in sentences {
            assert_eq!(code(&served, text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn only_served_languages_are_found() {
        let german = "Alle Menschen sind frei und gleich an Würde und Rechten geboren.";
        let found = code(&["en", "fr"], german);
        assert!(matches!(found.as_deref(), Some("en" | "fr")), "{found:?}");
    }

    #[test]
    fn text_without_letters_has_no_language() {
        assert_eq!(code(&["en", "de"], "12:30 – 😀"), None);
    }

    #[test]
    fn letters_of_no_served_language_have_none() {
        assert_eq!(code(&["en", "de"], "日本語"), None);
    }

    #[test]
    fn a_short_text_has_the_language_of_the_others() {
        let detector = LanguageDetector::new(["en", "de"]);
        let long = "Alle Menschen sind frei und gleich an Würde und Rechten geboren.";
        let found = detector.detect_each(&[long, "Hand"]);
        let codes: Vec<Option<String>> = found.into_iter().map(|it| it.map(|it| it.code)).collect();
        assert_eq!(codes, [Some("de".to_owned()), Some("de".to_owned())]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "ä".repeat(MAX_DETECTED_BYTES);
        assert!(code(&["en", "de"], &format!("x{text}")).is_some());
    }
}
