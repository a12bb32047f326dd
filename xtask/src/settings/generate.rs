//! Writes the generated files, and finds those that are out of date.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::section::Section;
use super::types::Types;
use super::{schema, table};
use crate::process::cargo;

/// The table of the program.
const TABLE: &str = "transformer-train/src/config/keys.rs";

/// The schema for editors.
const SCHEMA: &str = "docs/configuration.schema.json";

/// The settings of the paper's base model, as the program prints them.
const CONFIGURATION: &str = "docs/configuration.toml";

/// The first line of [`CONFIGURATION`], by which editors find the schema.
const HINT: &str = "#:schema configuration.schema.json\n";

/// Writes every file anew.
pub(crate) fn run(root: &Path) -> Result<()> {
    for (path, text) in generated(root)? {
        write(root, path, &text)?;
    }
    // The program prints what the table says, which was just written.
    let print = "run -q -p transformer-train -- --print-config --preset base";
    let output = cargo(root).args(print.split(' ')).output();
    let output = output.context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo {print}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let printed = String::from_utf8(output.stdout).context("the program prints UTF-8")?;
    write(root, CONFIGURATION, &(HINT.to_owned() + &printed))
}

/// Returns the files that are not what the doc comments say. [`CONFIGURATION`] is left to a test of
/// the program, which has to be built for it.
pub(crate) fn outdated(root: &Path) -> Result<Vec<&'static str>> {
    let mut outdated = Vec::new();
    for (path, text) in generated(root)? {
        if fs::read_to_string(root.join(path)).ok() != Some(text) {
            outdated.push(path);
        }
    }
    Ok(outdated)
}

/// Returns every section with its keys, from the source code.
pub(crate) fn sections(root: &Path) -> Result<Vec<Section>> {
    Section::all(&Types::read(root)?)
}

/// Returns the path and the content of each file that follows from the source code.
fn generated(root: &Path) -> Result<[(&'static str, String); 2]> {
    let sections = sections(root)?;
    let schema = schema::json(&sections)?;
    Ok([(TABLE, table::rust(&sections)), (SCHEMA, schema)])
}

fn write(root: &Path, path: &str, text: &str) -> Result<()> {
    fs::write(root.join(path), text).with_context(|| format!("cannot write `{path}`"))
}
