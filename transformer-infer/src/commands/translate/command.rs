//! [`Translate`]: reads lines, and writes their translations.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use transformer_core::text::N_SPECIAL;
use transformer_core::text::special::byte_of;
use transformer_infer::metrics::Chrf;
use transformer_infer::search::{Search, SearchError};
use transformer_infer::{BatchLimits, Candidate, Glossary, Input, Translation, Translator};

use super::checked_lines::{CheckFlags, CheckedLines, print_doubtful};
use super::document::{Document, Means};
use super::document_flags::DocumentFlags;
use super::line_stream::{Group, LineStream};
use super::output::{AlignmentFlags, Answer, OutputFlags};
use super::search_flags::SearchFlags;
use crate::commands::{
    CommandError, LanguageFlags, LineFlags, LineRate, LineWarnings, Lines, SpeedFlags, TermFlags,
    TermReport, at_least_one, next_lines, open, tell, terms_in,
};

const LINES_AT_ONCE: usize = 1000;

const DASH: &str = "-";

/// Translates text, line by line.
///
/// The text is the arguments, one line each, or standard input, plain or gzip, if there is no argument or `-`. Every
/// input line gives one output line, in the same order; an empty line stays empty. Lines that arrive slowly, from a
/// terminal or a pipe, are translated as they arrive.
#[derive(Debug, Args)]
pub(crate) struct Translate {
    /// Directory of the model, or of the training run that trained it; repeat the flag for an ensemble.
    #[arg(long, value_name = "DIR", required = true)]
    model: Vec<PathBuf>,
    #[command(flatten)]
    languages: LanguageFlags,
    #[command(flatten)]
    search: SearchFlags,
    /// Text that every translation begins with.
    #[arg(long, value_name = "TEXT", conflicts_with = "prefixes")]
    prefix: Option<String>,
    /// File with the text that each translation begins with: one line per input line, blank for none.
    #[arg(long, value_name = "FILE")]
    prefixes: Option<PathBuf>,
    #[command(flatten)]
    terms: TermFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    alignments: AlignmentFlags,
    /// Maximum number of source tokens in a batch, padding included, times the beam size: larger batches are faster up
    /// to a point and need more memory; the translations are the same.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().batch_tokens, value_parser = at_least_one())]
    batch_tokens: usize,
    #[command(flatten)]
    speed: SpeedFlags,
    #[command(flatten)]
    lines: LineFlags,
    /// Maximum length of a line, in tokens; the rest is not translated, with a warning.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().max_src_len, value_parser = at_least_one())]
    max_src_len: usize,
    /// Also translate lines without letters, such as `2024` [default: they are copied, unless the vocabulary of the
    /// source has no letters].
    #[arg(long)]
    no_copy: bool,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    check: CheckFlags,
    #[command(flatten)]
    document: DocumentFlags,
    /// Text to translate.
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
}

impl Translate {
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        self.search.check()?;
        let is_document = self.document.are_given();
        let document = is_document
            .then(|| Document::new(&self.document))
            .transpose()?;
        let from_input = self.text.is_empty() || self.text == [DASH];
        if !from_input && self.text.iter().any(|text| text == DASH) {
            return Err(CommandError::DashAmongText);
        }
        if from_input && self.prefixes.as_deref() == Some(Path::new(DASH)) {
            return Err(CommandError::StandardInputTwice);
        }
        let open_lines = |path| self.lines.open(path);
        let prefixes = self.prefixes.as_deref().map(open_lines).transpose()?;
        let glossary = self.glossary()?;
        let limits = BatchLimits {
            batch_tokens: self.batch_tokens,
            max_src_len: self.max_src_len,
            max_tgt_len: None,
        };
        let options = self.speed.options();
        let translator = open(&self.model, backend, limits, &options, !self.quiet)?;
        let translator = self.languages.apply(translator)?;
        self.alignments.check(&translator)?;
        let search = self.search_for(&translator)?;
        let mut warnings = LineWarnings::new(!self.quiet);
        warnings.check_positions(self.search.max_len, &translator);
        if let Some(document) = document {
            return document.translate(&Means {
                translator: &translator,
                search: &search,
                glossary: glossary.as_ref(),
                check: self.check,
                is_quiet: self.quiet,
            });
        }
        let mut session = Session {
            command: self,
            prefixes,
            translator: &translator,
            search: &search,
            copies: !self.no_copy && has_letters(&translator),
            n_translated: 0,
            glossary: glossary.as_ref(),
            terms: TermReport::default(),
            checked: self.checked_lines(&translator),
            warnings,
            line_rate: LineRate::new(from_input && !self.quiet && !io::stdin().is_terminal()),
        };
        let mut output = io::BufWriter::new(io::stdout().lock());
        if from_input {
            let flags = self.lines;
            let lines = LineStream::new(move || flags.open(Path::new(DASH)), LINES_AT_ONCE)?;
            session.translate_stream(&lines, &mut output)?;
        } else {
            self.warn_of_files();
            session.translate_lines(&self.text, &mut output)?;
        }
        session.end()
    }

    fn search_for(&self, translator: &Translator) -> Result<Search, CommandError> {
        let mut search = self.search.search(translator.search());
        search.validate()?;
        search.check_lengths(self.max_src_len)?;
        let banned = self.search.banned(translator.tokenizers().tgt())?;
        search.banned.extend(banned);
        Ok(search)
    }

    fn glossary(&self) -> Result<Option<Glossary>, CommandError> {
        let glossary = self.terms.open()?;
        let draws = self.search.search(&Search::default()).sampling.is_some();
        match glossary {
            Some(_) if draws => Err(SearchError::SampledPhrases.into()),
            glossary => Ok(glossary),
        }
    }

    /// Returns the check of lines, with `--check`. Alignments, tokens and alternatives are those of whole lines.
    fn checked_lines(&self, translator: &Translator) -> Option<CheckedLines> {
        let needs_whole = self.alignments.alignments || self.output.token_scores;
        let takes_out = !needs_whole && self.search.n_best == 1;
        let protection = self.check.of_lines(translator)?;
        Some(CheckedLines::new(protection, takes_out))
    }

    fn warn_of_files(&self) {
        let texts = self.text.iter().filter(|_| !self.quiet);
        for file in texts.filter(|text| Path::new(text).is_file()) {
            tell(format_args!(
                "note: `{file}` is a file, but its name is translated; to translate its contents, use standard input: \
                 `< {file}`"
            ));
        }
    }
}

