//! `cargo xtask dist`: the programs as files to install, for Linux: an archive, a Debian package, a container image.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::process::{call, cargo, output, target_folder};
use crate::wheel::EXPERIMENT;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const NAME: &str = "transformer-burn";
const PROGRAMS: [&str; 2] = ["transformer-infer", "transformer-train"];
const TEXTS: [&str; 4] = [
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "THIRD-PARTY.txt",
];

/// The user and group of the server in a container: `nobody` of distributions without a shell.
const USER: &str = "65532:65532";

/// The flags of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Also installs each file in an empty folder, and uses it there: trains a model, and translates with it.
    #[arg(long)]
    test: bool,
    /// Profile of cargo: `dev` builds faster what was built before.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Also builds the Python package into the folder.
    #[arg(long)]
    wheel: bool,
    /// Also builds the npm package of the browser into the folder.
    #[arg(long)]
    web: bool,
}

/// The names of a processor: in Rust, for Debian, for containers.
fn architecture() -> (String, &'static str, &'static str) {
    let names = match ARCH {
        "x86_64" => ("amd64", "amd64"),
        "aarch64" => ("arm64", "arm64"),
        other => (other, other),
    };
    (format!("{ARCH}-unknown-linux-gnu"), names.0, names.1)
}

/// Builds the files, and prints their sizes.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "packages are built on Linux; here, use `cargo install --path transformer-infer`"
    );
    let target = target_folder(root)?;
    let folder = target.join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("the old packages cannot be removed")?;
    }
    fs::create_dir_all(&folder)?;
    let programs = build(root, &target, &flags.profile)?;
    let work = tempfile::tempdir()?;
    let work = work.path();
    archive(root, &programs, work, &folder)?;
    match output(Command::new("dpkg-deb").arg("--version")) {
        Ok(_) => debian(root, &programs, work, &folder)?,
        Err(error) => println!("skipped: the Debian package: {error:#}"),
    }
    image(&programs, work, &folder)?;
    if flags.wheel {
        crate::wheel::build(root, &target, &flags.profile, &folder)?;
    }
    if flags.web {
        crate::web::run(root, &crate::web::Flags { test: false })?;
        let mut pack = Command::new("npm");
        pack.args(["pack", "--silent", "--pack-destination"])
            .arg(&folder);
        output(pack.current_dir(target.join("web/pkg")))?;
    }
    let sums = output(
        Command::new("sh")
            .args(["-c", "sha256sum -- *"])
            .current_dir(&folder),
    )?;
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    for name in sums
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
    {
        let size = folder.join(name).metadata()?.len() as f64 / 1e6;
        println!("{}: {size:.1} MB", folder.join(name).display());
    }
    if flags.test {
        test(&folder, work)?;
    }
    Ok(())
}

/// Builds the programs without shared libraries, and returns their folder.
fn build(root: &Path, target: &Path, profile: &str) -> Result<PathBuf> {
    let (triple, ..) = architecture();
    let mut build = cargo(root);
    build.args([
        "build",
        "--locked",
        "--profile",
        profile,
        "--target",
        &triple,
    ]);
    build.args(PROGRAMS.iter().flat_map(|name| ["-p", name]));
    let variable = format!(
        "CARGO_TARGET_{}_RUSTFLAGS",
        triple.replace('-', "_").to_uppercase()
    );
    call(build.env(variable, "-C target-feature=+crt-static -C strip=symbols"))?;
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    Ok(target.join(triple).join(folder))
}

/// Copies the programs to a folder, with the permissions of programs.
fn install(programs: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for name in PROGRAMS {
        call(
            Command::new("install")
                .args(["-m", "755"])
                .arg(programs.join(name))
                .arg(folder),
        )?;
    }
    Ok(())
}

/// Packs what a folder has, as root's and with the time of the epoch, so that equal programs make equal archives.
fn pack(folder: &Path, archive: &Path, flags: &[&str]) -> Result<()> {
    let mut pack = Command::new("tar");
    pack.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
    ]);
    call(
        pack.args(flags)
            .arg("-cf")
            .arg(archive)
            .arg("-C")
            .arg(folder)
            .arg("."),
    )
}

/// Writes the archive.
fn archive(root: &Path, programs: &Path, work: &Path, folder: &Path) -> Result<()> {
    let name = format!("{NAME}-{VERSION}-{ARCH}-linux");
    let top = work.join("archive");
    let inside = top.join(&name);
    install(programs, &inside)?;
    for text in TEXTS {
        fs::copy(root.join(text), inside.join(text))?;
    }
    pack(&top, &folder.join(format!("{name}.tar.gz")), &["-z"])
}

/// Writes the Debian package. It depends on nothing.
fn debian(root: &Path, programs: &Path, work: &Path, folder: &Path) -> Result<()> {
    let (_, debian, _) = architecture();
    let tree = work.join("debian");
    install(programs, &tree.join("usr/bin"))?;
    let documents = tree.join("usr/share/doc").join(NAME);
    fs::create_dir_all(&documents)?;
    for text in TEXTS {
        fs::copy(root.join(text), documents.join(text))?;
    }
    fs::rename(documents.join("LICENSE-MIT"), documents.join("copyright"))?;
    let sizes = PROGRAMS
        .iter()
        .map(|name| Ok(programs.join(name).metadata()?.len()));
    let size: u64 = sizes.sum::<Result<u64>>()?;
    let control = format!(
        "Package: {NAME}\nVersion: {VERSION}\nArchitecture: {debian}\nSection: science\nPriority: optional\n\
         Installed-Size: {}\nMaintainer: The transformer-burn authors <noreply@invalid>\n\
         Description: Translator: trains Transformer models, and translates with them\n \
         Trains models on parallel text, imports published ones, and translates lines,\n \
         documents and requests of a server.\n",
        size.div_ceil(1024)
    );
    fs::create_dir_all(tree.join("DEBIAN"))?;
    fs::write(tree.join("DEBIAN/control"), control)?;
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", "0");
    build
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&tree);
    output(build.arg(folder.join(format!("{NAME}_{VERSION}_{debian}.deb")))).map(drop)
}

