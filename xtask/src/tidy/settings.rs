//! What is generated from the doc comments of the settings is up to date.

use std::path::Path;

use anyhow::Result;

use super::problem::Problem;
use crate::settings;

/// Compares the generated files with what would be generated now.
pub(super) fn check(root: &Path) -> Result<Vec<Problem>> {
    let outdated = settings::outdated(root)?.into_iter();
    let problems = outdated.map(|path| Problem {
        location: path.to_owned(),
        message: "does not match the doc comments of the settings; run `cargo xtask settings`"
            .to_owned(),
    });
    Ok(problems.collect())
}
