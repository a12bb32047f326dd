//! The tokenizers of M2M-100, NLLB-200, SMALL-100, mBART-50 and mBART-25: one SentencePiece model for all languages,
//! and a token for each of them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::settings::{Family, Settings, read_optional};
use super::vocabulary::{SRC_VOCABULARY, pieces, tokens_by_id, vocabulary};
use super::{Generation, MarianError};
use crate::directory::{Languages, Tokenizers};
use crate::text::sentencepiece::SpecialIds;
use crate::text::{LanguageLayout, LanguageTokens, Tokenizer};

const PIECES: &str = "sentencepiece.bpe.model";
const TOKENIZER: &str = "tokenizer.json";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
const ADDED_TOKENS: &str = "added_tokens.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
/// The file with the code of SMALL-100's tokenizer, which is not part of Transformers.
const SMALL_100: &str = "tokenization_small100.py";

/// Maximum number of rows of the embedding without a token: fairseq makes their number a multiple of 8.
pub(super) const MOST_UNUSED: usize = 1000;

/// Fairseq's special tokens, by id. Decoding starts from `</s>`, a copy of which is our `<s>`; theirs is like any other
/// token, and has another name here.
const SPECIAL: [&str; 4] = ["<bos>", "<pad>", "</s>", "<unk>"];
const SPECIAL_IDS: SpecialIds = SpecialIds {
    pad: 1,
    start: 2,
    eos: 2,
    unk: 3,
};

/// Reads the tokenizer of both sides, with the table of the languages.
pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    check_ids(folder, settings)?;
    let path = folder.join(PIECES);
    let model = pieces(&path)?;
    let mut tokens = match folder.join(SRC_VOCABULARY).exists() {
        true => tokens_by_id(&folder.join(SRC_VOCABULARY))?,
        // Fairseq has one more special token before the others.
        false => [String::new()].into_iter().chain(model.pieces()).collect(),
    };
    for (token, special) in tokens.iter_mut().zip(SPECIAL) {
        special.clone_into(token);
    }
    let (key, n_tokens) = settings.src_size();
    let n_pieces = tokens.len();
    let (_, added) = added_tokens(folder, n_pieces)?;
    let last = added.keys().next_back();
    let n_found = last.map_or(n_pieces, |last| last.saturating_add(1));
    if n_found > n_tokens || n_tokens - n_pieces - added.len() > MOST_UNUSED {
        return Err(MarianError::VocabSize {
            path,
            found: n_found,
            key,
            expected: n_tokens,
        });
    }
    for (id, token) in added {
        fill(&mut tokens, id);
        tokens.push(token);
    }
    fill(&mut tokens, n_tokens);
    let languages = LanguageTokens::new(
        layout(folder, settings)?,
        tokens[n_pieces..].iter().cloned(),
    );
    if languages.all().is_empty() {
        return Err(MarianError::NoLanguages {
            path: folder.to_owned(),
        });
    }
    let vocabulary = vocabulary(model, tokens, SPECIAL_IDS, &path)?.with_languages(Some(languages));
    let vocabulary = vocabulary.map_err(|source| MarianError::Vocabulary { path, source })?;
    Ok(Tokenizers::Joint(Tokenizer::from_pieces(vocabulary)))
}

/// Checks that the ids of special tokens are those of fairseq.
pub(super) fn check_ids(folder: &Path, settings: &Settings) -> Result<(), MarianError> {
    let only_end = "only 2, the end token";
    let ids = [
        (settings.pad(), SPECIAL_IDS.pad, "only 1"),
        (settings.eos(), SPECIAL_IDS.eos, only_end),
        (settings.start(), SPECIAL_IDS.eos, only_end),
    ];
    let mut others = ids.into_iter().filter(|((_, found), id, _)| found != id);
    match others.next() {
        Some(((key, found), _, expected)) => {
            Err(settings.refuse(folder, key, found.to_string(), expected))
        }
        None => Ok(()),
    }
}

