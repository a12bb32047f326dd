//! [`Files`]: the files of a model.

use std::mem;

use transformer_core::directory::{ModelFiles, OnceFile};
use wasm_bindgen::prelude::wasm_bindgen;

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
