//! The folder of pictures and data, which is the program's first argument.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result};

/// Writes a file into the folder that is the program's first argument, or `runs/book`.
pub(crate) fn write(file: &str, content: &str) -> Result<()> {
    let folder = env::args_os().nth(1);
    let folder = folder.map_or_else(|| PathBuf::from("runs/book"), PathBuf::from);
    let path = folder.join(file);
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, content))
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// Writes data for an interactive part of the book as `NAME.js` beside the pictures: as a script, because a page that
/// is opened as a file can load scripts but not JSON.
///
/// # Errors
///
/// Returns an error if the file cannot be written.
pub fn save_data(name: &str, json: &str) -> Result<()> {
    let head = format!("// Recorded by a program of examples/book; {name}.\n");
    let assignment = format!("(globalThis.bookData ??= {{}}).{name} = {json};\n");
    write(&format!("{name}.js"), &(head + &assignment))
}
