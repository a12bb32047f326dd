//! [`pairs`]: the source languages with their targets, as codes.

use std::collections::BTreeMap;

use crate::models::Models;

/// Returns the codes of the source languages, each with the codes of its targets.
pub(crate) fn pairs(models: &Models) -> BTreeMap<&str, Vec<&str>> {
    let targets = models.targets().into_iter();
    targets
        .map(|(source, targets)| {
            let targets = targets.into_iter().map(|code| code.as_str());
            (source.as_str(), targets.collect())
        })
        .collect()
}
