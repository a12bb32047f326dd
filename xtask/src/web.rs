//! `cargo xtask web`: the npm package of the translator in the browser.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::process::{Environment, call, cargo, empty, output, program_with, target_folder};

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "small";
const NAME: &str = "transformer_web";

/// The variable with the folder of a compiler that builds Rust's standard library for [`TARGET`] itself: of Debian's
/// packages, unpacked (docs/browser.md).
const TOOLCHAIN: &str = "WASM_TOOLCHAIN";

/// Prints the sizes of a file.
const SIZES: &str = "
const { brotliCompressSync, gzipSync } = require('node:zlib');
const bytes = require('node:fs').readFileSync(process.argv[1]);
const sizes = { raw: bytes, gzip: gzipSync(bytes, { level: 9 }), brotli: brotliCompressSync(bytes) };
console.log(Object.entries(sizes).map(([name, it]) => `${name} ${(it.length / 1e6).toFixed(2)} MB`).join(', '));
";

/// The flags of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Also tests the package in Node, against the native program.
    #[arg(long)]
    pub(crate) test: bool,
}

/// Builds the package, and prints its sizes.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let target = target_folder(root)?;
    let package = target.join("web/pkg");
    let bindgen = bindgen(root)?;
    let module = build(root, &target)?;
    empty(&package)?;
    let arguments =
        "--target web --no-typescript --remove-name-section --remove-producers-section --out-dir";
    call(program_with(bindgen, arguments).arg(&package).arg(module))?;
    let wasm = package.join(format!("{NAME}_bg.wasm"));
    copy_sources(root, &package)?;
    // The demonstration, which has the package beside it.
    for file in fs::read_dir(root.join("transformer-infer/web/demo"))? {
        let file = file?;
        fs::copy(file.path(), target.join("web").join(file.file_name()))?;
    }
    println!("the package is in {}", package.display());
    match output(Command::new("node").args(["-e", SIZES]).arg(&wasm)) {
        Ok(sizes) => print!("{NAME}_bg.wasm: {sizes}"),
        Err(error) => println!("sizes are not printed: {error:#}"),
    }
    if flags.test {
        call(&mut cargo(root, "build --locked -p transformer-infer"))?;
        let test = "--test transformer-infer/web/tests/translator.test.js";
        let mut test = program_with("node", test);
        test.current_dir(root)
            .env("TRANSFORMER_WEB", package.join("index.js"));
        call(test.env("TRANSFORMER_INFER", target.join("debug/transformer-infer")))?;
    }
    Ok(())
}

/// Compiles the module, and returns its path.
fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    let mut build = match env::var_os(TOOLCHAIN) {
        Some(folder) => {
            let folder = PathBuf::from(folder);
            let cargo = folder.join("usr/bin/cargo");
            let mut build = program_with(cargo, "build -Z build-std=std,panic_abort");
            build.current_dir(root).envs(toolchain(&folder)?);
            build
        }
        None => {
            let libraries = format!("--print target-libdir --target {TARGET}");
            let libraries = output(program_with("rustc", &libraries).current_dir(root))?;
            ensure!(
                Path::new(libraries.trim()).exists(),
                "Rust's standard library for {TARGET} is missing; run `rustup target add {TARGET}`, or set \
                 {TOOLCHAIN} to the folder of a compiler that builds it (docs/browser.md)"
            );
            cargo(root, "build")
        }
    };
    build.args(["--target", TARGET, "--profile", PROFILE]);
    build.args(["--locked", "-p", "transformer-web"]).env(
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
        "-C target-feature=+simd128",
    );
    call(&mut build)?;
    Ok(target.join(format!("{TARGET}/{PROFILE}/{NAME}.wasm")))
}

/// Returns the variables with which the compiler in a folder runs.
fn toolchain(folder: &Path) -> Result<Environment> {
    let libraries = folder.join("usr/lib");
    let entries = fs::read_dir(&libraries);
    let entries = entries.with_context(|| format!("{TOOLCHAIN} has no {}", libraries.display()))?;
    let mut llvm = entries.flatten().map(|entry| entry.path());
    let llvm = llvm.find(|path| path.join("bin/wasm-ld").exists());
    let llvm = llvm.with_context(|| format!("{TOOLCHAIN} has no usr/lib/*/bin/wasm-ld"))?;
    let paths = |name: &str, first: [PathBuf; 2]| {
        let before = env::var_os(name).unwrap_or_default();
        env::join_paths(first.into_iter().chain(env::split_paths(&before)))
    };
    let machine = libraries.join(format!("{}-linux-gnu", env::consts::ARCH));
    let programs = [folder.join("usr/bin"), llvm.join("bin")];
    Ok(vec![
        (
            "LD_LIBRARY_PATH",
            paths("LD_LIBRARY_PATH", [machine, llvm.join("lib")])?,
        ),
        ("PATH", paths("PATH", programs)?),
        ("RUSTC", folder.join("usr/bin/rustc").into()),
        // `-Z build-std` is for nightly compilers.
        ("RUSTC_BOOTSTRAP", "1".into()),
        (
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
            llvm.join("bin/wasm-ld").into(),
        ),
    ])
}

/// Returns the wasm-bindgen program, which must have the version of the crate.
fn bindgen(root: &Path) -> Result<&'static str> {
    let lock: toml::Value = toml::from_str(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let packages = lock["package"].as_array().into_iter().flatten();
    let mut versions = packages.filter(|it| it["name"].as_str() == Some("wasm-bindgen"));
    let version = versions.next().and_then(|it| it["version"].as_str());
    let version = version.context("Cargo.lock has no wasm-bindgen")?;
    let program = "wasm-bindgen";
    match output(Command::new(program).arg("--version")) {
        Ok(found) if found.split_whitespace().nth(1) == Some(version) => Ok(program),
        found => bail!(
            "wasm-bindgen {version} is needed, and {}; run `cargo install wasm-bindgen-cli --version {version}`",
            found.map_or_else(
                |error| format!("{error:#}"),
                |it| format!("`{}` was found", it.trim())
            )
        ),
    }
}

/// Copies what is not compiled, and writes package.json.
fn copy_sources(root: &Path, package: &Path) -> Result<()> {
    let sources = root.join("transformer-infer/web");
    let entries = fs::read_dir(sources.join("js"))?;
    let mut files = entries
        .map(|it| it.map(|it| it.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.push(sources.join("README.md"));
    files.extend(["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"].map(|it| root.join(it)));
    let mut names = vec![format!("{NAME}.js"), format!("{NAME}_bg.wasm")];
    for file in files {
        let name = file.file_name().context("it is a file of a folder")?;
        fs::copy(&file, package.join(name)).with_context(|| format!("{}", file.display()))?;
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    let json = json!({
        "name": "transformer-web",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Translates text and HTML in the browser, without a server",
        "license": "MIT OR Apache-2.0",
        "type": "module",
        "main": "index.js",
        "types": "index.d.ts",
        "sideEffects": false,
        "files": names,
    });
    fs::write(package.join("package.json"), format!("{json:#}\n"))?;
    Ok(())
}
