//! `cargo xtask dist`: files to install. For Linux: an archive, a Debian package, a container image, a Python package; for
//! browsers an npm package.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use crate::process::{
    call, cargo, copy, empty, files, output, program_with, read, target_folder, write,
};
use crate::wheel::{environment, train};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const NAME: &str = "transformer-burn";
const PROGRAMS: [&str; 2] = ["transformer-infer", "transformer-train"];
const TEXTS: [&str; 4] = [
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "THIRD-PARTY.txt",
];

/// The user and group of programs in a container: `nonroot` of distroless images.
const USER: &str = "65532:65532";

/// The flags of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Also installs each file in an empty folder, and uses it there: trains a model, and translates with all of them.
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

/// Translates with the npm package: its arguments are the folder of a model and a text.
const TRANSLATE: &str = r#"
import { readFileSync, readdirSync } from "node:fs";
import { Translator } from "transformer-web";
const [folder, text] = process.argv.slice(2);
const files = readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]);
const translator = await Translator.load(Object.fromEntries(files));
console.log((await translator.translate(text)).text);
translator.free();
"#;

const SOURCE: &str = "one million and seven";

const GLIBC_NAME: &str = "GLIBC.txt";

/// The notice of the library that is linked statically.
const GLIBC: &str = "\
The programs contain the GNU C Library, linked statically, under the GNU Lesser General Public
License 2.1 or later. Its source is at https://www.gnu.org/software/libc/, and in Debian's package
glibc. `cargo xtask dist` links the programs again, with any version of it.
";

/// Returns the name of this processor for Debian and for containers.
fn architecture() -> &'static str {
    match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "packages are built on Linux; here, use `cargo install --path transformer-infer`"
    );
    let target = target_folder(root)?;
    let folder = target.join("dist");
    empty(&folder)?;
    let programs = build(root, &target, &flags.profile)?;
    let work = tempfile::tempdir()?;
    let work = work.path();
    let has_dpkg = output(Command::new("dpkg-deb").arg("--version"));
    archive(root, &programs, work, &folder)?;
    match has_dpkg {
        Ok(_) => debian(root, &programs, work, &folder)?,
        Err(error) if flags.test => return Err(error),
        Err(error) => println!("skipped: the Debian package: {error:#}"),
    }
    image(root, &programs, work, &folder)?;
    if flags.wheel {
        crate::wheel::build(root, &target, &flags.profile, &folder)?;
    }
    if flags.web {
        crate::web::run(root, &crate::web::Flags::default())?;
        let mut pack = program_with("npm", "pack --silent --pack-destination");
        output(pack.arg(&folder).current_dir(target.join("web/pkg")))?;
    }
    copy(root, &folder, &TEXTS[1..])?;
    fs::write(folder.join(GLIBC_NAME), GLIBC)?;
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
    match flags.test {
        true => test(root, &folder, work),
        false => Ok(()),
    }
}

/// Builds the programs without shared libraries, and returns their folder.
fn build(root: &Path, target: &Path, profile: &str) -> Result<PathBuf> {
    let triple = format!("{ARCH}-unknown-linux-gnu");
    let arguments = format!("build --locked --profile {profile} --target {triple}");
    let mut build = cargo(root, &arguments);
    build.args(PROGRAMS.iter().flat_map(|name| ["-p", name]));
    let variable = format!(
        "CARGO_TARGET_{}_RUSTFLAGS",
        triple.replace('-', "_").to_uppercase()
    );
    // They would replace the flags below.
    for other in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
    ] {
        build.env_remove(other);
    }
    call(build.env(variable, "-C target-feature=+crt-static -C strip=symbols"))?;
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    let folder = target.join(triple).join(folder);
    for name in PROGRAMS {
        let libraries = Command::new("ldd").arg(folder.join(name)).output()?;
        let libraries = String::from_utf8_lossy(&libraries.stdout);
        ensure!(
            !libraries.contains("=>"),
            "{name} needs shared libraries:\n{libraries}"
        );
    }
    Ok(folder)
}

/// Installs the programs and their documents below a folder, readable for all users.
fn install(root: &Path, programs: &Path, folder: &Path) -> Result<()> {
    let (binaries, documents) = (folder.join("bin"), folder.join("share/doc").join(NAME));
    fs::create_dir_all(&binaries)?;
    fs::create_dir_all(&documents)?;
    copy(programs, &binaries, &PROGRAMS)?;
    copy(root, &documents, &TEXTS)?;
    write(&documents.join(GLIBC_NAME), GLIBC)
}

