//! [`closest`] and [`closeness`]: the model's code for the language of a request.

use std::cmp::Reverse;

use super::LanguageCode;

/// Codes of languages in ISO 639-1, each with that in ISO 639-3. For Persian and Chinese the latter is the one that
/// language detection crates use.
const ISO_639_3: [&str; 138] = [
    "af afr", "ak aka", "am amh", "ar ara", "as asm", "ay aym", "az aze", "ba bak", "be bel",
    "bg bul", "bm bam", "bn ben", "bo bod", "br bre", "bs bos", "ca cat", "cs ces", "cy cym",
    "da dan", "de deu", "dz dzo", "ee ewe", "el ell", "en eng", "eo epo", "es spa", "et est",
    "eu eus", "fa pes", "ff ful", "fi fin", "fj fij", "fo fao", "fr fra", "fy fry", "ga gle",
    "gd gla", "gl glg", "gn grn", "gu guj", "ha hau", "he heb", "hi hin", "hr hrv", "ht hat",
    "hu hun", "hy hye", "id ind", "ig ibo", "is isl", "it ita", "ja jpn", "jv jav", "ka kat",
    "kg kon", "ki kik", "kk kaz", "km khm", "kn kan", "ko kor", "kr kau", "ks kas", "ku kur",
    "ky kir", "la lat", "lb ltz", "lg lug", "li lim", "ln lin", "lo lao", "lt lit", "lv lav",
    "mg mlg", "mi mri", "mk mkd", "ml mal", "mn mon", "mr mar", "ms msa", "mt mlt", "my mya",
    "nb nob", "ne nep", "nl nld", "nn nno", "ny nya", "oc oci", "om orm", "or ori", "pa pan",
    "pl pol", "ps pus", "pt por", "qu que", "rn run", "ro ron", "ru rus", "rw kin", "sa san",
    "sc srd", "sd snd", "sg sag", "si sin", "sk slk", "sl slv", "sm smo", "sn sna", "so som",
    "sq sqi", "sr srp", "ss ssw", "st sot", "su sun", "sv swe", "sw swa", "ta tam", "te tel",
    "tg tgk", "th tha", "ti tir", "tk tuk", "tl tgl", "tn tsn", "tr tur", "ts tso", "tt tat",
    "tw twi", "ug uig", "uk ukr", "ur urd", "uz uzb", "vi vie", "wo wol", "xh xho", "yi yid",
    "yo yor", "zh cmn", "zu zul",
];

/// Other codes of languages, each with the usual one: deprecated ones, members of macrolanguages that represent the whole,
/// and LibreTranslate's own.
const ALIASES: [&str; 34] = [
    "als sq", "arb ar", "ayr ay", "azj az", "ekk et", "fas fa", "fil tl", "fuv ff", "gaz om",
    "in id", "iw he", "ji yi", "jw jv", "khk mn", "kmr ku", "knc kr", "lvs lv", "mo ro", "no nb",
    "nor nb", "npi ne", "ns nso", "ory or", "pb pt", "pbt ps", "plt mg", "prs fa", "quy qu",
    "swh sw", "uzn uz", "ydd yi", "zho zh", "zsm ms", "zt zh",
];

/// The parts of a code that distinguish languages, in a single spelling.
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
}

/// Returns the code of three letters (ISO 639-3) of a language without a region, if it has one of two letters.
pub fn three_letter_code(language: &str) -> Option<&'static str> {
    let base = base_language(language);
    let (_, long) = pairs(&ISO_639_3).find(|(short, _)| *short == base)?;
    Some(long)
}

/// Returns the code of two letters (ISO 639-1) of a language with this code of three letters (ISO 639-3).
pub fn two_letter_code(long: &str) -> Option<&'static str> {
    let (short, _) = pairs(&ISO_639_3).find(|(_, it)| *it == long)?;
    Some(short)
}

/// Returns the usual code of a language, for codes of two or three small letters.
pub fn base_language(code: &str) -> &str {
    let usual = pairs(&ALIASES).find(|(alias, _)| *alias == code);
    let usual = usual.map(|(_, usual)| usual);
    usual.or_else(|| two_letter_code(code)).unwrap_or(code)
}

fn pairs(table: &'static [&'static str]) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.iter().filter_map(|pair| pair.split_once(' '))
}

/// Equality of two codes of a language, then agreement of their scripts and of their regions: 2 if they are the same, 1
/// if one code has none, 0 if they differ. A greater value is closer.
pub type Closeness = (bool, u8, u8);

/// Returns the code of a request, which may have underscores; `None` if it is not a code.
pub fn requested(wanted: &str) -> Option<LanguageCode> {
    wanted.replace('_', "-").parse().ok()
}

/// Returns the closeness of a code to the code of a request; `None` for another language.
pub fn closeness(wanted: &LanguageCode, code: &LanguageCode) -> Option<Closeness> {
    let (a, b) = (Parts::of(wanted), Parts::of(code));
    let agreement = |a: Option<&str>, b: Option<&str>| match (a, b) {
        (a, b) if a == b => 2,
        (Some(_), Some(_)) => 0,
        _ => 1,
    };
    let (script, region) = (agreement(a.script, b.script), agreement(a.region, b.region));
    (a.language == b.language).then_some((wanted == code, script, region))
}

/// Returns true if both codes have a script, and not the same. Chinese is in the simplified script, except with a
/// region where the traditional one is usual.
pub(crate) fn have_different_scripts(a: &LanguageCode, b: &LanguageCode) -> bool {
    let (a, b) = (Parts::of(a).script, Parts::of(b).script);
    a.is_some() && b.is_some() && a != b
}

/// Returns the first of the codes that are closest to the code of a request.
pub fn closest<'a>(
    wanted: &str,
    codes: impl Iterator<Item = &'a LanguageCode>,
) -> Option<&'a LanguageCode> {
    let wanted = requested(wanted)?;
    let close = codes.filter_map(|code| Some((Reverse(closeness(&wanted, code)?), code)));
    let closest = close.min_by_key(|(closeness, _)| *closeness);
    closest.map(|(_, code)| code)
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
            ("sr-Cyrl", ["sr-Latn", "sr"], "sr"),
        ] {
            assert_eq!(found(wanted, &codes).as_deref(), Some(expected), "{wanted}");
        }
    }

    #[test]
    fn what_is_no_code_finds_nothing() {
        assert_eq!(found("English", &["en"]), None);
    }
}
