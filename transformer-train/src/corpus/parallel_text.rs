//! [`ParallelText`]: a corpus as text.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use transformer_core::random::{SplitMix64, hash};

use crate::config::{CorpusSource, LineLimit, LongLines};
use crate::corpus::CorpusError;
use crate::corpus::input::Input;
use crate::corpus::pairs::{PairSource, Pairs, Reading};
use crate::progress::Progress;

/// A corpus as text, which every call of [`pairs`](Self::pairs) reads from its start.
///
/// Training reads it twice: to train the tokenizers on a [`sample`](Self::sample), and to build the
/// token store. It is not in memory, with one exception: standard input and pipes can be read only
/// once, so their bytes are buffered.
///
/// # Example
///
/// ```
/// use transformer_train::corpus::ParallelText;
///
/// let text = ParallelText::from_pairs(vec![("ein Haus".into(), "a house".into())]);
/// let pairs = text.pairs()?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(pairs[0].1, "a house");
/// # Ok::<(), transformer_train::corpus::CorpusError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParallelText {
    name: String,
    origin: Origin,
    long_lines: LongLines,
    held_out: Arc<[u64]>,
    progress: Option<ReadingProgress>,
}

/// How reading reports its progress.
#[derive(Clone, Debug)]
struct ReadingProgress {
    progress: Progress,
    /// The name of the phase.
    phase: &'static str,
    /// Number of pairs, which is known after they have been read once.
    n_pairs: Arc<OnceLock<u64>>,
}

#[derive(Clone, Debug)]
enum Origin {
    Files { src: Input, tgt: Input },
    Tsv(Input),
    Memory(Arc<[(String, String)]>),
    Corpora(Arc<[ParallelText]>),
}

/// Largest size of a sample, in bytes of text.
const MAX_SAMPLE_BYTES: usize = 1 << 30;

/// Pairs with their index in the files.
type IndexedPairs = Vec<(u64, (String, String))>;

impl ParallelText {
    /// Opens a corpus, with `-` as the standard input of the process.
    ///
    /// # Errors
    ///
    /// Returns a [`CorpusError`] when a file cannot be opened, when both sides are `-`, or when
    /// standard input or a pipe cannot be buffered.
    pub fn open(source: &CorpusSource, limit: LineLimit) -> Result<Self, CorpusError> {
        Self::open_with_stdin(source, limit, &mut io::stdin().lock())
    }

