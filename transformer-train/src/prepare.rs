//! From an experiment to everything that training needs: tokenizers, ids, and the model's config.

use std::sync::Arc;

use transformer_core::TransformerConfig;
use transformer_core::directory::Tokenizers;
use transformer_core::text::Tokenizer;

use crate::TrainError;
use crate::batch::SentencePair;
use crate::config::{EmbeddingSettings, Experiment};
use crate::corpus::{
    Copies, CorpusSummary, Duplicates, Filter, ParallelText, SubwordDropout, Subwords,
    TrainingText, encode,
};
use crate::embeddings::Embeddings;
use crate::plan::{Plan, Share};
use crate::read_text::ReadText;
use crate::report::{Say, Watch};
use crate::store_folder::StorePlace;
use crate::warnings::{Facts, warnings};

/// Says whether a run begins or goes on.
pub(crate) enum Start {
    Fresh,
    /// With the tokenizers of its model, if they can be read.
    Resumed(Option<Tokenizers>),
}

/// Holds a corpus and its vocabularies, ready to train on.
pub(crate) struct Prepared {
    pub(crate) tokenizers: Tokenizers,
    pub(crate) config: TransformerConfig,
    pub(crate) embeddings: Embeddings,
    pub(crate) train: Arc<TrainingText>,
    /// What became of the pairs to train on.
    pub(crate) train_summary: CorpusSummary,
    /// Which of them are in which update.
    pub(crate) plan: Plan,
    /// Fingerprint of the pairs trained on.
    pub(crate) fingerprint: u64,
    pub(crate) valid: Vec<SentencePair>,
    /// What became of the validation pairs.
    pub(crate) valid_summary: CorpusSummary,
    /// The text of each validation pair.
    pub(crate) valid_text: Vec<(String, String)>,
    /// Text that is neither trained on nor looked at before the end; only tasks can make some.
    pub(crate) test: Vec<(String, String)>,
}

impl Prepared {
    /// Reads the corpus twice, once for the tokenizers, unless they are there already, and once for the ids; not
    /// at all if its ids are in the store at `place`.
    pub(crate) fn new(
        experiment: &Experiment,
        start: Start,
        place: Option<StorePlace>,
        watch: &Watch,
    ) -> Result<Self, TrainError> {
        let say = watch.say();
        // The checkpoint of a run that goes on has its embeddings.
        let embeddings = match &start {
            Start::Fresh => experiment.embeddings.clone(),
            Start::Resumed(_) => EmbeddingSettings {
                src_word_vectors: None,
                tgt_word_vectors: None,
                ..experiment.embeddings.clone()
            },
        };
        let known = match start {
            Start::Resumed(tokenizers) => tokenizers,
            Start::Fresh => None,
        };
        let ReadText {
            tokenizers,
            store,
            summary: train_summary,
            fingerprint,
            weights,
            valid,
            test,
        } = ReadText::new(experiment, known, place, watch)?;
        // What makes a pair bad to learn from is no reason to leave it out of what is measured.
        let filter = Filter {
            max_ratio: None,
            duplicates: Duplicates::Keep,
            copies: Copies::Keep,
            ..experiment.data.filter()
        };
        say(&format!("data        {train_summary}"));
        let valid = Validation::encode(&valid, &filter, &tokenizers)?;
        say(&format!("validation  {}", valid.summary));

        let config = model_config(experiment, &tokenizers)?;
        say(&format!("vocabulary  {}", describe(&tokenizers)));
        let embeddings = Embeddings::read(&embeddings, &config, &tokenizers, say)?;
        let shares = shares(&train_summary, &weights);
        say_shares(&shares, say);
        let plan = Plan::weighted(store.lengths(), &experiment.training.plan(), &shares)?;
        Ok(Self {
            config,
            embeddings,
            fingerprint,
            train: Arc::new(TrainingText::new(store, subwords(experiment, &tokenizers))),
            tokenizers,
            train_summary,
            plan,
            valid: valid.pairs,
            valid_summary: valid.summary,
            valid_text: valid.text,
            test,
        })
    }

    /// Says what makes it unlikely that the run learns.
    pub(crate) fn warn(&mut self, experiment: &Experiment, say: &Say) {
        let facts = Facts {
            updates_per_pass: experiment
                .training
                .updates_of(self.plan.updates_per_pass(0)),
            experiment,
            config: &self.config,
            train: &self.train_summary,
            valid: &self.valid_summary,
        };
        for warning in warnings(&facts) {
            say(&format!("warning     {warning}"));
        }
    }

