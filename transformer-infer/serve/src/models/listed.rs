//! [`Listed`]: a model of the server, in memory or not; [`Choice`]: a model for a request.

use std::path::PathBuf;
use std::sync::Arc;

use transformer_core::directory::{Languages, Manifest};
use transformer_core::text::language_codes::closest;
use transformer_core::text::{LanguageCode, LanguageTokens};

use super::ModelFacts;

/// The source and the target language of a translation.
pub(super) type Pair<'a> = (&'a LanguageCode, &'a LanguageCode);

/// A model of the server, as known without its weights.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// The name, which is that of the model's folder.
    pub(crate) name: String,
    /// The path in the server's options, or in the folder of models.
    pub(super) path: PathBuf,
    pub(super) manifest: Manifest,
    pub(crate) facts: ModelFacts,
    /// The languages, as far as the manifest has them.
    pub(crate) languages: Languages,
    pub(super) table: Option<LanguageTokens>,
    /// True if the model stays in memory.
    pub(super) is_kept: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) model: Arc<Listed>,
    /// The source and target languages that the request gives to a multilingual model.
    pub(super) given: [Option<String>; 2],
}

impl Listed {
    /// Returns the pairs of languages of the model; a given language is replaced by the closest one of the model.
    pub(super) fn pairs(&self, source: Option<&str>, target: Option<&str>) -> Vec<Pair<'_>> {
        let is_multilingual = self.table.is_some();
        let targets = self.targets(target);
        let sources = self.sources(source).into_iter();
        let pairs = sources.flat_map(|source| {
            let pairs = targets.iter().map(move |target| (source, *target));
            pairs.filter(|(source, target)| !is_multilingual || source != target)
        });
        pairs.collect()
    }

    /// Returns the source language closest to a given one, or all of them.
    pub(crate) fn sources(&self, wanted: Option<&str>) -> Vec<&LanguageCode> {
        self.side(wanted, |languages| languages.src.as_ref())
    }

    /// Returns the target language closest to a given one, or all of them.
    pub(crate) fn targets(&self, wanted: Option<&str>) -> Vec<&LanguageCode> {
        self.side(wanted, |languages| languages.tgt.as_ref())
    }

    fn side<'a>(
        &'a self,
        wanted: Option<&str>,
        known: impl Fn(&'a Languages) -> Option<&'a LanguageCode>,
    ) -> Vec<&'a LanguageCode> {
        let Some(table) = &self.table else {
            let is_pair = self.languages.src.is_some() && self.languages.tgt.is_some();
            let known = known(&self.languages).filter(|_| is_pair);
            return match wanted {
                Some(wanted) => closest(wanted, known.into_iter()).into_iter().collect(),
                None => known.into_iter().collect(),
            };
        };
        match wanted {
            Some(wanted) => table
                .get(wanted)
                .map(|found| &found.code)
                .into_iter()
                .collect(),
            None => table.all().iter().map(|language| &language.code).collect(),
        }
    }

    /// Returns the model for a translation between two languages, which only a multilingual model can choose.
    pub(super) fn between(self: &Arc<Self>, source: Option<&str>, target: Option<&str>) -> Choice {
        let given = |code: Option<&str>| code.filter(|_| self.table.is_some()).map(str::to_owned);
        Choice {
            model: self.clone(),
            given: [given(source), given(target)],
        }
    }
}
