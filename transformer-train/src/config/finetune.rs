//! `[finetune]`: a trained model to start from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trained model to start from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FinetuneSettings {
    /// Model directory, or folder of a run, whose weights, tokenizers and model shape the run
    /// starts from. In `[model]`, only `preset` (for its training recipe) and the dropout keys can
    /// then be set; in `[tokenizer]`, only `dropout`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
}
