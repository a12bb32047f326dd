//! `cargo xtask wheel`: the Python package of the translator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{call, cargo, target_folder};

/// The program that builds wheels, from PyPI.
const MATURIN: &str = "maturin==1.16.0";

/// Imported by the tests.
const OF_TESTS: [&str; 2] = ["pytest==9.1.0", "numpy"];

/// The model of tests of packages. Training takes seconds.
pub(crate) const EXPERIMENT: &str = "
[data]
task_pairs = 2000
valid_pairs = 20

[model]
d_model = 32
d_ff = 64
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1

[training]
tokens_per_batch = 512
warmup_steps = 100
validation_interval = 200

[validation]
max_sentences = 10
";

/// The flags of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Also installs the wheel in an empty environment, and tests it there, against the program.
    #[arg(long)]
    test: bool,
    /// Profile of cargo: `dev` builds faster what was built before.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// Builds the wheel, and prints its size.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let target = target_folder(root)?;
    let wheels = target.join("wheel/dist");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).context("the old wheel cannot be removed")?;
    }
    build(root, &target, &flags.profile, &wheels)?;
    let mut files = fs::read_dir(&wheels)?;
    let wheel = files.next().context("maturin wrote no wheel")??;
    let size = wheel.metadata()?.len() as f64 / 1e6;
    println!("{}: {size:.2} MB", wheel.path().display());
    if flags.test {
        test(root, &target, &wheel.path())?;
    }
    Ok(())
}

/// Builds the wheel into a folder.
pub(crate) fn build(root: &Path, target: &Path, profile: &str, folder: &Path) -> Result<()> {
    let tools = environment(&target.join("wheel/tools"), &[MATURIN])?;
    let mut build = Command::new(tools.join("bin/maturin"));
    build.args(["build", "--locked", "--strip", "--profile", profile]);
    build.args(["--manifest-path", "transformer-infer/python/Cargo.toml"]);
    build.arg("--out").arg(folder).current_dir(root);
    call(build.env("CARGO_TARGET_DIR", target))
}

/// Installs the wheel in an empty environment, and runs its tests.
fn test(root: &Path, target: &Path, wheel: &Path) -> Result<()> {
    let folder = target.join("wheel");
    let old = folder.join("tested");
    if old.exists() {
        fs::remove_dir_all(&old).context("the old environment cannot be removed")?;
    }
    let environment = environment(&old, &[])?;
    let python = environment.join("bin/python");
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]);
    call(install.arg(wheel).args(OF_TESTS))?;
    let mut build = cargo(root);
    build.args([
        "build",
        "--locked",
        "-p",
        "transformer-infer",
        "-p",
        "transformer-train",
    ]);
    call(&mut build)?;
    let experiment = folder.join("experiment.toml");
    let model = folder.join("run");
    fs::write(&experiment, EXPERIMENT)?;
    let programs = target.join("debug");
    let mut train = Command::new(programs.join("transformer-train"));
    train.args([
        "--task",
        "numbers",
        "--updates",
        "400",
        "--plain",
        "--overwrite",
        "--config",
    ]);
    call(train.arg(&experiment).arg("--out").arg(&model))?;
    let mut tests = Command::new(python);
    tests.args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "transformer-infer/python/tests",
    ]);
    tests
        .env("TRANSFORMER_MODEL", model)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("TRANSFORMER_INFER", programs.join("transformer-infer"));
    call(tests.current_dir(root))
}

/// Makes a virtual environment with packages of PyPI, unless it is there, and returns its folder.
fn environment(folder: &Path, packages: &[&str]) -> Result<PathBuf> {
    if !folder.join("bin/pip").exists() {
        let mut create = Command::new("python3");
        call(create.args(["-m", "venv"]).arg(folder))
            .context("python3 with the module venv is needed")?;
    }
    if !packages.is_empty() {
        let mut install = Command::new(folder.join("bin/pip"));
        call(
            install
                .args(["install", "-q", "--disable-pip-version-check"])
                .args(packages),
        )?;
    }
    ensure!(
        folder.join("bin/python").exists(),
        "{} has no bin/python",
        folder.display()
    );
    Ok(folder.to_owned())
}
