//! `[embeddings]`: initial values of the embeddings.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Initial values of the embeddings, which can be kept during training.
///
/// Tied matrices are one parameter: a setting for one of them applies to all that are tied to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// File of pretrained word vectors for the source tokens, in the text format of word2vec or
    /// GloVe, plain or gzip, with `model.d_model` values per word. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_word_vectors: Option<PathBuf>,
    /// File of pretrained word vectors for the target tokens. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt_word_vectors: Option<PathBuf>,
    /// Scales word vectors to the root mean square of new embeddings, `1/√d_model`. Pretrained vectors are often
    /// larger, and then outweigh the position encodings. Default: `true`.
    pub rescale: bool,
    /// Keeps the initial values of the source embedding during training. Default: `false`.
    pub freeze_src: bool,
    /// Keeps the initial values of the target embedding during training. Default: `false`.
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
