//! [`pairs`]: the source languages with their targets, as codes.

use std::collections::BTreeMap;

use transformer_core::text::LanguageCode;

use crate::models::Models;

/// Returns the codes of the source languages, each with the codes of its targets.
pub(crate) fn pairs(models: &Models) -> BTreeMap<&str, Vec<&str>> {
    let targets = models.targets().iter();
    targets
        .map(|(source, targets)| {
            let targets = targets.iter().map(LanguageCode::as_str);
            (source.as_str(), targets.collect())
        })
        .collect()
}
