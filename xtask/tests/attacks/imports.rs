//! Spoiled models of other software, through `import` and the commands that read its result.

use anyhow::{Context, Result, ensure};
use proptest::prelude::*;

use super::attack::Attack;
use super::damage::{Damage, Spoiled, spoiled};
use super::lab::repacked;
use super::texts::one_of;

/// The files of models to import; those with much structure are listed several times.
const FILES: &str = "separate/config.json | separate/generation_config.json | separate/vocab.json
    | separate/target_vocab.json | separate/tokenizer_config.json | separate/source.spm
    | separate/target.spm | separate/pytorch_model.bin | separate/pytorch_model.bin
    | separate/pytorch_model.bin | separate/reference.safetensors | shared/config.json
    | shared/generation_config.json | shared/vocab.json | shared/target.spm
    | shared/model.safetensors | shared/model.safetensors";

#[test]
fn every_spoiled_model_is_imported_or_refused() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    let second = proptest::option::weighted(0.2, (one_of(FILES), spoiled()));
    let cases = (one_of(FILES), spoiled(), any::<bool>(), second);
    attack.check(800, cases, |case, (file, first, is_inside, second)| {
        let (folder, _) = file.split_once('/').context("files are in folders")?;
        case.take(&[folder])?;
        match first {
            // An archive has checksums; this damage is inside them.
            Spoiled::Damaged(damages, _) if is_inside && file.ends_with(".bin") => {
                let change = |pickle: &mut Vec<u8>| *pickle = Damage::apply(&damages, pickle);
                case.write(file, repacked(&case.read(file)?, change)?)?;
            }
            first => first.apply(&case.path(file), case.lab)?,
        }
        if let Some((other, spoiled)) = second
            && other != file
            && other.starts_with(folder)
        {
            spoiled.apply(&case.path(other), case.lab)?;
        }
        if file.contains("reference") {
            let ended = case.run(&format!("infer import --from separate --check {file}"))?;
            ensure!(!ended.stdout().contains("NaN"), "a difference is NaN");
        }
        let ended = case.run(&format!("infer import --from {folder} --out out"))?;
        if !ended.succeeded() {
            ensure!(
                !case.path("out").exists(),
                "the import failed and left a folder"
            );
            return Ok(());
        }
        let command = "infer translate --model out --max-len 9";
        let translated = case.run_with(command, "101 7\n\na b\n")?;
        translated.check_succeeded("the import succeeded")?;
        translated.check_lines(3)
    })
}
