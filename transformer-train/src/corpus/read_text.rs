//! From the text that an experiment names to tokenizers and ids.

use transformer_core::directory::Tokenizers;
use transformer_core::text::Tokenizer;

use crate::config::{CorpusSource, DataSource, Experiment, Vocabularies};
use crate::corpus::{
    CorpusError, CorpusSummary, ParallelText, StorePlace, Stored, TokenStore, encode_in_memory,
    encode_into,
};
use crate::progress::Progress;
use crate::tasks::{Split, Task};

/// Number of held-out pairs on which a model of a built-in task is tested.
const N_TEST_PAIRS: usize = 1000;

/// What the user is told while the text is read.
const READING: &str = "reading";

/// While tokenizers are trained.
const LEARNING: &str = "learning";

/// While its ids are put into memory.
const TOKENIZING: &str = "tokenizing";

/// While they are put on the disk.
const STORING: &str = "storing";

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
        progress: &Progress,
    ) -> Result<Self, CorpusError> {
        let log = progress.log();
        let (sources, valid) = match experiment.data.source()? {
            DataSource::Task(task) => {
                let (train, valid, test) = texts_of(task, experiment);
                let read = Self::in_memory(experiment, known, train, valid, progress)?;
                return Ok(Self { test, ..read });
            }
            DataSource::Corpus { train, valid } => (train, valid),
        };
        let (sources, weights): (Vec<_>, Vec<f64>) = sources.into_iter().unzip();
        if let Some(stored) = place.as_ref().and_then(|place| place.open(log)) {
            return Self::of_store(stored, valid.as_ref(), weights);
        }
        let (train, valid_text) = divide(&sources, valid.as_ref(), experiment, progress)?;
        let Some(place) = place.filter(StorePlace::is_to_be_made) else {
            let read = Self::in_memory(experiment, known, train, valid_text, progress)?;
            return Ok(Self { weights, ..read });
        };
        let tokenizers = known_or_trained(known, experiment, &train, progress)?;
        let train = train.watched(progress, STORING);
        let held_out = match valid {
            Some(_) => None,
            None => Some(valid_text.pairs()?.collect::<Result<Lines, _>>()?),
        };
        log(&format!("store       making {}", place.path().display()));
        let path = place.path();
        let stored = place.build(&tokenizers, held_out, log, |mut writer| {
            let error = |source| CorpusError::Store {
                path: path.clone(),
                source,
            };
            let sink = |src: &[u32], tgt: &[u32]| writer.push(src, tgt).map_err(error);
            let filter = experiment.data.filter();
            let (src, tgt) = (tokenizers.src(), tokenizers.tgt());
            let src = |lines: &[String]| src.encode_all(lines);
            let tgt = |lines: &[String]| tgt.encode_all(lines);
            let made = encode_into(&train, &filter, src, tgt, sink)?;
            writer.finish().map_err(error)?;
            Ok(made)
        })?;
        Self::of_store(stored, valid.as_ref(), weights)
    }

    fn of_store(
        stored: Stored,
        valid: Option<&CorpusSource>,
        weights: Vec<f64>,
    ) -> Result<Self, CorpusError> {
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
        train: ParallelText,
        valid: ParallelText,
        progress: &Progress,
    ) -> Result<Self, CorpusError> {
        let tokenizers = known_or_trained(known, experiment, &train, progress)?;
        let filter = experiment.data.filter();
        let (corpus, summary, fingerprint) = encode_in_memory(
            &train.watched(progress, TOKENIZING),
            &filter,
            |lines| tokenizers.src().encode_all(lines),
            |lines| tokenizers.tgt().encode_all(lines),
        )?;
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
    progress: &Progress,
) -> Result<(ParallelText, ParallelText), CorpusError> {
    let train = match sources {
        [source] => ParallelText::open(source)?,
        sources => ParallelText::open_all(sources)?,
    };
    let train = train.watched(progress, READING);
    Ok(match valid {
        Some(valid) => (train, ParallelText::open(valid)?),
        None => train.hold_out(experiment.data.valid_pairs, experiment.training.seed)?,
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
    progress: &Progress,
) -> Result<Tokenizers, CorpusError> {
    if let Some(known) = known {
        return Ok(known);
    }
    let train = train.clone().watched(progress, READING);
    let sample = train.sample(experiment.data.tokenizer_sample, experiment.training.seed)?;
    let sources = || sample.iter().map(|(src, _)| src.as_str());
    let targets = || sample.iter().map(|(_, tgt)| tgt.as_str());
    let mut phase = progress.begin(LEARNING);
    // An end that is asked for meanwhile comes after it, or from the program.
    let mut on_progress = |share| {
        let _ = phase.share(share);
    };
    Ok(match experiment.tokenizer.vocabularies() {
        Vocabularies::Joint(config) => {
            let lines = sources().chain(targets());
            Tokenizers::Joint(Tokenizer::train_with(&config, lines, &mut on_progress)?)
        }
        Vocabularies::Separate { src, tgt } => Tokenizers::Separate {
            src: Tokenizer::train_with(&src, sources(), &mut on_progress)?,
            tgt: Tokenizer::train_with(&tgt, targets(), &mut on_progress)?,
        },
    })
}
