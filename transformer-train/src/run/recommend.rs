//! [`recommend`]: chooses the recipe for a training text by its size and its characters.

use std::path::Path;

use toml::Table;
use transformer_core::Preset;

use crate::config::{CorpusSource, DataSource, Experiment, put};
use crate::corpus::{ParallelText, Survey};
use crate::error::TrainError;

/// The tokens of text, of both sides, from which a larger preset is chosen: IWSLT 2014 has eight million, and the
/// paper's English-German text 250 million.
const TOKENS_FOR_IWSLT: u64 = 5_000_000;
const TOKENS_FOR_BASE: u64 = 50_000_000;

/// The tokens of text from which dropout is lower; Multi30k has 800,000.
const TOKENS_FOR_LITTLE_DROPOUT: u64 = 1_500_000;
const TOKENS_FOR_USUAL_DROPOUT: u64 = 400_000;

/// The tokens of text from which batches are larger, and from which the recipe was tuned.
const TOKENS_FOR_LARGE_BATCHES: u64 = 1_500_000;
const TOKENS_FOR_LONG_WARMUP: u64 = 150_000;

/// Tokens of text for each entry of the vocabulary, as Multi30k has for the 6000 of `tiny`.
const TOKENS_PER_ENTRY: u64 = 130;

/// Passes over the data that `tiny` makes over Multi30k, and the maximum.
const PASSES: f64 = 25.0;
const MAX_PASSES: f64 = 200.0;

/// Share of padding in batches.
const PADDING: f64 = 0.08;

/// The recipe for a training text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recommendation {
    /// The settings, as the tables of a settings file.
    pub settings: Table,
    /// The section, the key and the reason of each setting.
    reasons: Vec<(&'static str, &'static str, String)>,
}

impl Recommendation {
    /// Returns a line for each setting that is in effect, with its value and the reason.
    pub fn reasons_for(&self, experiment: &Experiment) -> Vec<String> {
        let effective = Table::try_from(experiment).unwrap_or_default();
        let of =
            |settings: &Table, section: &str, key: &str| settings.get(section)?.get(key).cloned();
        let lines = self.reasons.iter().filter_map(|(section, key, reason)| {
            let value = of(&self.settings, section, key)?;
            let is_used = of(&effective, section, key).as_ref() == Some(&value);
            is_used.then(|| format!("{section}.{key} = {value}: {reason}"))
        });
        lines.collect()
    }

    fn set(
        &mut self,
        section: &'static str,
        key: &'static str,
        value: impl Into<toml::Value>,
        reason: &str,
    ) {
        self.reasons.push((section, key, reason.to_owned()));
        put(&mut self.settings, section, key, value);
    }
}

/// Reads the training text of an experiment once, and recommends a preset, a vocabulary, dropout, batches and the
/// length of the training. Returns `None` for text that can be read only once, such as standard input, and for a
/// built-in task.
///
/// # Errors
///
/// Returns a [`TrainError`] for settings that name no data, and for text that cannot be read.
pub fn recommend(experiment: &Experiment) -> Result<Option<Recommendation>, TrainError> {
    let data = &experiment.data;
    let DataSource::Corpus { train, .. } = data.source()? else {
        return Ok(None);
    };
    let corpora: Vec<_> = train.into_iter().map(|(corpus, _)| corpus).collect();
    let can_be_read_again = corpora.iter().all(|corpus| match &corpus.source {
        CorpusSource::Files { src, tgt } => is_lasting(src) && is_lasting(tgt),
        CorpusSource::Tsv { path } => is_lasting(path),
    });
    if !can_be_read_again {
        return Ok(None);
    }
    let text = ParallelText::open_all(&corpora, data.line_limit())?;
    Ok(Some(recommendation(&Survey::of(&text)?)))
}

/// Returns whether a path can be read again; that of a missing file leads to an error when it is opened.
fn is_lasting(path: &Path) -> bool {
    path != Path::new("-") && (path.is_file() || !path.exists())
}

