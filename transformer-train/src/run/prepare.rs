//! From an experiment to everything that training needs: tokenizers, ids, and the model's config.

use std::collections::HashSet;
use std::sync::Arc;

use burn::tensor::Device;
use transformer_core::directory::{ModelDirectory, Tokenizers};
use transformer_core::text::Tokenizer;
use transformer_core::{Transformer, TransformerConfig};

use crate::TrainError;
use crate::batching::{CorpusWeight, Plan, PlanConfig};
use crate::config::{
    ConfigError, Copies, Duplicates, EmbeddingSettings, Experiment, Filter, check_tokenizer,
};
use crate::corpus::{
    BpeDropout, CorpusError, CorpusSummary, LoadedData, PairDropout, ParallelText, SentencePair,
    StoreLocation, TokenStore, TrainingText, encode,
};
use crate::progress::{LogFn, Progress};
use crate::run::{Embeddings, Facts, Folder, finetune, warnings};

/// Most pairs that the validation pairs are looked for in: a second's work.
const MOST_PAIRS_TO_COMPARE: usize = 1_000_000;

/// Says what a run has before it reads its text.
pub(crate) struct Start {
    /// Whether it begins, and does not go on.
    is_fresh: bool,
    /// Tokenizers that are not trained anew.
    tokenizers: Option<Tokenizers>,
    /// The trained model whose shape and tokenizers the run has.
    pub(crate) base: Option<ModelDirectory>,
}

impl Start {
    /// Begins the run of a folder, or goes on with the one that is there, whose model is asked for what it has.
    pub(crate) fn new(
        experiment: &Experiment,
        folder: &Folder,
        goes_on: bool,
    ) -> Result<Self, TrainError> {
        if goes_on {
            return Self::resumed(experiment, folder.published());
        }
        check_tokenizer(experiment)?;
        let base = finetune::base(experiment, None)?;
        if base.is_some() && finetune::is_of(experiment, &folder.directory) {
            let path = folder.directory.clone();
            return Err(TrainError::OwnModel { path });
        }
        Ok(Self {
            is_fresh: true,
            tokenizers: base.as_ref().map(|it| it.tokenizers().clone()),
            base,
        })
    }

    /// Goes on with a run, whose model is `published`, if that can be read.
    fn resumed(
        experiment: &Experiment,
        published: Option<ModelDirectory>,
    ) -> Result<Self, TrainError> {
        let known = published.as_ref().map(|it| it.tokenizers().clone());
        let base = finetune::base(experiment, published)?;
        Ok(Self {
            is_fresh: false,
            tokenizers: known.or_else(|| base.as_ref().map(|it| it.tokenizers().clone())),
            base,
        })
    }

    /// Returns what the embeddings begin with: those of a run that goes on are in its checkpoint.
    fn embeddings(&self, experiment: &Experiment) -> EmbeddingSettings {
        let settings = experiment.embeddings.clone();
        match self.is_fresh {
            true => settings,
            false => EmbeddingSettings {
                src_word_vectors: None,
                tgt_word_vectors: None,
                ..settings
            },
        }
    }
}

