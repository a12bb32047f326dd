//! [`Models`]: all models, by name and by languages.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use transformer_core::text::language_codes::{Closeness, closeness, closest, requested};
use transformer_core::text::{LanguageCode, LanguageLayout, LanguageTokens};

use super::listed::Pair;
use super::pool::Pool;
use super::{Choice, Listed, Route};
use crate::config::ServeError;
use crate::http::ApiError;

#[derive(Debug)]
pub(crate) struct Models {
    /// All models, in the order of the options.
    pub(crate) all: Vec<Arc<Listed>>,
    /// The language of translations in two steps, if any.
    pub(crate) pivot: Option<LanguageCode>,
    /// The source languages with the targets of each, also by pivot, in the order of their codes.
    pub(crate) targets: Vec<SourceTargets>,
    /// The list of languages for the clients of LibreTranslate, as JSON.
    list: OnceLock<Bytes>,
    pub(crate) pool: Arc<Pool>,
}

/// A source language with its targets, in the order of their codes.
pub(crate) type SourceTargets = (LanguageCode, Vec<LanguageCode>);

/// The names by which a request selects its models.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Selection<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) source: Option<&'a str>,
    pub(crate) target: Option<&'a str>,
}

impl Models {
    /// Takes models with different names and different pairs of languages.
    pub(super) fn new(all: Vec<Arc<Listed>>, pool: Arc<Pool>) -> Result<Self, ServeError> {
        let pivot = pool.options.pivot.clone();
        if all.is_empty() {
            return Err(ServeError::NoModel);
        }
        for (index, other) in all.iter().enumerate() {
            for first in &all[..index] {
                check_pair(first, other)?;
            }
        }
        let targets = targets(&all, pivot.as_ref());
        if let Some(pivot) = &pivot {
            let is_target = targets.iter().any(|(_, targets)| targets.contains(pivot));
            let is_source = targets.iter().any(|(source, _)| source == pivot);
            for (direction, is_there) in [("into", is_target), ("from", is_source)] {
                if !is_there {
                    let language = pivot.to_string();
                    return Err(ServeError::Pivot {
                        direction,
                        language,
                    });
                }
            }
        }
        Ok(Self {
            all,
            pivot,
            targets,
            list: OnceLock::new(),
            pool,
        })
    }

    /// Returns the list of languages for the clients of LibreTranslate, made once: it names all pairs.
    pub(crate) fn list(&self, make: impl FnOnce(&Self) -> Vec<u8>) -> Bytes {
        self.list.get_or_init(|| make(self).into()).clone()
    }

    pub(crate) fn first_source(&self) -> Option<&str> {
        self.targets.first().map(|(source, _)| source.as_str())
    }

    /// Returns the codes of all languages, in their order.
    pub(crate) fn codes(&self) -> BTreeSet<&str> {
        let codes = self.codes_of(None).into_iter();
        codes.map(LanguageCode::as_str).collect()
    }

    /// Returns the languages of both sides of each model, or those closest to a code.
    fn codes_of(&self, code: Option<&str>) -> Vec<&LanguageCode> {
        let models = self.all.iter();
        let codes = models.flat_map(|served| [served.sources(code), served.targets(code)]);
        codes.flatten().collect()
    }

    pub(crate) async fn route(&self, selection: Selection<'_>) -> Result<Route, ApiError> {
        self.pool.route(self.choose(selection)?, false).await
    }

    /// Returns the one or two models for a request.
    ///
    /// A language is found by its code, such as `pt-BR`, or else by the closest code among those that a model
    /// translates between, such as `pt`, or `nb` for `no`. Without a source or target language, or with `auto`, there
    /// must be only one possibility. A model with unknown languages is found by its name, or if it is the only model,
    /// and then only by requests that name no language. Of several models of a pair, one of this pair alone goes before
    /// a multilingual one, and then the first counts.
    pub(crate) fn choose(&self, selection: Selection<'_>) -> Result<Vec<Choice>, ApiError> {
        let is_given = |code: &&str| !is_auto(code);
        let source = selection.source.filter(is_given);
        let target = selection.target.filter(is_given);
        if let Some(name) = selection.model {
            let served = self.all.iter().find(|served| served.name == name);
            let served = served.ok_or_else(|| ApiError::Model {
                name: name.chars().take(100).collect(),
            })?;
            return direct(served, source, target);
        }
        if let [served] = self.all.as_slice() {
            return direct(served, source, target);
        }
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
        match pairs.filter(fits).all(|other| other == pair) {
            true => direct(closest, Some(pair.0.as_str()), Some(pair.1.as_str())),
            false => Err(ApiError::request(
                "several models can translate this; give `source`, `target` or `model`",
            )),
        }
    }

    fn through_pivot(
        &self,
        source: Option<&LanguageCode>,
        target: Option<&LanguageCode>,
    ) -> Result<Vec<Choice>, ApiError> {
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
                let between = |served: &Arc<Listed>, (from, to): Pair<'_>| {
                    served.between(Some(from.as_str()), Some(to.as_str()))
                };
                Ok(vec![between(first, to_pivot), between(second, from_pivot)])
            }
            _ => Err(missing()),
        }
    }

    /// Returns the code of a source or target language of a model, found as [`choose`](Self::choose) finds them.
    pub(crate) fn language(&self, code: &str) -> Result<&LanguageCode, ApiError> {
        find(code, self.codes_of(Some(code)).into_iter())
    }

    fn source(&self, code: &str) -> Result<&LanguageCode, ApiError> {
        let models = self.all.iter();
        find(code, models.flat_map(|served| served.sources(Some(code))))
    }

    fn target(&self, code: &str) -> Result<&LanguageCode, ApiError> {
        let models = self.all.iter();
        find(code, models.flat_map(|served| served.targets(Some(code))))
    }
}

