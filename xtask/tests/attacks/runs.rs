//! A file of a training run is spoiled, and the run is resumed.
//!
//! The run ends with the weights of an undamaged run, from an older checkpoint if necessary, or is refused and changes
//! nothing.

use anyhow::{Result, ensure};
use proptest::prelude::*;
use proptest::sample::Index;

use super::attack::Attack;
use super::damage::spoiled;
use super::lab::{TRAINING, files_below};
use super::results::{model, saved, weights};

#[test]
fn every_spoiled_run_ends_as_a_whole_one_or_is_refused() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    let cases = (proptest::bool::weighted(0.25), any::<Index>(), spoiled());
    attack.check(150, cases, |case, (has_store, file, spoiled)| {
        case.take(&["a.src", "b.tgt", "run.toml"])?;
        let (run, longer) = (case.path("run"), case.lab.join("longer"));
        let mut training = format!("{TRAINING} run");
        if has_store {
            // The name of a store depends on the paths of the text.
            training += " --set data.store=disk";
            case.run(&training)?
                .check_succeeded("the settings are valid")?;
        } else {
            case.take(&["run"])?;
        }
        let mut files: Vec<_> = files_below(&run)?.into_keys().collect();
        files.retain(|file| !has_store || file.starts_with("store"));
        let file = file.get(&files);
        let intact = |mut files: std::collections::BTreeMap<_, _>| {
            files.remove(file);
            files
        };
        let before = intact(saved(&run)?);
        spoiled.apply(&run.join(file), case.lab)?;
        let ended = case.run(&format!("{training} --updates 40"))?;
        if !ended.succeeded() {
            std::fs::remove_file(run.join(file)).ok();
            // A run that fails as it writes the model has new checkpoints beside the old ones.
            let now = saved(&run)?;
            let is_kept = before
                .iter()
                .all(|(path, content)| now.get(path) == Some(content));
            ensure!(is_kept, "refused, but a checkpoint or the model is changed");
            return Ok(());
        }
        let is_equal = weights(&run, 40)? == weights(&longer, 40)?;
        ensure!(
            is_equal,
            "other weights than without the damage to {file:?}"
        );
        // Without a checkpoint, the mean of the last ones differs.
        let is_equal = file.starts_with("checkpoints") || model(&run)? == model(&longer)?;
        ensure!(
            is_equal,
            "another model than without the damage to {file:?}"
        );
        case.run("infer inspect --model run")?
            .check_succeeded("the run succeeded")
    })
}
