//! The class `runs`: a file of a training run is damaged, and the run is resumed.
//!
//! It ends with the weights of a run that was never damaged, from an older checkpoint if need be, or is refused and
//! changes nothing.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::case::Case;
use super::damage::{ByteChange, damage};
use super::lab::{Lab, copy, files_below};
use super::run_files::{model, weights};

const TRAINING: &str = "--config run.toml --src a.src --tgt b.tgt --threads 1 --out run";

/// The updates of a run that is made longer.
const LAST_UPDATE: u64 = 40;

#[expect(
    clippy::unnecessary_wraps,
    reason = "the number depends on the lab in other classes"
)]
pub(super) fn n_attempts(_: &Lab) -> Result<u64> {
    Ok(3000)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    for name in ["a.src", "b.tgt", "run.toml"] {
        case.take(name)?;
    }
    let mut training = TRAINING.to_owned();
    if case.index.is_multiple_of(4) {
        // The name of a store depends on the paths of the text.
        training += " --set data.store=disk";
        let trained = case.run_train(&training)?;
        trained.check_succeeded("the settings are valid")?;
    } else {
        copy(&case.lab.folder.join("run"), &case.path("run"))?;
    }
    let mut files: Vec<PathBuf> = files_below(&case.path("run"))?
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    if case.index.is_multiple_of(4) {
        files.retain(|path| path.starts_with("store"));
    }
    let chosen = files.swap_remove(case.random.below(files.len()));
    spoil(case, &case.path("run").join(&chosen))?;
    let before = intact(case, &chosen)?;
    let ended = case.run_train(&format!("{training} --updates 40"))?;
    if !ended.succeeded() {
        let now = intact(case, &chosen)?;
        let lost = before.iter().find(|file| !now.contains(file));
        let lost = lost.map(|(path, _)| path);
        ensure!(lost.is_none(), "refused, but {lost:?} is changed");
        return Ok(());
    }
    let longer = case.lab.folder.join("longer");
    let last = LAST_UPDATE;
    let (ours, expected) = (weights(&case.path("run"), last)?, weights(&longer, last)?);
    ensure!(
        ours == expected,
        "other weights than without the damage to {chosen:?}"
    );
    let (ours, expected) = (model(&case.path("run"))?, model(&longer)?);
    // Without a checkpoint, the mean of the last ones is another one.
    let is_mean = chosen.starts_with("checkpoints");
    ensure!(
        ours == expected || is_mean,
        "another model than without the damage to {chosen:?}"
    );
    let inspected = case.run_infer("inspect --model run")?;
    inspected.check_succeeded("the run succeeded")
}

/// Changes a file, or replaces it by what is not a file.
fn spoil(case: &mut Case<'_>, path: &PathBuf) -> Result<()> {
    let mut bytes = fs::read(path)?;
    match case.random.below(16) {
        0 => fs::remove_file(path)?,
        1 => {
            fs::remove_file(path)?;
            fs::create_dir(path)?;
        }
        2 => {
            fs::remove_file(path)?;
            symlink(
                case.random
                    .pick(&["nowhere", ".", "/dev/zero", "/dev/null"]),
                path,
            )?;
        }
        3 => fs::write(path, "")?,
        4 => File::options().write(true).open(path)?.set_len(1 << 40)?,
        5..=10 if !bytes.is_empty() => {
            let at = case.random.below(bytes.len());
            ByteChange::ALL[case.random.below(5)].apply(&mut bytes, at, &mut case.random);
            fs::write(path, bytes)?;
        }
        _ => {
            damage(&mut bytes, &mut case.random);
            fs::write(path, bytes)?;
        }
    }
    Ok(())
}

/// Returns the checkpoints and the model, without the damaged file.
fn intact(case: &Case<'_>, damaged: &PathBuf) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for folder in ["checkpoints", "model"] {
        for entry in fs::read_dir(case.path("run").join(folder))? {
            let name = PathBuf::from(folder).join(entry?.file_name());
            if name != *damaged {
                let content = fs::read(case.path("run").join(&name))?;
                files.push((name, content));
            }
        }
    }
    Ok(files)
}
