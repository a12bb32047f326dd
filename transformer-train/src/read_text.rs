//! From the text that an experiment names to tokenizers and ids.

use std::time::{Duration, Instant};

use transformer_core::directory::Tokenizers;
use transformer_core::text::Tokenizer;

use crate::TrainError;
use crate::config::{DataSource, Experiment, Vocabularies};
use crate::corpus::{
    CorpusError, CorpusSource, CorpusSummary, EncodedCorpus, Fingerprint, ParallelText, TokenStore,
    encode_into,
};
use crate::report::Say;
use crate::store_folder::{StorePlace, Stored};
use crate::tasks::{Split, Task};

/// Number of held-out pairs on which a model of a built-in task is tested.
const N_TEST_PAIRS: usize = 1000;

/// Time between two lines about how far the text is read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pairs of lines, source and target.
type Lines = Vec<(String, String)>;

/// Holds a corpus as ids, with all that comes of reading its text.
pub(crate) struct ReadText {
    pub(crate) tokenizers: Tokenizers,
    pub(crate) store: TokenStore,
    /// What became of the pairs.
    pub(crate) summary: CorpusSummary,
    /// Fingerprint of the pairs that are kept.
    pub(crate) fingerprint: u64,
    /// How often the pairs of each corpus come in a pass.
    pub(crate) weights: Vec<f64>,
    /// The pairs to validate on.
    pub(crate) valid: ParallelText,
    /// Text that is neither trained on nor looked at before the end; only tasks can make some.
    pub(crate) test: Lines,
}

impl ReadText {
    /// Reads the text, or opens what was made of it before. Tokenizers that are known are not trained again.
    pub(crate) fn new(
        experiment: &Experiment,
        known: Option<Tokenizers>,
        place: Option<StorePlace>,
        say: &Say,
    ) -> Result<Self, TrainError> {
        let (sources, valid) = match experiment.data.source()? {
            DataSource::Task(task) => {
                let (train, valid, test) = texts_of(task, experiment);
                let read = Self::in_memory(experiment, known, &train, valid, say)?;
                return Ok(Self { test, ..read });
            }
            DataSource::Corpus { train, valid } => (train, valid),
        };
        let (sources, weights): (Vec<_>, Vec<f64>) = sources.into_iter().unzip();
        if let Some(stored) = place.as_ref().and_then(|place| place.open(say)) {
            return Self::of_store(stored, valid.as_ref(), weights);
        }
        let (train, valid_text) = divide(&sources, valid.as_ref(), experiment)?;
        let Some(place) = place else {
            let read = Self::in_memory(experiment, known, &train, valid_text, say)?;
            return Ok(Self { weights, ..read });
        };
        let tokenizers = known_or_trained(known, experiment, &train)?;
        let held_out = match valid {
            Some(_) => None,
            None => Some(valid_text.pairs()?.collect::<Result<Lines, _>>()?),
        };
        say(&format!("store       making {}", place.path().display()));
        let path = place.path();
        let stored = place.build(&tokenizers, held_out, |mut writer| {
            let error = |source| CorpusError::Store {
                path: path.clone(),
                source,
            };
            let sink = |src: &[u32], tgt: &[u32]| writer.push(src, tgt).map_err(error);
            let made = encoded(experiment, &tokenizers, &train, say, sink)?;
            writer.finish().map_err(error)?;
            Ok(made)
        })?;
        Self::of_store(stored, valid.as_ref(), weights)
    }

    fn of_store(
        stored: Stored,
        valid: Option<&CorpusSource>,
        weights: Vec<f64>,
    ) -> Result<Self, TrainError> {
        let valid = match valid {
            Some(valid) => ParallelText::open(valid)?,
            None => ParallelText::from_pairs(stored.held_out.unwrap_or_default()),
        };
        Ok(Self {
            tokenizers: stored.tokenizers,
            store: TokenStore::Disk(stored.store),
            summary: stored.summary,
            fingerprint: stored.fingerprint,
            weights,
            valid,
            test: Lines::new(),
        })
    }

    fn in_memory(
        experiment: &Experiment,
        known: Option<Tokenizers>,
        train: &ParallelText,
        valid: ParallelText,
        say: &Say,
    ) -> Result<Self, TrainError> {
        let tokenizers = known_or_trained(known, experiment, train)?;
        let mut corpus = EncodedCorpus::default();
        let sink = |src: &[u32], tgt: &[u32]| {
            corpus.push(src, tgt);
            Ok(())
        };
        let (summary, fingerprint) = encoded(experiment, &tokenizers, train, say, sink)?;
        corpus.shrink_to_fit();
        Ok(Self {
            tokenizers,
            store: TokenStore::Memory(corpus),
            summary,
            fingerprint: fingerprint.value(),
            weights: vec![1.0],
            valid,
            test: Lines::new(),
        })
    }
}

/// Opens the corpora as one, and what to validate on: files, or pairs held out of them.
fn divide(
    sources: &[CorpusSource],
    valid: Option<&CorpusSource>,
    experiment: &Experiment,
) -> Result<(ParallelText, ParallelText), TrainError> {
    let train = match sources {
        [source] => ParallelText::open(source)?,
        sources => ParallelText::open_all(sources)?,
    };
    Ok(match valid {
        Some(valid) => (train, ParallelText::open(valid)?),
        None => train.hold_out(experiment.data.valid_pairs, experiment.training.seed)?,
    })
}

/// Hands every pair that is kept to `sink`, and says now and then how far it has come.
fn encoded(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
    text: &ParallelText,
    say: &Say,
    mut sink: impl FnMut(&[u32], &[u32]) -> Result<(), CorpusError>,
) -> Result<(CorpusSummary, Fingerprint), CorpusError> {
    let started = Instant::now();
    let mut told = started;
    let mut n_pairs = 0_u64;
    let src = |lines: &[String]| tokenizers.src().encode_all(lines);
    let tgt = |lines: &[String]| tokenizers.tgt().encode_all(lines);
    encode_into(text, &experiment.data.filter(), src, tgt, |src, tgt| {
        n_pairs += 1;
        if n_pairs.is_multiple_of(4096) && told.elapsed() > PATIENCE {
            told = Instant::now();
            let rate = n_pairs as f64 / started.elapsed().as_secs_f64();
            say(&format!(
                "text        {n_pairs} pairs kept so far, {rate:.0} a second"
            ));
        }
        sink(src, tgt)
    })
}

/// Makes the three splits of a built-in task, which never overlap.
fn texts_of(task: Task, experiment: &Experiment) -> (ParallelText, ParallelText, Lines) {
    let data = &experiment.data;
    let seed = experiment.training.seed;
    let text = |split, n_pairs| ParallelText::from_pairs(task.pairs(split, n_pairs, seed));
    (
        text(Split::Train, data.task_pairs),
        text(Split::Valid, data.valid_pairs),
        task.pairs(Split::Test, N_TEST_PAIRS, seed),
    )
}

fn known_or_trained(
    known: Option<Tokenizers>,
    experiment: &Experiment,
    train: &ParallelText,
) -> Result<Tokenizers, TrainError> {
    if let Some(known) = known {
        return Ok(known);
    }
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
