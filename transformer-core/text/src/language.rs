//! [`LanguageCode`]: the language of a text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_LEN: usize = 35;

/// The code of a language in the form of BCP 47, such as `en`, `pt-BR`, `zh-Hans` or `es-419`.
///
/// It has a language of two or three letters and, if needed, a script, a region and variants. It is not checked whether
/// the code is registered. Case does not matter; the code is stored in the case of BCP 47.
///
/// # Example
///
/// ```
/// use transformer_text::LanguageCode;
///
/// let code: LanguageCode = "PT-br".parse()?;
/// assert_eq!(code.as_str(), "pt-BR");
/// assert_eq!(code.language(), "pt");
/// assert!("Portuguese".parse::<LanguageCode>().is_err());
/// # Ok::<(), transformer_text::LanguageCodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct LanguageCode(Box<str>);

/// A text is not the code of a language.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{given}` is not the code of a language; give one as in BCP 47: two or three letters, and a script or a region if \
     needed, such as en, pt-BR or zh-Hans"
)]
pub struct LanguageCodeError {
    /// The text, or its beginning.
    given: String,
}

impl LanguageCode {
    /// Returns the code in the case of BCP 47.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the language alone, without script, region and variants: two or three lower-case letters.
    pub fn language(&self) -> &str {
        self.0.split('-').next().unwrap_or(&self.0)
    }
}

impl FromStr for LanguageCode {
    type Err = LanguageCodeError;

    fn from_str(text: &str) -> Result<Self, LanguageCodeError> {
        let refused = || LanguageCodeError {
            given: text.chars().take(MAX_LEN).collect(),
        };
        if text.len() > MAX_LEN {
            return Err(refused());
        }
        canonical(text).ok_or_else(refused).map(Self)
    }
}

/// Returns a code in the case of BCP 47; `None` if the text is not a code.
fn canonical(text: &str) -> Option<Box<str>> {
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split('-').peekable();
    let language = parts.next()?;
    if !matches!(language.len(), 2 | 3) || !letters(language) {
        return None;
    }
    let mut code = language.to_ascii_lowercase();
    let mut push = |part: String| {
        code.push('-');
        code.push_str(&part);
    };
    if let Some(script) = parts.next_if(|part| part.len() == 4 && letters(part)) {
        push(script[..1].to_ascii_uppercase() + &script[1..].to_ascii_lowercase());
    }
    let is_region =
        |part: &str| part.len() == 2 && letters(part) || part.len() == 3 && digits(part);
    if let Some(region) = parts.next_if(|part| is_region(part)) {
        push(region.to_ascii_uppercase());
    }
    for variant in parts {
        let is_word = variant.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_year = variant.len() == 4 && variant.starts_with(|c: char| c.is_ascii_digit());
        if !is_word || !(is_year || (5..=8).contains(&variant.len())) {
            return None;
        }
        push(variant.to_ascii_lowercase());
    }
    Some(code.into())
}

impl TryFrom<String> for LanguageCode {
    type Error = LanguageCodeError;

    fn try_from(text: String) -> Result<Self, LanguageCodeError> {
        text.parse()
    }
}

impl From<LanguageCode> for String {
    fn from(code: LanguageCode) -> Self {
        code.0.into()
    }
}

impl fmt::Display for LanguageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> Option<String> {
        text.parse().ok().map(|code: LanguageCode| code.to_string())
    }

    #[test]
    fn codes_are_written_as_in_bcp_47() {
        for (given, expected) in [
            ("en", "en"),
            ("DE", "de"),
            ("cmn", "cmn"),
            ("pt-br", "pt-BR"),
            ("ZH-HANS", "zh-Hans"),
            ("zh-hant-tw", "zh-Hant-TW"),
            ("es-419", "es-419"),
            ("de-1996", "de-1996"),
            ("sl-ROZAJ-biske", "sl-rozaj-biske"),
        ] {
            assert_eq!(written(given).as_deref(), Some(expected), "{given}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for given in [
            "",
            "e",
            "english",
            "ROMANCE",
            "none",
            "pt_BR",
            "en-",
            "-en",
            "en--GB",
            "en-GB-GB",
            "en-GB-Latn",
            " en",
            "e1",
            "zh-x",
            "ру",
            "en-éclair",
            "sl-rozaj-biske-1994-rozaj-biske-1994",
        ] {
            assert_eq!(written(given), None, "{given}");
        }
    }

    #[test]
    fn the_error_shows_the_text_and_examples() {
        let error = "pt_BR".parse::<LanguageCode>();
        let message = error.expect_err("it has an underscore").to_string();
        assert!(message.starts_with("`pt_BR` is not the code of a language; "));
        assert!(message.ends_with("such as en, pt-BR or zh-Hans"));
    }

    proptest! {
        #[test]
        fn a_code_that_was_written_is_read_as_itself(text in "[a-zA-Z]{1,4}(-[a-zA-Z0-9]{1,9}){0,3}|.{0,12}") {
            if let Some(code) = written(&text) {
                prop_assert_eq!(written(&code), Some(code.clone()));
                prop_assert!(code.eq_ignore_ascii_case(&text));
                let json = serde_json::to_string(&code).expect("it is text");
                let read: LanguageCode = serde_json::from_str(&json).expect("it is a code");
                prop_assert_eq!(read.as_str(), code.as_str());
            }
        }
    }
}
