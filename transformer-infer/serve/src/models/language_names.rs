//! [`LanguageNames`]: the names of languages in English and in the language itself.

use transformer_core::text::LanguageCode;

use super::base_language;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LanguageNames<'a> {
    pub(crate) english: &'a str,
    pub(crate) native: &'a str,
}

/// Codes with the name in English and in the language itself, in the order of the codes.
const NAMES: [(&str, &str, &str); 105] = [
    ("af", "Afrikaans", "Afrikaans"),
    ("am", "Amharic", "አማርኛ"),
    ("ar", "Arabic", "العربية"),
    ("az", "Azerbaijani", "azərbaycan"),
    ("be", "Belarusian", "беларуская"),
    ("bg", "Bulgarian", "български"),
    ("bn", "Bengali", "বাংলা"),
    ("br", "Breton", "brezhoneg"),
    ("bs", "Bosnian", "bosanski"),
    ("ca", "Catalan", "català"),
    ("cs", "Czech", "čeština"),
    ("cy", "Welsh", "Cymraeg"),
    ("da", "Danish", "dansk"),
    ("de", "German", "Deutsch"),
    ("el", "Greek", "Ελληνικά"),
    ("en", "English", "English"),
    ("eo", "Esperanto", "Esperanto"),
    ("es", "Spanish", "español"),
    ("et", "Estonian", "eesti"),
    ("eu", "Basque", "euskara"),
    ("fa", "Persian", "فارسی"),
    ("fi", "Finnish", "suomi"),
    ("fil", "Filipino", "Filipino"),
    ("fr", "French", "français"),
    ("ga", "Irish", "Gaeilge"),
    ("gd", "Scottish Gaelic", "Gàidhlig"),
    ("gl", "Galician", "galego"),
    ("gu", "Gujarati", "ગુજરાતી"),
    ("ha", "Hausa", "Hausa"),
    ("he", "Hebrew", "עברית"),
    ("hi", "Hindi", "हिन्दी"),
    ("hr", "Croatian", "hrvatski"),
    ("ht", "Haitian Creole", "kreyòl ayisyen"),
    ("hu", "Hungarian", "magyar"),
    ("hy", "Armenian", "հայերեն"),
    ("id", "Indonesian", "Bahasa Indonesia"),
    ("ig", "Igbo", "Igbo"),
    ("is", "Icelandic", "íslenska"),
    ("it", "Italian", "italiano"),
    ("ja", "Japanese", "日本語"),
    ("ka", "Georgian", "ქართული"),
    ("kk", "Kazakh", "қазақ тілі"),
    ("km", "Khmer", "ខ្មែរ"),
    ("kn", "Kannada", "ಕನ್ನಡ"),
    ("ko", "Korean", "한국어"),
    ("ku", "Kurdish", "kurdî"),
    ("ky", "Kyrgyz", "кыргызча"),
    ("la", "Latin", "Latina"),
    ("lb", "Luxembourgish", "Lëtzebuergesch"),
    ("lo", "Lao", "ລາວ"),
    ("lt", "Lithuanian", "lietuvių"),
    ("lv", "Latvian", "latviešu"),
    ("mg", "Malagasy", "Malagasy"),
    ("mi", "Maori", "Māori"),
    ("mk", "Macedonian", "македонски"),
    ("ml", "Malayalam", "മലയാളം"),
    ("mn", "Mongolian", "монгол"),
    ("mr", "Marathi", "मराठी"),
    ("ms", "Malay", "Bahasa Melayu"),
    ("mt", "Maltese", "Malti"),
    ("my", "Burmese", "မြန်မာ"),
    ("nb", "Norwegian Bokmål", "norsk bokmål"),
    ("ne", "Nepali", "नेपाली"),
    ("nl", "Dutch", "Nederlands"),
    ("nn", "Norwegian Nynorsk", "nynorsk"),
    ("no", "Norwegian", "norsk"),
    ("oc", "Occitan", "occitan"),
    ("or", "Odia", "ଓଡ଼ିଆ"),
    ("pa", "Punjabi", "ਪੰਜਾਬੀ"),
    ("pl", "Polish", "polski"),
    ("ps", "Pashto", "پښتو"),
    ("pt", "Portuguese", "português"),
    ("pt-BR", "Portuguese (Brazil)", "português (Brasil)"),
    ("ro", "Romanian", "română"),
    ("ru", "Russian", "русский"),
    ("rw", "Kinyarwanda", "Kinyarwanda"),
    ("sd", "Sindhi", "سنڌي"),
    ("si", "Sinhala", "සිංහල"),
    ("sk", "Slovak", "slovenčina"),
    ("sl", "Slovenian", "slovenščina"),
    ("so", "Somali", "Soomaali"),
    ("sq", "Albanian", "shqip"),
    ("sr", "Serbian", "српски"),
    ("sv", "Swedish", "svenska"),
    ("sw", "Swahili", "Kiswahili"),
    ("ta", "Tamil", "தமிழ்"),
    ("te", "Telugu", "తెలుగు"),
    ("tg", "Tajik", "тоҷикӣ"),
    ("th", "Thai", "ไทย"),
    ("tk", "Turkmen", "türkmençe"),
    ("tl", "Tagalog", "Tagalog"),
    ("tr", "Turkish", "Türkçe"),
    ("tt", "Tatar", "татар"),
    ("ug", "Uyghur", "ئۇيغۇرچە"),
    ("uk", "Ukrainian", "українська"),
    ("ur", "Urdu", "اردو"),
    ("uz", "Uzbek", "oʻzbek"),
    ("vi", "Vietnamese", "Tiếng Việt"),
    ("xh", "Xhosa", "isiXhosa"),
    ("yi", "Yiddish", "ייִדיש"),
    ("yo", "Yoruba", "Yorùbá"),
    ("zh", "Chinese", "中文"),
    ("zh-Hans", "Chinese (simplified)", "简体中文"),
    ("zh-Hant", "Chinese (traditional)", "繁體中文"),
    ("zu", "Zulu", "isiZulu"),
];

