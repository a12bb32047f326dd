//! `transformer-infer shortlist`: learns from parallel text which target tokens translate each source token.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use transformer_core::config::Tying;
use transformer_core::directory::{ModelDirectory, Tokenizers};
use transformer_core::text::Tokenizer;
use transformer_core::{Lexicon, Shortlist, TokenPair};
use transformer_infer::BatchLimits;
use transformer_infer::attention::words_of;

use super::{CommandError, LineFlags, ParallelLines, Progress, Row, at_least_one};

const ROWS_AT_ONCE: usize = 2000;

/// Of so many pairs, one is not learned from.
const HOLD_OUT: usize = 50;

/// Adds a shortlist to a model: the target tokens that can translate each source token. On CPUs, `translate`, `evaluate`
/// and `serve` then compute the output for a few hundred tokens in place of the whole vocabulary.
///
/// The shortlist is learned from parallel text, such as the text that the model was trained on: by given word
/// alignments, or else by IBM model 1. A shortlist of the model is replaced. One pair of 50 is not
/// learned from; the share of its target tokens that the shortlist allows is printed.
#[derive(Debug, Args)]
pub(crate) struct ShortlistCommand {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// File with the sources, one per line, plain or gzip; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// File with the translations, one for each source.
    #[arg(long, value_name = "FILE")]
    tgt: PathBuf,
    /// File with the word alignment of each pair, such as `0-0 1-2`: source word and translation word, separated by
    /// whitespace and counted from 0, as `translate --alignments` prints them.
    #[arg(long, value_name = "FILE")]
    alignments: Option<PathBuf>,
    /// Maximum number of target tokens for each source token.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one())]
    best: usize,
    /// Number of the most frequent target tokens, which are allowed in every sentence.
    #[arg(long, value_name = "N", default_value_t = 100)]
    frequent: usize,
    /// Maximum length of a line of either side, in tokens; longer pairs are left out.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().max_src_len, value_parser = at_least_one())]
    max_len: usize,
    #[command(flatten)]
    lines: LineFlags,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Default)]
struct Text {
    learned: Vec<TokenPair>,
    /// The linked tokens of each learned pair; empty without alignments.
    links: Vec<Vec<(usize, usize)>>,
    held_out: Vec<TokenPair>,
}

