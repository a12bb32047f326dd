//! [`closest`]: the code of a model that means the same language as the code of a request.

use std::cmp::Reverse;

use transformer_core::text::LanguageCode;

/// Languages by their codes of ISO 639-1 and ISO 639-3, as the crates name them that detect languages.
pub(crate) const ISO_639_3: [(&str, &str); 70] = [
    ("af", "afr"),
    ("ak", "aka"),
    ("am", "amh"),
    ("ar", "ara"),
    ("az", "aze"),
    ("be", "bel"),
    ("bg", "bul"),
    ("bn", "ben"),
    ("ca", "cat"),
    ("cs", "ces"),
    ("cy", "cym"),
    ("da", "dan"),
    ("de", "deu"),
    ("el", "ell"),
    ("en", "eng"),
    ("eo", "epo"),
    ("es", "spa"),
    ("et", "est"),
    ("fa", "pes"),
    ("fi", "fin"),
    ("fr", "fra"),
    ("gu", "guj"),
    ("he", "heb"),
    ("hi", "hin"),
    ("hr", "hrv"),
    ("hu", "hun"),
    ("hy", "hye"),
    ("id", "ind"),
    ("it", "ita"),
    ("ja", "jpn"),
    ("jv", "jav"),
    ("ka", "kat"),
    ("km", "khm"),
    ("kn", "kan"),
    ("ko", "kor"),
    ("la", "lat"),
    ("lt", "lit"),
    ("lv", "lav"),
    ("mk", "mkd"),
    ("ml", "mal"),
    ("mr", "mar"),
    ("my", "mya"),
    ("nb", "nob"),
    ("ne", "nep"),
    ("nl", "nld"),
    ("or", "ori"),
    ("pa", "pan"),
    ("pl", "pol"),
    ("pt", "por"),
    ("ro", "ron"),
    ("ru", "rus"),
    ("si", "sin"),
    ("sk", "slk"),
    ("sl", "slv"),
    ("sn", "sna"),
    ("sr", "srp"),
    ("sv", "swe"),
    ("ta", "tam"),
    ("te", "tel"),
    ("th", "tha"),
    ("tk", "tuk"),
    ("tl", "tgl"),
    ("tr", "tur"),
    ("uk", "ukr"),
    ("ur", "urd"),
    ("uz", "uzb"),
    ("vi", "vie"),
    ("yi", "yid"),
    ("zh", "cmn"),
    ("zu", "zul"),
];

/// Other codes of languages: deprecated ones, members of macrolanguages that stand for the whole, and LibreTranslate's own.
const ALIASES: [(&str, &str); 27] = [
    ("als", "sq"),
    ("arb", "ar"),
    ("azj", "az"),
    ("ekk", "et"),
    ("fas", "fa"),
    ("fil", "tl"),
    ("in", "id"),
    ("iw", "he"),
    ("ji", "yi"),
    ("jw", "jv"),
    ("khk", "mn"),
    ("lvs", "lv"),
    ("mo", "ro"),
    ("msa", "ms"),
    ("no", "nb"),
    ("nor", "nb"),
    ("npi", "ne"),
    ("ory", "or"),
    ("pb", "pt"),
    ("prs", "fa"),
    ("swa", "sw"),
    ("swh", "sw"),
    ("uzn", "uz"),
    ("ydd", "yi"),
    ("zho", "zh"),
    ("zsm", "ms"),
    ("zt", "zh"),
];

/// The parts of a code that tell languages apart, in one spelling of each.
struct Parts<'a> {
    language: &'a str,
    script: Option<&'a str>,
    region: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(code: &'a LanguageCode) -> Self {
        let mut parts = code.as_str().split('-');
        let base = parts.next().unwrap_or_default();
        let mut parts = parts.peekable();
        let script = parts
            .next_if(|part| part.len() == 4 && !part.starts_with(|c: char| c.is_ascii_digit()));
        let region = parts.next_if(|part| part.len() < 4);
        let language = base_language(base);
        Self {
            language,
            script: match (base, region) {
                ("zt", _) | (_, Some("HK" | "MO" | "TW")) if language == "zh" => {
                    script.or(Some("Hant"))
                }
                _ if language == "zh" => script.or(Some("Hans")),
                _ => script,
            },
            region: if base == "pb" { Some("BR") } else { region },
        }
    }

    /// Returns how much of another code is the same; `None` if the language is another.
    fn closeness(&self, other: &Self) -> Option<(bool, usize)> {
        let region = match (self.region, other.region) {
            (a, b) if a == b => 2,
            (Some(_), Some(_)) => 0,
            _ => 1,
        };
        (self.language == other.language).then_some((self.script == other.script, region))
    }
}