fn targets(models: &[Arc<Listed>], pivot: Option<&LanguageCode>) -> Vec<SourceTargets> {
    let pairs = || models.iter().flat_map(|served| served.pairs(None, None));
    let from_pivot = pairs().filter(|(source, _)| Some(*source) == pivot);
    let from_pivot: Vec<&LanguageCode> = from_pivot.map(|(_, target)| target).collect();
    let mut all: BTreeMap<&str, (&LanguageCode, BTreeMap<&str, &LanguageCode>)> = BTreeMap::new();
    for (source, target) in pairs() {
        let entry = all.entry(source.as_str());
        let (_, targets) = entry.or_insert_with(|| (source, BTreeMap::new()));
        targets.insert(target.as_str(), target);
        if pivot == Some(target) {
            let further = from_pivot.iter().filter(|further| **further != source);
            targets.extend(further.map(|further| (further.as_str(), *further)));
        }
    }
    let all = all.into_values().map(|(source, targets)| {
        let targets = targets.into_values().cloned().collect();
        (source.clone(), targets)
    });
    all.collect()
}

/// Returns the model with the closest language pair, and the pair; `None` matches any language. Of several, it is the
/// first of this pair alone, or else the first multilingual one.
fn closest_model<'a>(
    models: &'a [Arc<Listed>],
    is_possible: impl Fn(Pair<'a>) -> bool,
    source: Option<&str>,
    target: Option<&str>,
) -> Option<(&'a Arc<Listed>, Pair<'a>)> {
    let code = |wanted: Option<&str>| match wanted {
        Some(wanted) => requested(wanted).map(Some),
        None => Some(None),
    };
    let (from, to) = (code(source)?, code(target)?);
    let close = |wanted: Option<&LanguageCode>, code| match wanted {
        Some(wanted) => closeness(wanted, code),
        None => Some(Closeness::default()),
    };
    let pairs = models.iter().flat_map(|served| {
        let pairs = served.pairs(source, target).into_iter();
        pairs.map(move |pair| (served, pair))
    });
    let ranked = pairs.filter_map(|(served, pair)| {
        let rank = (close(from.as_ref(), pair.0)?, close(to.as_ref(), pair.1)?);
        let rank = (Reverse(rank), served.table.is_some());
        is_possible(pair).then_some((rank, (served, pair)))
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
    served: &Arc<Listed>,
    source: Option<&str>,
    target: Option<&str>,
) -> Result<Vec<Choice>, ApiError> {
    match &served.table {
        Some(table) => check_direction(served, table, source, target)?,
        None => check_languages(served, source, target)?,
    }
    Ok(vec![served.between(source, target)])
}

/// Checks that a multilingual model has the languages of a request, and needs no further one.
fn check_direction(
    served: &Listed,
    table: &LanguageTokens,
    source: Option<&str>,
    target: Option<&str>,
) -> Result<(), ApiError> {
    let needs_source = table.layout() != LanguageLayout::TargetFirst;
    let sides = [
        ("target", target, served.languages.tgt.is_none()),
        (
            "source",
            source,
            served.languages.src.is_none() && needs_source,
        ),
    ];
    for (side, given, is_needed) in sides {
        match (given, table.all().first()) {
            (Some(given), _) => {
                let found = table.find(given);
                found.map_err(|error| ApiError::request(error.to_string()))?;
            }
            (None, Some(first)) if is_needed => {
                return Err(ApiError::request(format!(
                    "the model `{}` is multilingual; give `{side}`, such as {}",
                    served.name, first.code
                )));
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// Checks that a model of one pair translates between the languages of a request.
fn check_languages(
    served: &Listed,
    source: Option<&str>,
    target: Option<&str>,
) -> Result<(), ApiError> {
    let languages = &served.languages;
    for (given, known) in [(source, &languages.src), (target, &languages.tgt)] {
        match (given, known) {
            (Some(given), Some(known)) => {
                find(given, [known].into_iter())?;
            }
            (Some(_), None) => {
                return Err(ApiError::request(format!(
                    "the languages of the model `{}` are not known; omit `source` and `target`, or add `src_lang` \
                     and `tgt_lang` to `training` in its manifest",
                    served.name
                )));
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// Checks that two models have different names and languages.
pub(super) fn check_pair(first: &Listed, other: &Listed) -> Result<(), ServeError> {
    if first.name == other.name {
        return Err(ServeError::SameName {
            name: first.name.clone(),
            first: first.path.clone(),
            other: other.path.clone(),
        });
    }
    // A multilingual model may have the pair of another model.
    if first.table.is_some() || other.table.is_some() {
        return Ok(());
    }
    let [pair, same] = [first, other].map(|served| served.pairs(None, None));
    match pair.first().filter(|_| pair == same) {
        Some(pair) => Err(ServeError::SamePair {
            first: first.name.clone(),
            other: other.name.clone(),
            source_language: pair.0.to_string(),
            target: pair.1.to_string(),
        }),
        None => Ok(()),
    }
}

/// Returns whether a code means that the language is to be detected.
pub(crate) fn is_auto(code: &str) -> bool {
    code.eq_ignore_ascii_case("auto")
}
