//! What two runs have in common if their results are equal: the weights of checkpoints and model, the curve, the
//! samples.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::lab::files_below;

/// The bytes before the metadata of a file of weights: a magic number, the version, the size of the metadata.
const HEAD: usize = 10;

/// Where the values of a file of weights begin, in bytes: at a multiple.
const ALIGNMENT: usize = 256;

/// Returns the values in a file of weights. The metadata before them has ids that differ from run to run.
fn values(record: &[u8]) -> Result<&[u8]> {
    let size = record
        .get(6..HEAD)
        .context("the file has no size of its metadata")?;
    let size = u32::from_le_bytes(size.try_into()?) as usize;
    let start = (HEAD + size).next_multiple_of(ALIGNMENT);
    record
        .get(start..)
        .context("the file ends before its values")
}

/// Returns the values of the weights of the checkpoints of a run, by their number of updates.
pub(super) fn checkpoints(run: &Path) -> Result<BTreeMap<u64, Vec<u8>>> {
    let mut weights = BTreeMap::new();
    for updates in states(run)?.into_keys() {
        weights.insert(updates, self::weights(run, updates)?);
    }
    Ok(weights)
}

/// Returns the values of the weights of one checkpoint.
pub(super) fn weights(run: &Path, updates: u64) -> Result<Vec<u8>> {
    let path = run.join(format!("checkpoints/model-{updates}.bpk"));
    let record = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(values(&record)?.to_vec())
}

/// Returns the states of the checkpoints of a run, by their number of updates. A checkpoint is complete if it has one.
pub(super) fn states(run: &Path) -> Result<BTreeMap<u64, PathBuf>> {
    let mut states = BTreeMap::new();
    let folder = run.join("checkpoints");
    if folder.exists() {
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let updates = name
                .strip_prefix("state-")
                .and_then(|it| it.strip_suffix(".json"));
            if let Some(updates) = updates.and_then(|it| it.parse().ok()) {
                states.insert(updates, run.join("checkpoints").join(&name));
            }
        }
    }
    Ok(states)
}

/// Checks that two runs have equal results, bit for bit.
pub(super) fn check_equal(run: &Path, whole: &Path) -> Result<()> {
    let (ours, expected) = (checkpoints(run)?, checkpoints(whole)?);
    let updates = |all: &BTreeMap<u64, Vec<u8>>| all.keys().copied().collect::<Vec<_>>();
    ensure!(
        updates(&ours) == updates(&expected),
        "the run has checkpoints after updates {:?}, the uninterrupted run {:?}",
        updates(&ours),
        updates(&expected)
    );
    for (updates, values) in &ours {
        ensure!(
            Some(values) == expected.get(updates),
            "other weights after update {updates}"
        );
    }
    ensure!(
        model(run)? == model(whole)?,
        "another model than that of the uninterrupted run"
    );
    ensure!(
        curve(run)? == curve(whole)?,
        "another curve than that of the uninterrupted run"
    );
    let samples = |run: &Path| fs::read(run.join("samples.tsv"));
    ensure!(
        samples(run)? == samples(whole)?,
        "other samples than those of the uninterrupted run"
    );
    for (path, _) in files_below(run)? {
        let name = path.to_string_lossy();
        ensure!(!name.contains(".unfinished-"), "`{name}` is left");
    }
    Ok(())
}

/// Returns the values of the weights of the published model.
pub(super) fn model(run: &Path) -> Result<Vec<u8>> {
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("model/manifest.json"))?)?;
    let name = manifest["files"]["weights"]["name"]
        .as_str()
        .context("a manifest names its weights")?;
    Ok(values(&fs::read(run.join("model").join(name))?)?.to_vec())
}

/// Returns the rows of `metrics.csv` that do not depend on time.
fn curve(run: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(run.join("metrics.csv"))?;
    let of_time = |row: &&str| {
        !["tokens/s", "Waiting"]
            .iter()
            .any(|name| row.contains(name))
    };
    Ok(text.lines().filter(of_time).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_behind_the_metadata() {
        let mut record = b"NRUB\x01\x00\x03\x00\x00\x00abc".to_vec();
        record.resize(256, 0);
        record.extend(b"values");
        assert_eq!(values(&record).ok(), Some(&b"values"[..]));
        assert!(values(&record[..9]).is_err());
    }
}
