//! [`Model`]: a model that translates; [`Files`]: its files.

use std::mem;
use std::rc::Rc;

use serde_json::json;
use transformer_core::ComputePrecision;
use transformer_core::device::Backend;
use transformer_core::directory::{ModelFiles, OnceFile};
use transformer_core::import::Marian;
use transformer_infer::attention::{Selection, page};
use transformer_infer::document::Protection;
use transformer_infer::document::format::Format;
use transformer_infer::{OpenOptions, Translator};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::job::Job;
use crate::options::{ModelOptions, parse, refused};

/// The file that only model directories have.
const MANIFEST: &str = "manifest.json";

/// A model that translates.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Model(Rc<Loaded>);

/// A model, and the patterns of text to copy, which take longer to compile than a sentence to translate.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) translator: Translator,
    pub(crate) protection: Protection,
}

#[wasm_bindgen]
impl Model {
    /// Opens a model directory, or a model in Marian's binary format, as Firefox Translations publishes them. `options`
    /// is JSON, or empty.
    ///
    /// # Errors
    ///
    /// Returns an error that names the faulty file or option.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &mut Files, options: &str) -> Result<Self, JsError> {
        let options: ModelOptions = parse(options)?;
        let precision = options
            .precision
            .as_deref()
            .map(str::parse::<ComputePrecision>);
        let options = OpenOptions {
            precision: precision
                .transpose()
                .map_err(|error| JsError::new(&error))?,
            without_shortlist: options.shortlist == Some(false),
            ..OpenOptions::default()
        };
        let translator = match files.has(MANIFEST) {
            true => {
                let device = Backend::Flex.device().expect("it is compiled in");
                Translator::open_ensemble(&[files.take()], &device, &options)
            }
            false => {
                let precision = options.precision.unwrap_or_default();
                let marian = Marian::read_packed(files.take(), precision).map_err(refused)?;
                Translator::of_packed_marian(marian, &options)
            }
        };
        let translator = translator.map_err(refused)?;
        if translator.direction(None, None).is_err() {
            return Err(JsError::new(
                "the model is multilingual, and has no languages of its own; give them to `import` with --src-lang \
                 and --tgt-lang",
            ));
        }
        Ok(Self(Rc::new(Loaded {
            translator,
            protection: Protection::placeholders(),
        })))
    }

    /// Returns a page of HTML with the attention to the source for a given translation.
    ///
    /// # Errors
    ///
    /// Returns an error if a text is blank or too long.
    pub fn attention(&self, source: &str, target: &str) -> Result<String, JsError> {
        let attention = self.0.translator.forced_attention(source, target);
        page(&attention.map_err(refused)?, Selection::default()).map_err(refused)
    }

    /// Returns languages, precision, number of parameters, beam size and extensions of documents, as JSON.
    pub fn info(&self) -> String {
        let translator = &self.0.translator;
        let languages = translator.languages();
        let code = |code: &Option<_>| code.as_ref().map(ToString::to_string);
        let precision = translator.precisions().first().map(ToString::to_string);
        json!({
            "source": code(&languages.src),
            "target": code(&languages.tgt),
            "precision": precision,
            "parameters": translator.config().parameter_count(),
            "beam": translator.search().beam_size,
            "formats": Format::extensions().collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Begins to translate a text, or a document of a format. `options` is JSON, or empty.
    ///
    /// # Errors
    ///
    /// Returns an error that names the faulty option, or the fault of the document.
    pub fn begin(&self, content: Vec<u8>, options: &str) -> Result<Job, JsError> {
        Job::new(&self.0, content, &parse(options)?)
    }
}

/// The files of a model, by name.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Files(Vec<(String, OnceFile)>);

#[wasm_bindgen]
impl Files {
    /// Creates an empty list.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file; `sha256` is the hash of its content in hexadecimal digits, or absent if it is not known.
    pub fn add(&mut self, name: String, content: Vec<u8>, sha256: Option<String>) {
        self.0.push((name, OnceFile { content, sha256 }));
    }
}

impl Files {
    pub(crate) fn take(&mut self) -> ModelFiles {
        mem::take(&mut self.0).into_iter().collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }
}
