//! `cargo xtask web`: the npm package of the translator in the browser.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::process::{
    Environment, call, cargo, copy, copy_folder, empty, files, output, program_with, read,
    target_folder, write,
};

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "small";
const NAME: &str = "transformer_web";

/// A module of the package; `js/engine.js` chooses one.
struct Module {
    name: &'static str,
    is_relaxed: bool,
    has_threads: bool,
}

impl Module {
    const fn new(name: &'static str, is_relaxed: bool, has_threads: bool) -> Self {
        Self {
            name,
            is_relaxed,
            has_threads,
        }
    }
}

/// The modules: for all browsers, and with the relaxed instructions that most have; each also with threads, for pages that
/// may share memory.
const MODULES: [Module; 4] = [
    Module::new(NAME, false, false),
    Module::new("transformer_web_relaxed", true, false),
    Module::new("transformer_web_threads", false, true),
    Module::new("transformer_web_relaxed_threads", true, true),
];

/// Flags of the compiler for threads: memory that JavaScript creates, and the exports that start a thread.
const THREADS: &str = "-C target-feature=+atomics,+bulk-memory,+mutable-globals -C link-arg=--shared-memory \
                       -C link-arg=--import-memory -C link-arg=--max-memory=4294967296 -C link-arg=--export=__wasm_init_tls \
                       -C link-arg=--export=__tls_size -C link-arg=--export=__tls_align -C link-arg=--export=__tls_base";

/// The variable with the folder of a compiler that builds Rust's standard library for [`TARGET`] itself: of Debian's
/// packages, unpacked (docs/browser.md). Only such a compiler builds the modules with threads.
const TOOLCHAIN: &str = "WASM_TOOLCHAIN";

const SIZES: &str = "
const { brotliCompressSync, gzipSync } = require('node:zlib');
const bytes = require('node:fs').readFileSync(process.argv[1]);
const sizes = { raw: bytes, gzip: gzipSync(bytes, { level: 9 }), brotli: brotliCompressSync(bytes) };
console.log(Object.entries(sizes).map(([name, it]) => `${name} ${(it.length / 1e6).toFixed(2)} MB`).join(', '));
";

/// The flags of the command.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Flags {
    /// Leaves out all formats of documents but plain text and HTML.
    #[arg(long)]
    pub(crate) text_only: bool,
    /// Also tests the package in Node (20.11 or newer) and in browsers, against the native program.
    #[arg(long)]
    pub(crate) test: bool,
    /// Puts a model on the page: a model directory, or the folder of a training run. May be given several times.
    #[arg(long = "model", value_name = "DIR")]
    pub(crate) models: Vec<PathBuf>,
}

/// Writes the page with its package into the folder `web` of cargo's target folder.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    write_page(root, flags, &target_folder(root)?.join("web"))
}

/// Writes the page with its package into a folder.
pub(crate) fn write_page(root: &Path, flags: &Flags, folder: &Path) -> Result<()> {
    let target = target_folder(root)?;
    let package = folder.join("pkg");
    let bindgen = bindgen(root)?;
    empty(&package)?;
    let builds_library = env::var_os(TOOLCHAIN).is_some();
    let modules = MODULES.iter();
    let modules: Vec<&Module> = modules
        .filter(|it| builds_library || !it.has_threads)
        .collect();
    if !builds_library {
        println!(
            "the modules with threads are left out, because they need {TOOLCHAIN} (docs/browser.md)"
        );
    }
    for module in &modules {
        // Another folder, because other flags would compile everything again.
        let target = match module.has_threads {
            true => target.join("threads"),
            false => target.clone(),
        };
        let mut build = build(root, module)?;
        if flags.text_only {
            build.arg("--no-default-features");
        }
        call(build.env("CARGO_TARGET_DIR", &target))?;
        let arguments = "--target web --no-typescript --remove-name-section --remove-producers-section --out-dir";
        let mut bind = program_with(bindgen, arguments);
        bind.arg(&package).args(["--out-name", module.name]);
        call(bind.arg(target.join(format!("{TARGET}/{PROFILE}/{NAME}.wasm"))))?;
    }
    copy_sources(root, &package, &modules)?;
    models(&flags.models, folder)?;
    demo(root, folder)?;
    println!("the package is in {}", package.display());
    for Module { name, .. } in modules {
        let wasm = package.join(format!("{name}_bg.wasm"));
        match output(Command::new("node").args(["-e", SIZES]).arg(&wasm)) {
            Ok(sizes) => print!("{name}_bg.wasm: {sizes}"),
            Err(error) => println!("sizes are not printed: {error:#}"),
        }
    }
    if flags.test {
        call(&mut cargo(root, "build --locked -p transformer-infer"))?;
        let tests = ["translator.test.js", "page.test.js"];
        let tests = tests.map(|it| format!("transformer-infer/web/tests/{it}"));
        let mut test = Command::new("node");
        // Before version 22, Node has WebSockets, which control Firefox, only with the first flag.
        let options = [
            "--experimental-websocket",
            "--test",
            "--test-timeout=600000",
        ];
        test.args(options)
            .args(tests)
            .current_dir(root)
            .env("TRANSFORMER_WEB", package.join("index.js"));
        call(test.env("TRANSFORMER_INFER", target.join("debug/transformer-infer")))?;
    }
    Ok(())
}

