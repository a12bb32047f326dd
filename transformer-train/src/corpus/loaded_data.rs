//! [`LoadedData`]: the text of an experiment, tokenized.

use std::io::{self, Read};

use transformer_core::directory::{Languages, Tokenizers};
use transformer_core::text::Tokenizer;

use crate::config::{
    DataSource, Experiment, LineLimit, TaggedCorpus, Tags, ValidationSource, Vocabularies,
};
use crate::corpus::token_store::vocab_size_of;
use crate::corpus::{
    Cleaning, CorpusSummary, KeptPair, ParallelText, StoreLocation, StoredCorpus, TokenStore,
    encode, encode_into, tokenized,
};
use crate::error::TrainError;
use crate::progress::Progress;
use crate::tasks::{Split, Task};

const N_TEST_PAIRS: usize = 1000;

/// Share of the pairs of a corpus that cleaning may leave out without a warning.
const MUCH: f64 = 0.1;

// The phases, as progress reports name them.
const CLEANING: &str = "cleaning";
const READING: &str = "reading";
const LEARNING: &str = "learning";
const TOKENIZING: &str = "tokenizing";
const STORING: &str = "storing";

type Lines = Vec<(String, String)>;

/// The text of an experiment, with training pairs as token ids.
pub(crate) struct LoadedData {
    pub(crate) tokenizers: Tokenizers,
    pub(crate) store: TokenStore,
    /// The pairs that were left out of each corpus before all others, if the text was cleaned now.
    pub(crate) cleaning: Vec<Cleaning>,
    pub(crate) summary: CorpusSummary,
    pub(crate) fingerprint: u64,
    /// The weight of each corpus: the mean number of times that each of its pairs occurs in a pass over the data.
    pub(crate) weights: Vec<f64>,
    /// The validation pairs; several corpora, if each is scored by itself.
    pub(crate) valid: ParallelText,
    /// The number of the training corpus of each of these, from 1.
    pub(crate) valid_corpora: Vec<usize>,
    /// Test pairs; only tasks have any.
    pub(crate) test: Lines,
}

impl LoadedData {
    /// Reads and tokenizes the text, or opens the token store that an earlier run built. Trains
    /// tokenizers if there are no `tokenizers` yet.
    pub(crate) fn load(
        experiment: &Experiment,
        cleaned_as: &Languages,
        tokenizers: Option<Tokenizers>,
        location: Option<StoreLocation>,
        progress: &Progress,
    ) -> Result<Self, TrainError> {
        let log = progress.log();
        let (sources, valid) = match experiment.data.source()? {
            DataSource::Task(task) => {
                let (train, valid, test) = splits_of(task, experiment);
                let loaded = Self::in_memory(experiment, tokenizers, train, valid, progress)?;
                return Ok(Self { test, ..loaded });
            }
            DataSource::Corpus { train, valid } => (train, valid),
        };
        let (sources, weights): (Vec<_>, Vec<f64>) = sources.into_iter().unzip();
        let limit = experiment.data.line_limit();
        if let Some(stored) = location.as_ref().and_then(|location| location.open(log)) {
            return Self::from_stored(stored, &valid, weights, limit);
        }
        let (train, cleaning) = open_train(
            &sources,
            experiment,
            cleaned_as,
            progress,
            &mut io::stdin().lock(),
        )?;
        let (train, valid_text) = split(train, &valid, experiment)?;
        let Some(location) = location.filter(StoreLocation::builds_missing) else {
            let loaded = Self::in_memory(experiment, tokenizers, train, valid_text, progress)?;
            let valid_corpora = numbers(&valid);
            return Ok(Self {
                cleaning,
                weights,
                valid_corpora,
                ..loaded
            });
        };
        let tokenizers = given_or_trained(tokenizers, experiment, &train, progress)?;
        let train = train.with_progress(progress, STORING);
        let held_out = match valid {
            ValidationSource::HeldOut => Some(valid_text.pairs()?.collect::<Result<Lines, _>>()?),
            ValidationSource::Files(_) | ValidationSource::OfCorpora(_) => None,
        };
        let path = location.path();
        log(&format!("store       building {}", path.display()));
        let stored = location.build(&tokenizers, held_out, log, |mut writer, directory| {
            let error = |source| TrainError::Store {
                path: path.clone(),
                source,
            };
            let sink = |pair: KeptPair<'_>| writer.push(pair.src, pair.tgt).map_err(error);
            let [src, tgt] = [tokenizers.src(), tokenizers.tgt()].map(tokenized);
            let encoded = encode_into(&train, &experiment.data, src, tgt, sink)?;
            writer.finish_in(directory).map_err(error)?;
            Ok(encoded)
        })?;
        let loaded = Self::from_stored(stored, &valid, weights, limit)?;
        Ok(Self { cleaning, ..loaded })
    }

    fn from_stored(
        stored: StoredCorpus,
        valid: &ValidationSource,
        weights: Vec<f64>,
        limit: LineLimit,
    ) -> Result<Self, TrainError> {
        let manifest = stored.manifest;
        let valid_corpora = numbers(valid);
        let valid = match open_valid(valid, limit)? {
            Some(valid) => valid,
            None => ParallelText::from_pairs(manifest.held_out.unwrap_or_default()),
        };
        Ok(Self {
            tokenizers: stored.tokenizers,
            store: stored.store,
            cleaning: Vec::new(),
            summary: manifest.summary,
            fingerprint: manifest.fingerprint,
            weights,
            valid,
            valid_corpora,
            test: Lines::new(),
        })
    }

