//! Builds the benchmark for one backend.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::libtorch;
use crate::process::{cargo, target_folder};

/// The program that was built.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) backend: String,
    pub(super) path: PathBuf,
    /// Seconds of the build, with everything that cargo had built before; `None` if another machine built it.
    pub(super) build_s: Option<f64>,
    /// The environment variables that the program needs.
    pub(super) environment: Vec<(&'static str, OsString)>,
}

/// Builds the benchmark as a user builds for one backend, and puts the program into a folder.
///
/// It contains the default backend too: burn-train depends on burn-flex in any case, and with other features it would
/// be compiled a second time.
pub(super) fn build(root: &Path, backend: &str, out: &Path) -> Result<Program> {
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
    let built = target_folder(root)?.join("debug/examples").join(name);
    fs::copy(&built, &path).with_context(|| format!("cannot copy `{}`", built.display()))?;
    Ok(Program {
        backend: backend.to_owned(),
        path,
        build_s: Some(build_s),
        environment,
    })
}

/// Returns the benchmark of an archive that another machine packed, which has several backends.
pub(super) fn packed(programs: &Path, backend: &str) -> Result<Program> {
    let path = programs.join("bench_backend");
    ensure!(path.is_file(), "there is no `{}`", path.display());
    Ok(Program {
        backend: backend.to_owned(),
        path: path.canonicalize()?,
        build_s: None,
        environment: Vec::new(),
    })
}

/// Returns the environment variables that a backend needs for its build and its runs, or the reason why it cannot run
/// here, if that is known without a build.
pub(crate) fn environment(root: &Path, backend: &str) -> Result<Vec<(&'static str, OsString)>> {
    match backend {
        "cuda" if !answers("nvidia-smi") => {
            bail!("no NVIDIA driver: `nvidia-smi -L` does not answer")
        }
        "rocm" if !Path::new("/dev/kfd").exists() => {
            bail!("no ROCm driver: there is no /dev/kfd")
        }
        "metal" if !cfg!(target_os = "macos") => bail!("Metal needs macOS"),
        "tch" => libtorch_environment(&libtorch::folder(root)?)
            .context("no libtorch: `cargo xtask libtorch` downloads it"),
        _ => Ok(Vec::new()),
    }
}

/// Returns whether a program succeeds in listing devices.
pub(super) fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("-L")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the variables that torch-sys and the dynamic loader need, or `None` if there is no libtorch.
///
/// The user's variables have priority.
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
        // A path with a colon cannot be in the list; then the loader reports the missing library.
        let paths = env::join_paths(paths).unwrap_or(before.clone());
        vec![("LIBTORCH", folder.into()), ("LD_LIBRARY_PATH", paths)]
    })
}
