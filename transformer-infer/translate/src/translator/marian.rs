//! [`marian_search`]: the search settings of an imported Marian model; [`write_marian`]: its model directory.

use std::path::Path;
use std::sync::Arc;

use burn::module::Module;
use serde_json::json;
use transformer_core::directory::{
    Languages, ModelDirectory, ModelParts, Tokenizers, with_named_ids,
};
use transformer_core::import::Marian;
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_core::{PackedTransformer, Shortlist, TransformerConfig};
use transformer_search::{AtLimit, LengthLimit, LengthPenalty, NEVER_GENERATED, Search, StopRule};

use super::loaded_model::LoadedModel;
use super::{OpenOptions, Translator};
use crate::{ModelOrigin, TranslatorError};

/// Returns the search that is equivalent to the model's generation settings, in Hugging Face's Transformers or in
/// Marian.
pub fn marian_search(generation: &Generation, tokenizers: &Tokenizers) -> Search {
    let defaults = Search::default();
    let rows = tokenizers.tgt().pieces().map_or(&[][..], |it| it.rows());
    let row_of = |id: &u32| rows.iter().position(|row| *row == Some(*id));
    // Tokens that are never generated, such as `<pad>`, are not banned in addition, because bans cost time.
    let is_generated = |id: &u32| !NEVER_GENERATED.contains(id);
    let our_id = |id: &u32| row_of(id).map(|row| row as u32).filter(is_generated);
    let ours = |ids: &Vec<u32>| -> Option<Vec<u32>> { ids.iter().map(our_id).collect() };
    let limit = |factor, extra| LengthLimit { factor, extra };
    let alpha = generation.length_penalty;
    Search {
        beam_size: generation.num_beams.unwrap_or(defaults.beam_size),
        length_penalty: LengthPenalty::Power { alpha },
        max_len: match (generation.max_len_factor, generation.max_len) {
            // Marian counts the source's EOS.
            (Some(factor), _) => limit(factor, factor.ceil() as usize),
            (None, Some(extra)) => limit(0.0, extra),
            (None, None) => defaults.max_len,
        },
        min_len: limit(0.0, generation.min_len),
        at_limit: match generation.forces_end {
            true => AtLimit::FreeEnd,
            false => AtLimit::Compete,
        },
        stop: match generation.early_stopping {
            EarlyStopping::Heuristic => StopRule::PresentLength,
            EarlyStopping::Early => StopRule::BeamFinished,
            EarlyStopping::Never => StopRule::Never,
        },
        renormalize: generation.renormalizes,
        no_repeat_ngram: generation.no_repeat_ngram,
        banned: generation.banned.iter().filter_map(ours).collect(),
        ..defaults
    }
}

/// Writes the model directory of a model that was imported from `from`.
///
/// # Errors
///
/// Returns a [`TranslatorError`] if the model's generation settings are not a valid search, or if the directory cannot
/// be written.
pub fn write_marian(
    marian: &Marian,
    languages: &Languages,
    from: &Path,
    out: &Path,
) -> Result<(), TranslatorError> {
    let search = marian_search(&marian.generation, &marian.tokenizers);
    let invalid = |source| TranslatorError::Generation {
        from: from.to_owned(),
        source,
    };
    search.validate().map_err(invalid)?;
    let weights = with_named_ids(marian.model.clone());
    let weights = weights.into_record().into_bytes()?;
    let name = from.file_name().unwrap_or(from.as_os_str());
    let mut training = json!({
        "program": concat!("transformer-infer ", env!("CARGO_PKG_VERSION"), " import"),
        "from": format!("{} model `{}`", marian.kind, name.display()),
        "search": search,
    });
    languages.write_to(&mut training);
    let parts = ModelParts {
        config: &marian.config,
        tokenizers: &marian.tokenizers,
        weights: &weights,
        training,
    };
    ModelDirectory::write(out, &parts)?;
    if let Some(shortlist) = &marian.shortlist {
        ModelDirectory::add_shortlist(out, shortlist)?;
    }
    Ok(())
}

impl TryFrom<Marian> for Translator {
    type Error = TranslatorError;

    /// Creates a translator with the model's generation settings as its default search. Its shortlist is not used.
    fn try_from(marian: Marian) -> Result<Self, TranslatorError> {
        let options = OpenOptions {
            without_shortlist: true,
            ..OpenOptions::default()
        };
        Self::of_marian(marian, &options)
    }
}

impl Translator {
    /// Creates a translator from an imported model, with its generation settings as the default search.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the tokenizers do not fit the model.
    pub fn of_marian(marian: Marian, options: &OpenOptions) -> Result<Self, TranslatorError> {
        let precision = options.precision.unwrap_or_default();
        Self::imported(marian, options, |model, config, shortlist| {
            let mut model = LoadedModel::in_memory(model, config);
            model.set_packing(precision, shortlist);
            model
        })
    }

    /// Creates a translator from a model that was imported for generation alone: outside WebAssembly, `model`, `score` and
    /// `attention` panic.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the tokenizers do not fit the model.
    #[doc(hidden)]
    pub fn of_packed_marian(
        marian: Marian<PackedTransformer>,
        options: &OpenOptions,
    ) -> Result<Self, TranslatorError> {
        Self::imported(marian, options, |model, _, shortlist| {
            LoadedModel::of_packed(model.with_shortlist(shortlist.map(Arc::new)))
        })
    }

    fn imported<M>(
        marian: Marian<M>,
        options: &OpenOptions,
        load: impl FnOnce(M, &TransformerConfig, Option<Shortlist>) -> LoadedModel,
    ) -> Result<Self, TranslatorError> {
        let search = marian_search(&marian.generation, &marian.tokenizers);
        let shortlist = marian.shortlist.filter(|_| !options.without_shortlist);
        let model = load(marian.model, &marian.config, shortlist);
        let mut translator = Self::of(model, marian.tokenizers)?.with_search(search);
        translator.origin = ModelOrigin::Imported;
        if let Some(n_threads) = options.n_threads {
            translator.n_threads = n_threads.get();
        }
        Ok(translator.with_languages(marian.languages))
    }
}