fn recommendation(survey: &Survey) -> Recommendation {
    let (n_pairs, n_tokens) = (survey.n_pairs, survey.n_tokens());
    let mut recipe = Recommendation::default();
    let (preset, reason) = match n_tokens {
        TOKENS_FOR_BASE.. => (Preset::Base, format!("at least {TOKENS_FOR_BASE}")),
        TOKENS_FOR_IWSLT.. => (Preset::Iwslt, format!("at least {TOKENS_FOR_IWSLT}")),
        _ => (Preset::Tiny, format!("fewer than {TOKENS_FOR_IWSLT}")),
    };
    let reason = format!("{n_pairs} different pairs with about {n_tokens} tokens, {reason}");
    recipe.set("model", "preset", preset.to_string(), &reason);
    set_vocabulary(&mut recipe, survey, preset);
    if preset == Preset::Tiny {
        set_training(&mut recipe, survey);
    }
    recipe
}

/// Sets a vocabulary that the text can teach, with room for its characters.
fn set_vocabulary(recipe: &mut Recommendation, survey: &Survey, preset: Preset) {
    let n_tokens = survey.n_tokens();
    let usual = match preset {
        Preset::Base => 37_000,
        Preset::Iwslt => 10_000,
        _ if n_tokens >= TOKENS_FOR_LITTLE_DROPOUT => 10_000,
        _ => 6000,
    };
    let by_text = (n_tokens / TOKENS_PER_ENTRY + 1).next_multiple_of(100);
    let (value, reason) = if by_text >= usual {
        let reason = format!(
            "about {n_tokens} tokens of text, {} for each entry",
            n_tokens / usual
        );
        (usual, reason)
    } else {
        let reason =
            format!("{TOKENS_PER_ENTRY} of about {n_tokens} tokens of text for each entry");
        (by_text, reason)
    };
    let for_characters = 2 * survey.n_characters;
    let (value, reason) = if value < for_characters {
        let reason = format!(
            "two for each of {} frequent characters",
            survey.n_characters
        );
        (for_characters.next_multiple_of(100), reason)
    } else {
        (value, reason)
    };
    recipe.set("tokenizer", "vocab_size", value as i64, &reason);
}

