//! [`ParallelText`]: a corpus as text.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::config::{CorpusSource, LineLimit, LongLines, TaggedCorpus, Tags};
use crate::corpus::input::Input;
use crate::corpus::pairs::{PairSource, Pairs, Reading};
use crate::error::TrainError;
use crate::progress::Progress;

/// A corpus as text; every call of [`pairs`](Self::pairs) reads it from the start.
///
/// Training reads it several times: to clean it, to train the tokenizers on a [`sample`](Self::sample), and to build the
/// token store. It is not kept in memory, except that standard input and pipes, which can be read only once, are buffered.
#[derive(Clone, Debug)]
pub(crate) struct ParallelText {
    name: String,
    origin: Origin,
    long_lines: LongLines,
    tags: Arc<Tags>,
    /// Indices of pairs that are not read, ascending.
    held_out: Arc<[u64]>,
    progress: Option<ReadingProgress>,
}

#[derive(Clone, Debug)]
struct ReadingProgress {
    progress: Progress,
    phase: &'static str,
    n_pairs: Arc<OnceLock<u64>>,
}

#[derive(Clone, Debug)]
enum Origin {
    Files { src: Input, tgt: Input },
    Tsv(Input),
    Memory(Arc<[(String, String)]>),
    Corpora(Arc<[ParallelText]>),
}

impl ParallelText {
    /// Opens a corpus, with `-` as the standard input of the process.
    pub(crate) fn open(source: &CorpusSource, limit: LineLimit) -> Result<Self, TrainError> {
        Self::open_with_stdin(source, limit, &mut io::stdin().lock())
    }

    /// Opens a corpus, with `-` as the reader given.
    pub(crate) fn open_with_stdin(
        source: &CorpusSource,
        limit: LineLimit,
        stdin: &mut dyn Read,
    ) -> Result<Self, TrainError> {
        let (name, origin) = match source {
            CorpusSource::Files { src, tgt } => {
                if src == Path::new("-") && tgt == Path::new("-") {
                    return Err(TrainError::StandardInputTwice);
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
        Ok(Self::new(name, origin, limit.long_lines))
    }

    /// Opens several corpora as one: their concatenation, with their tags.
    pub(crate) fn open_all(corpora: &[TaggedCorpus], limit: LineLimit) -> Result<Self, TrainError> {
        let open =
            |corpus: &TaggedCorpus| Ok(Self::open(&corpus.source, limit)?.tagged(&corpus.tags));
        let corpora: Result<Vec<Self>, TrainError> = corpora.iter().map(open).collect();
        Ok(Self::concatenated(corpora?, limit))
    }

    pub(super) fn concatenated(mut corpora: Vec<Self>, limit: LineLimit) -> Self {
        if corpora.len() == 1 {
            return corpora.remove(0);
        }
        let names: Vec<&str> = corpora.iter().map(Self::name).collect();
        let name = names.join(", ");
        let origin = Origin::Corpora(corpora.into());
        Self::new(name, origin, limit.long_lines)
    }

    fn new(name: String, origin: Origin, long_lines: LongLines) -> Self {
        Self {
            name,
            origin,
            long_lines,
            tags: Arc::default(),
            held_out: Arc::default(),
            progress: None,
        }
    }

    /// Creates a corpus from pairs in memory, such as those of a task.
    pub(crate) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        let name = "the list of pairs".to_owned();
        Self::new(name, Origin::Memory(pairs.into()), LongLines::default())
    }

    /// Returns the name of this corpus in messages: the quoted paths of its files.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn tags(&self) -> Vec<&Tags> {
        match &self.origin {
            Origin::Corpora(corpora) => corpora.iter().flat_map(Self::tags).collect(),
            _ => vec![&self.tags],
        }
    }

    /// Reads the corpus from its start. Errors in the content of the files, and of an empty corpus, are items of the
    /// iterator.
    pub(crate) fn pairs(&self) -> Result<Pairs, TrainError> {
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
            Arc::clone(&self.tags),
            Arc::clone(&self.held_out),
            reading,
        ))
    }

    /// Puts a tag and a space before every line that is read and not blank.
    pub(crate) fn tagged(self, tags: &Tags) -> Self {
        Self {
            tags: Arc::new(tags.clone()),
            ..self
        }
    }

    /// Makes every later reading report its progress as `phase`, and stop when the user stops the run.
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

    pub(super) fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Leaves out the pairs with these indices in the files, besides those that are already left out.
    pub(super) fn without(self, indices: &[u64]) -> Self {
        let mut held_out = [&*self.held_out, indices].concat();
        held_out.sort_unstable();
        Self {
            held_out: held_out.into(),
            ..self
        }
    }

    pub(super) fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref().map(|it| &it.progress)
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::lines::LineError;

    use super::*;

    fn pair(src: &str, tgt: &str) -> (String, String) {
        (src.to_owned(), tgt.to_owned())
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
            Err(TrainError::Line(LineError::Open { .. }))
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
        assert!(matches!(opened, Err(TrainError::StandardInputTwice)));
    }

    #[test]
    fn several_corpora_are_concatenated() {
        let dir = tempfile::tempdir().expect("there is a folder for temporary files");
        let sources = [("one.tsv", "a\t1\nb\t2\n"), ("two.tsv", "c\t3\n")].map(|(name, text)| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("the folder can be written");
            TaggedCorpus {
                source: CorpusSource::Tsv { path },
                tags: Tags::default(),
            }
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
}
