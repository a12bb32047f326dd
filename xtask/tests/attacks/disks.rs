//! Full disks, file size limits, read-only folders, and missing permissions.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use proptest::collection::vec;

use super::attack::Attack;
use super::disturbed::{JOBS, check, names_the_disk, trouble, without_rights};
use super::program::Call;
use super::texts::one_of;

/// Commands that print.
const PRINTS: &str = "infer translate --model LAB/model 101 | infer inspect --model LAB/model
    | infer score --model LAB/model --src LAB/a.src --tgt LAB/b.tgt | infer --help
    | infer translate --model LAB/model --beam 1 --in LAB/long.html
    | infer bleu --hyp LAB/a.src --ref LAB/b.tgt | train --print-config
    | train --config LAB/run.toml --src LAB/a.src --tgt LAB/b.tgt --out run";

/// Files and folders made unreadable, each with a command that reads it.
const READS: &str = "int8: infer inspect --model int8
    | int8/manifest.json: infer translate --model int8 1
    | int8/weights.bpk: infer translate --model int8 1
    | int8/config.json: infer inspect --model int8
    | int8/tokenizer.json: infer score --model int8 --src a.src --tgt b.tgt
    | a.src: infer evaluate --model int8 --src a.src --ref b.tgt
    | b.tgt: infer bleu --hyp a.src --ref b.tgt
    | b.tgt: train --src a.src --tgt b.tgt --out out --dry-run
    | run.toml: train --config run.toml --src a.src --tgt b.tgt --out out --dry-run
    | run/experiment.toml: train --resume run --dry-run
    | run/checkpoints: train --resume run --dry-run
    | run/checkpoints/state-10.json: train --resume run --dry-run
    | run/checkpoints/optim-10.bpk: train --resume run --dry-run
    | run: train average --run run --last 1 --out out";

#[test]
fn nothing_is_lost_on_full_and_read_only_disks() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    let troubles = vec(trouble()?, 1..3);
    attack.check(60, (one_of(JOBS), troubles), |case, (job, troubles)| {
        check(case, job, &troubles)
    })?;
    attack.check(13, one_of(PRINTS), |case, command| {
        let output = Some("/dev/full");
        let ended = case.end(&Call {
            output,
            ..case.call(command)
        })?;
        ended.check_refused("its output was lost")?;
        names_the_disk(&ended)
    })?;
    let Some(prefix) = without_rights()? else {
        return Ok(());
    };
    attack.check(13, one_of(READS), |case, read| {
        let (hidden, command) = read.split_once(':').context("a command is named")?;
        case.take(&["a.src", "b.tgt", "run.toml", "int8"])?;
        case.take_as("interrupted", "run")?;
        let path = case.path(hidden);
        let rights = fs::metadata(&path)?.permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000))?;
        let ended = case.end(&Call {
            prefix: prefix.to_vec(),
            ..case.call(command)
        });
        fs::set_permissions(&path, rights)?;
        let ended = ended?;
        ended.check_refused("a file cannot be read")?;
        // The error names one file of a checkpoint.
        let name = hidden.rsplit('/').next().unwrap_or(hidden);
        let name = if hidden.starts_with("run/c") {
            "checkpoint"
        } else {
            name
        };
        ensure!(
            ended.stderr.contains(name),
            "`{hidden}` is not named: {}",
            ended.stderr
        );
        Ok(())
    })
}
