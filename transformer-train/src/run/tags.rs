//! The tags of corpora, as the tokenizers of a run encode them.

use transformer_core::directory::Tokenizers;
use transformer_core::text::{Tokenizer, UNK};

use crate::config::{ConfigError, DataSettings, Experiment, Tags};

/// Checks that the tokenizers know the tags of the corpora, and returns the tags of sources and of targets as ids.
///
/// Tokenizers that are trained in this run have each tag as a token. The tokenizers of a model that is trained further
/// may split a tag into several.
pub(super) fn check(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<[Vec<Vec<u32>>; 2], ConfigError> {
    let data = &experiment.data;
    Ok([
        encoded(data, |tags| tags.src, tokenizers.src())?,
        encoded(data, |tags| tags.tgt, tokenizers.tgt())?,
    ])
}

/// Returns the tags of one side, each once.
fn encoded(
    data: &DataSettings,
    side: impl Fn(Tags) -> Option<String>,
    tokenizer: &Tokenizer,
) -> Result<Vec<Vec<u32>>, ConfigError> {
    let mut encoded = Vec::new();
    for (corpus, number) in data.corpora.iter().zip(1..) {
        let Some(tag) = side(corpus.tags()) else {
            continue;
        };
        let ids = tokenizer.encode(&tag);
        if ids.is_empty() || ids.contains(&UNK) {
            return Err(ConfigError::UnknownTag { tag, number });
        }
        if !encoded.contains(&ids) {
            encoded.push(ids);
        }
    }
    Ok(encoded)
}