/// Copies models to the page, and lists their addresses for it.
fn models(models: &[PathBuf], folder: &Path) -> Result<()> {
    empty(&folder.join("models"))?;
    let mut addresses = Vec::new();
    for model in models {
        let name = model.canonicalize().ok();
        let name = name.as_ref().and_then(|it| it.file_name());
        let name = name.with_context(|| format!("{} does not exist", model.display()))?;
        let has_manifest = |it: &&PathBuf| it.join("manifest.json").exists();
        let nested = model.join("model");
        let files_of = [model, &nested].into_iter().find(has_manifest);
        let files_of = files_of.with_context(|| {
            format!(
                "{} has no manifest.json; name the folder of a model",
                model.display()
            )
        })?;
        let to = folder.join("models").join(name);
        ensure!(!to.exists(), "two models have the name {}", name.display());
        fs::create_dir(&to)?;
        copy_folder(files_of, &to)?;
        addresses.push(format!("models/{}/", name.display()));
    }
    write(&folder.join("models.json"), &json!(addresses).to_string())
}

/// Writes the demonstration, which has the package beside it: the page of the server, with models in place of the server.
fn demo(root: &Path, folder: &Path) -> Result<()> {
    let own = root.join("transformer-infer/web/demo");
    let page = root.join("transformer-infer/serve/src/page/static");
    let scripts = folder.join("page");
    empty(&scripts)?;
    copy_folder(&page.join("js"), &scripts)?;
    copy(&page, &scripts, &["page.css"])?;
    let added = [
        "api.js",
        "attention-frame.js",
        "attention.html",
        "models.js",
    ];
    copy(&own, &scripts, &added)?;
    let mut index = read(&page.join("index.html"))?;
    for (gap, part) in [
        (
            "<title>",
            format!("{}<title>", read(&own.join("head.html"))?),
        ),
        (
            "<main>",
            format!("<main>\n{}", read(&own.join("models.html"))?),
        ),
        (
            "with the models of this server",
            "in this browser; nothing leaves this device".into(),
        ),
        (
            " The server can be called without it: see <code>POST /v1/translate</code>.",
            String::new(),
        ),
    ] {
        ensure!(index.contains(gap), "the page of the server has no `{gap}`");
        index = index.replacen(gap, &part, 1);
    }
    write(&folder.join("index.html"), &index)?;
    let others = ["app.webmanifest", "demo.css", "icon.svg"];
    copy(&own, folder, &others)?;
    let mut kept = vec!["./".to_owned(), "models.json".to_owned()];
    kept.extend(others.map(str::to_owned));
    let written = [files(&scripts)?, files(&folder.join("pkg"))?].concat();
    for path in written {
        let extension = path.extension().unwrap_or_default();
        // The worker itself adds the module that the browser loads.
        if ["css", "html", "js"].iter().any(|it| extension == *it) {
            kept.push(path.strip_prefix(folder)?.to_string_lossy().into_owned());
        }
    }
    service_worker(&own, folder, &kept)
}

/// Writes the service worker, which keeps files for use without a network.
fn service_worker(own: &Path, folder: &Path, kept: &[String]) -> Result<()> {
    let name = "service-worker.js";
    let worker = read(&own.join(name))?;
    let gap = "[/* all */]";
    ensure!(worker.contains(gap), "{name} has no `{gap}`");
    let worker = worker.replace(gap, &json!(kept).to_string());
    write(&folder.join(name), &worker)
}

fn build(root: &Path, module: &Module) -> Result<Command> {
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
    build.args(["--locked", "-p", "transformer-web"]);
    if module.is_relaxed {
        build.args(["--features", "relaxed-simd"]);
    }
    let mut flags = "-C target-feature=+simd128".to_owned();
    if module.has_threads {
        flags = format!("{flags} {THREADS}");
    }
    build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags);
    // 10% smaller to download, and as fast (docs/decisions.md).
    build.env("CARGO_PROFILE_SMALL_OPT_LEVEL", "z");
    let core = "profile.small.package.transformer-core.opt-level=\"z\"";
    build.args(["--config", core]);
    Ok(build)
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
    let lock: toml::Value = toml::from_str(&read(&root.join("Cargo.lock"))?)?;
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
fn copy_sources(root: &Path, package: &Path, modules: &[&Module]) -> Result<()> {
    let sources = root.join("transformer-infer/web");
    let mut files = files(&sources.join("js"))?;
    files.push(sources.join("README.md"));
    files.extend(["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"].map(|it| root.join(it)));
    let mut names: Vec<String> = modules
        .iter()
        .flat_map(|it| [format!("{}.js", it.name), format!("{}_bg.wasm", it.name)])
        .collect();
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
    write(&package.join("package.json"), &format!("{json:#}\n"))
}