    /// Returns the text of the first targets of the validation pairs, at most so many.
    pub(crate) fn references(&self, n_most: usize) -> Vec<String> {
        let pairs = self.valid_text.iter().take(n_most);
        pairs.map(|(_, tgt)| tgt.clone()).collect()
    }
}

/// Holds the validation pairs that pass the filter.
struct Validation {
    pairs: Vec<SentencePair>,
    text: Vec<(String, String)>,
    summary: CorpusSummary,
}

impl Validation {
    /// Encodes the pairs and keeps their text: BLEU is of text, and what a tokenizer makes of it may lack
    /// characters.
    fn encode(
        text: &ParallelText,
        filter: &Filter,
        tokenizers: &Tokenizers,
    ) -> Result<Self, TrainError> {
        let mut sources: Vec<(Vec<u32>, String)> = Vec::new();
        let mut targets: Vec<(Vec<u32>, String)> = Vec::new();
        let keep = |tokenizer: &Tokenizer, lines: &[String], kept: &mut Vec<_>| {
            let ids = tokenizer.encode_all(lines);
            kept.extend(ids.iter().cloned().zip(lines.iter().cloned()));
            ids
        };
        let src = |lines: &[String]| keep(tokenizers.src(), lines, &mut sources);
        let tgt = |lines: &[String]| keep(tokenizers.tgt(), lines, &mut targets);
        let (corpus, summary) = encode(text, filter, src, tgt)?;
        // Pairs stay in order, so that each belongs to the next text that has its ids, or begins with them.
        let over_long = filter.over_long;
        let mut texts = sources.into_iter().zip(targets);
        let mut pairs = Vec::new();
        let mut kept = Vec::new();
        for pair in 0..corpus.len() {
            let (src, tgt) = (corpus.src(pair), corpus.tgt(pair));
            let text =
                texts.find(|(a, b)| over_long.keeps(&src, &a.0) && over_long.keeps(&tgt, &b.0));
            let ((_, src_text), (_, tgt_text)) = text.unwrap_or_default();
            pairs.push(SentencePair { src, tgt });
            kept.push((src_text, tgt_text));
        }
        Ok(Self {
            pairs,
            text: kept,
            summary,
        })
    }
}

/// Returns how often the pairs of each corpus come.
fn shares(summary: &CorpusSummary, weights: &[f64]) -> Vec<Share> {
    // A corpus of which nothing is kept at the end may not have been counted.
    let kept = summary.kept_of.iter().copied().chain(std::iter::repeat(0));
    let share = |(&weight, kept): (&f64, u64)| Share {
        n_sentences: kept as usize,
        weight,
    };
    weights.iter().zip(kept).map(share).collect()
}

/// Says what part each of several corpora has in what is trained on.
fn say_shares(shares: &[Share], say: &Say) {
    let drawn = |share: &Share| share.weight * share.n_sentences as f64;
    let all: f64 = shares.iter().map(drawn).sum();
    if shares.len() < 2 {
        return;
    }
    for (number, share) in shares.iter().enumerate() {
        say(&format!(
            "corpus {:<4} {} pairs, weight {}: {:.1}% of the sentences of a pass",
            number + 1,
            share.n_sentences,
            share.weight,
            100.0 * drawn(share) / all
        ));
    }
}

/// Returns how lines are cut anew for each update, if they are.
fn subwords(experiment: &Experiment, tokenizers: &Tokenizers) -> Option<Subwords> {
    let rate = experiment.tokenizer.dropout;
    if rate == 0.0 {
        return None;
    }
    Some(Subwords {
        src: SubwordDropout::new(tokenizers.src())?,
        tgt: SubwordDropout::new(tokenizers.tgt())?,
        rate,
        seed: experiment.training.seed,
        max_len: experiment.data.max_len,
    })
}

/// Returns the model's config: preset, overrides, and the sizes of the vocabularies.
fn model_config(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<TransformerConfig, TrainError> {
    let vocabulary = experiment.tokenizer.vocabulary;
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    let config = experiment.model.config(src, tgt, vocabulary)?;
    config.validate()?;
    Ok(config)
}

fn describe(tokenizers: &Tokenizers) -> String {
    match tokenizers {
        Tokenizers::Joint(tokenizer) => format!("{} tokens, joint", tokenizer.vocab_size()),
        Tokenizers::Separate { src, tgt } => {
            format!(
                "{} source and {} target tokens",
                src.vocab_size(),
                tgt.vocab_size()
            )
        }
    }
}
