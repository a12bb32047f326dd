//! `cargo xtask wheel`: the Python package of the translator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{call, cargo, empty, program_with, target_folder};

/// The program that builds wheels, from PyPI.
const MATURIN: &str = "maturin==1.16.0";

/// Imported by the tests.
const OF_TESTS: [&str; 2] = ["pytest==9.1.0", "numpy"];

/// The model of tests of packages. Training takes seconds.
const EXPERIMENT: &str = "
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

pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let target = target_folder(root)?;
    let wheels = target.join("wheel/dist");
    empty(&wheels)?;
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

pub(crate) fn build(root: &Path, target: &Path, profile: &str, folder: &Path) -> Result<()> {
    let tools = environment(&target.join("wheel/tools"), &[MATURIN])?;
    let arguments = format!(
        "build --locked --strip --profile {profile} --manifest-path transformer-infer/python/Cargo.toml"
    );
    let mut build = program_with(tools.join("bin/maturin"), &arguments);
    build.arg("--out").arg(folder).current_dir(root);
    call(build.env("CARGO_TARGET_DIR", target))
}

/// Installs the wheel in an empty environment, and runs its tests.
fn test(root: &Path, target: &Path, wheel: &Path) -> Result<()> {
    let folder = target.join("wheel");
    empty(&folder.join("tested"))?;
    let environment = environment(&folder.join("tested"), &[])?;
    let python = environment.join("bin/python");
    let mut install = program_with(&python, "-m pip install -q --disable-pip-version-check");
    call(install.arg(wheel).args(OF_TESTS))?;
    call(&mut cargo(
        root,
        "build --locked -p transformer-infer -p transformer-train",
    ))?;
    let programs = target.join("debug");
    let model = train(Command::new(programs.join("transformer-train")), &folder)?;
    let tests = "-m pytest -q -p no:cacheprovider transformer-infer/python/tests";
    let mut tests = program_with(python, tests);
    tests
        .env("TRANSFORMER_MODEL", model)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("TRANSFORMER_INFER", programs.join("transformer-infer"));
    call(tests.current_dir(root))
}

/// Trains the model of tests of packages with a program, and returns the folder of the run.
pub(crate) fn train(mut program: Command, folder: &Path) -> Result<PathBuf> {
    let (experiment, model) = (folder.join("experiment.toml"), folder.join("run"));
    fs::write(&experiment, EXPERIMENT)?;
    let flags = "--task numbers --updates 400 --plain --overwrite --config";
    program.args(flags.split(' ')).arg(&experiment);
    call(program.arg("--out").arg(&model))?;
    Ok(model)
}

/// Makes a virtual environment with packages of PyPI, unless it is there, and returns its folder.
pub(crate) fn environment(folder: &Path, packages: &[&str]) -> Result<PathBuf> {
    if !folder.join("bin/pip").exists() {
        call(program_with("python3", "-m venv").arg(folder))
            .context("python3 with the module venv is needed")?;
    }
    if !packages.is_empty() {
        let pip = folder.join("bin/pip");
        let mut install = program_with(pip, "install -q --disable-pip-version-check");
        call(install.args(packages))?;
    }
    ensure!(
        folder.join("bin/python").exists(),
        "{} has no bin/python",
        folder.display()
    );
    Ok(folder.to_owned())
}
