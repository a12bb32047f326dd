//! [`Models`]: all models, by name and by languages.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use transformer_core::text::LanguageCode;
use transformer_core::text::language_codes::{Closeness, closeness, closest};

use super::served::Pair;
use super::{Route, Served};
use crate::config::ServeError;
use crate::http::ApiError;

/// All models of the server.
#[derive(Debug)]
pub(crate) struct Models {
    all: Vec<Arc<Served>>,
    pivot: Option<LanguageCode>,
}

/// The names by which a request selects its models.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Selection<'a> {
    /// The name of a model.
    pub(crate) model: Option<&'a str>,
    /// The code of the source language.
    pub(crate) source: Option<&'a str>,
    /// The code of the target language.
    pub(crate) target: Option<&'a str>,
}

impl Models {
    /// Takes models with different names and different pairs of languages.
    pub(super) fn new(
        all: Vec<Arc<Served>>,
        pivot: Option<LanguageCode>,
    ) -> Result<Self, ServeError> {
        if all.is_empty() {
            return Err(ServeError::NoModel);
        }
        for (index, other) in all.iter().enumerate() {
            for first in &all[..index] {
                check_pair(first, other)?;
            }
        }
        let models = Self { all, pivot };
        if let Some(pivot) = &models.pivot {
            let language = || pivot.to_string();
            let mut pairs = models.pairs();
            if !pairs.clone().any(|(_, target)| target == pivot) {
                let (direction, language) = ("into", language());
                return Err(ServeError::Pivot {
                    direction,
                    language,
                });
            }
            if !pairs.any(|(source, _)| source == pivot) {
                let (direction, language) = ("from", language());
                return Err(ServeError::Pivot {
                    direction,
                    language,
                });
            }
        }
        Ok(models)
    }

    /// Returns all models, in the order of the options.
    pub(crate) fn all(&self) -> &[Arc<Served>] {
        &self.all
    }

    /// Returns the language pairs of the models with known languages.
    fn pairs(&self) -> impl Iterator<Item = Pair<'_>> + Clone {
        self.all.iter().flat_map(|served| served.pairs(None, None))
    }

    /// Returns the source languages, each with the languages that it can be translated into, including by pivot, in the
    /// order of their codes.
    pub(crate) fn targets(&self) -> Vec<(&LanguageCode, Vec<&LanguageCode>)> {
        let mut all: BTreeMap<&str, (&LanguageCode, BTreeMap<&str, &LanguageCode>)> =
            BTreeMap::new();
        for (source, target) in self.pairs() {
            let entry = all.entry(source.as_str());
            let (_, targets) = entry.or_insert_with(|| (source, BTreeMap::new()));
            targets.insert(target.as_str(), target);
            if self.pivot.as_ref() == Some(target) {
                let further = self
                    .pairs()
                    .filter(|(from, to)| *from == target && *to != source);
                targets.extend(further.map(|(_, to)| (to.as_str(), to)));
            }
        }
        let sources = all.into_values();
        sources
            .map(|(source, targets)| (source, targets.into_values().collect()))
            .collect()
    }

    /// Returns the models for a request.
    ///
    /// A language is found by its code, such as `pt-BR`, or else by the closest code among those that a model
    /// translates between, such as `pt`, or `nb` for `no`. Without a source or target language, there must be only one
    /// possibility. A model with unknown languages is found by its name, or if it is the only model, and then only by
    /// requests that name no language.
    pub(crate) fn route(&self, selection: Selection<'_>) -> Result<Route, ApiError> {
        let source = selection.source.filter(|code| *code != "auto");
        if let Some(name) = selection.model {
            let served = self.all.iter().find(|served| served.name() == name);
            let served = served.ok_or_else(|| ApiError::Model {
                name: name.chars().take(100).collect(),
            })?;
            return direct(served, source, selection.target);
        }
        if let [served] = self.all.as_slice() {
            return direct(served, source, selection.target);
        }
        let target = selection.target;
        let Some((closest, pair)) = closest_model(&self.all, |_| true, source, target) else {
            let source = source.map(|code| self.source(code)).transpose()?;
            let target = target.map(|code| self.target(code)).transpose()?;
            return self.through_pivot(source, target);
        };
        let fits = |(from, to): &Pair<'_>| {
            (source.is_none() || *from == pair.0) && (target.is_none() || *to == pair.1)
        };
        let pairs = self
            .all
            .iter()
            .flat_map(|served| served.pairs(source, target));
        match pairs.filter(fits).count() {
            1 => direct(closest, Some(pair.0.as_str()), Some(pair.1.as_str())),
            _ => Err(ApiError::request(
                "several models can translate this; give `source`, `target` or `model`",
            )),
        }
    }

    fn through_pivot(
        &self,
        source: Option<&LanguageCode>,
        target: Option<&LanguageCode>,
    ) -> Result<Route, ApiError> {
        let missing = || ApiError::Pair {
            source_code: source
                .map_or("any language", LanguageCode::as_str)
                .to_owned(),
            target: target
                .map_or("any language", LanguageCode::as_str)
                .to_owned(),
        };
        let (source, target) = source.zip(target).ok_or_else(missing)?;
        let pivot = self.pivot.as_ref().filter(|_| source != target);
        let pivot = pivot.ok_or_else(missing)?;
        let (source, target) = (Some(source.as_str()), Some(target.as_str()));
        let first = closest_model(&self.all, |(_, to)| to == pivot, source, None);
        let second = closest_model(&self.all, |(from, _)| from == pivot, None, target);
        match (first, second) {
            (Some((first, to_pivot)), Some((second, from_pivot))) => {
                let between = |served: &Arc<Served>, (from, to): Pair<'_>| {
                    served.between(Some(from.as_str()), Some(to.as_str()))
                };
                Ok(Route::Pivot {
                    first: between(first, to_pivot)?,
                    second: between(second, from_pivot)?,
                })
            }
            _ => Err(missing()),
        }
    }

    /// Returns the code of a source or target language of a model, found as [`route`](Self::route) finds them.
    pub(crate) fn language(&self, code: &str) -> Result<&LanguageCode, ApiError> {
        find(
            code,
            self.pairs().flat_map(|(source, target)| [source, target]),
        )
    }

    fn source(&self, code: &str) -> Result<&LanguageCode, ApiError> {
        find(code, self.pairs().map(|(source, _)| source))
    }

    fn target(&self, code: &str) -> Result<&LanguageCode, ApiError> {
        find(code, self.pairs().map(|(_, target)| target))
    }
}

