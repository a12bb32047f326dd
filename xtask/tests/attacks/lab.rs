//! [`Lab`]: the programs, and the small files, models and runs that every case starts from.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;
use std::{collections::BTreeMap, env};

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use tempfile::TempDir;
use walkdir::WalkDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::keys::{Key, keys};

/// Settings of a run that takes a fraction of a second.
pub(crate) const SETTINGS: &str = r#"[data]
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

/// Further settings, so that a run saves often and has every kind of state between updates.
const ALL_STATE: &str = "--set model.dropout=0.3 --set training.accumulate=2 --set training.weight_decay=0.01 \
     --set training.ema_decay=0.9 --set training.clip_norm=1.0 --set training.keep_best=2 \
     --set training.average_best=2 --set training.patience=1000 --set training.updates=60 \
     --set training.validation_interval=3";

/// A run with copies of the lab's text.
pub(crate) const TRAINING: &str =
    "train --config run.toml --src a.src --tgt b.tgt --threads 1 --out";

/// Maximum number of runs to kill while making `interrupted`.
const MAX_KILLS: usize = 200;

static LAB: Mutex<Weak<Lab>> = Mutex::new(Weak::new());

/// The starting point of every case. It does not change once made:
///
/// - `run.toml`, `a.src`, `b.tgt`, `long.html`: settings and text
/// - `run`, `longer` with more updates, `interrupted` after a checkpoint, `whole` with many checkpoints and all state
///   by `whole.toml`: runs
/// - `model`, `words` with two vocabularies, `marian` imported, `int8`: model directories
/// - `shared`, `separate`: models to import
#[derive(Debug)]
pub(crate) struct Lab {
    folder: TempDir,
    pub(crate) keys: Vec<Key>,
}

impl Lab {
    /// Returns the lab, shared by the tests that run at the same time; `None` if slow tests are skipped.
    pub(crate) fn shared() -> Result<Option<Arc<Self>>> {
        if env::var_os("RUN_SLOW_TESTS").is_none_or(|value| value != "1") {
            println!("skipped: attacks take a minute; set RUN_SLOW_TESTS=1 to run them");
            return Ok(None);
        }
        let mut shared = LAB.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lab) = shared.upgrade() {
            return Ok(Some(lab));
        }
        let lab = Arc::new(Self::new()?);
        *shared = Arc::downgrade(&lab);
        Ok(Some(lab))
    }

    /// Returns an empty folder that every user can reach.
    pub(crate) fn folder() -> Result<TempDir> {
        let mode = fs::Permissions::from_mode(0o755);
        Ok(tempfile::Builder::new()
            .prefix("attack-")
            .permissions(mode)
            .tempdir()?)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn new() -> Result<Self> {
        let package = env::var("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&package)
            .parent()
            .context("a package has a parent")?;
        let lab = Self {
            folder: Self::folder()?,
            keys: keys(root)?,
        };
        let built = build(root)?;
        for name in ["transformer-train", "transformer-infer"] {
            copy(&built.join(name), &lab.path().join(name))?;
        }
        let numbers = (0..47_u32).map(|number| number * number + 5);
        let (src, tgt): (String, String) = numbers
            .map(|it| (format!("{it:b}\n"), format!("{it:o}\n")))
            .unzip();
        fs::write(lab.path().join("a.src"), src)?;
        fs::write(lab.path().join("b.tgt"), tgt)?;
        fs::write(lab.path().join("run.toml"), SETTINGS)?;
        let long = include_str!("../fixtures/document.html").repeat(40);
        fs::write(lab.path().join("long.html"), long)?;
        lab.train()?;
        lab.import(&root.join("transformer-core/tests/fixtures/marian"))?;
        lab.prepare("infer quantize --model model --out int8 --precision int8")?;
        lab.interrupt()?;
        Ok(lab)
    }

    fn train(&self) -> Result<()> {
        self.prepare(&format!("{TRAINING} run"))?;
        self.prepare(&format!("{TRAINING} longer --updates 40"))?;
        let kinds = "--set tokenizer.vocabulary=separate --set tokenizer.kind=bpe --set tokenizer.tgt_kind=word";
        self.prepare(&format!(
            "{TRAINING} words-run {kinds} --set model.tying=decoder"
        ))?;
        copy(
            &self.path().join("words-run/model"),
            &self.path().join("words"),
        )?;
        copy(&self.path().join("run/model"), &self.path().join("model"))?;
        let printed = self.prepare(&format!("{TRAINING} whole {ALL_STATE} --print-config"))?;
        fs::write(self.path().join("whole.toml"), printed)?;
        let whole = TRAINING.replace("run.toml", "whole.toml");
        self.prepare(&format!("{whole} whole")).map(drop)
    }

    fn import(&self, fixtures: &Path) -> Result<()> {
        for name in ["shared", "separate"] {
            fs::create_dir(self.path().join(name))?;
            for packed in fs::read_dir(fixtures.join(name))? {
                let packed = packed?.path();
                let file = packed.file_stem().context("every file has a name")?;
                let mut content = Vec::new();
                GzDecoder::new(File::open(&packed)?).read_to_end(&mut content)?;
                fs::write(self.path().join(name).join(file), content)?;
            }
        }
        self.prepare("infer import --from separate --out marian")?;
        // A rewritten archive has to be readable, or damage inside it would not be reached.
        copy(&self.path().join("separate"), &self.path().join("repacked"))?;
        let weights = self.path().join("repacked/pytorch_model.bin");
        fs::write(&weights, repacked(&fs::read(&weights)?, |_| ())?)?;
        self.prepare("infer import --from repacked --out repacked-model")
            .map(drop)
    }

    /// Kills runs until one was killed after a checkpoint and before its last.
    fn interrupt(&self) -> Result<()> {
        let run = self.path().join("interrupted");
        let state = |updates: u32| run.join(format!("checkpoints/state-{updates}.json"));
        let model = run.join("model/manifest.json");
        for _ in 0..MAX_KILLS {
            let mut child = self.command(&format!("{TRAINING} interrupted")).spawn()?;
            while !(state(10).exists() && model.exists()) && child.try_wait()?.is_none() {
                thread::sleep(Duration::from_micros(100));
            }
            child.kill()?;
            child.wait()?;
            if state(10).exists() && model.exists() && !state(30).exists() {
                return Ok(());
            }
            fs::remove_dir_all(&run)?;
        }
        bail!("no run could be killed between its first and its last checkpoint")
    }

    fn command(&self, command: &str) -> Command {
        let mut words = command.split_whitespace();
        let program = format!("transformer-{}", words.next().unwrap_or_default());
        let mut command = Command::new(self.path().join(program));
        command
            .args(words)
            .current_dir(self.path())
            .stdout(std::process::Stdio::piped());
        command
    }

    /// Runs a program of the lab in its folder, and returns its output.
    fn prepare(&self, command: &str) -> Result<Vec<u8>> {
        let output = self.command(command).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "cannot prepare: {command}: {stderr}"
        );
        Ok(output.stdout)
    }
}

