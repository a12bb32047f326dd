//! [`pack`]: an archive for machines without Rust.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::parity::{PARITY, test_program};
use crate::bench_backends::{Backend, name};
use crate::process::{call, cargo, target_folder};

/// Builds the programs for these backends, and packs them with what they read.
pub(super) fn pack(root: &Path, backends: &[Backend], archive: &Path) -> Result<()> {
    let backends: Vec<String> = backends.iter().map(name).collect();
    let backends = backends.join(",");
    let target = target_folder(root)?;
    let folder = target.join("gpu-archive");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("programs"))?;
    call(
        cargo(root)
            .args(["build", "-p", "examples", "--example", "bench_backend"])
            .args(["--features", &backends]),
    )?;
    call(cargo(root).args(["build", "-p", "xtask"]))?;
    let mut programs = vec![
        (
            "bench_backend".to_owned(),
            target.join("debug/examples/bench_backend"),
        ),
        ("xtask".to_owned(), target.join("debug/xtask")),
    ];
    for tests in &PARITY {
        let built = test_program(root, tests.package, tests.target, &backends, &[])?;
        programs.push((format!("{}-tests", tests.package), built));
    }
    for (name, built) in programs {
        let stripped = folder.join("programs").join(name);
        call(Command::new("strip").arg("-o").args([&stripped, &built]))?;
    }
    fs::create_dir(folder.join("benchmarks"))?;
    for name in ["bench_peers.py", "decoding_speed.py", "multi30k_pytorch.py"] {
        let of_root = root.join("benchmarks").join(name);
        fs::copy(of_root, folder.join("benchmarks").join(name))?;
    }
    let run = folder.join("run");
    fs::write(&run, RUN.replace("BACKENDS", &backends))?;
    call(Command::new("chmod").arg("+x").arg(&run))?;
    // The programs have most of their code in common: a dictionary that spans one of them halves the archive.
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(archive).arg("-C").arg(&folder).arg(".");
    call(tar.arg("--use-compress-program=xz -T1 --lzma2=preset=4,dict=128MiB"))?;
    let mib = fs::metadata(archive)?.len() as f64 / f64::from(1 << 20);
    println!("packed {mib:.1} MiB into {}", archive.display());
    Ok(())
}

/// Starts the chore of the archive, which takes the folder above `xtask` for the repository.
const RUN: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
case " $* " in
    *" --backends"*) ;;
    *) set -- --backends BACKENDS "$@" ;;
esac
CARGO_MANIFEST_DIR="$PWD/xtask" exec programs/xtask gpu --programs programs --out results "$@"
"#;
