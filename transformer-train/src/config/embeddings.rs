//! `[embeddings]`: what the embeddings start from, and whether they are trained.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Says what the embeddings start from, and whether they move.
///
/// Matrices that the model ties are one: what is said of one is said of all that are tied to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// Word vectors for source tokens: text of word2vec or GloVe, plain or gzip, as wide as the model.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_word_vectors: Option<PathBuf>,
    /// Word vectors for target tokens. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt_word_vectors: Option<PathBuf>,
    /// Whether word vectors are made as large as fresh rows, `1/√d_model` in root mean square; they are
    /// often larger, and drown the positions that are added to them. Default: yes.
    pub rescale: bool,
    /// Whether the source embedding stays as it begins. Default: no.
    pub freeze_src: bool,
    /// Whether the target embedding stays as it begins. Default: no.
    pub freeze_tgt: bool,
}

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self {
            src_word_vectors: None,
            tgt_word_vectors: None,
            rescale: true,
            freeze_src: false,
            freeze_tgt: false,
        }
    }
}
