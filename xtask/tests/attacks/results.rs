//! The results of runs, to compare two of them: weights of checkpoints and model, curve, samples.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::lab::files_below;

/// Returns the values in a file of weights. The metadata before them has ids that differ between runs.
fn values(record: &[u8]) -> Result<Vec<u8>> {
    // A magic number, the version, and the size of the metadata; the values are at a multiple of 256 bytes.
    let size = record
        .get(6..10)
        .context("the file has no size of its metadata")?;
    let start = (10 + u32::from_le_bytes(size.try_into()?) as usize).next_multiple_of(256);
    Ok(record
        .get(start..)
        .context("the file ends before its values")?
        .to_vec())
}

/// Returns the weights of the checkpoint after `updates` updates.
pub(crate) fn weights(run: &Path, updates: u64) -> Result<Vec<u8>> {
    let path = run.join(format!("checkpoints/model-{updates}.bpk"));
    values(&fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?)
}

/// Returns the updates of a run's complete checkpoints, in order: those with a state.
pub(crate) fn states(run: &Path) -> Result<Vec<u64>> {
    let names = files_below(&run.join("checkpoints"))?.into_keys();
    let updates = names.filter_map(|name| {
        let name = name.to_string_lossy().into_owned();
        name.strip_prefix("state-")?
            .strip_suffix(".json")?
            .parse()
            .ok()
    });
    let mut updates: Vec<u64> = updates.collect();
    updates.sort_unstable();
    Ok(updates)
}

/// Returns the weights of the checkpoints of a run, by their numbers of updates.
pub(crate) fn checkpoints(run: &Path) -> Result<BTreeMap<u64, Vec<u8>>> {
    states(run)?
        .into_iter()
        .map(|updates| Ok((updates, weights(run, updates)?)))
        .collect()
}

/// Returns the files of checkpoints and model.
pub(crate) fn saved(run: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = files_below(run)?;
    files.retain(|path, _| path.starts_with("checkpoints") || path.starts_with("model"));
    Ok(files)
}

/// Returns the weights of the published model.
pub(crate) fn model(run: &Path) -> Result<Vec<u8>> {
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("model/manifest.json"))?)?;
    let name = manifest["files"]["weights"]["name"]
        .as_str()
        .context("a manifest names its weights")?;
    values(&fs::read(run.join("model").join(name))?)
}

/// Returns the rows of `metrics.csv` that do not depend on time.
fn curve(run: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(run.join("metrics.csv"))?;
    let is_of_time = |row: &str| row.contains("tokens/s") || row.contains("Waiting");
    Ok(text
        .lines()
        .filter(|row| !is_of_time(row))
        .map(str::to_owned)
        .collect())
}

/// Checks that two runs have equal results, bit for bit.
pub(crate) fn check_equal(run: &Path, whole: &Path) -> Result<()> {
    let samples = |run: &Path| fs::read(run.join("samples.tsv"));
    let results = [
        (states(run)? == states(whole)?, "numbers of updates"),
        (checkpoints(run)? == checkpoints(whole)?, "checkpoints"),
        (model(run)? == model(whole)?, "model"),
        (curve(run)? == curve(whole)?, "curve"),
        (samples(run)? == samples(whole)?, "samples"),
    ];
    let other = results.iter().find(|(is_equal, _)| !is_equal);
    let other = other.map_or("", |(_, name)| *name);
    ensure!(other.is_empty(), "other {other} than without interruption");
    check_finished(run)
}

/// Checks that there is no unfinished file.
pub(crate) fn check_finished(folder: &Path) -> Result<()> {
    let mut names = files_below(folder)?.into_keys();
    let left = names.find(|name| name.to_string_lossy().contains("unfinished"));
    ensure!(left.is_none(), "{left:?} is left");
    Ok(())
}
