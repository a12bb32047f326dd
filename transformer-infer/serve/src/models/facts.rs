//! [`ModelFacts`]: facts about a model for its users.

use serde::Serialize;
use serde_json::Value;
use transformer_core::ModelDirectory;
use transformer_core::directory::Tokenizers;
use utoipa::ToSchema;

use transformer_search::Search;
use transformer_translate::Translator;

/// The sizes of a model, its number format, its search, and its scores.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ModelFacts {
    /// Number of encoder layers.
    pub(crate) n_encoder_layers: usize,
    /// Number of decoder layers.
    pub(crate) n_decoder_layers: usize,
    /// Width of the model.
    pub(crate) d_model: usize,
    /// Width of the feed-forward layers.
    pub(crate) d_ff: usize,
    /// Number of heads.
    pub(crate) n_heads: usize,
    /// Number of parameters.
    pub(crate) n_parameters: usize,
    /// Number format of the matrix products, such as `f32` or `int8`; absent on devices other than CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) precision: Option<String>,
    /// Size of the source vocabulary, in tokens.
    pub(crate) src_vocab_size: usize,
    /// Size of the target vocabulary, in tokens.
    pub(crate) tgt_vocab_size: usize,
    /// True if source and target share a vocabulary.
    pub(crate) joint_vocabulary: bool,
    /// Number of hypotheses of beam search, unless the request has another; 1 is greedy search.
    pub(crate) beam_size: usize,
    /// All settings of the search.
    #[schema(value_type = Object)]
    pub(crate) search: Search,
    /// BLEU on the validation data, if the manifest has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bleu: Option<f64>,
    /// SacreBLEU's signature of the BLEU score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bleu_signature: Option<String>,
}

impl ModelFacts {
    /// Reads the facts of a model from its directory.
    pub(super) fn of(directory: &ModelDirectory, translator: &Translator) -> Self {
        let config = directory.config();
        let scores: &Value = &directory.manifest().training["scores"];
        let precision = translator.precisions().first().map(|it| it.name().into());
        Self {
            n_encoder_layers: config.n_encoder_layers,
            n_decoder_layers: config.n_decoder_layers,
            d_model: config.d_model,
            d_ff: config.d_ff,
            n_heads: config.n_heads,
            n_parameters: config.parameter_count(),
            precision,
            src_vocab_size: directory.tokenizers().src().vocab_size(),
            tgt_vocab_size: directory.tokenizers().tgt().vocab_size(),
            joint_vocabulary: matches!(directory.tokenizers(), Tokenizers::Joint(_)),
            beam_size: translator.search().beam_size,
            search: translator.search().clone(),
            bleu: scores["valid_bleu"].as_f64(),
            bleu_signature: scores["valid_bleu_signature"].as_str().map(str::to_owned),
        }
    }
}