/// Returns the first of the models with the closest language pair, and the pair; `None` matches any language.
fn closest_model<'a>(
    models: &'a [Arc<Served>],
    is_possible: impl Fn(Pair<'a>) -> bool,
    source: Option<&str>,
    target: Option<&str>,
) -> Option<(&'a Arc<Served>, Pair<'a>)> {
    let close = |wanted: Option<&str>, code| match wanted {
        Some(wanted) => closeness(wanted, code),
        None => Some(Closeness::default()),
    };
    let pairs = models.iter().flat_map(|served| {
        let pairs = served.pairs(source, target).into_iter();
        pairs.map(move |pair| (served, pair))
    });
    let ranked = pairs.filter_map(|(served, pair)| {
        let rank = (close(source, pair.0)?, close(target, pair.1)?);
        is_possible(pair).then_some((Reverse(rank), (served, pair)))
    });
    let closest = ranked.min_by_key(|(rank, _)| *rank);
    closest.map(|(_, found)| found)
}

/// Returns the [closest] code among those of models.
fn find<'a>(
    code: &str,
    codes: impl Iterator<Item = &'a LanguageCode>,
) -> Result<&'a LanguageCode, ApiError> {
    closest(code, codes).ok_or_else(|| ApiError::Language {
        code: code.chars().take(40).collect(),
    })
}

/// Returns a model for a request, after checking that it translates between its languages.
fn direct(
    served: &Arc<Served>,
    source: Option<&str>,
    target: Option<&str>,
) -> Result<Route, ApiError> {
    if served.table().is_none() {
        check_languages(served, source, target)?;
    }
    served.between(source, target).map(Route::Direct)
}

/// Checks that a model of one pair translates between the languages of a request.
fn check_languages(
    served: &Served,
    source: Option<&str>,
    target: Option<&str>,
) -> Result<(), ApiError> {
    let languages = served.languages();
    for (given, known) in [(source, &languages.src), (target, &languages.tgt)] {
        match (given, known) {
            (Some(given), Some(known)) => {
                find(given, [known].into_iter())?;
            }
            (Some(_), None) => {
                return Err(ApiError::request(format!(
                    "the languages of the model `{}` are not known; omit `source` and `target`, or add `src_lang` \
                     and `tgt_lang` to `training` in its manifest",
                    served.name()
                )));
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// Checks that two models have different names and languages.
fn check_pair(first: &Served, other: &Served) -> Result<(), ServeError> {
    if first.name() == other.name() {
        let path = |served: &Served| Path::to_owned(served.path());
        return Err(ServeError::SameName {
            name: first.name().to_owned(),
            first: path(first),
            other: path(other),
        });
    }
    // A multilingual model may have the pair of another model; requests then give the name of one.
    if first.table().is_some() || other.table().is_some() {
        return Ok(());
    }
    let [pair, same] = [first, other].map(|served| served.pairs(None, None));
    match pair.first().filter(|_| pair == same) {
        Some(pair) => Err(ServeError::SamePair {
            first: first.name().to_owned(),
            other: other.name().to_owned(),
            source_language: pair.0.to_string(),
            target: pair.1.to_string(),
        }),
        None => Ok(()),
    }
}