struct Session<'a> {
    command: &'a Translate,
    prefixes: Option<Lines>,
    translator: &'a Translator,
    search: &'a Search,
    copies: bool,
    n_translated: usize,
    glossary: Option<&'a Glossary>,
    terms: TermReport,
    checked: Option<CheckedLines>,
    warnings: LineWarnings,
    line_rate: LineRate,
}

impl Session<'_> {
    /// Translates and writes group by group, so that memory does not grow with the input.
    fn translate_stream(
        &mut self,
        stream: &LineStream,
        output: &mut impl Write,
    ) -> Result<(), CommandError> {
        loop {
            let Group { lines, failure } = stream.next_group();
            // The lines before an unreadable one are translated before the error is returned.
            self.translate_lines(&lines, output)?;
            match failure {
                Some(failure) => return Err(failure),
                None if lines.is_empty() => return Ok(()),
                None => {}
            }
        }
    }

    fn translate_lines(
        &mut self,
        lines: &[String],
        output: &mut impl Write,
    ) -> Result<(), CommandError> {
        let mut rest = lines;
        while !rest.is_empty() {
            let Some(prefixes) = &mut self.prefixes else {
                let prefix = self.command.prefix.as_deref().unwrap_or_default();
                return self.translate_prefixed(rest, &|_| prefix, output);
            };
            let (prefixes, failure) = next_lines(prefixes, rest.len());
            // Lines with a prefix are translated before the error for the first line without one.
            let (known, others) = rest.split_at(prefixes.len());
            self.translate_prefixed(known, &|index| &prefixes[index], output)?;
            match failure {
                Some(failure) => return Err(failure.into()),
                None if known.is_empty() => {
                    return Err(self.wrong_number_of_prefixes(self.n_translated as u64));
                }
                None => rest = others,
            }
        }
        Ok(())
    }

    /// Translates and writes lines; `prefix` returns the prefix of a line by its index.
    fn translate_prefixed<'a>(
        &mut self,
        lines: &'a [String],
        prefix: &dyn Fn(usize) -> &'a str,
        output: &mut impl Write,
    ) -> Result<(), CommandError> {
        let n_before = self.n_translated;
        let terms = lines.iter().map(|line| terms_in(self.glossary, line));
        let terms: Vec<Vec<&str>> = terms.collect();
        let is_copied =
            |(index, line): (usize, &String)| self.is_copied(line, prefix(index), &terms[index]);
        let copied: Vec<bool> = lines.iter().enumerate().map(is_copied).collect();
        let inputs: Vec<Input<'_>> = lines
            .iter()
            .enumerate()
            .map(|(index, line)| Input {
                // A blank line takes no time to translate.
                text: if copied[index] { "" } else { line },
                prefix: prefix(index),
                terms: &terms[index],
                index: (n_before + index) as u64,
                ..Input::default()
            })
            .collect();
        let line_rate = &mut self.line_rate;
        let mut on_progress = |n_lines| line_rate.add(n_lines);
        let translated = self
            .translator
            .translate_inputs(&inputs, self.search, &mut on_progress);
        self.line_rate.clear();
        let mut translations = match translated {
            Ok(translations) => translations,
            Err(error) => {
                // The lines before the faulty one are translated, and the first error counts.
                if let Some(index @ 1..) = error.line().map(|line| line - 1) {
                    self.translate_prefixed(&lines[..index], prefix, output)?;
                }
                return Err(error.with_line(|line| n_before + line).into());
            }
        };
        self.choose(&inputs, &mut translations)?;
        let texts: Vec<&str> = inputs.iter().map(|input| input.text).collect();
        let flags = &self.command.alignments;
        let alignments = flags.align(self.translator, &texts, &translations)?;
        copy_lines(&mut translations, lines, &copied);
        for (index, (input, translation)) in inputs.iter().zip(&translations).enumerate() {
            self.warnings
                .print(n_before + index + 1, translation.warning);
            self.terms
                .add(n_before + index + 1, input.terms, translation);
            let answer = Answer {
                src: &lines[index],
                translation,
                terms: input.terms,
                alignments: alignments
                    .as_ref()
                    .map(|alignments| alignments[index].as_slice()),
            };
            let tokenizer = self.translator.tokenizers().tgt();
            let (flags, n_best) = (&self.command.output, self.command.search.n_best);
            flags
                .write(&answer, n_best, tokenizer, output)
                .map_err(CommandError::output)?;
        }
        output.flush().map_err(CommandError::output)?;
        self.n_translated += lines.len();
        Ok(())
    }

    /// Sorts the candidates of each line by minimum Bayes risk, if `--mbr` is given, and keeps as many as are printed.
    /// Replaces faulty translations, if `--check` is given.
    fn choose(
        &mut self,
        inputs: &[Input<'_>],
        translations: &mut [Translation],
    ) -> Result<(), CommandError> {
        let SearchFlags { mbr, n_best, .. } = self.command.search;
        for translation in translations.iter_mut().filter(|_| mbr.is_some()) {
            sort_by_expected_score(translation);
            translation.candidates.truncate(n_best);
        }
        if let Some(checked) = &mut self.checked {
            checked.mend(self.translator, self.search, inputs, translations)?;
        }
        Ok(())
    }

    /// Returns whether a line is copied: one without letters and without required text.
    fn is_copied(&self, line: &str, prefix: &str, terms: &[&str]) -> bool {
        let is_free = prefix.trim().is_empty() && terms.is_empty();
        let has_no_letters = !line.trim().is_empty() && !line.contains(char::is_alphabetic);
        self.copies && is_free && has_no_letters
    }

    /// Reports the terms, and checks that every prefix was used.
    fn end(&mut self) -> Result<(), CommandError> {
        if self.glossary.is_some() && !self.command.quiet {
            self.terms.print();
        }
        if let Some(checked) = self.checked.as_ref().filter(|_| !self.command.quiet) {
            print_doubtful(checked.doubtful, "line");
        }
        let n_prefixes = self.prefixes.as_mut().map(Lines::count_all);
        match n_prefixes.transpose()? {
            Some(n_prefixes) if n_prefixes > self.n_translated as u64 => {
                Err(self.wrong_number_of_prefixes(n_prefixes))
            }
            _ => Ok(()),
        }
    }

    fn wrong_number_of_prefixes(&self, n_prefixes: u64) -> CommandError {
        CommandError::Prefixes {
            path: self.command.prefixes.clone().unwrap_or_default(),
            n_prefixes,
            has_more: self.n_translated as u64 != n_prefixes,
        }
    }
}

