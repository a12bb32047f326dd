//! Initial embeddings from word vectors, and frozen embeddings.

use std::path::Path;

use transformer_core::directory::Tokenizers;
use transformer_core::import::{WordVectors, WordVectorsError};
use transformer_core::text::Tokenizer;
use transformer_core::{Transformer, TransformerConfig};

use crate::config::EmbeddingSettings;
use crate::progress::LogFn;

/// The word vectors that initialize embeddings, and the embeddings that are frozen.
pub(crate) struct InitialEmbeddings {
    settings: EmbeddingSettings,
    src: Option<WordVectors>,
    tgt: Option<WordVectors>,
}

impl InitialEmbeddings {
    /// Reads the files, and logs the number of tokens with a vector.
    pub(crate) fn read(
        settings: &EmbeddingSettings,
        config: &TransformerConfig,
        tokenizers: &Tokenizers,
        log: &LogFn,
    ) -> Result<Self, WordVectorsError> {
        let read = |path: Option<&Path>, tokenizer: &Tokenizer, side: &str| {
            let Some(path) = path else { return Ok(None) };
            let vectors = vectors(path, tokenizer, settings, config.d_model)?;
            let (n_found, n_tokens) = (vectors.n_found(), tokenizer.vocab_size());
            log(&format!(
                "embeddings  {n_found} of {n_tokens} {side} tokens have a word vector"
            ));
            Ok::<_, WordVectorsError>(Some(vectors))
        };
        let src = read(
            settings.src_word_vectors.as_deref(),
            tokenizers.src(),
            "source",
        )?;
        let tgt = read(
            settings.tgt_word_vectors.as_deref(),
            tokenizers.tgt(),
            "target",
        )?;
        let settings = settings.clone();
        Ok(Self { settings, src, tgt })
    }

    /// Sets the vectors of a fresh model, and freezes its embeddings as configured.
    pub(crate) fn apply_to(&self, mut model: Transformer) -> Result<Transformer, WordVectorsError> {
        if let Some(vectors) = &self.src {
            let embedding = vectors.replace_rows(model.src_embedding())?;
            model = model.with_src_embedding(embedding);
        }
        if let Some(vectors) = &self.tgt {
            let embedding = vectors.replace_rows(model.tgt_embedding())?;
            model = model.with_tgt_embedding(embedding);
        }
        if self.settings.freeze_src {
            model = model.freeze_src_embedding();
        }
        if self.settings.freeze_tgt {
            model = model.freeze_tgt_embedding();
        }
        Ok(model)
    }
}

fn vectors(
    path: &Path,
    tokenizer: &Tokenizer,
    settings: &EmbeddingSettings,
    d_model: usize,
) -> Result<WordVectors, WordVectorsError> {
    let vectors = WordVectors::read(path, tokenizer)?;
    let width = vectors.width();
    if width != d_model {
        return Err(WordVectorsError::ModelWidth { width, d_model });
    }
    Ok(match settings.rescale {
        true => vectors.with_rms((d_model as f64).powf(-0.5)),
        false => vectors,
    })
}
