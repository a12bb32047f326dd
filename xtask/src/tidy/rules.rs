//! All rules, one after the other.

use std::path::Path;

use anyhow::{Result, bail};

use super::problem::Problem;
use super::tree::Tree;
use super::{
    chapters, documents, folders, imports, layers, listings, one_build, paper, settings, sources,
    words,
};

/// Checks every rule, and prints every problem.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let rules = [
        sources::check,
        folders::check,
        layers::check,
        imports::check,
        words::check,
        documents::check,
        listings::check,
        chapters::check,
        paper::check,
    ];
    let mut problems: Vec<Problem> = rules.into_iter().flat_map(|rule| rule(&tree)).collect();
    problems.extend(settings::check(root)?);
    problems.extend(one_build::check(root)?);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => bail!("1 problem, see above"),
        n => bail!("{n} problems, see above"),
    }
}