/// Returns the languages that the model translates between by default: the target of a model that always begins with
/// the same token.
pub(super) fn languages(tokenizers: &Tokenizers, generation: &Generation) -> Languages {
    let pieces = tokenizers.tgt().pieces();
    let first = generation.forced_first.zip(pieces);
    let first = first.and_then(|(id, pieces)| pieces.tokens().get(id as usize));
    let all = tokenizers
        .tgt()
        .languages()
        .map_or(&[][..], LanguageTokens::all);
    let tgt = all.iter().find(|language| Some(&language.token) == first);
    Languages {
        src: None,
        tgt: tgt.map(|language| language.code.clone()),
    }
}

/// Adds tokens without a meaning, as fairseq does, until there are `n_tokens`.
pub(super) fn fill(tokens: &mut Vec<String>, n_tokens: usize) {
    while tokens.len() < n_tokens {
        let token = format!("madeupword{}", tokens.len());
        tokens.push(token);
    }
}

/// Returns the tokens after the pieces by their ids, from the first file that has some, and its name.
pub(super) fn added_tokens(
    folder: &Path,
    n_pieces: usize,
) -> Result<(&'static str, BTreeMap<usize, String>), MarianError> {
    let json = |name: &str| -> Result<Value, MarianError> {
        Ok(read_optional(&folder.join(name))?.unwrap_or_default())
    };
    let is_added = |(id, _): &(usize, String)| *id >= n_pieces;
    let content = |token: &Value| {
        let content = token["content"].as_str().or_else(|| token.as_str());
        content.map(str::to_owned)
    };
    let id = |id: &Value| usize::try_from(id.as_u64()?).ok();

    let (file, config, added) = (
        json(TOKENIZER)?,
        json(TOKENIZER_CONFIG)?,
        json(ADDED_TOKENS)?,
    );
    let of_file = file["added_tokens"].as_array().into_iter().flatten();
    let of_file = of_file.filter_map(|it| Some((id(&it["id"])?, content(it)?)));
    let decoder = config["added_tokens_decoder"]
        .as_object()
        .into_iter()
        .flatten();
    let decoder = decoder.filter_map(|(id, it)| Some((id.parse().ok()?, content(it)?)));
    let added = added.as_object().into_iter().flatten();
    let added = added.filter_map(|(token, it)| Some((id(it)?, token.clone())));
    let tables: [(_, Vec<(usize, String)>); 3] = [
        (TOKENIZER, of_file.collect()),
        (TOKENIZER_CONFIG, decoder.collect()),
        (ADDED_TOKENS, added.collect()),
    ];
    for (name, table) in tables {
        let table: BTreeMap<_, _> = table.into_iter().filter(is_added).collect();
        if !table.is_empty() {
            return Ok((name, table));
        }
    }
    // A list of all languages, in the order of their ids.
    let special = json(SPECIAL_TOKENS)?;
    let list = |file: &Value| file["additional_special_tokens"].as_array().cloned();
    let (name, list) = match list(&special) {
        Some(found) => (SPECIAL_TOKENS, found),
        None => (TOKENIZER_CONFIG, list(&config).unwrap_or_default()),
    };
    let tokens = list.iter().filter_map(content);
    Ok((name, (n_pieces..).zip(tokens).collect()))
}

/// Returns the places of the tokens of the languages, by the class of the tokenizer; mBART's models without one are
/// taken for mBART-50.
fn layout(folder: &Path, settings: &Settings) -> Result<LanguageLayout, MarianError> {
    let config: Option<Value> = read_optional(&folder.join(TOKENIZER_CONFIG))?;
    let config = config.unwrap_or_default();
    let class = config["tokenizer_class"].as_str();
    let class = class
        .or(settings.tokenizer_class.as_deref())
        .unwrap_or_default();
    let is_small_100 = class.eq_ignore_ascii_case("SMALL100Tokenizer");
    let is_first_mbart = settings.family == Family::Mbart
        && matches!(class, "MBartTokenizer" | "MBartTokenizerFast");
    Ok(if is_small_100 || folder.join(SMALL_100).exists() {
        LanguageLayout::TargetFirst
    } else if config["legacy_behaviour"] == true || is_first_mbart {
        LanguageLayout::SourceLast
    } else {
        LanguageLayout::SourceFirst
    })
}
