//! Words that can be encoded each by itself, and a memory of the ids that came out.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use tokenizers::ModelWrapper;

use super::layout::{normalizer, pre_tokenizer};
use super::{Case, TokenizerConfig, TokenizerKind};

/// Most words that are remembered: some 55 MB at worst.
const MAX_WORDS: usize = 1 << 17;

/// Longest word that is remembered, in bytes. Longer ones hardly come back.
const MAX_WORD_LEN: usize = 64;

/// Says where a line is cut into texts that are normalized, and cut further, without regard to each other.
///
/// Whitespace stays whitespace in form NFC, composes with nothing, and no mark moves across it; the rules of
/// the layout look at one word only. A character of ASCII that follows another changes neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// At whitespace, which is left out.
    Words,
    /// At whitespace, NUL and the mark of a word's start, which are left out.
    MarkedWords,
    /// Between any two characters, of lines in ASCII only.
    Characters,
}

impl Cut {
    /// Returns where lines are cut for this kind of tokenizer.
    pub(super) fn of(kind: TokenizerKind) -> Self {
        match kind {
            TokenizerKind::Word => Self::Words,
            TokenizerKind::Char => Self::Characters,
            TokenizerKind::Bpe | TokenizerKind::Unigram => Self::MarkedWords,
        }
    }

    /// Cuts a line. No text is empty.
    pub(super) fn texts<'a>(self, line: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        let is_marked = self == Self::MarkedWords;
        let separates = move |c: char| c.is_whitespace() || (is_marked && matches!(c, '\0' | '▁'));
        let texts = match self {
            Self::Words | Self::MarkedWords => line.split(separates),
            Self::Characters if line.is_ascii() => {
                return Box::new((0..line.len()).map(|at| &line[at..=at]));
            }
            Self::Characters => return Box::new(Some(line).into_iter()),
        };
        Box::new(texts.filter(|text| !text.is_empty()))
    }
}

/// Remembers the ids of words: text has few words that are not seen again and again.
#[derive(Debug)]
pub(super) struct WordCache {
    cut: Cut,
    max_words: usize,
    ids: RwLock<HashMap<Box<str>, Box<[u32]>>>,
}

impl WordCache {
    /// Returns a memory for this tokenizer; `None` if it may cut a word otherwise next time or in another
    /// line.
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        let is_fixed = match tokenizer.get_model() {
            ModelWrapper::BPE(bpe) => bpe.dropout.is_none(),
            ModelWrapper::Unigram(unigram) => {
                unigram.alpha.is_none() && unigram.nbest_size.is_none()
            }
            ModelWrapper::WordLevel(_) => true,
            ModelWrapper::WordPiece(_) => false,
        };
        let is_bare = tokenizer.get_post_processor().is_none()
            && tokenizer.get_added_tokens_decoder().is_empty();
        if !is_fixed || !is_bare {
            return None;
        }
        let rules = (
            serde_json::to_value(tokenizer.get_normalizer()).ok()?,
            serde_json::to_value(tokenizer.get_pre_tokenizer()).ok()?,
        );
        let kinds = [TokenizerKind::Word, TokenizerKind::Char, TokenizerKind::Bpe];
        let mut layouts = kinds
            .into_iter()
            .flat_map(|kind| [(kind, Case::Keep), (kind, Case::Lower)]);
        let (kind, _) = layouts.find(|&(kind, case)| {
            let config = TokenizerConfig {
                kind,
                case,
                ..TokenizerConfig::default()
            };
            rules == (normalizer(&config), pre_tokenizer(kind))
        })?;
        Some(Self::new(Cut::of(kind), MAX_WORDS))
    }

    fn new(cut: Cut, max_words: usize) -> Self {
        Self {
            cut,
            max_words,
            ids: RwLock::default(),
        }
    }

    /// Returns the ids of a line. `encode` is asked about words that are not remembered.
    pub(super) fn encode(&self, line: &str, encode: impl Fn(&str) -> Vec<u32>) -> Vec<u32> {
        let mut known = Vec::new();
        let mut missing = Vec::new();
        {
            let remembered = self.ids.read().unwrap_or_else(PoisonError::into_inner);
            for word in self.cut.texts(line) {
                match remembered.get(word) {
                    Some(ids) => known.extend_from_slice(ids),
                    None => missing.push((known.len(), word)),
                }
            }
        }
        // Without the lock: encoding takes its time.
        let mut of_line = Vec::with_capacity(known.len() + missing.len());
        let mut unknown = Vec::new();
        let mut from = 0;
        for (place, word) in missing {
            of_line.extend_from_slice(&known[from..place]);
            from = place;
            let ids = encode(word);
            of_line.extend_from_slice(&ids);
            if word.len() <= MAX_WORD_LEN {
                unknown.push((word.into(), ids.into()));
            }
        }
        of_line.extend_from_slice(&known[from..]);
        if !unknown.is_empty() {
            let mut remembered = self.ids.write().unwrap_or_else(PoisonError::into_inner);
            if remembered.len() + unknown.len() > self.max_words {
                remembered.clear();
            }
            remembered.extend(unknown);
        }
        of_line
    }
}

