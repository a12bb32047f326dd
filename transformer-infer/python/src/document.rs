//! [`translate_document`]: from file to file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use transformer_core::directory::replace_file;
use transformer_core::lines::Unpacked;
use transformer_core::text::LanguageCode;
use transformer_infer::Translator;
use transformer_infer::document::format::{Format, FormatOptions};
use transformer_infer::document::{
    DocumentError, DocumentTranslator, ModelLines, Protection, Split, Splitter,
};

use crate::error::raised;
use crate::options::DocumentOptions;

/// The language of documents of an unknown language.
const DEFAULT_LANGUAGE: &str = "en";

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
    let parts = format.read(
        name.clone(),
        opened.map_err(named)?,
        &FormatOptions::default(),
    );
    let search = options.common.search(engine)?;
    let glossary = options.common.glossary()?;
    let mut lines = ModelLines::new(engine, &search);
    if let Some(glossary) = &glossary {
        lines = lines.with_glossary(glossary);
    }
    let split = options.split.as_deref().map(str::parse::<Split>);
    let split = split.transpose().map_err(raised)?;
    let language = engine.languages().src.as_ref();
    let language = language.map_or(DEFAULT_LANGUAGE, LanguageCode::as_str);
    let splitter = Splitter::new(split.unwrap_or_default(), language);
    let protection = Protection::placeholders();
    let mut translated = Vec::new();
    let mut documents = DocumentTranslator::new(&lines, &splitter, &protection);
    let parts = parts.map_err(raised)?;
    documents
        .translate(parts, &mut translated, &mut |_| ())
        .map_err(|error| match error {
            DocumentError::Translator(error) => raised(error),
            error => raised(error),
        })?;
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
