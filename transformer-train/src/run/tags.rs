//! The tags of corpora, as the tokenizers of a run encode them.

use transformer_core::directory::Tokenizers;
use transformer_core::text::{Tokenizer, UNK};

use crate::config::{ConfigError, Experiment};

/// Checks that the tokenizers know the tags of the corpora, and returns those of targets as ids.
///
/// Tokenizers that are trained here have each as a token. Those of a model that is trained further
/// may split it into several.
pub(super) fn check(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<Vec<Vec<u32>>, ConfigError> {
    encoded(experiment.data.tags_of(|tags| &tags.src), tokenizers.src())?;
    encoded(experiment.data.tags_of(|tags| &tags.tgt), tokenizers.tgt())
}

fn encoded(tags: Vec<String>, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>, ConfigError> {
    let encode = |tag: String| {
        let ids = tokenizer.encode(&tag);
        match ids.is_empty() || ids.contains(&UNK) {
            true => Err(ConfigError::UnknownTag { tag }),
            false => Ok(ids),
        }
    };
    tags.into_iter().map(encode).collect()
}
