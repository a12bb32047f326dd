//! Adds pieces to a `tokenizer.json` of a kind that training makes.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokenizers::{Model, OffsetReferential, OffsetType, Tokenizer};

use super::extended::ExtendError;
use super::extended::{AddedToken, PiecePosition};
use super::merges::Merges;
use crate::TokenizerError;
use crate::cached_tokenizer::CachedTokenizer;
use crate::json_layout::WORD_START;
use crate::special::{N_SPECIAL, SPECIAL_TOKENS, UNK, byte_of};
use crate::train::pre_tokenized;

pub(super) struct ExtendedFile {
    pub(super) json: String,
    pub(super) added: Vec<AddedToken>,
}

/// Adds pieces; `json` is the file of the tokenizer.
pub(super) fn extended(
    inner: &CachedTokenizer,
    json: &str,
    pieces: &[&str],
    position: PiecePosition,
) -> Result<ExtendedFile, ExtendError> {
    // Other rules may look at more than a word.
    if !inner.encodes_words_alone() {
        return Err(ExtendError::Kind);
    }
    let tokenizer = &inner.tokenizer;
    let mut words: Vec<String> = Vec::with_capacity(pieces.len());
    let mut seen = HashSet::new();
    for piece in pieces {
        let word = word_of(tokenizer, piece, position)?;
        let piece = (*piece).to_owned();
        if SPECIAL_TOKENS.contains(&word.as_str()) || byte_of(&word).is_some() {
            return Err(ExtendError::Special { piece });
        }
        if tokenizer.token_to_id(&word).is_some() {
            return Err(ExtendError::Known { piece, token: word });
        }
        if !seen.insert(word.clone()) {
            return Err(ExtendError::Twice { piece });
        }
        words.push(word);
    }
    let file = serde_json::from_str(json).map_err(|error| TokenizerError::Json(error.into()));
    let mut file: Value = file?;
    let model = &mut file["model"];
    let added = match model["type"].as_str() {
        Some("WordLevel") => add_words(model, words)?,
        Some("Unigram") => add_to_unigram(model, tokenizer, words)?,
        Some("BPE") => add_to_bpe(model, &words)?,
        _ => return Err(ExtendError::Kind),
    };
    Ok(ExtendedFile {
        json: file.to_string(),
        added,
    })
}

/// Returns the piece in the form that the model of the tokenizer receives.
pub(super) fn word_of(
    tokenizer: &Tokenizer,
    piece: &str,
    position: PiecePosition,
) -> Result<String, ExtendError> {
    let text = pre_tokenized(tokenizer, piece)?;
    let words = text.get_splits(OffsetReferential::Normalized, OffsetType::None);
    let words: Vec<&str> = words.into_iter().map(|(word, _, _)| word).collect();
    let bare = |word: &str| word.trim_start_matches(WORD_START).to_owned();
    match words.as_slice() {
        [word] if !bare(word).is_empty() => Ok(match position {
            PiecePosition::WordStart => (*word).to_owned(),
            PiecePosition::InWord => bare(word),
        }),
        [] | [_] => Err(ExtendError::Dropped {
            piece: piece.to_owned(),
        }),
        words => Err(ExtendError::Divided {
            piece: piece.to_owned(),
            parts: words.iter().map(|word| bare(word)).collect(),
        }),
    }
}

/// Adds words, which were all unknown, to a model of words or characters.
fn add_words(model: &mut Value, words: Vec<String>) -> Result<Vec<AddedToken>, ExtendError> {
    let vocabulary = model["vocab"].as_object_mut().ok_or(ExtendError::Kind)?;
    for word in &words {
        let id = vocabulary.len();
        vocabulary.insert(word.clone(), id.into());
    }
    let of_word = |token| AddedToken {
        token,
        parts: Vec::new(),
    };
    Ok(words.into_iter().map(of_word).collect())
}

/// Adds pieces to a unigram model, each with the probability of its most probable part. So a piece is more probable
/// than its parts together, and no score is below the lowest one so far, which determines that of unknown characters.
fn add_to_unigram(
    model: &mut Value,
    tokenizer: &Tokenizer,
    words: Vec<String>,
) -> Result<Vec<AddedToken>, ExtendError> {
    let vocabulary = model["vocab"].as_array_mut().ok_or(ExtendError::Kind)?;
    let score = |entry: &Value| entry[1].as_f64();
    let is_piece = |entry: &&Value| entry[0].as_str().is_some_and(|it| byte_of(it).is_none());
    let pieces = vocabulary.iter().skip(N_SPECIAL).filter(is_piece);
    let lowest = pieces.filter_map(score).fold(0.0, f64::min);
    let mut added = Vec::with_capacity(words.len());
    let mut entries = Vec::with_capacity(words.len());
    for word in words {
        let tokens = tokenizer.get_model().tokenize(&word);
        let tokens = tokens.map_err(TokenizerError::Encode)?;
        let parts: Vec<u32> = tokens
            .iter()
            .map(|it| it.id)
            .filter(|id| *id != UNK)
            .collect();
        let of_parts = parts.iter().filter_map(|id| vocabulary.get(*id as usize));
        let scores = of_parts.filter(is_piece).filter_map(score);
        let best = scores.fold(f64::NEG_INFINITY, f64::max);
        let best = if best.is_finite() { best } else { lowest };
        entries.push(json!([word, best]));
        added.push(AddedToken { token: word, parts });
    }
    vocabulary.extend(entries);
    Ok(added)
}

fn add_to_bpe(model: &mut Value, words: &[String]) -> Result<Vec<AddedToken>, ExtendError> {
    let mut merges = Merges::read(model).ok_or(ExtendError::Kind)?;
    for word in words {
        if !merges.add(word) {
            let piece = word.clone();
            return Err(ExtendError::Unused { piece });
        }
    }
    Ok(merges.write(model))
}