impl<'a> LanguageNames<'a> {
    /// Returns the names of a language, or its code if it is not in the list.
    pub(crate) fn of(code: &'a LanguageCode) -> Self {
        let find = |code: &str| {
            let index = NAMES
                .binary_search_by_key(&code, |(code, _, _)| code)
                .ok()?;
            let (_, english, native) = NAMES[index];
            Some(Self { english, native })
        };
        let language = code.language();
        let found = find(code.as_str()).or_else(|| find(language));
        let found = found.or_else(|| find(base_language(language)));
        found.unwrap_or(Self {
            english: code.as_str(),
            native: code.as_str(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transformer_core::text::language_codes::three_letter_code;

    fn english(code: &str) -> String {
        let code: LanguageCode = code.parse().expect("it is a code");
        LanguageNames::of(&code).english.to_owned()
    }

    #[test]
    fn a_region_without_a_name_of_its_own_has_that_of_the_language() {
        assert_eq!(english("pt-BR"), "Portuguese (Brazil)");
        assert_eq!(english("pt-AO"), "Portuguese");
    }

    #[test]
    fn an_alias_has_the_name_of_its_language() {
        assert_eq!(english("iw"), "Hebrew");
        assert_eq!(english("deu-AT"), "German");
    }

    #[test]
    fn every_language_of_two_letters_is_known_by_three() {
        for (code, _, _) in NAMES.iter().filter(|(code, _, _)| code.len() == 2) {
            let usual = base_language(code);
            let long = three_letter_code(usual)
                .unwrap_or_else(|| panic!("{code} has no code of three letters"));
            assert_eq!(base_language(long), usual);
        }
        assert_eq!(english("isl"), "Icelandic");
        assert_eq!(english("swa"), "Swahili");
    }

    #[test]
    fn an_unknown_language_is_called_by_its_code() {
        assert_eq!(english("qqq-Latn"), "qqq-Latn");
    }

    #[test]
    fn the_codes_are_in_order_and_as_bcp_47_writes_them() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        for (code, _, _) in NAMES {
            let parsed: LanguageCode = code.parse().expect("it is a code");
            assert_eq!(parsed.as_str(), code);
        }
    }
}
