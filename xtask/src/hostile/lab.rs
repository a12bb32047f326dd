//! [`Lab`]: the programs, and the small files, models and runs that every attempt starts from.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;

use super::call::Call;
use super::zip::{archive, entries};
use crate::process::{call, cargo, target_folder};
use crate::settings::{Section, sections};

/// Settings of a run that takes a fraction of a second.
pub(super) const SETTINGS: &str = r#"[data]
max_len = 40
valid_pairs = 3

[tokenizer]
kind = "char"
vocab_size = 60

[model]
preset = "tiny"
d_model = 16
d_ff = 24
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1

[training]
updates = 30
tokens_per_batch = 61
warmup_steps = 15
validation_interval = 10
average_last = 5

[validation]
max_sentences = 2
max_extra_len = 1
"#;

/// Kills after which the harness does not try again to interrupt a run.
const MOST_KILLS: usize = 200;

/// Returns settings with a short interval and everything that has a state between updates.
fn with_all_state() -> String {
    let state = "accumulate = 2\nweight_decay = 0.01\nema_decay = 0.9\nclip_norm = 1.0\nkeep_best = 2\n\
                 average_best = 2\npatience = 1000\nupdates = 60\nvalidation_interval = 3\n";
    let settings = SETTINGS.replace("updates = 30\n", state);
    let settings = settings.replace("\nvalidation_interval = 10\n", "\n");
    settings.replace("n_heads = 2\n", "n_heads = 2\ndropout = 0.3\n")
}

/// Gives the weights of a model directory the name that attempts know: a run that has replaced its model names them after
/// their hash.
fn name_weights(model: &Path) -> Result<()> {
    const NAME: &str = "weights.bpk";
    let path = model.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let name = &mut manifest["files"]["weights"]["name"];
    let found = name.as_str().context("a manifest names its weights")?;
    fs::rename(model.join(found), model.join(NAME))?;
    *name = NAME.into();
    fs::write(path, serde_json::to_vec_pretty(&manifest)?)?;
    Ok(())
}

/// The folders of Marian's models among the fixtures of transformer-core.
const MARIAN: &str = "transformer-core/tests/fixtures/marian";

/// What every attempt starts from. Nothing in it changes after it was made.
#[derive(Debug)]
pub(super) struct Lab {
    pub(super) train: PathBuf,
    pub(super) infer: PathBuf,
    /// `run.toml`, `a.src`, `b.tgt`; the run `run`; the models `model`, `words` (with a vocabulary for each side),
    /// `marian` (imported) and `int8`; the run `longer`, of more updates; the run `interrupted`, which is `run`, killed after a checkpoint; the run
    /// `whole`, by `whole.toml`, with many checkpoints and all state; and the folders `shared` and `separate` of models to import.
    pub(super) folder: PathBuf,
    pub(super) sections: Vec<Section>,
}