impl ShortlistCommand {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let model = ModelDirectory::open(&self.model)?;
        if model.config().tying == Tying::None {
            return Err(CommandError::UntiedOutput {
                path: self.model.clone(),
            });
        }
        let tokenizers = model.tokenizers();
        let text = self.read(tokenizers)?;
        if text.learned.is_empty() {
            return Err(CommandError::NothingToLearn {
                path: self.src.clone(),
            });
        }
        let lexicon = match self.alignments {
            Some(_) => Lexicon::count(&text.learned, &text.links),
            None => Lexicon::learn(&text.learned),
        };
        let mut common = lexicon.most_frequent(self.frequent).to_vec();
        // A translation begins with the token of its language.
        let languages = tokenizers.tgt().languages().into_iter();
        let tokens = languages.flat_map(|languages| languages.all());
        common.extend(tokens.filter_map(|language| tokenizers.tgt().id(&language.token)));
        let n_src = model.config().src_vocab_size;
        let shortlist = lexicon.shortlist(n_src, self.best, &common);
        let shortlist = match tokenizers {
            Tokenizers::Joint(_) => shortlist.with_copies(),
            Tokenizers::Separate { .. } => shortlist,
        };
        if ModelDirectory::open(&self.model)?.manifest() != model.manifest() {
            return Err(CommandError::ModelChanged {
                path: self.model.clone(),
            });
        }
        ModelDirectory::add_shortlist(model.path(), &shortlist)?;
        let summary = self.summary(&text, &shortlist, model.config().tgt_vocab_size);
        writeln!(io::stdout(), "{summary}").map_err(CommandError::output)
    }

    fn read(&self, tokenizers: &Tokenizers) -> Result<Text, CommandError> {
        let alignments = self.alignments.as_deref().into_iter();
        let paths: Vec<&Path> = [self.src.as_path(), &self.tgt]
            .into_iter()
            .chain(alignments)
            .collect();
        let (mut rows, n_rows) = ParallelLines::open_checked(&paths, "counterpart", self.lines)?;
        let progress = Progress::new(n_rows, !self.quiet);
        let (mut text, mut n_read) = (Text::default(), 0);
        loop {
            let chunk = rows.next_rows(ROWS_AT_ONCE)?;
            if chunk.is_empty() {
                return Ok(text);
            }
            let side = |tokenizer: &Tokenizer, column: usize| {
                let lines: Vec<&str> = chunk.iter().map(|row| row[column].as_str()).collect();
                tokenizer.encode_all(&lines)
            };
            let pairs = side(tokenizers.src(), 0)
                .into_iter()
                .zip(side(tokenizers.tgt(), 1));
            for (row, pair) in chunk.iter().zip(pairs) {
                n_read += 1;
                if pair.0.len().max(pair.1.len()) > self.max_len {
                    continue;
                }
                if n_read % HOLD_OUT == 0 {
                    text.held_out.push(pair);
                    continue;
                }
                if let Some(path) = &self.alignments {
                    let links = links(row, tokenizers);
                    text.links
                        .push(links.map_err(|link| CommandError::Alignment {
                            path: path.clone(),
                            line: n_read,
                            link,
                        })?);
                }
                text.learned.push(pair);
            }
            progress.show(n_read);
        }
    }

    fn summary(&self, text: &Text, shortlist: &Shortlist, n_tgt: usize) -> String {
        let model = self.model.display();
        let n_learned = text.learned.len();
        let learned = format!("{model}: shortlist learned from {n_learned} pairs");
        let (mut n_tokens, mut n_found, mut n_whole, mut n_candidates) = (0, 0, 0, 0);
        for (src, tgt) in &text.held_out {
            let candidates = shortlist.candidates(src);
            let is_found = |id: &&u32| candidates.binary_search(id).is_ok();
            let found = tgt.iter().filter(is_found).count();
            n_candidates += candidates.len();
            n_tokens += tgt.len();
            n_found += found;
            n_whole += usize::from(found == tgt.len());
        }
        let n_pairs = text.held_out.len();
        if n_tokens == 0 {
            return format!(
                "{learned}\nno other pairs to check it with; it takes {HOLD_OUT} in all"
            );
        }
        let percent = |n: usize, all: usize| 100.0 * n as f64 / all as f64;
        format!(
            "{learned}\nof {n_pairs} other pairs it allows {:.2}% of the target tokens, and {:.1}% of the targets as a whole\n\
             a sentence considers {:.0} target tokens on average, {:.1}% of {n_tgt}",
            percent(n_found, n_tokens),
            percent(n_whole, n_pairs),
            n_candidates as f64 / n_pairs as f64,
            percent(n_candidates, n_pairs * n_tgt)
        )
    }
}

/// Returns the indices of linked tokens, given source, target and alignment: the tokens of a word are linked to all
/// tokens of a linked word. The error is the first link that is none.
fn links(row: &Row, tokenizers: &Tokenizers) -> Result<Vec<(usize, usize)>, String> {
    let [src, tgt] =
        [(tokenizers.src(), &row[0]), (tokenizers.tgt(), &row[1])].map(|(tokenizer, line)| {
            let (_, spans) = tokenizer.encode_spans(line);
            (words_of(&spans, line), line.split_whitespace().count())
        });
    let mut links = Vec::new();
    for link in row[2].split_whitespace() {
        let pair = link.split_once('-');
        let pair = pair.and_then(|(from, to)| from.parse().ok().zip(to.parse().ok()));
        let pair = pair.filter(|(from, to)| *from < src.1 && *to < tgt.1);
        let (from, to): (usize, usize) = pair.ok_or_else(|| link.to_owned())?;
        let of_word = |words: &[Option<usize>], word| -> Vec<usize> {
            let words = words.iter().enumerate();
            words
                .filter(|(_, it)| **it == Some(word))
                .map(|(token, _)| token)
                .collect()
        };
        let tgt = of_word(&tgt.0, to);
        let of_src = |from: usize| tgt.iter().map(move |to| (from, *to));
        links.extend(of_word(&src.0, from).into_iter().flat_map(of_src));
    }
    Ok(links)
}
