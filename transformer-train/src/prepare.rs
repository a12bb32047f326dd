//! From an experiment to everything that training needs: tokenizers, ids, and the model's config.

use std::sync::Arc;

use transformer_core::TransformerConfig;
use transformer_core::directory::Tokenizers;
use transformer_core::text::Tokenizer;

use crate::TrainError;
use crate::batch::SentencePair;
use crate::config::{DataSource, EmbeddingSettings, Experiment, Vocabularies};
use crate::corpus::{CorpusSummary, EncodedCorpus, Filter, OverLong, ParallelText, encode};
use crate::embeddings::Embeddings;
use crate::report::Say;
use crate::saved_state::fingerprint;
use crate::tasks::{Split, Task};

/// Number of held-out pairs on which a model of a built-in task is tested.
pub(crate) const N_TEST_PAIRS: usize = 1000;

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
    pub(crate) train: Arc<EncodedCorpus>,
    /// [`fingerprint`] of the pairs trained on.
    pub(crate) fingerprint: u64,
    pub(crate) valid: Vec<SentencePair>,
    /// The text of each validation pair.
    pub(crate) valid_text: Vec<(String, String)>,
    /// Text that is neither trained on nor looked at before the end; only tasks can make some.
    pub(crate) test: Vec<(String, String)>,
}

impl Prepared {
    /// Reads the corpus twice, once for the tokenizers, unless they are there already, and once for the ids.
    pub(crate) fn new(
        experiment: &Experiment,
        start: Start,
        say: &Say,
    ) -> Result<Self, TrainError> {
        let seed = experiment.training.seed;
        let n_valid = experiment.data.valid_pairs;
        let (train, valid, test) = match experiment.data.source()? {
            DataSource::Task(task) => texts_of(task, experiment),
            DataSource::Corpus { train, valid } => {
                let train = ParallelText::open(&train)?;
                let (train, valid) = match valid {
                    Some(valid) => (train, ParallelText::open(&valid)?),
                    None => train.hold_out(n_valid, seed)?,
                };
                (train, valid, Vec::new())
            }
        };

        // The checkpoint of a run that goes on has its embeddings.
        let embeddings = match &start {
            Start::Fresh => experiment.embeddings.clone(),
            Start::Resumed(_) => EmbeddingSettings {
                src_word_vectors: None,
                tgt_word_vectors: None,
                ..experiment.embeddings.clone()
            },
        };
        let tokenizers = match start {
            Start::Resumed(Some(tokenizers)) => tokenizers,
            Start::Fresh | Start::Resumed(None) => train_tokenizers(experiment, &train)?,
        };
        let filter = experiment.data.filter();
        let src = |lines: &[String]| tokenizers.src().encode_all(lines);
        let tgt = |lines: &[String]| tokenizers.tgt().encode_all(lines);
        let (train, train_summary) = encode(&train, &filter, src, tgt)?;
        say(&format!("data        {train_summary}"));
        let valid = Validation::encode(&valid, &filter, &tokenizers)?;
        say(&format!("validation  {}", valid.summary));

        let config = model_config(experiment, &tokenizers)?;
        say(&format!("vocabulary  {}", describe(&tokenizers)));
        let embeddings = Embeddings::read(&embeddings, &config, &tokenizers, say)?;
        Ok(Self {
            tokenizers,
            config,
            embeddings,
            fingerprint: fingerprint(&train),
            train: Arc::new(train),
            valid: valid.pairs,
            valid_text: valid.text,
            test,
        })
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
        let is_of = |kept: &[u32], ids: &[u32]| match filter.over_long {
            OverLong::Drop => kept == ids,
            OverLong::Cut => ids.starts_with(kept),
        };
        let mut texts = sources.into_iter().zip(targets);
        let mut pairs = Vec::new();
        let mut kept = Vec::new();
        for pair in 0..corpus.len() {
            let (src, tgt) = (corpus.src(pair), corpus.tgt(pair));
            let text = texts.find(|(a, b)| is_of(&src, &a.0) && is_of(&tgt, &b.0));
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

/// Makes the three splits of a built-in task, which never overlap.
fn texts_of(
    task: Task,
    experiment: &Experiment,
) -> (ParallelText, ParallelText, Vec<(String, String)>) {
    let data = &experiment.data;
    let seed = experiment.training.seed;
    let text = |split, n_pairs| ParallelText::from_pairs(task.pairs(split, n_pairs, seed));
    (
        text(Split::Train, data.task_pairs),
        text(Split::Valid, data.valid_pairs),
        task.pairs(Split::Test, N_TEST_PAIRS, seed),
    )
}

fn train_tokenizers(
    experiment: &Experiment,
    train: &ParallelText,
) -> Result<Tokenizers, TrainError> {
    let sample = train.sample(experiment.data.tokenizer_sample, experiment.training.seed)?;
    let sources = || sample.iter().map(|(src, _)| src.as_str());
    let targets = || sample.iter().map(|(_, tgt)| tgt.as_str());
    Ok(match experiment.tokenizer.vocabularies() {
        Vocabularies::Joint(config) => {
            Tokenizers::Joint(Tokenizer::train(&config, sources().chain(targets()))?)
        }
        Vocabularies::Separate { src, tgt } => Tokenizers::Separate {
            src: Tokenizer::train(&src, sources())?,
            tgt: Tokenizer::train(&tgt, targets())?,
        },
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