/// Returns the usual code of a language, for codes of two or three small letters.
pub(crate) fn base_language(code: &str) -> &str {
    let usual = ALIASES.iter().find(|(alias, _)| *alias == code);
    let iso = || {
        ISO_639_3
            .iter()
            .find(|(_, long)| *long == code)
            .map(|(short, _)| *short)
    };
    usual.map(|(_, usual)| *usual).or_else(iso).unwrap_or(code)
}

/// Returns the code that is the same, or else the first of those that are closest: of the same language, if possible with
/// the same script, then of the same region or of none.
pub(super) fn closest<'a>(
    wanted: &str,
    codes: impl Iterator<Item = &'a LanguageCode> + Clone,
) -> Option<&'a LanguageCode> {
    let wanted: LanguageCode = wanted.replace('_', "-").parse().ok()?;
    let same = codes.clone().find(|code| **code == wanted);
    let parts = Parts::of(&wanted);
    let closeness =
        |code: &'a LanguageCode| Some((Reverse(parts.closeness(&Parts::of(code))?), code));
    let closest = || {
        codes
            .filter_map(closeness)
            .min_by_key(|(closeness, _)| *closeness)
    };
    same.or_else(|| Some(closest()?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wanted: &str, codes: &[&str]) -> Option<String> {
        let codes = codes.iter().map(|code| code.parse().expect("it is a code"));
        let codes: Vec<LanguageCode> = codes.collect();
        closest(wanted, codes.iter()).map(ToString::to_string)
    }

    #[test]
    fn aliases_find_their_language_in_both_directions() {
        let pairs = [
            ("no", "nb"),
            ("iw", "he"),
            ("in", "id"),
            ("tl", "fil"),
            ("cmn", "zh"),
            ("deu", "de"),
            ("zh-CN", "zh"),
            ("nb-NO", "no"),
        ];
        for (a, b) in pairs {
            assert_eq!(found(a, &["fr", b]).as_deref(), Some(b), "{a}");
            assert_eq!(found(b, &["fr", a]).as_deref(), Some(a), "{b}");
        }
        assert_eq!(found("nn", &["nb", "no"]), None);
    }

    #[test]
    fn the_same_code_counts_before_its_alias() {
        assert_eq!(found("no", &["nb", "no"]).as_deref(), Some("no"));
        assert_eq!(found("nb", &["no", "nb"]).as_deref(), Some("nb"));
    }

    #[test]
    fn the_closest_script_and_region_are_found() {
        for (wanted, codes, expected) in [
            ("zh-TW", ["zh-Hans", "zh-Hant"], "zh-Hant"),
            ("zh", ["zh-Hant", "zh-Hans"], "zh-Hans"),
            ("zt", ["zh", "zh-TW"], "zh-TW"),
            ("zh_Hant_HK", ["zh-CN", "zh-TW"], "zh-TW"),
            ("pb", ["pt-PT", "pt-BR"], "pt-BR"),
            ("pt-PT", ["pt-BR", "pt"], "pt"),
            ("pt_BR", ["pt", "pt-BR"], "pt-BR"),
            ("sr-Latn", ["sr", "sr-Latn-RS"], "sr-Latn-RS"),
        ] {
            assert_eq!(found(wanted, &codes).as_deref(), Some(expected), "{wanted}");
        }
    }

    #[test]
    fn what_is_no_code_finds_nothing() {
        assert_eq!(found("English", &["en"]), None);
    }
}
