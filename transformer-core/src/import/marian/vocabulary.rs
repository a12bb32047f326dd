//! The tokenizers of a Marian or a Pegasus model: SentencePiece models, and the ids of their pieces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::settings::{Family, Settings, TokenizerSettings, read_file, read_json};
use super::{MarianError, byte_level};
use crate::directory::{SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, Tokenizers};
use crate::text::sentencepiece::{PieceVocabulary, SentencePiece, SpecialIds};
use crate::text::{BOS, EOS, PAD, Tokenizer};

pub(crate) const SRC_MODEL: &str = "source.spm";
pub(crate) const TGT_MODEL: &str = "target.spm";
pub(crate) const SRC_VOCABULARY: &str = "vocab.json";
pub(crate) const TGT_VOCABULARY: &str = "target_vocab.json";

/// The SentencePiece model of Pegasus.
pub(crate) const PEGASUS_MODEL: &str = "spiece.model";

/// The first tokens of Pegasus. Then come as many as the offset says, which are used in pretraining only.
const PEGASUS_SPECIAL: [&str; 4] = [PAD_TOKEN, EOS_TOKEN, "<mask_1>", "<mask_2>"];

/// Difference of an id of Pegasus and that of SentencePiece, if the settings do not have it.
const PEGASUS_OFFSET: u32 = 103;

const BOS_TOKEN: &str = "<s>";
const EOS_TOKEN: &str = "</s>";
const UNK_TOKEN: &str = "<unk>";
const PAD_TOKEN: &str = "<pad>";

/// File names of this program's own tokenizers, in exports of models that it trained.
pub(crate) const OWN_TOKENIZERS: [&str; 3] = [TOKENIZER, SRC_TOKENIZER, TGT_TOKENIZER];

/// Returns Marian's id for each of our ids. A tokenizer that was trained here has the same ids in both.
pub(crate) fn rows(tokenizer: &Tokenizer) -> Vec<Option<u32>> {
    match (tokenizer.pieces(), tokenizer.sentence_start()) {
        (Some(pieces), _) => pieces.rows().to_vec(),
        (None, Some(_)) => byte_level::rows(tokenizer.vocab_size()),
        (None, None) => (0..).take(tokenizer.vocab_size()).map(Some).collect(),
    }
}

/// Reads the tokenizers of both sides. With a joint vocabulary their ids are the same.
pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    let own = OWN_TOKENIZERS.map(|name| folder.join(name));
    let has = |name| folder.join(name).exists();
    match (settings.family, has(SRC_MODEL)) {
        (Family::Bart, _) => byte_level::read(folder, settings),
        (Family::Pegasus, _) if has(PEGASUS_MODEL) => read_pegasus(folder, settings),
        (_, false) if own.iter().any(|path| path.exists()) => read_own(&own, settings),
        (Family::Pegasus, false) => read_pegasus(folder, settings),
        _ => read_pieces(folder, settings),
    }
}

fn read_own(
    [joint, src, tgt]: &[PathBuf; 3],
    settings: &Settings,
) -> Result<Tokenizers, MarianError> {
    let read = |path: &PathBuf| Tokenizer::read(path).map_err(MarianError::Tokenizer);
    let (tokenizers, src, tgt) = match joint.exists() {
        true => (Tokenizers::Joint(read(joint)?), joint, joint),
        false => {
            let (of_src, of_tgt) = (read(src)?, read(tgt)?);
            let tokenizers = Tokenizers::Separate {
                src: of_src,
                tgt: of_tgt,
            };
            (tokenizers, src, tgt)
        }
    };
    check_id(tgt, PAD_TOKEN, PAD, settings.pad())?;
    check_id(tgt, BOS_TOKEN, BOS, settings.start())?;
    check_id(tgt, EOS_TOKEN, EOS, settings.eos())?;
    check_size(src, tokenizers.src().vocab_size(), settings.src_size())?;
    check_size(tgt, tokenizers.tgt().vocab_size(), settings.tgt_size())?;
    Ok(tokenizers)
}

/// Reads the tokenizer of a Pegasus model: its own tokens, then the pieces from `<unk>` on.
fn read_pegasus(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    let path = folder.join(PEGASUS_MODEL);
    let model = pieces(&path)?;
    let offset = TokenizerSettings::read(folder)?.offset;
    let unused = (2..offset.unwrap_or(PEGASUS_OFFSET)).map(|number| format!("<unk_{number}>"));
    let special = PEGASUS_SPECIAL.map(str::to_owned).into_iter().chain(unused);
    let tokens: Vec<String> = special.chain(model.pieces().into_iter().skip(2)).collect();
    check_size(&path, tokens.len(), settings.tgt_size())?;
    let special = special_ids(&tokens, settings, &path)?;
    let vocabulary = vocabulary(model, tokens, special, &path)?;
    let tokenizer = Tokenizer::from_pieces(vocabulary.with_only_pieces());
    Ok(Tokenizers::Joint(tokenizer))
}

