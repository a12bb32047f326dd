//! [`ServedDocument`]: the sentences of a document, translated by the scheduler of a model; [`translate_file`]: documents
//! in all formats of `translate --in`.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use axum::body::Bytes;
use transformer_core::text::one_line;
use transformer_documents::format::{Format, FormatOptions};
use transformer_documents::{
    DocumentLine, DocumentRules, Doubtful, Part, Protection, ReadError, Splitter, TokenLimits,
    TranslatedLine, Way, Window,
};
use transformer_search::Search;
use transformer_translate::scheduler::JobLine;
use transformer_translate::{Glossary, Translation, Translator};

use super::request::TranslateOptions;
use super::round::{Round, choose, job_line};
use super::texts::of_term;
use super::work::{check_room, compute_step, of_scheduler};
use crate::http::ApiError;
use crate::models::{Route, Served};
use crate::state::Caller;

/// A document that is translated window by window. Dropping it cancels what it waits for.
pub(super) struct ServedDocument {
    work: Arc<Work>,
    n_sentences: u64,
    pub(super) doubtful: Doubtful,
    /// True if lines were accepted: the next ones are never refused.
    has_begun: bool,
}

/// The data for the work on threads. The slot of a file bounds the threads, even after the client has hung up.
struct Work {
    served: Arc<Served>,
    search: Search,
    splitter: Splitter,
    protection: Protection,
    glossary: Option<Arc<Glossary>>,
    has_terms_alone: bool,
    caller: Caller,
}

/// Translates texts, the sentences of all at once. `read` returns the parts of each. Also returns the doubtful sentences.
pub(super) async fn translate_parts_of(
    served: &Arc<Served>,
    options: &TranslateOptions,
    caller: &Caller,
    texts: Vec<String>,
    read: impl Fn(String) -> Result<Vec<Part>, ReadError> + Send + 'static,
) -> Result<(Vec<String>, Doubtful), ApiError> {
    let mut document = ServedDocument::begin(served, options, caller)?;
    let read_all = move || texts.into_iter().map(read).collect();
    let parts: Vec<Vec<Part>> = document.read(read_all).await?;
    let n_parts: Vec<usize> = parts.iter().map(Vec::len).collect();
    let translated = document.translate(parts.into_iter().flatten().collect());
    let mut translated = translated.await?.into_iter();
    let texts = n_parts.into_iter();
    let texts = texts.map(|n| translated.by_ref().take(n).collect());
    Ok((texts.collect(), document.doubtful))
}

impl ServedDocument {
    /// Begins a document, unless the caller's part of the model's queue is full. An accepted file is never refused.
    pub(super) fn begin(
        served: &Arc<Served>,
        options: &TranslateOptions,
        caller: &Caller,
    ) -> Result<Self, ApiError> {
        if caller.slot.is_none() {
            check_room(served, caller.id, 0)?;
        }
        let translator = served.translator();
        let work = Work {
            served: served.clone(),
            search: options.search(translator.search(), 1)?,
            splitter: splitter(served, options),
            protection: served.protection(),
            glossary: options.glossary.clone(),
            has_terms_alone: options.has_terms_alone,
            caller: caller.clone(),
        };
        Ok(Self {
            work: Arc::new(work),
            n_sentences: 0,
            doubtful: Doubtful::default(),
            has_begun: false,
        })
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let refused = |error: ReadError| ApiError::request(one_line(&error));
        self.on_thread(move |_| read().map_err(refused)).await
    }

    /// Translates the parts of a window, and returns the text of each.
    pub(super) async fn translate(&mut self, parts: Vec<Part>) -> Result<Vec<String>, ApiError> {
        let mut window = Window::new(parts, self.n_sentences);
        let mut translations = Vec::new();
        loop {
            let step = move |work: &Work| {
                work.write(&mut window, translations)?;
                let lines = work.lines(&mut window);
                Ok((window, lines))
            };
            let lines;
            (window, lines) = self.on_thread(step).await?;
            if lines.is_empty() {
                break;
            }
            translations = translations_of(self.submit(lines).await?).await?;
        }
        self.n_sentences = window.n_sentences();
        for (index, faults) in window.doubtful() {
            self.doubtful.add(index + 1, *faults);
        }
        Ok(window.into_texts())
    }

    /// Gives lines to the scheduler. Only the first ones of a request can be refused.
    async fn submit(&mut self, lines: Vec<(Way, JobLine)>) -> Result<Round, ApiError> {
        let is_accepted = self.has_begun || self.work.caller.slot.is_some();
        let submit = move |work: &Work| {
            let (caller, search) = (work.caller.id, &work.search);
            let submitted = Round::start(&work.served, caller, search, lines, is_accepted);
            submitted.map_err(|error| of_scheduler(error, &work.served, caller))
        };
        let submitted = self.on_thread(submit).await?;
        self.has_begun = true;
        Ok(submitted)
    }

    async fn on_thread<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Work) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let work = self.work.clone();
        compute_step(work.caller.id, move || call(&work)).await
    }
}

