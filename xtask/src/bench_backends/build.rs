//! The benchmark, built for one backend.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::libtorch;
use crate::process::cargo;

/// A program that was built.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) backend: String,
    pub(super) path: PathBuf,
    /// How long cargo took, with what it had built before.
    pub(super) build_s: f64,
    /// What the program needs in its environment.
    pub(super) environment: Vec<(&'static str, OsString)>,
}

/// Builds the benchmark as a user builds for one backend, and puts the program into a folder.
///
/// The default backend stays in it: burn-train depends on burn-flex in any case, and without the same features it would
/// be compiled a second time.
pub(super) fn build(root: &Path, target: &Path, backend: &str, out: &Path) -> Result<Program> {
    let environment = environment(root, backend)?;
    let arguments = ["build", "-p", "examples", "--example", "bench_backend"];
    let started = Instant::now();
    let status = cargo(root)
        .args(arguments)
        .args(["--features", backend])
        .envs(environment.iter().cloned())
        .status()
        .context("cargo cannot be started")?;
    let build_s = started.elapsed().as_secs_f64();
    ensure!(status.success(), "the build failed, see above");
    let name = format!("bench_backend{}", env::consts::EXE_SUFFIX);
    let path = out.join(format!("{backend}-{name}"));
    let built = target.join("debug/examples").join(name);
    fs::copy(&built, &path).with_context(|| format!("cannot copy `{}`", built.display()))?;
    Ok(Program {
        backend: backend.to_owned(),
        path,
        build_s,
        environment,
    })
}

/// Returns what a backend needs in the environment to be built and to run, or why it cannot run here, as far as that
/// can be known without a build.
pub(crate) fn environment(root: &Path, backend: &str) -> Result<Vec<(&'static str, OsString)>> {
    match backend {
        "cuda" if !answers("nvidia-smi") => {
            bail!("no NVIDIA driver: `nvidia-smi -L` does not answer")
        }
        "rocm" if !Path::new("/dev/kfd").exists() => {
            bail!("no ROCm driver: there is no /dev/kfd")
        }
        "metal" if !cfg!(target_os = "macos") => bail!("Metal is macOS's"),
        "tch" => libtorch_environment(&libtorch::folder(root)?)
            .context("no libtorch: `cargo xtask libtorch` gets it"),
        _ => Ok(Vec::new()),
    }
}

/// Says whether a program can be run and has something to list.
pub(super) fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("-L")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the variables that torch-sys and the loader need, or `None` if there is no libtorch.
///
/// Those of the user come first.
fn libtorch_environment(folder: &Path) -> Option<Vec<(&'static str, OsString)>> {
    let named = ["LIBTORCH", "LIBTORCH_USE_PYTORCH"];
    if named.iter().any(|name| env::var_os(name).is_some()) {
        return Some(Vec::new());
    }
    libtorch::is_there(folder).then(|| {
        let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let paths = [folder.join("lib")]
            .into_iter()
            .chain(env::split_paths(&before));
        // A path with a colon cannot be in the list; then the loader says what it misses.
        let paths = env::join_paths(paths).unwrap_or(before.clone());
        vec![("LIBTORCH", folder.into()), ("LD_LIBRARY_PATH", paths)]
    })
}
