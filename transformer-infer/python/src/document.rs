//! [`translate_document`]: from file to file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use transformer_core::directory::replace_file;
use transformer_core::lines::Unpacked;
use transformer_infer::Translator;
use transformer_infer::bindings::DocumentOptions;
use transformer_infer::document::format::Format;

use crate::error::{raised, raised_any};

/// Translates a document, and writes the output when all is translated.
pub(crate) fn translate_document(
    engine: &Translator,
    input: &Path,
    output: &Path,
    options: &DocumentOptions,
) -> PyResult<()> {
    let format = match &options.format {
        Some(name) => name.parse(),
        None => Format::of_path(input),
    };
    let format = format.map_err(raised)?;
    let name = format!("`{}`", input.display());
    let named =
        |error: io::Error| PyErr::from(io::Error::new(error.kind(), format!("{name}: {error}")));
    let opened = File::open(input).and_then(|file| match input.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => Unpacked::new(file),
    });
    let translated = options
        .translate(engine, format, name.clone(), opened.map_err(named)?)
        .map_err(raised_any)?;
    let folder = output.parent().filter(|it| !it.as_os_str().is_empty());
    let name = output.file_name().and_then(OsStr::to_str);
    let name = name.ok_or_else(|| {
        PyValueError::new_err("the output has no name in UTF-8; choose the path of a file")
    })?;
    Ok(replace_file(
        folder.unwrap_or(Path::new(".")),
        name,
        &translated,
    )?)
}