/// Writes the image that `docker load` and `podman load` read: the program alone, as a user without rights.
fn image(programs: &Path, work: &Path, folder: &Path) -> Result<()> {
    let (_, _, architecture) = architecture();
    let root = work.join("image-root");
    install(programs, &root.join("usr/bin"))?;
    for empty in ["tmp", "models"] {
        fs::create_dir_all(root.join(empty))?;
    }
    call(Command::new("chmod").arg("1777").arg(root.join("tmp")))?;
    let image = work.join("image");
    fs::create_dir_all(&image)?;
    pack(&root, &image.join("layer.tar"), &[])?;
    let sum = output(Command::new("sha256sum").arg(image.join("layer.tar")))?;
    let sum = sum
        .split_whitespace()
        .next()
        .context("sha256sum printed nothing")?;
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "WorkingDir": "/models",
            "Entrypoint": ["/usr/bin/transformer-infer"],
            "Cmd": ["--help"],
            "Env": ["PATH=/usr/bin"],
            "ExposedPorts": { "5000/tcp": {} },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{sum}")] },
    });
    let manifest = json!([{
        "Config": "config.json",
        "RepoTags": [format!("{NAME}:{VERSION}")],
        "Layers": ["layer.tar"],
    }]);
    fs::write(image.join("config.json"), config.to_string())?;
    fs::write(image.join("manifest.json"), manifest.to_string())?;
    pack(
        &image,
        &folder.join(format!("{NAME}-{VERSION}-{architecture}-image.tar.gz")),
        &["-z"],
    )
}

/// Unpacks each file in an empty folder, and uses the programs in it without the environment: the archive's train a
/// model, and all translate with it.
fn test(folder: &Path, work: &Path) -> Result<()> {
    let (_, debian, architecture) = architecture();
    let at = |name: &str| work.join("test").join(name);
    for name in ["archive", "debian", "image", "root"] {
        fs::create_dir_all(at(name))?;
    }
    let archive = folder.join(format!("{NAME}-{VERSION}-{ARCH}-linux.tar.gz"));
    unpack(&archive, &at("archive"), "--strip-components=1")?;
    fs::write(at("experiment.toml"), EXPERIMENT)?;
    let mut train = Command::new(at("archive/transformer-train"));
    train.args([
        "--task",
        "numbers",
        "--updates",
        "400",
        "--plain",
        "--config",
    ]);
    train
        .arg(at("experiment.toml"))
        .arg("--out")
        .arg(at("model"));
    call(train.env_clear())?;
    let mut program = Command::new(at("archive/transformer-infer"));
    let expected = translate(&mut program, &at("model"))?;
    ensure!(!expected.trim().is_empty(), "the model translates nothing");
    let package = folder.join(format!("{NAME}_{VERSION}_{debian}.deb"));
    if package.exists() {
        let mut unpack = Command::new("dpkg-deb");
        call(unpack.arg("-x").arg(&package).arg(at("debian")))?;
        let mut program = Command::new(at("debian/usr/bin/transformer-infer"));
        let found = translate(&mut program, &at("model"))?;
        ensure!(
            found == expected,
            "the Debian package's program translates otherwise: {found}"
        );
    }
    let image = folder.join(format!("{NAME}-{VERSION}-{architecture}-image.tar.gz"));
    unpack(&image, &at("image"), "--no-same-owner")?;
    unpack(&at("image/layer.tar"), &at("root"), "--same-permissions")?;
    if output(Command::new("id").arg("-u"))?.trim() == "0" {
        // In a root folder of its own the program has what the image has.
        let mut copy = Command::new("cp");
        call(copy.arg("-r").arg(at("model")).arg(at("root/models/")))?;
        let mut program = Command::new("chroot");
        program.arg(format!("--userspec={USER}")).arg(at("root"));
        let program = program.arg("/usr/bin/transformer-infer");
        let found = translate(program, Path::new("/models/model"))?;
        ensure!(
            found == expected,
            "the image's program translates otherwise: {found}"
        );
    } else {
        println!(
            "skipped: the image's program, which only root can run in a root folder of its own"
        );
    }
    println!("the packages translate: {}", expected.trim());
    Ok(())
}

fn unpack(archive: &Path, folder: &Path, flag: &str) -> Result<()> {
    let mut unpack = Command::new("tar");
    call(
        unpack
            .arg("-xf")
            .arg(archive)
            .arg("-C")
            .arg(folder)
            .arg(flag),
    )
}

/// Translates a number with a program, in an empty environment.
fn translate(program: &mut Command, model: &Path) -> Result<String> {
    program
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let program = program.args(["translate", "one million and seven", "--model"]);
    output(program.arg(model))
}