/// Lets all users read a folder, whatever the permissions of new files are.
fn open(folder: &Path) -> Result<()> {
    call(program_with("chmod", "-R u=rwX,go=rX").arg(folder))
}

/// Packs a file or a folder. All of it belongs to root and dates from 1970, so that archives of equal files are equal.
fn pack(folder: &Path, name: &str, archive: &Path, flags: &[&str]) -> Result<()> {
    let same = "--sort=name --owner=0 --group=0 --numeric-owner --mtime=@0";
    let mut pack = program_with("tar", same);
    pack.args(flags).arg("-cf").arg(archive);
    call(pack.arg("-C").arg(folder).arg(name))
}

fn archive(root: &Path, programs: &Path, work: &Path, folder: &Path) -> Result<()> {
    let name = format!("{NAME}-{VERSION}-{ARCH}-linux");
    let inside = work.join("archive").join(&name);
    install(root, programs, &inside)?;
    open(&inside)?;
    let archive = folder.join(format!("{name}.tar.gz"));
    pack(&work.join("archive"), &name, &archive, &["-z"])
}

/// Writes the Debian package. It depends on nothing.
fn debian(root: &Path, programs: &Path, work: &Path, folder: &Path) -> Result<()> {
    let architecture = architecture();
    let tree = work.join("debian");
    install(root, programs, &tree.join("usr"))?;
    let documents = tree.join("usr/share/doc").join(NAME);
    fs::rename(documents.join("LICENSE-MIT"), documents.join("copyright"))?;
    let sizes = PROGRAMS
        .iter()
        .map(|name| Ok(programs.join(name).metadata()?.len()));
    let size: u64 = sizes.sum::<Result<u64>>()?;
    let control = format!(
        "Package: {NAME}\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: science\nPriority: optional\n\
         Installed-Size: {}\nMaintainer: The transformer-burn authors <noreply@invalid>\n\
         Description: Translator: trains Transformer models, and translates with them\n \
         Trains models on parallel text, imports published ones, and translates lines,\n \
         documents and requests of a server.\n",
        size.div_ceil(1024)
    );
    fs::create_dir_all(tree.join("DEBIAN"))?;
    fs::write(tree.join("DEBIAN/control"), control)?;
    open(&tree)?;
    let mut build = program_with("dpkg-deb", "--root-owner-group -Zxz --build");
    build.env("SOURCE_DATE_EPOCH", "0").arg(&tree);
    let package = format!("{NAME}_{VERSION}_{architecture}.deb");
    output(build.arg(folder.join(package))).map(drop)
}

/// Writes the image that `docker load` and `podman load` read: the programs alone, as a user without rights.
fn image(root: &Path, programs: &Path, work: &Path, folder: &Path) -> Result<()> {
    let architecture = architecture();
    let tree = work.join("image-root");
    install(root, programs, &tree.join("usr"))?;
    for empty in ["tmp", "models"] {
        fs::create_dir_all(tree.join(empty))?;
    }
    open(&tree)?;
    call(Command::new("chmod").arg("1777").arg(tree.join("tmp")))?;
    let image = work.join("image");
    fs::create_dir_all(&image)?;
    pack(&tree, ".", &image.join("layer.tar"), &[])?;
    let sum = output(Command::new("sha256sum").arg(image.join("layer.tar")))?;
    let sum = sum.split_whitespace().next();
    let sum = sum.context("sha256sum printed nothing")?;
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
    let archive = folder.join(format!("{NAME}-{VERSION}-{architecture}-image.tar.gz"));
    pack(&image, ".", &archive, &["-z"])
}

