//! `cargo xtask package`: the crates as a registry would get them, whether they compile that way, and whether a program
//! outside of this workspace runs with them.
//!
//! `cargo package` checks each package by a build of its own, with other profiles, and so compiles Burn again. Here the
//! packages are unpacked into one workspace with this repository's profiles: the same check, in seconds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{call, cargo, copy, empty, read, target_folder, write};

/// The crates that can be published, in the order in which they depend on each other.
const PACKAGES: [&str; 12] = [
    "transformer-text",
    "transformer-kernels",
    "transformer-program",
    "transformer-core",
    "transformer-metrics",
    "transformer-protection",
    "transformer-search",
    "transformer-documents",
    "transformer-translate",
    "transformer-serve",
    "transformer-infer",
    "transformer-train",
];

const OUTSIDE: &str = "outside";

/// Packages the crates, unpacks them side by side, compiles them there, and runs a program that depends on them.
pub(crate) fn run(root: &Path) -> Result<()> {
    let target = target_folder(root)?;
    // The sources are checked before they are committed. Without lock files in the packages, cargo does not look
    // for one crate in the registry of another, which it refuses for crates with `publish = false`.
    let flags = "package --locked --exclude-lockfile --no-verify --allow-dirty --quiet";
    let mut package = cargo(root, flags);
    package.args(PACKAGES.iter().flat_map(|it| ["-p", it]));
    call(package.arg("--target-dir").arg(&target))?;

    let folder = target.join("package/unpacked");
    empty(&folder)?;
    let version = env!("CARGO_PKG_VERSION");
    for name in PACKAGES {
        let archive = target.join(format!("package/{name}-{version}.crate"));
        // `m`: new times. Those in the archive are always the same, so that cargo would see no change.
        let mut tar = Command::new("tar");
        tar.arg("-xzmf").arg(archive).arg("-C").arg(&folder);
        call(&mut tar)?;
    }
    let (from, to) = (root.join("examples").join(OUTSIDE), folder.join(OUTSIDE));
    fs::create_dir_all(to.join("src"))?;
    copy(&from, &to, &["Cargo.toml", "src/main.rs"])?;
    let manifest = read(&root.join("Cargo.toml"))?;
    write(&folder.join("Cargo.toml"), &workspace(&manifest, version)?)?;
    copy(root, &folder, &["Cargo.lock"])?;
    // Not `--locked`: this lock file loses the members that are not packaged. But nothing is downloaded.
    for work in ["check --workspace", &format!("run --quiet -p {OUTSIDE}")] {
        let mut cargo = cargo(&folder, work);
        call(cargo.args(["--offline", "--target-dir"]).arg(&target))?;
    }
    Ok(())
}

/// Returns the manifest of the unpacked packages' workspace, with the profiles of this one.
fn workspace(manifest: &str, version: &str) -> Result<String> {
    let profiles = manifest
        .find("[profile.")
        .context("Cargo.toml has no profiles")?;
    let folders = PACKAGES.map(|name| format!("\"{name}-{version}\""));
    let members = [&folders[..], &[format!("\"{OUTSIDE}\"")]].concat();
    let patches: String = PACKAGES
        .iter()
        .zip(&folders)
        .map(|(name, folder)| format!("{name} = {{ path = {folder} }}\n"))
        .collect();
    Ok(format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\n{patches}\n{}",
        members.join(", "),
        &manifest[profiles..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unpacked_packages_use_each_other_and_the_same_profiles() {
        let manifest = "[workspace]\nmembers = []\n\n[profile.dev]\nopt-level = 3\n";
        let written = workspace(manifest, "0.1.0").expect("there is a profile");
        assert!(written.contains("\ntransformer-core = { path = \"transformer-core-0.1.0\" }\n"));
        assert!(written.ends_with("\n[profile.dev]\nopt-level = 3\n"));
    }
}