    fn in_memory(
        experiment: &Experiment,
        tokenizers: Option<Tokenizers>,
        train: ParallelText,
        valid: ParallelText,
        progress: &Progress,
    ) -> Result<Self, TrainError> {
        let tokenizers = given_or_trained(tokenizers, experiment, &train, progress)?;
        let (store, summary, fingerprint) = encode(
            &train.with_progress(progress, TOKENIZING),
            &experiment.data,
            vocab_size_of(&tokenizers),
            tokenized(tokenizers.src()),
            tokenized(tokenizers.tgt()),
        )?;
        Ok(Self {
            tokenizers,
            store,
            cleaning: Vec::new(),
            summary,
            fingerprint: fingerprint.value(),
            weights: vec![1.0],
            valid,
            valid_corpora: Vec::new(),
            test: Lines::new(),
        })
    }
}

/// Opens the training text, cleaned by these languages if the experiment says so, with `-` as the reader given.
pub(crate) fn open_train(
    sources: &[TaggedCorpus],
    experiment: &Experiment,
    cleaned_as: &Languages,
    progress: &Progress,
    stdin: &mut dyn Read,
) -> Result<(ParallelText, Vec<Cleaning>), TrainError> {
    let data = &experiment.data;
    let limit = data.line_limit();
    let mut cleaning = Vec::new();
    let mut corpora = Vec::new();
    for TaggedCorpus { source, tags } in sources {
        let mut text = ParallelText::open_with_stdin(source, limit, stdin)?;
        if data.clean {
            // Corpora with tags can be in other languages than that of the settings.
            let has_tags = sources.iter().any(|it| it.tags != Tags::default());
            let given = match has_tags {
                false => [cleaned_as.src.as_ref(), cleaned_as.tgt.as_ref()],
                true => [None, None],
            };
            let text_to_clean = text.with_progress(progress, CLEANING);
            let cleaned = Cleaning::of(text_to_clean, given, experiment.training.seed)?;
            for line in cleaned.report() {
                progress.log()(&format!("clean       {line}"));
            }
            let share = cleaned.dropped_share();
            if share >= 1.0 {
                let file = cleaned.cleaned().name().to_owned();
                return Err(TrainError::AllDropped { file });
            }
            if share > MUCH {
                progress.log()(&format!(
                    "warning     cleaning leaves out {:.0}% of the pairs above; if they are good, keep them by \
                     `--clean=false`",
                    100.0 * share
                ));
            }
            text = cleaned.cleaned();
            cleaning.push(cleaned);
        }
        corpora.push(text.tagged(tags));
    }
    let train = ParallelText::concatenated(corpora, limit);
    Ok((train.with_progress(progress, READING), cleaning))
}

/// Returns the training text and the validation text: files, or pairs held out of the training text.
fn split(
    train: ParallelText,
    valid: &ValidationSource,
    experiment: &Experiment,
) -> Result<(ParallelText, ParallelText), TrainError> {
    let limit = experiment.data.line_limit();
    Ok(match open_valid(valid, limit)? {
        Some(valid) => (train, valid),
        None => train.hold_out(experiment.data.valid_pairs, experiment.training.seed)?,
    })
}

/// Opens the validation text; `None` if it is held out of the training text.
fn open_valid(
    valid: &ValidationSource,
    limit: LineLimit,
) -> Result<Option<ParallelText>, TrainError> {
    Ok(match valid {
        ValidationSource::HeldOut => None,
        ValidationSource::Files(files) => Some(ParallelText::open(files, limit)?),
        ValidationSource::OfCorpora(corpora) => {
            let corpora: Vec<TaggedCorpus> = corpora.iter().map(|(_, it)| it.clone()).collect();
            Some(ParallelText::open_all(&corpora, limit)?)
        }
    })
}

fn numbers(valid: &ValidationSource) -> Vec<usize> {
    match valid {
        ValidationSource::HeldOut | ValidationSource::Files(_) => Vec::new(),
        ValidationSource::OfCorpora(corpora) => corpora.iter().map(|(number, _)| *number).collect(),
    }
}

fn splits_of(task: Task, experiment: &Experiment) -> (ParallelText, ParallelText, Lines) {
    let data = &experiment.data;
    let seed = experiment.training.seed;
    let text = |split, n_pairs| ParallelText::from_pairs(task.pairs(split, n_pairs, seed));
    (
        text(Split::Train, data.task_pairs),
        text(Split::Valid, data.valid_pairs),
        task.pairs(Split::Test, N_TEST_PAIRS, seed),
    )
}

/// Returns the given tokenizers, or trains new ones.
fn given_or_trained(
    given: Option<Tokenizers>,
    experiment: &Experiment,
    train: &ParallelText,
    progress: &Progress,
) -> Result<Tokenizers, TrainError> {
    if let Some(given) = given {
        return Ok(given);
    }
    let train = train.clone().with_progress(progress, READING);
    let sample = train.sample(experiment.data.tokenizer_sample, experiment.training.seed)?;
    let sources = || sample.iter().map(|(src, _)| src.as_str());
    let targets = || sample.iter().map(|(_, tgt)| tgt.as_str());
    let mut phase = progress.begin(LEARNING);
    // Training a tokenizer cannot be interrupted; an interrupt takes effect afterwards.
    let mut on_progress = |share| {
        let _ = phase.share(share);
    };
    Ok(match experiment.vocabularies() {
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
