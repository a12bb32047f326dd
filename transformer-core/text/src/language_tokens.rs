//! [`LanguageTokens`]: the languages of a multilingual model, and the tokens that choose them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::language_codes::{base_language, closest, have_different_scripts, requested};
use super::{EOS, LanguageCode, Tokenizer};

/// The places of the tokens of the languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LanguageLayout {
    /// The source begins with the token of its language, and the translation with that of its own: M2M-100, NLLB-200,
    /// mBART-50.
    SourceFirst,
    /// As `source_first`, but the token of the source is after its end token: mBART-25, and NLLB-200 with
    /// `legacy_behaviour`.
    SourceLast,
    /// The source begins with the token of the target language: SMALL-100.
    TargetFirst,
}

/// A language of a multilingual model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageToken {
    /// The token in the vocabulary, such as `__de__`, `deu_Latn` or `de_DE`.
    pub token: String,
    /// The code in the form of BCP 47, such as `de`; only languages in several scripts or regions have one in it.
    pub code: LanguageCode,
}

/// The languages of a multilingual model.
///
/// # Example
///
/// ```
/// use transformer_text::{LanguageLayout, LanguageTokens};
///
/// let tokens = ["deu_Latn", "zho_Hans", "zho_Hant"].map(str::to_owned);
/// let languages = LanguageTokens::new(LanguageLayout::SourceFirst, tokens);
/// let codes: Vec<&str> = languages.all().iter().map(|it| it.code.as_str()).collect();
/// assert_eq!(codes, ["de", "zh-Hans", "zh-Hant"]);
/// assert_eq!(languages.find("zh-TW")?.token, "zho_Hant");
/// # Ok::<(), transformer_text::DirectionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageTokens {
    layout: LanguageLayout,
    tokens: Vec<LanguageToken>,
}

/// The tokens that a multilingual model, or BART, reads in addition to a text. The default is none, for other models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    before: Option<u32>,
    after: Option<u32>,
    first: Option<u32>,
}

/// The reason why a language cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum DirectionError {
    #[error(
        "the model is not multilingual; leave out the languages, or use a model such as M2M-100 or NLLB-200"
    )]
    NotMultilingual,
    #[error(
        "the model translates between {n_languages} languages; give that of the {side} with {flag}, such as {example}"
    )]
    Missing {
        /// The side: `source` or `target`.
        side: &'static str,
        flag: &'static str,
        n_languages: usize,
        example: LanguageCode,
    },
    #[error("the model has no language `{given}`; the nearest code is {nearest}")]
    Unknown {
        given: String,
        /// The code of the model that is spelled most like it.
        nearest: LanguageCode,
    },
}

impl LanguageTokens {
    /// Makes the table of a model from its tokens. Tokens that are not made of the code of a language are left out.
    pub fn new(layout: LanguageLayout, tokens: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<LanguageToken> = Vec::new();
        for token in tokens {
            let Some(own) = code_of(&token) else {
                continue;
            };
            // The usual code, unless an earlier language has it: `prs` is Persian, too.
            let usual = own
                .as_str()
                .replacen(own.language(), base_language(own.language()), 1);
            let usual = usual.parse().unwrap_or_else(|_| own.clone());
            let is_taken = own.language().len() == 2 || all.iter().any(|it| it.code == usual);
            let code = if is_taken { own } else { usual };
            all.push(LanguageToken { token, code });
        }
        let mut n_codes = HashMap::new();
        for it in &all {
            *n_codes.entry(it.code.language().to_owned()).or_insert(0) += 1;
        }
        for it in &mut all {
            let language = it.code.language();
            if let (1, Ok(code)) = (n_codes[language], language.parse()) {
                it.code = code;
            }
        }
        Self {
            layout,
            tokens: all,
        }
    }

    /// Returns the languages, in the order of the model.
    pub fn all(&self) -> &[LanguageToken] {
        &self.tokens
    }

    /// Returns the places of the tokens.
    pub const fn layout(&self) -> LanguageLayout {
        self.layout
    }

    /// Returns a language by its token, by the code in it, or else by the closest code of BCP 47 that is not in another
    /// script.
    pub fn get(&self, given: &str) -> Option<&LanguageToken> {
        let is_own = |it: &&LanguageToken| it.token == given || bare(&it.token) == given;
        if let Some(found) = self.tokens.iter().find(is_own) {
            return Some(found);
        }
        let wanted = requested(given)?;
        let fits = |it: &&LanguageToken| {
            it.code == wanted
                || code_of(&it.token).is_none_or(|own| !have_different_scripts(&wanted, &own))
        };
        self.closest(given, fits)
    }

