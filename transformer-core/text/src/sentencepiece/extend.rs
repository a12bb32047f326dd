//! SentencePiece models and their vocabularies with more pieces.

use std::collections::HashSet;

use super::SentencePieceError;
use super::model::SentencePiece;
use super::normalizer::SPACE_MARK;
use super::proto::{PieceKind, append_piece};
use super::vocabulary::PieceVocabulary;
use crate::extend::{AddedToken, ExtendError, PiecePosition};

impl PieceVocabulary {
    /// Adds pieces to the model and to the vocabulary. In a unigram model a piece has the probability of its most
    /// probable part; in BPE it is a user-defined symbol, which is never split.
    pub(crate) fn extended(
        &self,
        pieces: &[&str],
        position: PiecePosition,
    ) -> Result<(Self, Vec<AddedToken>), ExtendError> {
        let mut seen = HashSet::new();
        let mut added = Vec::with_capacity(pieces.len());
        let mut new = Vec::new();
        for piece in pieces {
            let token = self.spelling_of(piece, position)?;
            let piece = (*piece).to_owned();
            if self.id(&token).is_some() {
                return Err(ExtendError::Known { piece, token });
            }
            if !seen.insert(token.clone()) {
                return Err(ExtendError::Twice { piece });
            }
            let parts = self.model().parts(&token);
            // The model may have pieces that are not in the vocabulary.
            if !self.model().has_piece(&token) {
                let scores = parts
                    .iter()
                    .filter_map(|part| self.model().segmenter.score(part));
                let best = scores.fold(f32::NEG_INFINITY, f32::max);
                let lowest = self.model().segmenter.min_score;
                new.push((token.clone(), if best.is_finite() { best } else { lowest }));
            }
            let parts = parts
                .iter()
                .flat_map(|part| self.ids_of(part).unwrap_or_default());
            added.push(AddedToken {
                parts: parts.collect(),
                token,
            });
        }
        let model = self.model().with_pieces(&new);
        let model = model.map_err(SentencePieceError::in_vocabulary)?;
        let tokens = self.tokens().iter().cloned();
        let tokens = tokens.chain(added.iter().map(|it| it.token.clone()));
        let vocabulary = Self::new(model, tokens.collect(), self.special())?;
        let vocabulary = vocabulary.with_languages(self.languages().cloned())?;
        let vocabulary = match self.has_only_pieces() {
            true => vocabulary.with_only_pieces(),
            false => vocabulary,
        };
        Ok((vocabulary, added))
    }

    /// Returns a piece in the vocabulary's spelling.
    pub(crate) fn spelling_of(
        &self,
        piece: &str,
        position: PiecePosition,
    ) -> Result<String, ExtendError> {
        let normalized = self.model().normalized(piece);
        let bare = normalized.trim_matches('▁');
        if bare.is_empty() {
            return Err(ExtendError::Dropped {
                piece: piece.to_owned(),
            });
        }
        if bare.contains(SPACE_MARK) {
            return Err(ExtendError::Divided {
                piece: piece.to_owned(),
                parts: bare.split(SPACE_MARK).map(str::to_owned).collect(),
            });
        }
        Ok(match position {
            PiecePosition::InWord => bare.to_owned(),
            // The mark may follow the word.
            PiecePosition::WordStart if normalized.len() > bare.len() => normalized,
            PiecePosition::WordStart => format!("{SPACE_MARK}{bare}"),
        })
    }
}

impl SentencePiece {
    /// Appends pieces with their scores to the model file: protobuf reads appended items as part of the same list.
    fn with_pieces(&self, pieces: &[(String, f32)]) -> Result<Self, SentencePieceError> {
        let kind = match self.segmenter.is_bpe {
            true => PieceKind::UserDefined,
            false => PieceKind::Normal,
        };
        let mut file = self.file().to_vec();
        for (text, score) in pieces {
            append_piece(&mut file, text, *score, kind);
        }
        Self::parse(&file)
    }
}
