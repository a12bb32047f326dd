//! The tokenizers of a Marian model: SentencePiece models, and the ids of their pieces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::MarianError;
use super::settings::{Settings, has_separate_vocabularies, read_file, read_json};
use crate::directory::{SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, Tokenizers};
use crate::text::sentencepiece::{PieceVocabulary, SentencePiece, SpecialIds};
use crate::text::{BOS, EOS, PAD, Tokenizer};

pub(crate) const SRC_MODEL: &str = "source.spm";
pub(crate) const TGT_MODEL: &str = "target.spm";
pub(crate) const SRC_VOCABULARY: &str = "vocab.json";
pub(crate) const TGT_VOCABULARY: &str = "target_vocab.json";

const EOS_TOKEN: &str = "</s>";
const UNK_TOKEN: &str = "<unk>";
const PAD_TOKEN: &str = "<pad>";

/// File names of this program's own tokenizers, in exports of models that it trained.
pub(crate) const OWN_TOKENIZERS: [&str; 3] = [TOKENIZER, SRC_TOKENIZER, TGT_TOKENIZER];

/// Returns Marian's id for each of our ids. A tokenizer that was trained here has the same ids in both.
pub(crate) fn rows(tokenizer: &Tokenizer) -> Vec<Option<u32>> {
    match tokenizer.pieces() {
        Some(pieces) => pieces.rows().to_vec(),
        None => (0..).take(tokenizer.vocab_size()).map(Some).collect(),
    }
}

/// Reads the tokenizers of both sides. With a joint vocabulary their ids are the same.
pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    let own = OWN_TOKENIZERS.map(|name| folder.join(name));
    let is_own = !folder.join(SRC_MODEL).exists() && own.iter().any(|path| path.exists());
    if !is_own {
        return read_pieces(folder, settings);
    }
    let read = |path: &PathBuf| Tokenizer::read(path).map_err(MarianError::Tokenizer);
    let [joint, src, tgt] = &own;
    let tokenizers = match joint.exists() {
        true => Tokenizers::Joint(read(joint)?),
        false => Tokenizers::Separate {
            src: read(src)?,
            tgt: read(tgt)?,
        },
    };
    let ours = [
        ("<pad>", PAD, "pad_token_id", settings.pad_token_id),
        (
            "<s>",
            BOS,
            "decoder_start_token_id",
            settings.decoder_start_token_id,
        ),
        ("</s>", EOS, "eos_token_id", settings.eos_token_id),
    ];
    if let Some((token, found, key, expected)) = ours.into_iter().find(|token| token.1 != token.3) {
        let path = if joint.exists() { joint } else { tgt };
        return Err(MarianError::SpecialId {
            path: path.clone(),
            token,
            found,
            key,
            expected,
        });
    }
    let sizes = [
        (tokenizers.src(), "vocab_size", settings.vocab_size, src),
        (
            tokenizers.tgt(),
            settings.tgt_vocab_size().0,
            settings.tgt_vocab_size().1,
            tgt,
        ),
    ];
    for (tokenizer, key, expected, path) in sizes {
        let found = tokenizer.vocab_size();
        if found != expected {
            let path = if joint.exists() { joint } else { path };
            return Err(MarianError::VocabSize {
                path: path.clone(),
                found,
                key,
                expected,
            });
        }
    }
    Ok(tokenizers)
}

fn read_pieces(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    let (tgt_key, tgt_size) = settings.tgt_vocab_size();
    let src_file = SRC_VOCABULARY;
    let tgt_file = match has_separate_vocabularies(folder)? {
        true => TGT_VOCABULARY,
        false => src_file,
    };
    let src = Side {
        folder,
        vocab: src_file,
        model: SRC_MODEL,
        size: ("vocab_size", settings.vocab_size),
    };
    let tgt = Side {
        vocab: tgt_file,
        model: TGT_MODEL,
        size: (tgt_key, tgt_size),
        ..src
    };
    let (src_tokens, tgt_tokens) = (src.tokens()?, tgt.tokens()?);
    let path = folder.join(tgt_file);
    let tgt_special = SpecialIds {
        pad: settings.pad_token_id,
        unk: id(&tgt_tokens, UNK_TOKEN, &path)?,
        start: settings.decoder_start_token_id,
        eos: settings.eos_token_id,
    };
    let named = [
        (EOS_TOKEN, "eos_token_id", tgt_special.eos),
        (PAD_TOKEN, "pad_token_id", tgt_special.pad),
    ];
    for (token, key, expected) in named {
        let found = id(&tgt_tokens, token, &path)?;
        if found != expected {
            return Err(MarianError::SpecialId {
                path,
                token,
                found,
                key,
                expected,
            });
        }
    }
    let src_special = if src_file == tgt_file {
        tgt_special
    } else {
        let path = folder.join(src_file);
        let pad = id(&src_tokens, PAD_TOKEN, &path)?;
        SpecialIds {
            pad,
            unk: id(&src_tokens, UNK_TOKEN, &path)?,
            start: pad,
            eos: id(&src_tokens, EOS_TOKEN, &path)?,
        }
    };
    Ok(Tokenizers::Separate {
        src: Tokenizer::from_pieces(src.vocabulary(src_tokens, src_special)?),
        tgt: Tokenizer::from_pieces(tgt.vocabulary(tgt_tokens, tgt_special)?),
    })
}

/// The files of one side.
#[derive(Clone, Copy)]
struct Side<'a> {
    folder: &'a Path,
    vocab: &'static str,
    model: &'static str,
    /// Number of tokens of the model, with its key in the settings.
    size: (&'static str, usize),
}

impl Side<'_> {
    /// Reads the tokens, in the order of their ids.
    fn tokens(&self) -> Result<Vec<String>, MarianError> {
        let path = self.folder.join(self.vocab);
        let tokens = tokens_by_id(&path)?;
        let (key, expected) = self.size;
        let found = tokens.len();
        if found != expected {
            return Err(MarianError::VocabSize {
                path,
                found,
                key,
                expected,
            });
        }
        Ok(tokens)
    }

    fn vocabulary(
        &self,
        tokens: Vec<String>,
        special: SpecialIds,
    ) -> Result<PieceVocabulary, MarianError> {
        let path = self.folder.join(self.model);
        let model = SentencePiece::parse(&read_file(&path)?);
        let model = model.map_err(|source| MarianError::Pieces { path, source })?;
        PieceVocabulary::new(model, tokens, special).map_err(|source| MarianError::Vocabulary {
            path: self.folder.join(self.vocab),
            source,
        })
    }
}

/// Reads the tokens of a file, in the order of their ids.
pub(super) fn tokens_by_id(path: &Path) -> Result<Vec<String>, MarianError> {
    let ids: BTreeMap<String, usize> = read_json(path)?;
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

fn id(tokens: &[String], token: &'static str, path: &Path) -> Result<u32, MarianError> {
    let found = (0..).zip(tokens).find(|(_, other)| *other == token);
    let path = path.to_owned();
    found
        .map(|(id, _)| id)
        .ok_or(MarianError::NoToken { path, token })
}
