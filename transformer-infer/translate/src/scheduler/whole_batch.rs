//! [`WholeBatch`]: lines that are translated together from beginning to end, on devices other than CPUs.

use std::collections::VecDeque;

use super::batch::catching;
use super::line::{Ended, Line, LineResult};
use super::state::Load;
use crate::TranslatorError;
use crate::batch::Source;
use crate::translator::Translator;

/// Lines for a device other than a CPU. Its models accept no sentences between two steps, so lines that wait at the
/// same time and have equal searches are translated together.
///
/// If the model panics, each line is translated alone, and only the faulty one ends with an error.
pub(super) struct WholeBatch<'m> {
    translator: &'m Translator,
    lines: VecDeque<Line>,
}

impl<'m> WholeBatch<'m> {
    pub(super) fn new(translator: &'m Translator) -> Self {
        Self {
            translator,
            lines: VecDeque::new(),
        }
    }

    pub(super) fn add(&mut self, lines: Vec<Line>) {
        self.lines.extend(lines);
    }

    /// Translates the first line, and all others with the same search.
    pub(super) fn step(&mut self) -> Vec<Ended> {
        self.lines.retain(|line| !line.is_cancelled());
        let Some(mut first) = self.lines.pop_front() else {
            return Vec::new();
        };
        if let Some(result) = first.known.take() {
            let line = first;
            return vec![Ended { line, result }];
        }
        let takes = |line: &Line| line.known.is_none() && line.job.search == first.job.search;
        let (alike, others) = self.lines.drain(..).partition(takes);
        self.lines = others;
        let alike: VecDeque<Line> = alike;
        let lines: Vec<Line> = [first].into_iter().chain(alike).collect();
        let results = self.translate(&lines).unwrap_or_else(|| {
            let alone = lines.iter().map(|line| self.translate_alone(line));
            alone.collect()
        });
        let ended = lines.into_iter().zip(results);
        ended.map(|(line, result)| Ended { line, result }).collect()
    }

    /// Translates lines together; `None` if that panics or fails.
    fn translate(&self, lines: &[Line]) -> Option<Vec<LineResult>> {
        let sources: Vec<Source<'_>> = lines.iter().map(source).collect();
        let search = &lines.first()?.job.search;
        let translator = self.translator;
        let translate = || translator.translate_sources(&sources, search, &mut |_| ());
        let found = catching(translate).ok()?.ok()?;
        Some(found.into_iter().map(Ok).collect())
    }

    fn translate_alone(&self, line: &Line) -> LineResult {
        let (translator, search) = (self.translator, &line.job.search);
        let translate = || translator.translate_sources(&[source(line)], search, &mut |_| ());
        let found = catching(translate).map_err(|message| {
            let line = line.index + 1;
            TranslatorError::Panic { line, message }
        })?;
        found.map(|found| found.into_iter().flatten().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn load(&self) -> Load {
        Load {
            n_lines: self.lines.len(),
            n_rows: self.lines.iter().map(Line::n_rows).sum(),
            longest: self.lines.iter().map(Line::n_tokens).max().unwrap_or(0),
        }
    }
}

fn source(line: &Line) -> Source<'_> {
    Source {
        ids: &line.ids,
        prefix: &line.request.prefix,
        n_free: line.request.n_free,
        phrases: &line.request.phrases,
        index: line.request.index,
    }
}
