//! `cargo xtask notices`: the licenses of the crates that are part of the two programs and of the Python package.
//!
//! Whoever passes on a compiled program passes on `THIRD-PARTY.txt` with it. Of the licenses that a crate offers,
//! Apache-2.0 is chosen first, then MIT; a text that several crates have is written once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process::{self, cargo, output};

const FILE: &str = "THIRD-PARTY.txt";

/// The machine for which the file is right; on others, some crates differ.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A third-party crate in the programs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    /// The licenses that it offers, as an SPDX expression.
    license: String,
}

pub(crate) fn write(root: &Path) -> Result<()> {
    process::write(&root.join(FILE), &notices(root)?)?;
    println!("wrote {FILE}");
    Ok(())
}

/// Fails if the file is not what [`write()`] would write.
pub(crate) fn check(root: &Path) -> Result<()> {
    let is = fs::read_to_string(root.join(FILE)).unwrap_or_default();
    ensure!(
        is == notices(root)?,
        "{FILE} is out of date; run `cargo xtask notices`"
    );
    Ok(())
}

fn notices(root: &Path) -> Result<String> {
    let crates = crates(root)?;
    let folders = folders(root)?;
    // For each text, the crates that have it.
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut file = format!(
        "Third-party notices\n\n\
         The programs transformer-train and transformer-infer, with default features on {TARGET}, and the\n\
         Python package contain these crates. Their licenses are below. `cargo xtask notices` wrote this file.\n\n"
    );
    for it in &crates {
        let name = format!("{} {}", it.name, it.version);
        writeln!(file, "    {name}: {}", it.license)?;
        let folder = folders.get(&(it.name.clone(), it.version.clone()));
        let folder = folder.with_context(|| format!("cargo metadata does not know {name}"))?;
        for text in license_texts(root, it, folder)? {
            texts.entry(text).or_default().insert(name.clone());
        }
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|(_, a), (_, b)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    for (text, names) in texts {
        let names = wrapped(&names.into_iter().collect::<Vec<_>>()).join("\n");
        writeln!(file, "\n{}\n\n{names}\n\n{text}", "-".repeat(80))?;
    }
    Ok(file)
}

/// Returns names with commas between them, in lines of at most 80 characters.
fn wrapped(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (name, n_more) in names.iter().zip((0..names.len()).rev()) {
        let word = format!("{name}{}", if n_more > 0 { "," } else { "" });
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= 80 => *line += &format!(" {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

/// Returns the crates from registries that the programs are linked from.
fn crates(root: &Path) -> Result<BTreeSet<Crate>> {
    let programs = "tree --locked -p transformer-train -p transformer-infer -p transformer-python --prefix none";
    let mut tree = cargo(root, programs);
    tree.args(["--target", TARGET]);
    tree.args(["-e", "normal,no-proc-macro", "-f", "{p}|{l}"]);
    Ok(parse(&output(&mut tree)?))
}

/// Reads lines like `name v1.2.3|MIT OR Apache-2.0 (*)`; members of the workspace have a path after the version.
fn parse(tree: &str) -> BTreeSet<Crate> {
    let crates = tree.lines().filter_map(|line| {
        let (package, license) = line.trim_end_matches(" (*)").split_once('|')?;
        let (name, version) = package.split_once(" v")?;
        let is_member = version.contains(" (");
        (!is_member).then(|| Crate {
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.to_owned(),
        })
    });
    crates.collect()
}

fn folders(root: &Path) -> Result<BTreeMap<(String, String), PathBuf>> {
    let mut metadata = cargo(root, "metadata --locked --format-version=1");
    metadata.args(["--filter-platform", TARGET]);
    let metadata: serde_json::Value = serde_json::from_str(&output(&mut metadata)?)?;
    let packages = metadata["packages"].as_array();
    let packages = packages.context("cargo metadata lists no packages")?;
    let folders = packages.iter().filter_map(|package| {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let folder = PathBuf::from(text("manifest_path")?).parent()?.to_owned();
        Some(((text("name")?, text("version")?), folder))
    });
    Ok(folders.collect())
}

/// Returns the texts that come with a crate under the license that is chosen.
fn license_texts(root: &Path, it: &Crate, folder: &Path) -> Result<Vec<String>> {
    let chosen = chosen(&it.license);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.file_name().to_string_lossy().into_owned());
    }
    files.sort();
    let read = |path: PathBuf| Ok(tidied(&fs::read_to_string(path)?));
    let read_all = |prefix: &str| -> Result<Vec<String>> {
        let files = files
            .iter()
            .filter(|it| it.to_uppercase().starts_with(prefix));
        files.map(|file| read(folder.join(file))).collect()
    };
    // The Apache license asks to pass on notices; its text is the same for all.
    let notices = read_all("NOTICE")?;
    let mut licenses = read_all(&format!("LICENSE-{}", chosen.to_uppercase()))?;
    if chosen == "Apache-2.0" {
        licenses = vec![read(root.join("LICENSE-APACHE"))?];
    } else if licenses.is_empty() {
        licenses = read_all("LICENSE")?;
    }
    if licenses.is_empty() {
        let Crate {
            name,
            version,
            license,
        } = it;
        ensure!(
            chosen == "MIT",
            "{name} {version} ({license}) contains no license text; add its text to xtask/src/notices.rs"
        );
        let authors = format!("Copyright (c) The authors of {name}");
        let ours = read(root.join("LICENSE-MIT"))?;
        licenses.push(ours.replace("Copyright (c) The transformer-burn authors", &authors));
    }
    Ok([notices, licenses].concat())
}

/// Chooses among the licenses that an expression offers.
fn chosen(license: &str) -> &str {
    // Before SPDX expressions, a slash stood for OR.
    let is_choice = !license.contains(" AND ") && !license.contains('(');
    let offered = |name: &str| {
        let offers = license.split(" OR ").flat_map(|it| it.split('/'));
        is_choice && offers.map(str::trim).any(|it| it == name)
    };
    match license {
        _ if offered("Apache-2.0") => "Apache-2.0",
        _ if offered("MIT") => "MIT",
        all => all,
    }
}

/// Returns a text without spaces at the ends of lines and without blank lines around it.
fn tidied(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apache_is_chosen_first_and_then_mit() {
        let licenses = ["MIT/Apache-2.0", "Zlib OR MIT", "Unlicense/MIT", "MPL-2.0"];
        assert_eq!(
            licenses.map(chosen),
            ["Apache-2.0", "MIT", "MIT", "MPL-2.0"]
        );
    }

    #[test]
    fn licenses_that_all_apply_are_no_choice() {
        let license = "(MIT OR Apache-2.0) AND Unicode-3.0";
        assert_eq!(chosen(license), license);
    }

    #[test]
    fn only_crates_of_registries_count_and_each_once() {
        let tree = "transformer-core v0.1.0 (/x)|MIT OR Apache-2.0\nlru v0.1.2|MIT\nlru v0.1.2|MIT (*)\n\n";
        let names: Vec<String> = parse(tree).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["lru"]);
    }

    #[test]
    fn long_lists_are_wrapped() {
        let names = vec!["a".repeat(50), "b".repeat(27), "c".to_owned()];
        let lengths: Vec<usize> = wrapped(&names).iter().map(String::len).collect();
        assert_eq!(lengths, [80, 1]);
    }
}