impl Work {
    fn write(
        &self,
        window: &mut Window,
        mut translations: Vec<Translation>,
    ) -> Result<(), ApiError> {
        if translations.is_empty() {
            return Ok(());
        }
        let lines = window.sentences();
        for (translation, line) in translations.iter_mut().zip(&lines) {
            choose(translation, line, &self.protection, 1);
        }
        let of_terms: Vec<Option<String>> = lines.iter().map(|it| self.of_term(it)).collect();
        let lines: Vec<Option<&str>> = lines
            .iter()
            .map(|line| line.needs_links.then_some(line.text))
            .collect();
        let links = self.served.translator().best_links(&lines, &translations);
        let links = links.map_err(|error| ApiError::internal(&error, "a document failed"))?;
        let translated = translations.iter().zip(of_terms).zip(links);
        let translated = translated.map(|((translation, of_term), links)| TranslatedLine {
            text: of_term.unwrap_or_else(|| translation.text().to_owned()),
            links,
        });
        window.write(translated.collect(), &self.protection);
        Ok(())
    }

    /// Returns the translation of a line that is a term, if terms stand alone. With marks, words have to be aligned.
    fn of_term(&self, line: &DocumentLine<'_>) -> Option<String> {
        let glossary = self.glossary.as_ref().filter(|_| self.has_terms_alone);
        let glossary = glossary.filter(|_| !line.needs_links)?;
        of_term(glossary, line.in_its_case())
    }

    /// Returns the next lines of a window to translate; none at its end.
    fn lines(&self, window: &mut Window) -> Vec<(Way, JobLine)> {
        let rules = DocumentRules {
            limits: &limits(self.served.translator()),
            splitter: &self.splitter,
            protection: &self.protection,
        };
        while window.is_level_done() && window.begin_level(&rules, |_, _| ()) {}
        let lines = window.sentences();
        lines.iter().map(|line| self.job_line(line)).collect()
    }

    fn job_line(&self, line: &DocumentLine<'_>) -> (Way, JobLine) {
        let glossary = self.glossary.iter();
        let text = line.in_its_case();
        let terms = glossary.flat_map(|glossary| glossary.terms_outside(text, line.copied));
        let terms: Vec<&str> = terms.map(|term| term.target).collect();
        job_line(line, &terms, &self.served, &self.search)
    }
}

async fn translations_of(mut round: Round) -> Result<Vec<Translation>, ApiError> {
    let mut translations = BTreeMap::new();
    while let Some(done) = round.next().await? {
        translations.extend(done);
    }
    Ok(translations.into_values().collect())
}

/// Returns the splitter for a model's source language, or for English if it is unknown.
pub(super) fn splitter(served: &Served, options: &TranslateOptions) -> Splitter {
    let language = served.languages.src.as_ref();
    Splitter::new(options.split, language.map_or("en", |code| code.as_str()))
}

pub(super) fn limits(translator: &Translator) -> TokenLimits<'_> {
    let max_tokens = TokenLimits::MAX_TOKENS.min(translator.limits().max_src_len);
    let tokenizers = translator.tokenizers();
    TokenLimits::new(tokenizers.src(), tokenizers.tgt(), max_tokens)
}

#[derive(Debug)]
pub(crate) struct TranslatedFile {
    pub(crate) bytes: Bytes,
    pub(crate) doubtful: Doubtful,
}

/// Translates a document; error messages call it `the file`.
pub(crate) async fn translate_file(
    route: &Route,
    (format, read): (Format, FormatOptions),
    file: Bytes,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<TranslatedFile, ApiError> {
    let mut translated = TranslatedFile {
        bytes: file,
        doubtful: Doubtful::default(),
    };
    for served in route.models() {
        let mut read = read.clone();
        let language = served.languages.tgt.as_ref();
        read.tgt_lang = language.map(|it| it.as_str().to_owned());
        read.is_step = route.second.is_some();
        let format = (format, read);
        let next = translate(served, format, translated.bytes, options, caller).await?;
        translated = TranslatedFile {
            doubtful: next.doubtful.and(translated.doubtful),
            ..next
        };
    }
    Ok(translated)
}

async fn translate(
    served: &Arc<Served>,
    (format, format_options): (Format, FormatOptions),
    file: Bytes,
    options: &TranslateOptions,
    caller: &Caller,
) -> Result<TranslatedFile, ApiError> {
    let mut document = ServedDocument::begin(served, options, caller)?;
    let read = move || {
        let name = "the file".to_owned();
        let mut reader = format.read(name, Cursor::new(file), &format_options)?;
        let window = reader.window()?;
        Ok((reader, window))
    };
    let (mut reader, mut window) = document.read(read).await?;
    let mut translated = Vec::new();
    while !window.is_empty() {
        let texts = document.translate(window).await?;
        let read = move || {
            let mut bytes = Vec::new();
            for text in texts {
                bytes.extend_from_slice(&reader.written(&text)?);
            }
            let window = reader.window()?;
            Ok((reader, window, bytes))
        };
        let bytes;
        (reader, window, bytes) = document.read(read).await?;
        translated.extend(bytes);
    }
    translated.extend(document.read(move || reader.end()).await?);
    Ok(TranslatedFile {
        bytes: translated.into(),
        doubtful: document.doubtful,
    })
}