fn read_pieces(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    let are_separate = TokenizerSettings::read(folder)?.separate_vocabs;
    let src_path = folder.join(SRC_VOCABULARY);
    let tgt_path = match are_separate {
        true => folder.join(TGT_VOCABULARY),
        false => src_path.clone(),
    };
    let (src, tgt) = (tokens_by_id(&src_path)?, tokens_by_id(&tgt_path)?);
    check_size(&src_path, src.len(), settings.src_size())?;
    check_size(&tgt_path, tgt.len(), settings.tgt_size())?;
    let of_tgt = special_ids(&tgt, settings, &tgt_path)?;
    let of_src = match are_separate {
        true => {
            let pad = id(&src, PAD_TOKEN, &src_path)?;
            SpecialIds {
                pad,
                unk: id(&src, UNK_TOKEN, &src_path)?,
                start: pad,
                eos: id(&src, EOS_TOKEN, &src_path)?,
            }
        }
        false => of_tgt,
    };
    let tokenizer = |name: &str, tokens, special, path| {
        let model = pieces(&folder.join(name))?;
        let vocabulary = vocabulary(model, tokens, special, path)?;
        Ok::<_, MarianError>(Tokenizer::from_pieces(match settings.family {
            Family::Pegasus => vocabulary.with_only_pieces(),
            _ => vocabulary,
        }))
    };
    Ok(Tokenizers::Separate {
        src: tokenizer(SRC_MODEL, src, of_src, &src_path)?,
        tgt: tokenizer(TGT_MODEL, tgt, of_tgt, &tgt_path)?,
    })
}

/// Returns the ids of the special tokens, after checking that the settings have the same.
fn special_ids(
    tokens: &[String],
    settings: &Settings,
    path: &Path,
) -> Result<SpecialIds, MarianError> {
    for (token, expected) in [(EOS_TOKEN, settings.eos()), (PAD_TOKEN, settings.pad())] {
        check_id(path, token, id(tokens, token, path)?, expected)?;
    }
    Ok(SpecialIds {
        pad: settings.pad().1,
        unk: id(tokens, UNK_TOKEN, path)?,
        start: settings.start().1,
        eos: settings.eos().1,
    })
}

pub(super) fn pieces(path: &Path) -> Result<SentencePiece, MarianError> {
    parse_pieces(path, &read_file(path)?)
}

pub(in crate::import) fn parse_pieces(
    path: &Path,
    file: &[u8],
) -> Result<SentencePiece, MarianError> {
    SentencePiece::parse(file).map_err(|source| MarianError::Pieces {
        path: path.to_owned(),
        source,
    })
}

/// Combines a SentencePiece model and the vocabulary of a file.
pub(in crate::import) fn vocabulary(
    model: SentencePiece,
    tokens: Vec<String>,
    special: SpecialIds,
    path: &Path,
) -> Result<PieceVocabulary, MarianError> {
    PieceVocabulary::new(model, tokens, special).map_err(|source| MarianError::Vocabulary {
        path: path.to_owned(),
        source,
    })
}

/// Checks that a vocabulary has as many tokens as a key of the settings says.
pub(super) fn check_size(
    path: &Path,
    found: usize,
    (key, expected): (&'static str, usize),
) -> Result<(), MarianError> {
    match found == expected {
        true => Ok(()),
        false => Err(MarianError::VocabSize {
            path: path.to_owned(),
            found,
            key,
            expected,
        }),
    }
}

/// Checks that a special token has the id that a key of the settings says.
pub(super) fn check_id(
    path: &Path,
    token: &'static str,
    found: u32,
    (key, expected): (&'static str, u32),
) -> Result<(), MarianError> {
    match found == expected {
        true => Ok(()),
        false => Err(MarianError::SpecialId {
            path: path.to_owned(),
            token,
            found,
            key,
            expected,
        }),
    }
}

/// Reads the tokens of a file, in the order of their ids.
pub(super) fn tokens_by_id(path: &Path) -> Result<Vec<String>, MarianError> {
    in_order(read_json(path)?, path)
}

/// Returns the tokens of a file in the order of their ids.
pub(super) fn in_order(
    ids: BTreeMap<String, usize>,
    path: &Path,
) -> Result<Vec<String>, MarianError> {
    let mut tokens = vec![None; ids.len()];
    for (token, id) in ids {
        match tokens.get_mut(id) {
            Some(slot) if slot.is_none() => *slot = Some(token),
            _ => {
                let path = path.to_owned();
                return Err(MarianError::VocabId { path, id });
            }
        }
    }
    // As many tokens as slots, and no slot filled twice: all are filled.
    Ok(tokens.into_iter().flatten().collect())
}

pub(super) fn id(tokens: &[String], token: &'static str, path: &Path) -> Result<u32, MarianError> {
    let found = (0..).zip(tokens).find(|(_, other)| *other == token);
    let path = path.to_owned();
    found
        .map(|(id, _)| id)
        .ok_or(MarianError::NoToken { path, token })
}