/// Returns lines of many scripts, with every kind of whitespace and with marks, cases and symbols in odd
/// places. Words come again and again.
#[cfg(test)]
pub(super) fn strange_lines(n_lines: usize) -> Vec<String> {
    const LETTERS: [&str; 12] = [
        "abcdefgh ABC",
        "äöüßÄÉı İſ",
        "e\u{301}\u{323}a\u{308}o\u{327}\u{301}",
        "αβγσςΣΆᾳ\u{345}",
        "привет Йй\u{306}",
        "שלו\u{5b0}\u{5bc}ם",
        "مرح\u{64b}\u{651}با",
        "नम\u{93c}स\u{94d}ते",
        "ไท\u{e33}ย\u{e49}",
        "\u{1112}\u{1161}\u{11ab}한글가",
        "日本語。、カ\u{3099}ー",
        "👩\u{200d}👩\u{1f3fd}…½ﬁ<s>.,-–“”$+^\u{ac}",
    ];
    const BETWEEN: [&str; 16] = [
        " ", " ", " ", " ", "  ", "\t", "\u{a0}", "\u{3000}", "\u{2001}", "\u{2028}", "\u{85}",
        "\u{b}", "\0", "▁", " ▁ ", "\u{200b}",
    ];
    let mut state = 1_u64;
    let mut draw = |n: usize| {
        // The constants of Knuth's MMIX.
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut words = Vec::new();
    for n in 0..900 {
        let letters: Vec<char> = LETTERS[n % LETTERS.len()].chars().collect();
        let word = (0..1 + draw(7)).map(|_| letters[draw(letters.len())]);
        words.push(word.collect::<String>());
    }
    words.push("long".repeat(40));
    let line = |_| {
        let mut line = String::new();
        for _ in 0..draw(12) {
            line += BETWEEN[draw(BETWEEN.len())];
            // Two draws, so that some words come more often.
            let n_words = 1 + draw(words.len());
            line += &words[draw(n_words)];
        }
        line
    };
    (0..n_lines).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::text::tokenizer::{Library, parse};
    use crate::text::{Tokenizer, TokenizerError};

    fn trained(kind: TokenizerKind, case: Case) -> Result<Library, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            case,
            vocab_size: 700,
        };
        let json = Tokenizer::train(&config, strange_lines(300))?.to_json();
        Ok(Library::new(parse(&json)?))
    }

    fn check(library: &Library, line: &str) {
        let ids = library.encode(line);
        assert_eq!(ids, library.encode_whole(line), "{line:?}");
    }

    const CASES: [(TokenizerKind, Case); 7] = [
        (TokenizerKind::Word, Case::Keep),
        (TokenizerKind::Char, Case::Keep),
        (TokenizerKind::Char, Case::Lower),
        (TokenizerKind::Bpe, Case::Keep),
        (TokenizerKind::Bpe, Case::Lower),
        (TokenizerKind::Unigram, Case::Keep),
        (TokenizerKind::Unigram, Case::Lower),
    ];

    #[test]
    fn lines_of_many_scripts_have_the_ids_of_the_library() -> Result<(), TokenizerError> {
        let lines = strange_lines(2000);
        for (kind, case) in CASES {
            let library = trained(kind, case)?;
            assert!(library.words.is_some(), "{kind}");
            for line in &lines {
                check(&library, line);
            }
        }
        Ok(())
    }

    #[test]
    fn lines_in_ascii_have_the_ids_of_the_library() -> Result<(), TokenizerError> {
        let library = trained(TokenizerKind::Char, Case::Lower)?;
        for line in strange_lines(1000) {
            check(&library, &line.replace(|c: char| !c.is_ascii(), ""));
        }
        Ok(())
    }

    /// Every character but the ideographs and syllables that form NFC knows by rule: alone, between letters,
    /// under marks and before them.
    #[test]
    fn no_character_reaches_beyond_its_word() -> Result<(), TokenizerError> {
        let characters = ('\0'..'\u{3100}').chain('\u{f900}'..='\u{ffff}');
        let characters: Vec<char> = characters.chain('\u{1d000}'..'\u{1d200}').collect();
        let library = trained(TokenizerKind::Bpe, Case::Lower)?;
        for some in characters.chunks(32) {
            let around = some.iter().map(|c| format!("e{c}\u{301} {c}\u{323}a {c}"));
            check(&library, &around.collect::<Vec<_>>().join(" "));
        }
        Ok(())
    }

    #[test]
    fn a_full_memory_begins_anew() {
        let cache = WordCache::new(Cut::Words, 3);
        let encode = |word: &str| vec![word.len() as u32];
        for (line, ids, n_words) in [
            ("a bb", vec![1, 2], 2),
            ("a ccc", vec![1, 3], 3),
            ("dddd a", vec![4, 1], 1),
            ("bb dddd", vec![2, 4], 2),
        ] {
            assert_eq!(cache.encode(line, encode), ids);
            let remembered = cache.ids.read().unwrap_or_else(PoisonError::into_inner);
            assert_eq!(remembered.len(), n_words, "{line}");
        }
    }

    /// Says whether words are remembered for a file with this in another place.
    fn is_remembered(change: impl FnOnce(&mut Value)) -> Result<bool, TokenizerError> {
        let json = trained(TokenizerKind::Bpe, Case::Keep)?
            .tokenizer
            .to_string(false);
        let json = json.map_err(TokenizerError::Parse)?;
        let mut json: Value = serde_json::from_str(&json).expect("it was just written");
        change(&mut json);
        Ok(WordCache::of(&parse(&json.to_string())?).is_some())
    }

    #[test]
    fn what_is_cut_by_chance_or_by_other_rules_is_not_remembered() -> Result<(), TokenizerError> {
        assert!(is_remembered(|_| {})?);
        assert!(!is_remembered(|json| json["model"]["dropout"] = json!(0.1))?);
        assert!(!is_remembered(
            |json| json["normalizer"] = json!({"type": "NFC"})
        )?);
        assert!(!is_remembered(
            |json| json["pre_tokenizer"] = json!({"type": "Metaspace",
            "replacement": "▁", "prepend_scheme": "first", "split": false})
        )?);
        assert!(!is_remembered(|json| {
            json["added_tokens"] = json!([{"id": 9, "content": "a b", "single_word": false,
                "lstrip": false, "rstrip": false, "normalized": false, "special": false}]);
        })?);
        Ok(())
    }
}