    /// Returns the language with the closest code among those that fit.
    fn closest(
        &self,
        given: &str,
        fits: impl Fn(&&LanguageToken) -> bool,
    ) -> Option<&LanguageToken> {
        let closest = closest(given, self.tokens.iter().filter(fits).map(|it| &it.code))?;
        self.tokens.iter().find(|it| it.code == *closest)
    }

    /// Finds a language as [`get`](Self::get) does.
    ///
    /// # Errors
    ///
    /// Returns [`DirectionError::Unknown`] with the nearest code.
    pub fn find(&self, given: &str) -> Result<&LanguageToken, DirectionError> {
        if let Some(found) = self.get(given) {
            return Ok(found);
        }
        let likeness = |it: &&LanguageToken| {
            let names = [bare(&it.token), it.code.as_str()];
            let likeness = names.map(|name| strsim::jaro_winkler(name, given));
            likeness[0].max(likeness[1])
        };
        let alike = || {
            let tokens = self.tokens.iter();
            tokens.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        };
        // The same language in another script, or else the most similar spelling.
        match self.closest(given, |_| true).or_else(alike) {
            Some(nearest) => Err(DirectionError::Unknown {
                given: given.to_owned(),
                nearest: nearest.code.clone(),
            }),
            None => Err(DirectionError::NotMultilingual),
        }
    }
}

impl Tokenizer {
    /// Returns the languages, if this is the tokenizer of a multilingual model.
    pub fn languages(&self) -> Option<&LanguageTokens> {
        self.pieces()?.languages()
    }

    /// Returns the tokens for a translation between two languages; those of other models than multilingual ones are
    /// none, except for [BART](Self::sentence_start).
    ///
    /// # Errors
    ///
    /// Returns a [`DirectionError`] if the model does not have the languages, or needs one that is not given.
    pub fn direction(
        &self,
        src: Option<&str>,
        tgt: Option<&str>,
    ) -> Result<Direction, DirectionError> {
        let Some(languages) = self.languages() else {
            let start = self.sentence_start();
            return match (src, tgt) {
                (None, None) => Ok(Direction {
                    before: start,
                    after: None,
                    first: start,
                }),
                _ => Err(DirectionError::NotMultilingual),
            };
        };
        let id = |given: Option<&str>, side, flag| {
            let found = match (given, languages.all().first()) {
                (Some(given), _) => languages.find(given)?,
                (None, Some(first)) => {
                    return Err(DirectionError::Missing {
                        side,
                        flag,
                        n_languages: languages.all().len(),
                        example: first.code.clone(),
                    });
                }
                (None, None) => return Err(DirectionError::NotMultilingual),
            };
            Ok(self.id(&found.token))
        };
        let tgt = id(tgt, "target", "--tgt-lang")?;
        let src = match (languages.layout, src) {
            (LanguageLayout::TargetFirst, None) => None,
            _ => id(src, "source", "--src-lang")?,
        };
        let (before, after, first) = match languages.layout {
            LanguageLayout::SourceFirst => (src, None, tgt),
            LanguageLayout::SourceLast => (None, src, tgt),
            LanguageLayout::TargetFirst => (tgt, None, None),
        };
        Ok(Direction {
            before,
            after,
            first,
        })
    }
}

impl Direction {
    /// Adds the tokens of the languages to those of a source, such that they are among its first `most`. Blank text
    /// stays without tokens.
    pub fn mark(&self, ids: &mut Vec<u32>, most: usize) {
        self.insert(ids, most, |id| id);
    }

    /// Inserts an item for each token that [`mark`](Self::mark) adds, for example its place in the text.
    pub fn insert<T>(&self, items: &mut Vec<T>, most: usize, item: impl Fn(u32) -> T) {
        if items.is_empty() {
            return;
        }
        items.splice(0..0, self.before.map(&item));
        if let Some(after) = self.after {
            let end = items.len().min(most.saturating_sub(2));
            items.splice(end..end, [EOS, after].map(item));
        }
    }

    /// Returns the token that the translation must begin with.
    pub const fn first(&self) -> Option<u32> {
        self.first
    }
}

/// Returns the code of a language in a token, such as `de` in `__de__`, and `deu-Latn` in `deu_Latn`.
fn code_of(token: &str) -> Option<LanguageCode> {
    bare(token).replace('_', "-").parse().ok()
}

