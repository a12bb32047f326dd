//! [`redraw`]: the chart of an earlier comparison, without measuring again.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::figures::Figures;
use super::{chart, files};

/// The parts of results.json that are drawn.
#[derive(Deserialize)]
struct Results {
    preset: String,
    machine: String,
    columns: Vec<Figures>,
}

/// Draws the figures of a file as `NAME.svg` beside it.
pub(super) fn redraw(path: &Path) -> Result<()> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let results: Results = serde_json::from_str(&text)
        .with_context(|| format!("`{}` is no results.json of bench-backends", path.display()))?;
    let svg = chart::svg(&results.preset, &results.machine, &results.columns);
    let picture = path.with_extension("svg");
    files::replace(&picture, &svg)?;
    println!("{}", picture.display());
    Ok(())
}