    /// Opens a corpus, with `-` as the reader given.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with_stdin(
        source: &CorpusSource,
        limit: LineLimit,
        stdin: &mut dyn Read,
    ) -> Result<Self, CorpusError> {
        let (name, origin) = match source {
            CorpusSource::Files { src, tgt } => {
                if src == Path::new("-") && tgt == Path::new("-") {
                    return Err(CorpusError::StandardInputTwice);
                }
                let src = Input::new(src, limit, stdin)?;
                let tgt = Input::new(tgt, limit, stdin)?;
                (
                    format!("{} with {}", src.name, tgt.name),
                    Origin::Files { src, tgt },
                )
            }
            CorpusSource::Tsv { path } => {
                let input = Input::new(path, limit, stdin)?;
                (input.name.clone(), Origin::Tsv(input))
            }
        };
        Ok(Self {
            name,
            origin,
            long_lines: limit.long_lines,
            held_out: Arc::default(),
            progress: None,
        })
    }

    /// Opens several corpora as one: their concatenation.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_all(sources: &[CorpusSource], limit: LineLimit) -> Result<Self, CorpusError> {
        let open = |source| Self::open(source, limit);
        let corpora: Result<Vec<Self>, _> = sources.iter().map(open).collect();
        let corpora = corpora?;
        let names: Vec<&str> = corpora.iter().map(Self::name).collect();
        Ok(Self {
            name: names.join(", "),
            origin: Origin::Corpora(corpora.into()),
            long_lines: limit.long_lines,
            held_out: Arc::default(),
            progress: None,
        })
    }

    /// Creates a corpus from pairs in memory, such as those of a task.
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        let origin = Origin::Memory(pairs.into());
        Self {
            name: "the list of pairs".to_owned(),
            origin,
            long_lines: LongLines::default(),
            held_out: Arc::default(),
            progress: None,
        }
    }

    /// Returns the name of this corpus in messages: the quoted paths of its files.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the corpus from its start.
    ///
    /// # Errors
    ///
    /// Returns a [`CorpusError`] when a file cannot be opened any more. Errors in the content of
    /// the files are items of the iterator; so is the error of an empty corpus.
    pub fn pairs(&self) -> Result<Pairs, CorpusError> {
        let source = match &self.origin {
            Origin::Files { src, tgt } => PairSource::Files {
                src: src.lines()?,
                tgt: tgt.lines()?,
            },
            Origin::Tsv(input) => PairSource::Tsv(input.lines()?),
            Origin::Memory(pairs) => PairSource::Memory {
                pairs: Arc::clone(pairs),
                next: 0,
            },
            Origin::Corpora(corpora) => {
                let corpora: Result<Vec<Pairs>, _> = corpora.iter().map(Self::pairs).collect();
                PairSource::Corpora {
                    corpora: corpora?,
                    current: 0,
                }
            }
        };
        let reading = self.progress.as_ref().map(|it| Reading {
            phase: it.progress.begin(it.phase),
            n_pairs: Arc::clone(&it.n_pairs),
        });
        Ok(Pairs::new(
            self.name.clone(),
            source,
            self.long_lines,
            Arc::clone(&self.held_out),
            reading,
        ))
    }

    /// Makes every later reading report its progress as `phase`, and stop when the user stops the
    /// run.
    pub(crate) fn with_progress(self, progress: &Progress, phase: &'static str) -> Self {
        let n_pairs = self.progress.map(|it| it.n_pairs).unwrap_or_default();
        let progress = ReadingProgress {
            progress: progress.clone(),
            phase,
            n_pairs,
        };
        Self {
            progress: Some(progress),
            ..self
        }
    }

    /// Reads the whole corpus and returns a uniform random sample of `n_pairs` pairs, in the order
    /// of the corpus; all pairs if there are no more than that. A sample of more than 1 GiB becomes
    /// smaller.
    ///
    /// # Errors
    ///
    /// Returns the first [`CorpusError`] in the files.
    pub fn sample(&self, n_pairs: usize, seed: u64) -> Result<Vec<(String, String)>, CorpusError> {
        let (sample, _) = self.indexed_sample(n_pairs, MAX_SAMPLE_BYTES, seed)?;
        Ok(sample.into_iter().map(|(_, pair)| pair).collect())
    }

    /// Holds out pairs for validation. Returns the training data and the validation data.
    ///
    /// Validation gets `n_pairs` pairs, but at most a tenth of the corpus and at least one pair. A
    /// sentence that occurs twice can be in both parts, so separate validation files are better.
    ///
    /// # Errors
    ///
    /// Returns the first [`CorpusError`] in the files, or
    /// [`TooFewToHoldOut`](CorpusError::TooFewToHoldOut).
    pub fn hold_out(self, n_pairs: usize, seed: u64) -> Result<(Self, Self), CorpusError> {
        let (mut sample, n_seen) = self.indexed_sample(n_pairs, MAX_SAMPLE_BYTES, seed)?;
        if n_seen < 2 {
            return Err(CorpusError::TooFewToHoldOut { file: self.name });
        }
        // The sample is in the order of the corpus; shuffling before truncation keeps all pairs
        // equally likely.
        SplitMix64::new(hash(seed, u64::MAX)).shuffle(&mut sample);
        sample.truncate((n_seen / 10).max(1) as usize);
        sample.sort_unstable_by_key(|(index, _)| *index);
        let (indices, pairs): (Vec<u64>, Vec<_>) = sample.into_iter().unzip();
        let name = format!("held-out pairs of {}", self.name);
        let valid = Self {
            name,
            ..Self::from_pairs(pairs)
        };
        let mut held_out = [&*self.held_out, &indices].concat();
        held_out.sort_unstable();
        Ok((
            Self {
                held_out: held_out.into(),
                ..self
            },
            valid,
        ))
    }

    /// Returns a sample with the index of each pair in the files, and the number of pairs
    /// (reservoir sampling).
    fn indexed_sample(
        &self,
        mut n_pairs: usize,
        max_bytes: usize,
        seed: u64,
    ) -> Result<(IndexedPairs, u64), CorpusError> {
        let mut sample = IndexedPairs::new();
        let mut random = SplitMix64::new(seed);
        let (mut n_seen, mut n_bytes) = (0, 0);
        let mut pairs = self.pairs()?;
        while let Some(pair) = pairs.next() {
            let pair = pair?;
            let indexed = (pairs.n_read() - 1, pair);
            n_seen += 1;
            if sample.len() < n_pairs {
                n_bytes += n_bytes_of(&indexed);
                sample.push(indexed);
            } else {
                let slot = random.below(n_seen) as usize;
                if let Some(replaced) = sample.get_mut(slot) {
                    n_bytes = n_bytes + n_bytes_of(&indexed) - n_bytes_of(replaced);
                    *replaced = indexed;
                }
            }
            // A uniform sample of the sample is one of the corpus.
            while n_bytes > max_bytes && sample.len() > 1 {
                let slot = random.below(sample.len() as u64) as usize;
                n_bytes -= n_bytes_of(&sample.swap_remove(slot));
                n_pairs = sample.len();
            }
        }
        sample.sort_unstable_by_key(|(index, _)| *index);
        Ok((sample, n_seen))
    }
}