impl Lab {
    /// Copies the programs and makes the files. Without a folder of programs, it builds them as the tests do.
    pub(super) fn new(root: &Path, programs: Option<&Path>, folder: PathBuf) -> Result<Self> {
        let built = match programs {
            Some(programs) => programs.to_owned(),
            None => build(root)?,
        };
        fs::create_dir_all(&folder)?;
        // Another user than root has to reach the files and programs.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        let program = |name: &str| -> Result<PathBuf> {
            let to = folder.join(name);
            let from = built.join(name);
            fs::copy(&from, &to).with_context(|| format!("cannot copy `{}`", from.display()))?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
            Ok(to)
        };
        let lab = Self {
            train: program("transformer-train")?,
            infer: program("transformer-infer")?,
            sections: sections(root)?,
            folder,
        };
        lab.make_models(&root.join(MARIAN))?;
        Ok(lab)
    }

    fn make_models(&self, marian: &Path) -> Result<()> {
        write_corpus(&self.folder)?;
        let train = |arguments: &str| self.prepare(&self.train, arguments);
        let infer = |arguments: &str| self.prepare(&self.infer, arguments);
        let files = "--config run.toml --src a.src --tgt b.tgt --threads 1 --out";
        train(&format!("{files} run"))?;
        train(&format!("{files} longer --updates 40"))?;
        copy(&self.folder.join("run/model"), &self.folder.join("model"))?;
        name_weights(&self.folder.join("model"))?;
        let kinds = "--set tokenizer.vocabulary=separate --set tokenizer.kind=bpe --set tokenizer.tgt_kind=word \
                     --set model.tying=decoder";
        train(&format!("{files} words-run {kinds}"))?;
        copy(
            &self.folder.join("words-run/model"),
            &self.folder.join("words"),
        )?;
        for name in ["shared", "separate"] {
            unpack(&marian.join(name), &self.folder.join(name))?;
        }
        infer("import --from separate --out marian")?;
        // An archive that is written anew has to be read too, or damage behind its checksums would not be reached.
        let repacked = self.folder.join("repacked");
        copy(&self.folder.join("separate"), &repacked)?;
        let weights = repacked.join("pytorch_model.bin");
        fs::write(&weights, archive(&entries(&fs::read(&weights)?)?)?)?;
        infer("import --from repacked --out repacked-model")?;
        infer("quantize --model model --out int8 --precision int8")?;
        fs::write(self.folder.join("whole.toml"), with_all_state())?;
        train("--config whole.toml --src a.src --tgt b.tgt --threads 1 --out whole")?;
        self.make_interrupted(&format!("{files} interrupted"))
    }

    /// Kills runs until one was killed after a checkpoint and before its last.
    fn make_interrupted(&self, arguments: &str) -> Result<()> {
        let call = self.call(&self.folder, &self.train, arguments);
        let run = self.folder.join("interrupted");
        let state = |updates: u32| run.join(format!("checkpoints/state-{updates}.json"));
        for _ in 0..MOST_KILLS {
            let mut child = call.start()?;
            // The model is published after the checkpoint.
            let model = run.join("model/manifest.json");
            while !(state(10).exists() && model.exists()) && child.try_wait()?.is_none() {
                thread::sleep(Duration::from_micros(100));
            }
            let _ = child.kill();
            child.wait()?;
            if state(10).exists() && model.exists() && !state(30).exists() {
                return Ok(());
            }
            fs::remove_dir_all(&run)?;
        }
        bail!("no run could be killed between its first and its last checkpoint")
    }

    fn prepare(&self, program: &Path, arguments: &str) -> Result<()> {
        let ended = self.call(&self.folder, program, arguments).run()?;
        ensure!(
            ended.succeeded(),
            "cannot prepare `{arguments}`: {}",
            ended.stderr()
        );
        Ok(())
    }

    /// Returns a call of a program in a folder; spaces divide the arguments.
    pub(super) fn call(&self, folder: &Path, program: &Path, arguments: &str) -> Call {
        Call {
            folder: folder.to_owned(),
            prefix: Vec::new(),
            program: program.to_owned(),
            arguments: arguments.split_whitespace().map(OsString::from).collect(),
            input: None,
            output: None,
            environment: Vec::new(),
            file_blocks: None,
            seconds: 30,
        }
    }

    /// Copies a file or folder of the lab into another folder.
    pub(super) fn copy(&self, name: &str, into: &Path) -> Result<()> {
        copy(&self.folder.join(name), &into.join(name))
    }
}

/// Builds the programs, and returns their folder.
fn build(root: &Path) -> Result<PathBuf> {
    let build = [
        "build",
        "-q",
        "--locked",
        "--bins",
        "-p",
        "transformer-infer",
        "-p",
    ];
    call(cargo(root).args(build).arg("transformer-train"))?;
    Ok(target_folder(root)?.join("debug"))
}

/// Writes the settings and the text: binary numbers, and the same in base eight.
fn write_corpus(folder: &Path) -> Result<()> {
    let (mut src, mut tgt) = (String::new(), String::new());
    for number in (0..47_u32).map(|number| number * number + 5) {
        src.push_str(&format!("{number:b}\n"));
        tgt.push_str(&format!("{number:o}\n"));
    }
    fs::write(folder.join("a.src"), src)?;
    fs::write(folder.join("b.tgt"), tgt)?;
    fs::write(folder.join("run.toml"), SETTINGS)?;
    Ok(())
}

/// Unpacks a folder of fixtures.
fn unpack(packed: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    let entries = fs::read_dir(packed).with_context(|| format!("no `{}`", packed.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().context("every file has a name")?;
        let mut content = Vec::new();
        GzDecoder::new(File::open(&path)?).read_to_end(&mut content)?;
        fs::write(into.join(name), content)?;
    }
    Ok(())
}

/// Copies a file, or a folder with all that is in it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::copy(from, to).with_context(|| format!("cannot copy `{}`", from.display()))?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Lists the files below a folder, if it exists, with their contents, by their paths from it.
pub(super) fn files_below(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    folders.retain(|folder| folder.exists());
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let content = fs::read(&path)?;
                files.push((path.strip_prefix(folder)?.to_owned(), content));
            }
        }
    }
    files.sort();
    Ok(files)
}
