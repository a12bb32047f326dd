//! [`Files`]: the files of a model.

use std::borrow::Cow;
use std::mem;

use transformer_core::directory::ModelFiles;
use wasm_bindgen::prelude::wasm_bindgen;

/// The files of a model, by name.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Files(Vec<(String, Cow<'static, [u8]>)>);

#[wasm_bindgen]
impl Files {
    /// Creates an empty list.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn add(&mut self, name: String, content: Vec<u8>) {
        self.0.push((name, content.into()));
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