/// Holds a corpus and its vocabularies, ready to train on.
pub(crate) struct Prepared {
    pub(crate) tokenizers: Tokenizers,
    pub(crate) config: TransformerConfig,
    /// The model whose weights the run begins with.
    pub(crate) base: Option<ModelDirectory>,
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
    /// How many of them are trained on as well, if that was counted.
    n_valid_seen: usize,
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
        place: Option<StoreLocation>,
        progress: &Progress,
    ) -> Result<Self, TrainError> {
        let log = progress.log();
        let embeddings = start.embeddings(experiment);
        let Start {
            is_fresh,
            tokenizers: known,
            base,
        } = start;
        let LoadedData {
            tokenizers,
            store,
            summary: train_summary,
            fingerprint,
            weights,
            valid,
            test,
        } = LoadedData::load(experiment, known, place, progress)?;
        // What makes a pair bad to learn from is no reason to leave it out of what is measured.
        let filter = Filter {
            max_ratio: None,
            duplicates: Duplicates::Keep,
            copies: Copies::Keep,
            ..experiment.data.filter()
        };
        log(&format!("data        {train_summary}"));
        let valid = Validation::encode(&valid, &filter, &tokenizers)?;
        log(&format!("validation  {}", valid.summary));

        let config = match &base {
            Some(base) => finetune::config(experiment, base.config(), log)?,
            None => model_config(experiment, &tokenizers)?,
        };
        if is_fresh && base.is_none() {
            tokenizers.check_tying(&config)?;
        }
        log(&format!("vocabulary  {}", describe(&tokenizers)));
        let subwords = subwords(experiment, &tokenizers)?;
        let embeddings = Embeddings::read(&embeddings, &config, &tokenizers, log)?;
        let shares = shares(&train_summary, &weights);
        log_shares(&shares, log);
        let n_valid_seen = match store.lengths().len() <= MOST_PAIRS_TO_COMPARE {
            true => n_seen(&store, &valid.pairs)?,
            false => 0,
        };
        let plan = Plan::weighted(
            store.lengths(),
            &PlanConfig::from(&experiment.training),
            &shares,
        )?;
        Ok(Self {
            config,
            // The checkpoint of a run that goes on has its weights.
            base: base.filter(|_| is_fresh),
            embeddings,
            fingerprint,
            train: Arc::new(TrainingText::new(store, subwords)),
            tokenizers,
            train_summary,
            plan,
            n_valid_seen,
            valid: valid.pairs,
            valid_summary: valid.summary,
            valid_text: valid.text,
            test,
        })
    }

    /// Draws the weights that the run begins with, or reads those of the model that it goes on from; on a device that
    /// records gradients.
    pub(crate) fn model(&self, seed: u64, device: &Device) -> Result<Transformer, TrainError> {
        let device = device.clone().autodiff();
        device.seed(seed);
        let model = match &self.base {
            Some(base) => base.load_to_train(&self.config, &device)?,
            None => self.config.init(&device)?,
        };
        Ok(self.embeddings.put_into(model)?)
    }

    /// Says what makes it unlikely that the run learns.
    pub(crate) fn warn(&mut self, experiment: &Experiment, log: &LogFn) {
        let facts = Facts {
            updates_per_pass: experiment
                .training
                .updates_of(self.plan.batches_per_pass(0)),
            experiment,
            config: &self.config,
            train: &self.train_summary,
            valid: &self.valid_summary,
            n_valid_seen: self.n_valid_seen,
        };
        for warning in warnings(&facts) {
            log(&format!("warning     {warning}"));
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

/// Counts the validation pairs that are trained on as well.
fn n_seen(store: &TokenStore, valid: &[SentencePair]) -> Result<usize, CorpusError> {
    let lengths = |pair: &SentencePair| (pair.src.len() as u32, pair.tgt.len() as u32);
    let widths: HashSet<(u32, u32)> = valid.iter().map(lengths).collect();
    let both = |pair: &SentencePair| (pair.src.clone(), pair.tgt.clone());
    let wanted: HashSet<_> = valid.iter().map(both).collect();
    let mut seen = HashSet::new();
    for (number, width) in store.lengths().iter().enumerate() {
        if widths.contains(width) {
            let SentencePair { src, tgt } = store.pair(number)?;
            seen.extend(wanted.get(&(src, tgt)));
        }
    }
    Ok(valid
        .iter()
        .filter(|pair| seen.contains(&both(pair)))
        .count())
}

/// Returns how often the pairs of each corpus come.
fn shares(summary: &CorpusSummary, weights: &[f64]) -> Vec<CorpusWeight> {
    // A corpus of which nothing is kept at the end may not have been counted.
    let kept = summary.kept_of.iter().copied().chain(std::iter::repeat(0));
    let share = |(&weight, kept): (&f64, u64)| CorpusWeight {
        n_sentences: kept as usize,
        weight,
    };
    weights.iter().zip(kept).map(share).collect()
}

/// Says what part each of several corpora has in what is trained on.
fn log_shares(shares: &[CorpusWeight], log: &LogFn) {
    let drawn = |share: &CorpusWeight| share.weight * share.n_sentences as f64;
    let all: f64 = shares.iter().map(drawn).sum();
    if shares.len() < 2 {
        return;
    }
    for (number, share) in shares.iter().enumerate() {
        log(&format!(
            "corpus {:<4} {} pairs, weight {}: {:.1}% of the sentences of a pass",
            number + 1,
            share.n_sentences,
            share.weight,
            100.0 * drawn(share) / all
        ));
    }
}

/// Returns how lines are cut anew for each update, if they are.
fn subwords(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<Option<PairDropout>, ConfigError> {
    let rate = experiment.tokenizer.dropout;
    if rate == 0.0 {
        return Ok(None);
    }
    let dropout = |tokenizer| {
        // A tokenizer that is trained here was chosen with merges.
        let key = "tokenizer.dropout".to_owned();
        BpeDropout::new(tokenizer).ok_or(ConfigError::FixedByModel { key })
    };
    Ok(Some(PairDropout {
        src: dropout(tokenizers.src())?,
        tgt: dropout(tokenizers.tgt())?,
        rate,
        seed: experiment.training.seed,
        max_len: experiment.data.max_len,
    }))
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