/// Returns the size of a pair's text, in bytes.
fn n_bytes_of((_, (src, tgt)): &(u64, (String, String))) -> usize {
    src.len() + tgt.len()
}

#[cfg(test)]
mod tests {
    use transformer_core::lines::LineError;

    use super::*;

    fn pair(src: &str, tgt: &str) -> (String, String) {
        (src.to_owned(), tgt.to_owned())
    }

    fn numbers(n: usize) -> ParallelText {
        ParallelText::from_pairs((0..n).map(|i| pair(&i.to_string(), "x")).collect())
    }

    #[test]
    fn missing_files_are_named() {
        let source = CorpusSource::Tsv {
            path: "no/such/file".into(),
        };
        let message = ParallelText::open(&source, LineLimit::default())
            .expect_err("it is missing")
            .to_string();
        assert!(
            message.starts_with("cannot open `no/such/file`: "),
            "{message}"
        );
        assert!(message.ends_with("; check the path"), "{message}");
    }

    #[test]
    fn folders_are_refused() {
        let source = CorpusSource::Tsv {
            path: std::env::temp_dir(),
        };
        assert!(matches!(
            ParallelText::open(&source, LineLimit::default()),
            Err(CorpusError::Line(LineError::Open { .. }))
        ));
    }

    #[test]
    fn standard_input_can_be_read_again() {
        let source = CorpusSource::Tsv { path: "-".into() };
        let text =
            ParallelText::open_with_stdin(&source, LineLimit::default(), &mut &b"a\t1\n"[..]);
        let text = text.expect("the bytes are a table");
        for _ in 0..2 {
            let read: Result<Vec<_>, _> = text.pairs().and_then(Iterator::collect);
            assert_eq!(read.expect("one pair"), [pair("a", "1")]);
        }
    }

    #[test]
    fn standard_input_cannot_be_both_sides() {
        let source = CorpusSource::Files {
            src: "-".into(),
            tgt: "-".into(),
        };
        let opened = ParallelText::open_with_stdin(&source, LineLimit::default(), &mut io::empty());
        assert!(matches!(opened, Err(CorpusError::StandardInputTwice)));
    }

    #[test]
    fn several_corpora_are_concatenated() {
        let dir = tempfile::tempdir().expect("there is a folder for temporary files");
        let sources = [("one.tsv", "a\t1\nb\t2\n"), ("two.tsv", "c\t3\n")].map(|(name, text)| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("the folder can be written");
            CorpusSource::Tsv { path }
        });
        let text = ParallelText::open_all(&sources, LineLimit::default()).expect("both are there");
        let mut pairs = text.pairs().expect("both are there");
        let mut read = Vec::new();
        while let Some(pair) = pairs.next() {
            read.push((pairs.corpus(), pair.expect("both are tables")));
        }
        let expected = [
            (0, pair("a", "1")),
            (0, pair("b", "2")),
            (1, pair("c", "3")),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_sample_larger_than_the_corpus_is_the_corpus() {
        let sample = numbers(5).sample(10, 1).expect("it is in memory");
        assert_eq!(
            sample,
            (0..5)
                .map(|i| pair(&i.to_string(), "x"))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn all_pairs_are_sampled_equally_often() {
        let text = numbers(20);
        let mut counts = [0; 20];
        for seed in 0..2000 {
            for (src, _) in text.sample(5, seed).expect("it is in memory") {
                counts[src.parse::<usize>().expect("sources are numbers")] += 1;
            }
        }
        // Each count is binomial with mean 500 and standard deviation 19; 100 is five of these.
        assert!(
            counts.iter().all(|count| (400..600).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn at_most_a_tenth_is_held_out_and_nothing_is_lost() {
        let (train, valid) = numbers(50).hold_out(1000, 1).expect("it is in memory");
        let train: Vec<_> = train
            .pairs()
            .expect("memory")
            .map(|p| p.expect("memory"))
            .collect();
        let valid: Vec<_> = valid
            .pairs()
            .expect("memory")
            .map(|p| p.expect("memory"))
            .collect();
        assert_eq!((train.len(), valid.len()), (45, 5));
        let mut all = [train, valid].concat();
        all.sort_by_key(|(src, _)| src.parse::<usize>().expect("sources are numbers"));
        assert_eq!(all, numbers(50).sample(50, 0).expect("memory"));
    }

    #[test]
    fn holding_out_twice_takes_other_pairs() {
        let (rest, first) = numbers(40).hold_out(4, 1).expect("it is in memory");
        let (rest, second) = rest.hold_out(3, 2).expect("it is in memory");
        let all: Vec<_> = [rest, first, second]
            .iter()
            .flat_map(|text| text.sample(40, 0).expect("it is in memory"))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn a_single_pair_cannot_be_held_out() {
        let split = numbers(1).hold_out(1, 1);
        assert!(matches!(split, Err(CorpusError::TooFewToHoldOut { .. })));
    }
}
