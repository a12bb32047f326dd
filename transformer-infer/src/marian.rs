//! Marian's models as translators: what they say about searching, in our words.

use transformer_core::directory::Tokenizers;
use transformer_core::import::Marian;
use transformer_core::import::marian::{EarlyStopping, Generation};

use crate::search::{AtLimit, LengthLimit, LengthPenalty, NEVER_GENERATED, Search, StopRule};
use crate::translator::{Translator, TranslatorError};

/// Returns the search that does what the model asks of Hugging Face's Transformers.
pub fn marian_search(generation: &Generation, tokenizers: &Tokenizers) -> Search {
    let defaults = Search::default();
    let rows = tokenizers.tgt().pieces().map_or(&[][..], |it| it.rows());
    let place = |id: &u32| rows.iter().position(|row| *row == Some(*id));
    // What is never generated anyway, as `<pad>`, need not be banned: bans cost time.
    let is_generated = |id: &u32| !NEVER_GENERATED.contains(id);
    let our_id = |id: &u32| place(id).map(|place| place as u32).filter(is_generated);
    let ours = |ids: &Vec<u32>| -> Option<Vec<u32>> { ids.iter().map(our_id).collect() };
    Search {
        beam_size: generation.num_beams.unwrap_or(defaults.beam_size),
        length_penalty: LengthPenalty::Power {
            alpha: generation.length_penalty,
        },
        max_len: generation
            .max_len
            .map_or(defaults.max_len, |extra| LengthLimit { factor: 0.0, extra }),
        at_limit: match generation.forces_end {
            true => AtLimit::FreeEnd,
            false => AtLimit::Cut,
        },
        stop: match generation.early_stopping {
            EarlyStopping::Heuristic => StopRule::PresentLength,
            EarlyStopping::Early => StopRule::BeamFinished,
            EarlyStopping::Never => StopRule::Never,
        },
        renormalize: generation.renormalizes,
        banned: generation.banned.iter().filter_map(ours).collect(),
        ..defaults
    }
}

impl TryFrom<Marian> for Translator {
    type Error = TranslatorError;

    /// Makes a translator that searches as the model is meant to be searched.
    fn try_from(marian: Marian) -> Result<Self, TranslatorError> {
        let search = marian_search(&marian.generation, &marian.tokenizers);
        let translator = Self::new(marian.model, &marian.config, marian.tokenizers)?;
        Ok(translator.with_search(search))
    }
}
