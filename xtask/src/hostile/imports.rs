//! The class `imports`: damaged models of other software, through `import` and what reads its files.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::{Context, Result, bail, ensure};

use super::case::Case;
use super::damage::{ByteChange, damage, replace_number};
use super::lab::Lab;
use super::zip::{Entry, archive, entries};

/// The folders of models to import, and the files of each.
const FILES: [(&str, &[&str]); 2] = [
    (
        "separate",
        &[
            "config.json",
            "generation_config.json",
            "vocab.json",
            "target_vocab.json",
            "tokenizer_config.json",
            "source.spm",
            "target.spm",
            "pytorch_model.bin",
        ],
    ),
    (
        "shared",
        &[
            "config.json",
            "generation_config.json",
            "vocab.json",
            "target.spm",
            "model.safetensors",
        ],
    ),
];

/// Files whose bytes are all changed, up to a position: in the others, what follows is mostly numbers.
const HEADS: [(&str, &str, u64); 8] = [
    ("separate", "config.json", u64::MAX),
    ("separate", "generation_config.json", u64::MAX),
    ("separate", "tokenizer_config.json", u64::MAX),
    ("separate", "vocab.json", u64::MAX),
    ("separate", "source.spm", u64::MAX),
    ("separate", "pytorch_model.bin", 4000),
    ("shared", "model.safetensors", 4000),
    ("separate", "reference.safetensors", 600),
];

/// Attempts with several changes, and with files that are missing or of another kind.
const N_OTHER: u64 = 3000;

/// What JSON can be that is not what a reader expects.
const JSON: [&str; 12] = [
    "",
    "{}",
    "[]",
    "null",
    "0",
    "\"a\"",
    "{\"a\":",
    "{\"a\":1,\"a\":1}",
    "\u{feff}{}",
    "[[[[[[[[",
    "{}{}",
    "1e999",
];

/// Instructions of pickles.
const OPCODES: &[u8] = b".0(2}]a)bcdehijlopqrstuNIJKLMGFSTUVXQRP\x80\x81\x82\x85\x86\x87\x88\x8a\x8b\x8e\x93\x94\x95\x96";

pub(super) fn n_attempts(lab: &Lab) -> Result<u64> {
    let mut n = N_OTHER;
    for (folder, file, most) in HEADS {
        n += most.min(fs::metadata(lab.folder.join(folder).join(file))?.len());
    }
    Ok(n)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    let mut index = case.index;
    for (folder, file, most) in HEADS {
        let n = most.min(fs::metadata(case.lab.folder.join(folder).join(file))?.len());
        if index < n {
            case.take(folder)?;
            let path = format!("{folder}/{file}");
            if file == "pytorch_model.bin" && case.random.one_in(2) {
                change_pickle(case, &path, Some(index as usize))?;
                return import(case, folder, false);
            }
            let mut bytes = case.read(&path)?;
            let change = ByteChange::ALL[case.random.below(5)];
            change.apply(&mut bytes, index as usize, &mut case.random);
            case.write(&path, &bytes)?;
            return import(case, folder, file == "reference.safetensors");
        }
        index -= n;
    }
    let (folder, files) = FILES[case.random.below(2)];
    case.take(folder)?;
    match case.random.below(4) {
        0 => exchange(case, folder, files)?,
        _ => {
            for _ in 0..1 + case.random.below(2) {
                let file = case.random.pick(files);
                change(case, &format!("{folder}/{file}"))?;
            }
        }
    }
    import(case, folder, false)
}

/// Changes the pickle in an archive, at a position or at random, and writes the archive anew.
fn change_pickle(case: &mut Case<'_>, path: &str, at: Option<usize>) -> Result<()> {
    let mut entries = entries(&case.read(path)?)?;
    let pickle = entries
        .iter_mut()
        .find(|entry| entry.name.ends_with(b"data.pkl"));
    let pickle = &mut pickle.context("the archive has a pickle")?.content;
    match at.map(|at| at % pickle.len()) {
        Some(at) if case.random.one_in(2) => pickle[at] = OPCODES[case.random.below(OPCODES.len())],
        Some(at) => ByteChange::ALL[case.random.below(5)].apply(pickle, at, &mut case.random),
        None => damage(pickle, &mut case.random),
    }
    case.write(path, archive(&entries)?)
}

fn change(case: &mut Case<'_>, path: &str) -> Result<()> {
    if path.ends_with("pytorch_model.bin") && case.random.one_in(2) {
        // An earlier change may have damaged the archive.
        let is_pickle = |entry: &Entry| entry.name.ends_with(b"data.pkl");
        let entries = entries(&case.read(path)?);
        if entries.is_ok_and(|entries| entries.iter().any(is_pickle)) {
            return change_pickle(case, path, None);
        }
    }
    let mut bytes = case.read(path)?;
    if path.ends_with(".json") && case.random.one_in(2) {
        let at = case.random.below(bytes.len());
        replace_number(&mut bytes, at, &mut case.random);
    } else {
        damage(&mut bytes, &mut case.random);
    }
    case.write(path, &bytes)
}

/// Replaces a file by another one, or by what is not a file.
fn exchange(case: &mut Case<'_>, folder: &str, files: &[&str]) -> Result<()> {
    let file = case.random.pick(files);
    let path = case.path(folder).join(file);
    fs::remove_file(&path)?;
    match case.random.below(7) {
        0 => {}
        1 => fs::create_dir(&path)?,
        2 => symlink(
            case.random
                .pick(&["/dev/zero", "/dev/null", "nowhere", "."]),
            &path,
        )?,
        3 => fs::File::create(&path)?.set_len(1 << 40)?,
        4 => {
            let (other, others) = FILES[case.random.below(2)];
            let other_file = case.random.pick(others);
            fs::copy(case.lab.folder.join(other).join(other_file), &path)?;
        }
        5 => {
            let n = 1 << case.random.below(16);
            fs::write(&path, "[".repeat(n))?;
        }
        _ => fs::write(&path, case.random.pick(&JSON))?,
    }
    Ok(())
}

/// Imports the folder, and translates with the model if that succeeds.
fn import(case: &mut Case<'_>, folder: &str, is_check: bool) -> Result<()> {
    if is_check {
        let arguments = format!("import --from {folder} --check {folder}/reference.safetensors");
        let ended = case.run_infer(&arguments)?;
        ensure!(!ended.stdout().contains("NaN"), "a difference is NaN");
        return Ok(());
    }
    let ended = case.run_infer(&format!("import --from {folder} --out out"))?;
    if !ended.succeeded() {
        if case.path("out").exists() {
            bail!("the import failed and left a folder");
        }
        return Ok(());
    }
    let call = case.infer("translate --model out --max-len 9");
    let translated = case.run_with_input(call, b"101 7\n\na b\n")?;
    translated.check_succeeded("the import succeeded")?;
    let n_lines = translated.stdout().matches('\n').count();
    ensure!(n_lines == 3, "3 lines gave {n_lines} translations");
    Ok(())
}