fn bare(token: &str) -> &str {
    let inner = token
        .strip_prefix("__")
        .and_then(|it| it.strip_suffix("__"));
    inner.unwrap_or(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tokens: &[&str]) -> LanguageTokens {
        let tokens = tokens.iter().map(|token| (*token).to_owned());
        LanguageTokens::new(LanguageLayout::SourceFirst, tokens)
    }

    fn codes(tokens: &[&str]) -> Vec<String> {
        let table = table(tokens);
        table.all().iter().map(|it| it.code.to_string()).collect()
    }

    #[test]
    fn codes_have_a_script_or_a_region_only_to_differ() {
        let nllb = [
            "ace_Arab", "ace_Latn", "deu_Latn", "pes_Arab", "prs_Arab", "zho_Hans", "zho_Hant",
        ];
        let expected = [
            "ace-Arab", "ace-Latn", "de", "fa", "prs", "zh-Hans", "zh-Hant",
        ];
        assert_eq!(codes(&nllb), expected);
        assert_eq!(
            codes(&["de_DE", "en_XX", "zh_CN", "<mask>"]),
            ["de", "en", "zh"]
        );
        assert_eq!(
            codes(&["__de__", "__no__", "__ns__", "madeupword0"]),
            ["de", "no", "ns"]
        );
    }

    #[test]
    fn a_language_is_found_by_its_token_and_by_codes() {
        let table = table(&["arb_Arab", "deu_Latn", "por_Latn", "zho_Hans", "zho_Hant"]);
        for (given, expected) in [
            ("deu_Latn", "deu_Latn"),
            ("de", "deu_Latn"),
            ("de-CH", "deu_Latn"),
            ("pt-BR", "por_Latn"),
            ("ar", "arb_Arab"),
            ("zh", "zho_Hans"),
            ("zh-Hant", "zho_Hant"),
        ] {
            let found = table.find(given).map(|it| it.token.as_str());
            assert_eq!(found, Ok(expected), "{given}");
        }
    }

    #[test]
    fn an_unknown_language_is_refused_with_the_nearest() {
        let table = table(&["__de__", "__en__"]);
        let message = table.find("dee").expect_err("it is unknown").to_string();
        assert_eq!(
            message,
            "the model has no language `dee`; the nearest code is de"
        );
    }

    #[test]
    fn a_language_in_another_script_is_refused() {
        let m2m = table(&["__sr__", "__zh__"]);
        let nllb = table(&["pan_Guru", "slv_Latn", "srp_Cyrl", "zho_Hans"]);
        let mbart = table(&["en_XX", "zh_CN"]);
        for (table, given, nearest) in [
            (&m2m, "zh-Hant", "zh"),
            (&m2m, "zh-TW", "zh"),
            (&nllb, "sr-Latn", "sr"),
            (&nllb, "pa-Arab", "pa"),
            (&mbart, "zh_Hant", "zh"),
        ] {
            let message = table.find(given).expect_err(given).to_string();
            let expected =
                format!("the model has no language `{given}`; the nearest code is {nearest}");
            assert_eq!(message, expected);
        }
        let traditional = table(&["zho_Hant"]);
        for (table, given, expected) in [
            (&m2m, "sr-Latn", "__sr__"),
            (&m2m, "zh-CN", "__zh__"),
            (&nllb, "sr-Cyrl-RS", "srp_Cyrl"),
            (&nllb, "zh-Hans-SG", "zho_Hans"),
            (&traditional, "zh", "zho_Hant"),
            (&traditional, "zh-HK", "zho_Hant"),
        ] {
            let found = table.find(given).map(|it| it.token.as_str());
            assert_eq!(found, Ok(expected), "{given}");
        }
    }

    #[test]
    fn the_tokens_of_the_languages_stay_in_a_source_that_is_cut() {
        let direction = Direction {
            before: Some(70),
            after: Some(80),
            first: None,
        };
        let marked = |mut ids: Vec<u32>, most| {
            direction.mark(&mut ids, most);
            ids
        };
        assert_eq!(marked(vec![5, 6], 9), [70, 5, 6, EOS, 80]);
        assert_eq!(marked(vec![5, 6, 7, 8], 5), [70, 5, 6, EOS, 80, 7, 8]);
        assert_eq!(marked(vec![], 5), [0; 0]);
    }
}
