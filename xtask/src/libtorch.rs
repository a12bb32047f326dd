//! `cargo xtask libtorch`: what the backend `tch` links to, without a CUDA toolkit and without Python's torch.
//!
//! The wheels of PyPI have every library that is needed, also where libtorch's own server is out of reach. On
//! x86-64 they are those for CUDA; a program for the CPU needs of them `libtorch_cpu.so`, `libc10.so` and the two
//! small libraries of CUDA that the former is linked to. `libtorch.so` would pull in all of CUDA, and is
//! replaced by a linker script that names the one library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{call, target_folder};

/// The version that `torch-sys` asks for.
const VERSION: &str = "2.9.0";

/// What the x86-64 wheel of that version is linked to.
const CUDA_WHEELS: [&str; 2] = [
    "nvidia-cuda-runtime-cu12==12.8.90",
    "nvidia-cuda-cupti-cu12==12.8.90",
];

/// The libraries that are kept, by where they are in the wheels.
const LIBRARIES: [&str; 5] = [
    "torch/lib/libtorch_cpu.so",
    "torch/lib/libc10.so",
    "torch/lib/libgomp.so.1",
    "nvidia/cuda_runtime/lib/libcudart.so.12",
    "nvidia/cuda_cupti/lib/libcupti.so.12",
];

/// Gets libtorch, if it is not there, and says how to build with it.
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

/// Returns the folder where `cargo xtask libtorch` puts it: in the target folder, which `cargo clean` empties.
pub(crate) fn folder(root: &Path) -> Result<PathBuf> {
    Ok(target_folder(root)?.join("libtorch"))
}

/// Says whether it is installed there.
pub(crate) fn is_there(folder: &Path) -> bool {
    // Written last.
    let version = fs::read_to_string(folder.join("build-version"));
    version.is_ok_and(|version| version.trim() == VERSION)
}

fn install(folder: &Path) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "this knows only the wheels for Linux; elsewhere torch-sys gets libtorch {VERSION} by itself, or takes \
         the one that LIBTORCH names"
    );
    // Wheels that are there already, from an installation that did not end, are not downloaded again.
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
        "the wheels cannot be downloaded; pip is needed (on Debian: apt-get install python3-pip)",
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

/// Makes `include`, `lib` and `build-version` of what was unpacked, and removes the rest.
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
        fs::copy(lib.join("libgomp.so.1"), lib.join("libgomp.so"))?; // what `-lgomp` looks for
    }
    fs::remove_dir_all(unpacked)?;
    fs::remove_dir_all(folder.join("wheels"))?;
    fs::write(folder.join("build-version"), VERSION)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an empty folder of this test's own.
    fn empty_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the system has a temporary folder");
        folder
    }

    #[test]
    fn what_was_unpacked_becomes_what_torch_sys_looks_for() {
        let folder = empty_folder("libtorch");
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

        lay_out(&folder).expect("all that is needed was unpacked");

        assert!(is_there(&folder));
        assert!(folder.join("include/torch/version.h").is_file());
        assert!(!folder.join("lib/libtorch_cuda.so").exists());
        let script = fs::read_to_string(folder.join("lib/libtorch.so"));
        assert_eq!(script.ok().as_deref(), Some("INPUT(libtorch_cpu.so)\n"));
        fs::remove_dir_all(folder).expect("the folder is ours");
    }

    #[test]
    fn a_wheel_without_the_library_is_not_taken_for_libtorch() {
        let folder = empty_folder("no-libtorch");
        fs::create_dir_all(folder.join("unpacked/torch/include")).expect("it can be made");
        assert!(lay_out(&folder).is_err());
        assert!(!is_there(&folder));
        fs::remove_dir_all(folder).expect("the folder is ours");
    }
}
