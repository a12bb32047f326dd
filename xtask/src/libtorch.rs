//! `cargo xtask libtorch`: downloads libtorch for the backend `tch`; no CUDA toolkit or Python's torch is needed.
//!
//! The libraries come from PyPI's wheels, which are often reachable where libtorch's own server is not. On x86-64
//! the wheels are those for CUDA. A program for the CPU needs only `libtorch_cpu.so`, `libc10.so` and two small
//! CUDA libraries that the first is linked to. `libtorch.so` would load all of CUDA; a linker script that names
//! `libtorch_cpu.so` replaces it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{call, target_folder};

/// The version that `torch-sys` requires.
const VERSION: &str = "2.9.0";

/// The wheels with the CUDA libraries that the x86-64 wheel is linked to.
const CUDA_WHEELS: [&str; 2] = [
    "nvidia-cuda-runtime-cu12==12.8.90",
    "nvidia-cuda-cupti-cu12==12.8.90",
];

/// The paths, in the wheels, of the libraries that are kept.
const LIBRARIES: [&str; 5] = [
    "torch/lib/libtorch_cpu.so",
    "torch/lib/libc10.so",
    "torch/lib/libgomp.so.1",
    "nvidia/cuda_runtime/lib/libcudart.so.12",
    "nvidia/cuda_cupti/lib/libcupti.so.12",
];

/// Downloads libtorch unless it is there, and prints how to build with it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = folder(root)?;
    if is_there(&folder) {
        println!("libtorch {VERSION} is in {}", folder.display());
    } else {
        install(&folder)?;
    }
    println!("\nTo build with it, and to run what was built:\n");
    println!("    export LIBTORCH={}", folder.display());
    println!("    export LD_LIBRARY_PATH={}/lib", folder.display());
    println!("    cargo run -p transformer-train --features tch");
    Ok(())
}

/// Returns the folder of libtorch. It is in the target folder, which `cargo clean` empties.
pub(crate) fn folder(root: &Path) -> Result<PathBuf> {
    Ok(target_folder(root)?.join("libtorch"))
}

/// Returns whether libtorch is installed there.
pub(crate) fn is_there(folder: &Path) -> bool {
    // This file is written last.
    let version = fs::read_to_string(folder.join("build-version"));
    version.is_ok_and(|version| version.trim() == VERSION)
}

fn install(folder: &Path) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "only the wheels for Linux are supported; elsewhere torch-sys downloads libtorch {VERSION} itself, or \
         uses the one that LIBTORCH names"
    );
    // Wheels from an interrupted installation are not downloaded again.
    for rest in ["unpacked", "include", "lib"] {
        let rest = folder.join(rest);
        if rest.exists() {
            fs::remove_dir_all(rest)?;
        }
    }
    let wheels = folder.join("wheels");
    fs::create_dir_all(&wheels)?;
    println!("downloading torch {VERSION} (0.9 GB on x86-64)");
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
    ])
    .arg(&wheels)
    .arg(format!("torch=={VERSION}"));
    if cfg!(target_arch = "x86_64") {
        pip.args(CUDA_WHEELS);
    }
    call(&mut pip).context(
        "the wheels cannot be downloaded; this needs pip (on Debian: apt-get install python3-pip)",
    )?;
    for wheel in fs::read_dir(&wheels)? {
        let mut unpack = Command::new("python3");
        unpack
            .args(["-m", "zipfile", "-e"])
            .arg(wheel?.path())
            .arg(folder.join("unpacked"));
        call(&mut unpack)?;
    }
    lay_out(folder)?;
    println!("libtorch {VERSION} is in {}", folder.display());
    Ok(())
}

/// Moves the unpacked files to `include` and `lib`, writes `build-version`, and removes the rest.
fn lay_out(folder: &Path) -> Result<()> {
    let unpacked = folder.join("unpacked");
    fs::rename(unpacked.join("torch/include"), folder.join("include"))?;
    let lib = folder.join("lib");
    fs::create_dir(&lib)?;
    for library in LIBRARIES {
        let from = unpacked.join(library);
        let name = from.file_name().context("a library has a name")?;
        if from.exists() {
            fs::rename(&from, lib.join(name))?;
        }
    }
    ensure!(
        lib.join("libtorch_cpu.so").exists(),
        "the wheel has no libtorch_cpu.so"
    );
    fs::write(lib.join("libtorch.so"), "INPUT(libtorch_cpu.so)\n")?;
    if lib.join("libgomp.so.1").exists() {
        fs::copy(lib.join("libgomp.so.1"), lib.join("libgomp.so"))?; // the name that `-lgomp` looks for
    }
    fs::remove_dir_all(unpacked)?;
    fs::remove_dir_all(folder.join("wheels"))?;
    fs::write(folder.join("build-version"), VERSION)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_files_are_moved_to_where_torch_sys_looks_for_them() {
        let temporary = tempfile::tempdir().expect("the system has a temporary folder");
        let folder = temporary.path();
        let write = |name: &str| {
            let path = folder.join("unpacked").join(name);
            let parent = path.parent().expect("the file is in a folder");
            fs::create_dir_all(parent).expect("the folder can be made");
            fs::write(&path, name).expect("the file can be written");
        };
        write("torch/include/torch/version.h");
        write("torch/lib/libtorch_cuda.so");
        LIBRARIES.into_iter().for_each(write);
        fs::create_dir(folder.join("wheels")).expect("the folder can be made");

        lay_out(folder).expect("every library was unpacked");

        assert!(is_there(folder));
        assert!(folder.join("include/torch/version.h").is_file());
        assert!(!folder.join("lib/libtorch_cuda.so").exists());
        let script = fs::read_to_string(folder.join("lib/libtorch.so"));
        assert_eq!(script.ok().as_deref(), Some("INPUT(libtorch_cpu.so)\n"));
    }

    #[test]
    fn a_wheel_without_the_library_is_not_installed() {
        let temporary = tempfile::tempdir().expect("the system has a temporary folder");
        let folder = temporary.path();
        fs::create_dir_all(folder.join("unpacked/torch/include")).expect("it can be made");
        assert!(lay_out(folder).is_err());
        assert!(!is_there(folder));
    }
}
