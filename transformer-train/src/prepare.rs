//! From an experiment to everything that training needs: tokenizers, ids, and the model's config.

use std::sync::Arc;

use transformer_core::TransformerConfig;
use transformer_core::directory::Tokenizers;
use transformer_core::text::Tokenizer;

use crate::TrainError;
use crate::batch::SentencePair;
use crate::config::{DataSource, Experiment, Vocabularies};
use crate::corpus::{CorpusSummary, EncodedCorpus, ParallelText, encode};
use crate::embeddings::Embeddings;
use crate::report::Say;
use crate::tasks::{Split, Task};

/// Number of held-out pairs on which a model of a built-in task is tested.
pub(crate) const N_TEST_PAIRS: usize = 1000;

/// Holds a corpus and its vocabularies, ready to train on.
pub(crate) struct Prepared {
    pub(crate) tokenizers: Tokenizers,
    pub(crate) config: TransformerConfig,
    pub(crate) embeddings: Embeddings,
    pub(crate) train: Arc<EncodedCorpus>,
    pub(crate) valid: Vec<SentencePair>,
    /// Text that is neither trained on nor looked at before the end; only tasks can make some.
    pub(crate) test: Vec<(String, String)>,
}

impl Prepared {
    /// Reads the corpus twice, once for the tokenizers, unless they are there already, and once for the ids.
    pub(crate) fn new(
        experiment: &Experiment,
        tokenizers: Option<Tokenizers>,
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

        let tokenizers = match tokenizers {
            Some(tokenizers) => tokenizers,
            None => train_tokenizers(experiment, &train)?,
        };
        let filter = experiment.data.filter();
        let encoded = |text: &ParallelText| -> Result<(EncodedCorpus, CorpusSummary), TrainError> {
            let src = |lines: &[String]| tokenizers.src().encode_all(lines);
            let tgt = |lines: &[String]| tokenizers.tgt().encode_all(lines);
            Ok(encode(text, &filter, src, tgt)?)
        };
        let (train, train_summary) = encoded(&train)?;
        say(&format!("data        {train_summary}"));
        let (valid, valid_summary) = encoded(&valid)?;
        say(&format!("validation  {valid_summary}"));
        let valid = (0..valid.len())
            .map(|pair| SentencePair {
                src: valid.src(pair),
                tgt: valid.tgt(pair),
            })
            .collect();

        let config = model_config(experiment, &tokenizers)?;
        say(&format!("vocabulary  {}", describe(&tokenizers)));
        let embeddings = Embeddings::read(&experiment.embeddings, &config, &tokenizers, say)?;
        Ok(Self {
            tokenizers,
            config,
            embeddings,
            train: Arc::new(train),
            valid,
            test,
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