/// Installs each file in an empty folder, and uses it there without the environment: the archive's programs train a
/// model, and all translate with it.
fn test(root: &Path, folder: &Path, work: &Path) -> Result<()> {
    call(program_with("sha256sum", "--check --quiet SHA256SUMS").current_dir(folder))?;
    let architecture = architecture();
    let at = |name: &str| work.join("test").join(name);
    for name in ["archive", "debian", "image", "root"] {
        fs::create_dir_all(at(name))?;
    }
    let archive = folder.join(format!("{NAME}-{VERSION}-{ARCH}-linux.tar.gz"));
    unpack(&archive, &at("archive"), "--strip-components=1")?;
    let mut program = Command::new(at("archive/bin/transformer-train"));
    program.env_clear();
    let model = train(program, &at(""))?;
    let mut program = Command::new(at("archive/bin/transformer-infer"));
    let expected = translate(&mut program, &model)?;
    ensure!(!expected.trim().is_empty(), "the model translates nothing");
    let check = |name: &str, found: String| match found == expected {
        true => Ok(()),
        false => Err(anyhow!("{name} translates otherwise: {found}")),
    };
    let package = folder.join(format!("{NAME}_{VERSION}_{architecture}.deb"));
    let mut extract = Command::new("dpkg-deb");
    call(extract.arg("-x").arg(&package).arg(at("debian")))?;
    let mut program = Command::new(at("debian/usr/bin/transformer-infer"));
    let found = translate(&mut program, &model)?;
    check("the Debian package's program", found)?;
    let image = folder.join(format!("{NAME}-{VERSION}-{architecture}-image.tar.gz"));
    unpack(&image, &at("image"), "--no-same-owner")?;
    unpack(&at("image/layer.tar"), &at("root"), "--same-permissions")?;
    let has_root = output(Command::new("id").arg("-u"))?.trim() == "0";
    if has_root && make_devices(&at("root/dev")).is_ok() {
        // With another root folder the program has what the image has.
        let mut copy = Command::new("cp");
        call(copy.arg("-r").arg(&model).arg(at("root/models/")))?;
        open(&at("root/models"))?;
        let mut program = Command::new("chroot");
        program.arg(format!("--userspec={USER}")).arg(at("root"));
        let program = program.arg("/usr/bin/transformer-infer");
        let found = translate(program, Path::new("/models/run"))?;
        check("the image's program", found)?;
    } else {
        println!("skipped: the image's program; chroot and devices need root");
    }
    if let Some(wheel) = with_extension(folder, "whl")? {
        let found = translate_in_python(root, &wheel, &at("wheel"), &model)?;
        check("the wheel", found)?;
    }
    if let Some(archive) = with_extension(folder, "tgz")? {
        let found = translate_in_node(&archive, &at("npm"), &model.join("model"))?;
        check("the npm package", found)?;
    }
    println!("the packages translate: {}", expected.trim());
    Ok(())
}

/// Makes the devices from which programs read random numbers, which every container has.
fn make_devices(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (name, minor) in [("random", "8"), ("urandom", "9")] {
        let mut make = program_with("mknod", "-m 666");
        call(make.arg(folder.join(name)).args(["c", "1", minor]))?;
    }
    Ok(())
}

fn with_extension(folder: &Path, extension: &str) -> Result<Option<PathBuf>> {
    let mut files = files(folder)?.into_iter();
    Ok(files.find(|path| path.extension().is_some_and(|it| it == extension)))
}

/// Installs a wheel in an empty environment, and translates there with the program in Python of README.
fn translate_in_python(root: &Path, wheel: &Path, folder: &Path, model: &Path) -> Result<String> {
    let python = environment(folder, &[&wheel.to_string_lossy()])?.join("bin/python");
    let readme = read(&root.join("README.md"))?;
    let program = readme.split("```python\n").nth(1);
    let program = program.and_then(|it| it.split("```").next());
    let mut program = program
        .context("README.md has no program in Python")?
        .to_owned();
    for (gap, part) in [
        (r#""runs/en-de""#, format!("{model:?}")),
        (
            r#"["A dog is running.", "Good morning."], beam_size=4"#,
            format!("[{SOURCE:?}]"),
        ),
        ("translation.score, ", String::new()),
    ] {
        ensure!(
            program.contains(gap),
            "README.md's program in Python has no `{gap}`"
        );
        program = program.replace(gap, &part);
    }
    output(program_with(python, "-c").arg(program).env_clear())
}

/// Installs an npm package in an empty folder, and translates there.
fn translate_in_node(archive: &Path, folder: &Path, model: &Path) -> Result<String> {
    empty(folder)?;
    fs::write(folder.join("translate.mjs"), TRANSLATE)?;
    let mut install = program_with(
        "npm",
        "install --silent --no-audit --no-fund --offline --prefix",
    );
    output(install.arg(folder).arg(archive).current_dir(folder))?;
    let mut node = program_with("node", "translate.mjs");
    output(node.arg(model).arg(SOURCE).current_dir(folder))
}

fn unpack(archive: &Path, folder: &Path, flag: &str) -> Result<()> {
    let mut unpack = program_with("tar", "-xf");
    call(unpack.arg(archive).arg("-C").arg(folder).arg(flag))
}

/// Translates a number with a program, in an empty environment.
fn translate(program: &mut Command, model: &Path) -> Result<String> {
    program
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let program = program.args(["translate", SOURCE, "--model"]);
    output(program.arg(model))
}