fn set_training(recipe: &mut Recommendation, survey: &Survey) {
    let n_tokens = survey.n_tokens();
    let (dropout, reason) = match n_tokens {
        TOKENS_FOR_LITTLE_DROPOUT.. => (0.1, "much text for a small model"),
        TOKENS_FOR_USUAL_DROPOUT.. => (0.2, "as chosen for the 800,000 tokens of Multi30k"),
        _ => (0.3, "little text, which a model soon knows by heart"),
    };
    recipe.set("model", "dropout", dropout, reason);
    let is_like_multi30k = (TOKENS_FOR_LONG_WARMUP..TOKENS_FOR_LARGE_BATCHES).contains(&n_tokens);
    let (budget, least, reason) = if is_like_multi30k {
        let reason = "as chosen for Multi30k: more updates learn more from the same passes";
        (1024, 12_000.0, reason)
    } else if n_tokens < TOKENS_FOR_LONG_WARMUP {
        let reason = "smaller batches, so that little text makes enough updates";
        (1024, 3000.0, reason)
    } else {
        (4096, 3000.0, "as `tiny` has for much text")
    };
    recipe.set("training", "tokens_per_batch", budget, reason);
    let larger = survey.tokens.iter().max().copied().unwrap_or(0);
    let per_pass = (larger as f64 * (1.0 + PADDING) / budget as f64).max(1.0);
    let updates = (PASSES * per_pass).max(least).min(MAX_PASSES * per_pass);
    let updates = (updates as u64).max(500).next_multiple_of(250);
    let reason = format!(
        "about {:.0} passes over the data",
        updates as f64 / per_pass
    );
    recipe.set("training", "updates", updates as i64, &reason);
    let interval = (updates / 12).next_multiple_of(250);
    if interval > 250 {
        let reason = "a twelfth of the updates";
        recipe.set("training", "validation_interval", interval as i64, reason);
    }
    // The warm-up of `tiny` is for batches of 4096, and for longer trainings.
    if is_like_multi30k {
        let reason =
            "a sixth of the updates or less; its peak rate is half that of batches of 4096";
        recipe.set("training", "warmup_steps", 2000, reason);
    } else if updates < 2500 {
        recipe.set(
            "training",
            "warmup_steps",
            (updates / 5) as i64,
            "a fifth of the updates",
        );
        // Keeps the peak of Eq. 3, which is in proportion to the factor divided by the root of the warm-up.
        let factor = (0.8 * (updates as f64 / 2500.0).sqrt() * 1000.0).round() / 1000.0;
        recipe.set("training", "learning_rate_factor", factor, "the same peak");
    }
    let reason = "ends when four validations in succession bring no better loss";
    recipe.set("training", "patience", 4, reason);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::UserSettings;

    /// Returns the experiment for this number of pairs of 13 tokens.
    fn experiment(n_pairs: u64, n_characters: u64) -> Experiment {
        let recommended = recommendation(&Survey {
            n_pairs,
            tokens: [13 * n_pairs; 2],
            n_characters,
        });
        let settings = UserSettings {
            recommended: recommended.settings,
            settings: vec!["data.tsv=a.tsv".to_owned()],
            ..UserSettings::default()
        };
        settings.experiment().expect("the settings exist")
    }

    #[test]
    fn multi30k_gets_the_recipe_that_was_tuned_on_it() {
        let found = experiment(28_900, 100);
        let mut expected = Experiment::for_preset(Preset::Tiny);
        expected.data = found.data.clone();
        expected.model.overrides = found.model.overrides.clone();
        expected.training.patience = Some(4);
        expected.training.tokens_per_batch = 1024;
        expected.training.updates = 12_000;
        expected.training.validation_interval = 1000;
        expected.training.warmup_steps = 2000;
        expected.tokenizer.vocab_size = found.tokenizer.vocab_size;
        assert_eq!(found, expected);
        assert_eq!(found.model.overrides, toml::toml! { dropout = 0.2 });
        assert!((5700..=6000).contains(&found.tokenizer.vocab_size));
    }

    #[test]
    fn recipes_are_consistent_at_every_size() {
        for exponent in 1..=7 {
            for factor in [1, 3] {
                let n_pairs = factor * 10_u64.pow(exponent);
                let experiment = experiment(n_pairs, 100);
                assert_eq!(experiment.validate(), Ok(()), "{n_pairs}");
                let (warmup, updates) = (
                    experiment.training.warmup_steps,
                    experiment.training.updates,
                );
                assert!(4 * warmup <= updates, "{n_pairs}");
            }
        }
    }

    #[test]
    fn larger_text_gets_larger_models() {
        let preset = |n_pairs| experiment(n_pairs, 100).model.preset;
        let presets = [1000, 200_000, 5_000_000].map(preset);
        assert_eq!(presets, [Preset::Tiny, Preset::Iwslt, Preset::Base]);
    }

    #[test]
    fn the_vocabulary_has_room_for_the_characters() {
        assert_eq!(experiment(29_000, 4000).tokenizer.vocab_size, 8000);
    }

    #[test]
    fn settings_of_the_user_win() {
        let settings = UserSettings {
            recommended: recommendation(&Survey::default()).settings,
            settings: vec!["data.tsv=a.tsv".to_owned(), "training.updates=7".to_owned()],
            ..UserSettings::default()
        };
        let experiment = settings.experiment().expect("the settings exist");
        assert_eq!(experiment.training.updates, 7);
    }
}
