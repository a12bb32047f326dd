//! [`import_model`] and [`export_model`]: models of other programs.

use std::fs;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;
use transformer_core::device;
use transformer_core::directory::{Languages, ModelDirectory, undo_on_failure};
use transformer_core::export::{to_ctranslate2, to_safetensors};
use transformer_core::import::Marian;
use transformer_infer::{TranslatorError, write_marian};

use crate::error::raised;

/// Converts a published model to a model directory: of Hugging Face's Transformers, Firefox Translations, CTranslate2 or
/// Argos Translate. `pieces` are the SentencePiece models of a model of CTranslate2 that has none.
#[pyfunction]
#[pyo3(signature = (source, out, *, source_lang=None, target_lang=None, pieces=Vec::new()))]
pub(crate) fn import_model(
    py: Python<'_>,
    source: PathBuf,
    out: PathBuf,
    source_lang: Option<&str>,
    target_lang: Option<&str>,
    pieces: Vec<PathBuf>,
) -> PyResult<()> {
    check_empty(&out)?;
    let code = |code: Option<&str>| code.map(str::parse).transpose().map_err(raised);
    let given = Languages {
        src: code(source_lang)?,
        tgt: code(target_lang)?,
    };
    py.detach(|| {
        let (_, device) = device::choose(None).map_err(raised)?;
        let marian = Marian::read_with_pieces(&source, &pieces, &device).map_err(raised)?;
        let table = marian.tokenizers.tgt().languages();
        for code in [&given.src, &given.tgt].into_iter().flatten() {
            table
                .map(|table| table.find(code.as_str()))
                .transpose()
                .map_err(raised)?;
        }
        write_marian(&marian, &given.or(&marian.languages), &source, &out).map_err(raised)
    })
}

/// Writes a model directory in the format of another program: `ctranslate2` or `safetensors`.
#[pyfunction]
#[pyo3(signature = (model, out, *, format="ctranslate2"))]
pub(crate) fn export_model(
    py: Python<'_>,
    model: PathBuf,
    out: PathBuf,
    format: &str,
) -> PyResult<()> {
    let write = match format {
        "ctranslate2" => to_ctranslate2,
        "safetensors" => to_safetensors,
        _ => {
            return Err(PyValueError::new_err(format!(
                "unknown format `{format}`; choose ctranslate2 or safetensors"
            )));
        }
    };
    check_empty(&out)?;
    py.detach(|| {
        let (_, device) = device::choose(None).map_err(raised)?;
        let load = |directory: &ModelDirectory| Ok::<_, TranslatorError>(directory.load(&device)?);
        let (directory, model) = ModelDirectory::open_with(&model, load).map_err(raised)?;
        let (config, tokenizers) = (directory.config(), directory.tokenizers());
        undo_on_failure(&out, || write(&out, &model, config, tokenizers)).map_err(raised)
    })
}

/// Checks that a folder to write is new or empty.
fn check_empty(folder: &Path) -> PyResult<()> {
    let mut entries = fs::read_dir(folder).into_iter().flatten();
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(PyFileExistsError::new_err(format!(
            "`{}` has files; choose a new folder, or an empty one",
            folder.display()
        ))),
    }
}