fn has_letters(translator: &Translator) -> bool {
    let tokenizer = translator.tokenizers().src();
    let tokens = (N_SPECIAL..tokenizer.vocab_size()).filter_map(|id| tokenizer.token(id as u32));
    let mut tokens = tokens.filter(|token| byte_of(token).is_none());
    tokens.any(|token| token.contains(char::is_alphabetic))
}

/// Sorts candidates by minimum Bayes risk, finished ones first; equal ones keep their order.
fn sort_by_expected_score(translation: &mut Translation) {
    let candidates = std::mem::take(&mut translation.candidates);
    let texts: Vec<&str> = candidates.iter().map(|it| it.text.as_str()).collect();
    let scores = Chrf::default().expected_scores(&texts);
    let mut scored: Vec<(f64, Candidate)> = scores.into_iter().zip(candidates).collect();
    scored.sort_by(|(a, of_a), (b, of_b)| {
        let by_end = of_b.hypothesis.finished.cmp(&of_a.hypothesis.finished);
        by_end.then(b.total_cmp(a))
    });
    translation.candidates = scored.into_iter().map(|(_, candidate)| candidate).collect();
}

fn copy_lines(translations: &mut [Translation], lines: &[String], copied: &[bool]) {
    for ((translation, line), is_copied) in translations.iter_mut().zip(lines).zip(copied) {
        if let Some(best) = translation.candidates.first_mut()
            && *is_copied
        {
            best.text.clone_from(line);
        }
    }
}