/// Builds the programs and returns their folder; returns that of `ATTACKED_PROGRAMS` if set.
fn build(root: &Path) -> Result<PathBuf> {
    if let Some(folder) = env::var_os("ATTACKED_PROGRAMS") {
        return Ok(folder.into());
    }
    let build = "build -q --locked --bins -p transformer-infer -p transformer-train";
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    let status = cargo.current_dir(root).args(build.split(' ')).status()?;
    ensure!(status.success(), "the programs cannot be built: {status}");
    // This test is in a subfolder of the programs' folder.
    let test = env::current_exe()?;
    let folder = test.ancestors().nth(2);
    Ok(folder.context("a test is in a target folder")?.to_owned())
}

/// Copies a file, or a folder with its files.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let path = entry.path().strip_prefix(from)?;
        let is_root = path.as_os_str().is_empty();
        let to = if is_root {
            to.to_owned()
        } else {
            to.join(path)
        };
        if entry.file_type().is_dir() {
            fs::create_dir_all(to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Returns the contents of the files below a folder, or of one file, by their paths from it.
pub(crate) fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(folder).into_iter().filter(|_| folder.exists()) {
        let entry = entry?;
        if !entry.file_type().is_dir() {
            let path = entry.path().strip_prefix(folder)?.to_owned();
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// Rewrites an archive of PyTorch after a change of its pickle, so that its checksums cover the damage.
pub(crate) fn repacked(archive: &[u8], change: impl Fn(&mut Vec<u8>)) -> Result<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(archive))?;
    let mut written = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let name = entry.name()?.into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        if name.ends_with("data.pkl") {
            change(&mut content);
        }
        let options = SimpleFileOptions::default();
        written.start_file(name, options.compression_method(CompressionMethod::Stored))?;
        std::io::Write::write_all(&mut written, &content)?;
    }
    Ok(written.finish()?.into_inner())
}
