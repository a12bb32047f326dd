//! `translate --in`: translates a document and keeps its markup.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use transformer_core::lines::{LineError, STANDARD_INPUT, Unpacked};
use transformer_infer::document::format::{Format, PartReader};
use transformer_infer::document::{
    DocumentError, DocumentEvent, DocumentTranslator, ModelLines, ReadError, Splitter,
};
use transformer_infer::search::Search;
use transformer_infer::{Glossary, Translator};

use super::checked_lines::{CheckFlags, print_doubtful};
use super::document_flags::DocumentFlags;
use crate::commands::{
    CommandError, LineRate, OutputPathError, Replacement, check_file, print_terms, tell,
};

const MAX_WARNINGS: usize = 10;

#[derive(Debug)]
pub(super) struct Means<'a> {
    pub(super) translator: &'a Translator,
    pub(super) search: &'a Search,
    pub(super) glossary: Option<&'a Glossary>,
    pub(super) check: CheckFlags,
    pub(super) is_quiet: bool,
}

/// A document to translate, and where its translation goes.
#[derive(Debug)]
pub(super) struct Document<'a> {
    flags: &'a DocumentFlags,
    format: Format,
    /// The file; standard input if absent.
    input: Option<&'a Path>,
    /// The file; standard output if absent.
    output: Option<&'a Path>,
}

impl<'a> Document<'a> {
    /// Checks the paths and the format, before a model is loaded.
    pub(super) fn new(flags: &'a DocumentFlags) -> Result<Self, CommandError> {
        let is_path = |path: &&PathBuf| path.as_path() != Path::new("-");
        let input = flags.input.as_ref().filter(is_path).map(PathBuf::as_path);
        let output = flags.output.as_ref().filter(is_path).map(PathBuf::as_path);
        let format = match (flags.format, input) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::of_path(without_gz(path).as_ref())?,
            (None, None) => return Err(CommandError::NoFormat),
        };
        if let Some(flag) = flags.flag_of_another_format(format) {
            return Err(CommandError::FormatFlag { flag, format });
        }
        if let Some(path) = output {
            check_file(path)?;
            let is_input = |input: &Path| is_same_file(input, path);
            if input.is_some_and(is_input) {
                let path = path.to_owned();
                return Err(CommandError::OutIsInput { path });
            }
            if path.exists() && !path.is_file() {
                let path = path.to_owned();
                return Err(OutputPathError::NotAFile { path }.into());
            }
            let has_content = fs::metadata(path).is_ok_and(|it| it.len() > 0);
            if has_content && !flags.overwrite {
                let path = path.to_owned();
                return Err(OutputPathError::Exists { path }.into());
            }
        }
        Ok(Self {
            flags,
            format,
            input,
            output,
        })
    }

    /// Translates the document. A file is written under another name and renamed at the end.
    pub(super) fn translate(&self, means: &Means<'_>) -> Result<(), CommandError> {
        let parts = self.parts(means.translator)?;
        let Some(path) = self.output else {
            let mut output = BufWriter::new(io::stdout().lock());
            return self.write(means, parts, &mut output);
        };
        let failed = |source| CommandError::WriteFile {
            path: path.to_owned(),
            source,
        };
        let mut file = Replacement::create(path).map_err(failed)?;
        if without_gz(path) == path {
            self.write(means, parts, &mut file.output)?;
        } else {
            let mut packed = GzEncoder::new(&mut file.output, Compression::default());
            self.write(means, parts, &mut packed)?;
            packed.finish().map_err(failed)?;
        }
        let kept = file.keep_permissions();
        kept.and_then(|()| file.finish()).map_err(failed)
    }

    fn parts(&self, translator: &Translator) -> Result<PartReader, CommandError> {
        let (name, input): (String, Box<dyn Read + Send>) = match self.input {
            None => (STANDARD_INPUT.to_owned(), Box::new(io::stdin())),
            Some(path) => {
                let opened = File::open(path).and_then(|file| match path.is_dir() {
                    true => Err(io::ErrorKind::IsADirectory.into()),
                    false => Ok(file),
                });
                let file = opened.map_err(|source| CommandError::OpenFile {
                    path: path.to_owned(),
                    source,
                })?;
                (format!("`{}`", path.display()), Box::new(file))
            }
        };
        let options = self.flags.format_options(translator)?;
        let parts = Unpacked::new(input)
            .map_err(|error| ReadError::from(LineError::of_read(&name, 0, error)))
            .and_then(|input| self.format.read(name.clone(), input, &options));
        Ok(parts.map_err(DocumentError::from)?)
    }

    fn write(
        &self,
        means: &Means<'_>,
        parts: PartReader,
        output: &mut impl Write,
    ) -> Result<(), CommandError> {
        let mut lines = ModelLines::new(means.translator, means.search);
        if let Some(max_tokens) = self.flags.max_segment {
            lines = lines.with_max_tokens(max_tokens);
        }
        if let Some(glossary) = means.glossary {
            lines = lines.with_glossary(glossary);
        }
        let splitter = Splitter::new(self.flags.split, self.flags.language(means.translator));
        let protection = self.flags.protection()?;
        let protection = means.check.of_document(protection, means.translator);
        let mut translator = DocumentTranslator::new(&lines, &splitter, &protection);
        let is_typed = self.input.is_none() && io::stdin().is_terminal();
        let mut messages =
            Messages::new(means.is_quiet, LineRate::new(!means.is_quiet && !is_typed));
        let mut on_event = |event| messages.show(&event);
        let translated = translator.translate(parts, output, &mut on_event);
        messages.end();
        let summary = translated.map_err(|error| self.command_error(error))?;
        if means.glossary.is_some() && !means.is_quiet {
            print_terms(summary.n_terms, summary.n_unmet_terms);
        }
        if !means.is_quiet {
            print_doubtful(summary.doubtful, "sentence");
        }
        Ok(())
    }

    /// Names the file that cannot be written, and makes a closed pipe recognizable.
    fn command_error(&self, error: DocumentError) -> CommandError {
        match (error, self.output) {
            (DocumentError::Write(source), Some(path)) => CommandError::WriteFile {
                path: path.to_owned(),
                source,
            },
            (DocumentError::Write(source), None) => CommandError::output(source),
            (error, _) => error.into(),
        }
    }
}

#[derive(Debug)]
struct Messages {
    is_quiet: bool,
    line_rate: LineRate,
    n_warnings: usize,
}

impl Messages {
    fn new(is_quiet: bool, line_rate: LineRate) -> Self {
        Self {
            is_quiet,
            line_rate,
            n_warnings: 0,
        }
    }

    fn show(&mut self, event: &DocumentEvent) {
        if let DocumentEvent::Progress { n_sentences } = event {
            return self.line_rate.add(*n_sentences);
        }
        self.n_warnings += 1;
        if !self.is_quiet && self.n_warnings <= MAX_WARNINGS {
            self.line_rate.clear();
            tell(format_args!("warning: {event}"));
        }
    }

    fn end(&mut self) {
        self.line_rate.clear();
        let n_more = self.n_warnings.saturating_sub(MAX_WARNINGS);
        if !self.is_quiet && n_more > 0 {
            tell(format_args!("warning: {n_more} more warnings like these"));
        }
    }
}

fn without_gz(path: &Path) -> PathBuf {
    let extension = path.extension();
    match extension.is_some_and(|it| it.eq_ignore_ascii_case("gz")) {
        true => path.with_extension(""),
        false => path.to_owned(),
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
