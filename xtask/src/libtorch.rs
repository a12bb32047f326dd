//! `cargo xtask libtorch`: downloads libtorch for the backend `tch`, without a CUDA toolkit or Python's torch.
//!
//! The libraries come from PyPI's wheels, which are often reachable where libtorch's own server is not. On x86-64
//! the wheels are those for CUDA. A program for the CPU needs only `libtorch_cpu.so`, `libc10.so` and two small
//! CUDA libraries that the first is linked to. `libtorch.so` would load all of CUDA; a linker script that names
//! `libtorch_cpu.so` replaces it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{Environment, call, target_folder};

/// The version that `torch-sys` requires.
const VERSION: &str = "2.9.0";

/// The CUDA libraries that the wheel for x86-64 is linked to.
const CUDA_WHEELS: &str = "nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90";

/// Downloads and unpacks the wheels. Those from an interrupted installation are not downloaded again.
const DOWNLOAD: &str = r#"
rm -rf unpacked include lib
python3 -m pip download --no-deps --only-binary=:all: --dest wheels "$@"
for wheel in wheels/*; do python3 -m zipfile -e "$wheel" unpacked; done
"#;

/// Moves the unpacked files to `include` and `lib`, and removes the rest. `build-version` is written last.
const LAY_OUT: &str = r#"
mv unpacked/torch/include include
mkdir lib
mv unpacked/torch/lib/libtorch_cpu.so lib
for library in torch/lib/libc10.so torch/lib/libgomp.so.1 nvidia/cuda_runtime/lib/libcudart.so.12 \
    nvidia/cuda_cupti/lib/libcupti.so.12; do
    [ ! -e "unpacked/$library" ] || mv "unpacked/$library" lib
done
echo 'INPUT(libtorch_cpu.so)' >lib/libtorch.so
# The name that `-lgomp` looks for.
[ ! -e lib/libgomp.so.1 ] || cp lib/libgomp.so.1 lib/libgomp.so
rm -rf unpacked wheels
echo "$1" >build-version
"#;

/// Downloads libtorch unless it is there, and prints how to build with it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = folder(root)?;
    if !is_there(&folder) {
        ensure!(
            cfg!(target_os = "linux"),
            "only the wheels for Linux are supported; elsewhere torch-sys downloads libtorch {VERSION} itself, or \
             uses the one that LIBTORCH names"
        );
        println!("downloading torch {VERSION} (0.9 GB on x86-64)");
        fs::create_dir_all(&folder)?;
        let cuda = if cfg!(target_arch = "x86_64") {
            CUDA_WHEELS
        } else {
            ""
        };
        let torch = format!("torch=={VERSION}");
        let wheels: Vec<&str> = [&*torch]
            .into_iter()
            .chain(cuda.split_whitespace())
            .collect();
        shell(&folder, DOWNLOAD, &wheels).context(
            "the wheels cannot be downloaded; this needs pip (on Debian: apt-get install python3-pip)",
        )?;
        shell(&folder, LAY_OUT, &[VERSION])?;
    }
    println!("libtorch {VERSION} is in {}", folder.display());
    println!("\nTo build with it, and to run what was built:\n");
    println!("    export LIBTORCH={}", folder.display());
    println!("    export LD_LIBRARY_PATH={}/lib", folder.display());
    println!("    cargo run -p transformer-train --features tch");
    Ok(())
}

/// Returns the folder of libtorch. It is in the target folder, which `cargo clean` empties.
fn folder(root: &Path) -> Result<PathBuf> {
    Ok(target_folder(root)?.join("libtorch"))
}

fn is_there(folder: &Path) -> bool {
    let version = fs::read_to_string(folder.join("build-version"));
    version.is_ok_and(|version| version.trim() == VERSION)
}

/// Returns the variables that torch-sys and the dynamic loader need; those of the user have priority.
pub(crate) fn environment(root: &Path) -> Result<Environment> {
    let mut named = ["LIBTORCH", "LIBTORCH_USE_PYTORCH"]
        .into_iter()
        .map(env::var_os);
    if named.any(|it| it.is_some()) {
        return Ok(Vec::new());
    }
    let folder = folder(root)?;
    ensure!(
        is_there(&folder),
        "no libtorch: `cargo xtask libtorch` downloads it"
    );
    let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let paths = [folder.join("lib")]
        .into_iter()
        .chain(env::split_paths(&before));
    let paths = env::join_paths(paths).context("the path of libtorch has a colon")?;
    Ok(vec![
        ("LIBTORCH", folder.into()),
        ("LD_LIBRARY_PATH", paths),
    ])
}

/// Runs a script in a folder, up to the first command that fails.
fn shell(folder: &Path, script: &str, arguments: &[&str]) -> Result<()> {
    let mut shell = Command::new("sh");
    shell.args(["-euc", script, "sh"]).args(arguments);
    call(shell.current_dir(folder))
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
        write("torch/lib/libtorch_cpu.so");
        write("torch/lib/libgomp.so.1");
        write("nvidia/cuda_runtime/lib/libcudart.so.12");
        fs::create_dir(folder.join("wheels")).expect("the folder can be made");

        shell(folder, LAY_OUT, &[VERSION]).expect("the library was unpacked");

        assert!(is_there(folder));
        assert!(folder.join("include/torch/version.h").is_file());
        assert!(
            folder.join("lib/libgomp.so").is_file() && folder.join("lib/libcudart.so.12").is_file()
        );
        assert!(!folder.join("unpacked").exists() && !folder.join("wheels").exists());
        assert!(!folder.join("lib/libtorch_cuda.so").exists());
        let script = fs::read_to_string(folder.join("lib/libtorch.so"));
        assert_eq!(script.ok().as_deref(), Some("INPUT(libtorch_cpu.so)\n"));
    }

    #[test]
    fn a_wheel_without_the_library_is_not_installed() {
        let temporary = tempfile::tempdir().expect("the system has a temporary folder");
        let folder = temporary.path();
        fs::create_dir_all(folder.join("unpacked/torch/include")).expect("it can be made");
        assert!(shell(folder, LAY_OUT, &[VERSION]).is_err());
        assert!(!is_there(folder));
    }
}
