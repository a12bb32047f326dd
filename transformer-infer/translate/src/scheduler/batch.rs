//! [`RunningBatch`]: the lines that one thread translates, step by step; [`WholeBatch`]: lines that are translated together
//! from beginning to end, on devices other than CPUs.

use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use transformer_search::Search;

use super::group::{BatchModel, Ended, Group, Grown, Line, LineResult, Workspaces};
use super::state::Load;
use crate::TranslatorError;
use crate::batch::Source;
use crate::translator::Translator;

/// The time of light groups, as a multiple of that of the others, while there are both.
const LIGHT_SHARE: usize = 3;

/// Number of rows that take as long as what a step costs without any.
const STEP_ROWS: usize = 8;

pub(super) trait Batch: Send {
    fn add(&mut self, lines: Vec<Line>, workspaces: &mut Workspaces);

    /// Takes a step, and returns the lines that ended, and those with results that were known before. Lines of cancelled
    /// jobs are removed first.
    fn step(&mut self, workspaces: &mut Workspaces) -> Vec<Ended>;

    /// Returns the tokens after the last step of the lines that did not end in it, if their jobs ask for them. For a
    /// line that started over, tokens that were returned before are left out.
    fn grown(&mut self) -> Vec<Grown> {
        Vec::new()
    }

    fn is_empty(&self) -> bool;

    fn load(&self) -> Load;

    /// Returns the number of rows of the next step.
    fn n_rows(&self) -> usize {
        self.load().n_rows
    }
}

pub(super) type NewModel<'m> = dyn Fn(&Search) -> Box<dyn BatchModel + 'm> + Sync + 'm;

/// Lines that are translated together, in groups of equal searches: a step decodes one token of each group. It starts
/// no threads.
///
/// [Light](Line::is_light) lines have groups of their own, which take most steps without the others, so that a caller with
/// a few lines need not wait for the rows of one with many.
///
/// If the model panics, the lines of its group start over, each alone, and only the faulty one ends with an error.
pub(super) struct RunningBatch<'m> {
    new_model: &'m NewModel<'m>,
    groups: Vec<Group<'m>>,
    /// Lines of a group that panicked, waiting to be translated alone.
    retries: VecDeque<Line>,
    ended: Vec<Ended>,
    /// Cost of the steps of light groups since the last one of the others.
    light_cost: usize,
}

impl<'m> RunningBatch<'m> {
    pub(super) fn new(new_model: &'m NewModel<'m>) -> Self {
        Self {
            new_model,
            groups: Vec::new(),
            retries: VecDeque::new(),
            ended: Vec::new(),
            light_cost: 0,
        }
    }

    /// Returns whether only light groups take the next step, until they have had [`LIGHT_SHARE`] times as much as a step
    /// of the others costs.
    fn is_for_light(&self) -> bool {
        let (light, others) = (self.n_rows_of(true), self.n_rows_of(false));
        light > 0 && others > 0 && self.light_cost < LIGHT_SHARE * (STEP_ROWS + others)
    }

    fn n_rows_of(&self, is_light: bool) -> usize {
        let groups = self
            .groups
            .iter()
            .filter(|group| group.is_light == is_light);
        groups.map(Group::n_rows).sum()
    }

    fn new_group(&self, line: &Line, is_retry: bool) -> Result<Group<'m>, String> {
        let search = &line.job.shared_search;
        let model = catching(|| (self.new_model)(search))?;
        Ok(Group::like(line, is_retry, model))
    }

    fn join(&mut self, group: usize, lines: Vec<Line>, workspaces: &mut Workspaces) {
        let joined = catching(|| self.groups[group].join(lines, workspaces));
        if let Err(message) = joined {
            self.dissolve(group, message);
        }
    }

    /// Removes a group after its model panicked, and lets its lines start over.
    fn dissolve(&mut self, group: usize, message: String) {
        let group = self.groups.remove(group);
        let mut lines: Vec<Line> = group.lines.into_values().collect();
        match (group.is_retry || lines.len() == 1, lines.pop()) {
            (true, Some(line)) => self.fail(line, message),
            (_, last) => self.retries.extend(lines.into_iter().chain(last)),
        }
    }

    fn fail(&mut self, line: Line, message: String) {
        let result = Err(TranslatorError::Panic {
            line: line.index + 1,
            message,
        });
        self.ended.push(Ended { line, result });
    }

    fn remove_cancelled(&mut self) {
        for group in &mut self.groups {
            group.remove_cancelled();
        }
        self.groups.retain(|group| !group.is_empty());
        self.retries.retain(|line| !line.is_cancelled());
    }

    fn begin_retry(&mut self, workspaces: &mut Workspaces) {
        if self.groups.iter().any(|group| group.is_retry) {
            return;
        }
        let Some(line) = self.retries.pop_front() else {
            return;
        };
        match self.new_group(&line, true) {
            Ok(group) => {
                self.groups.push(group);
                self.join(self.groups.len() - 1, vec![line], workspaces);
            }
            Err(message) => self.fail(line, message),
        }
    }
}

impl Batch for RunningBatch<'_> {
    /// Encodes lines, and adds them to the groups of their searches.
    fn add(&mut self, lines: Vec<Line>, workspaces: &mut Workspaces) {
        let mut lines = VecDeque::from(lines);
        while let Some(mut line) = lines.pop_front() {
            if let Some(result) = line.known.take() {
                self.ended.push(Ended { line, result });
                continue;
            }
            let group = self.groups.iter().position(|group| group.takes(&line));
            let index = group.unwrap_or(self.groups.len());
            if group.is_none() {
                match self.new_group(&line, false) {
                    Ok(group) => self.groups.push(group),
                    Err(message) => {
                        self.fail(line, message);
                        continue;
                    }
                }
            }
            let (alike, others): (VecDeque<Line>, VecDeque<Line>) = lines
                .into_iter()
                .partition(|other| other.known.is_none() && self.groups[index].takes(other));
            lines = others;
            let together = [line].into_iter().chain(alike).collect();
            self.join(index, together, workspaces);
        }
    }

    fn step(&mut self, workspaces: &mut Workspaces) -> Vec<Ended> {
        self.remove_cancelled();
        self.begin_retry(workspaces);
        let is_for_light = self.is_for_light();
        self.light_cost = match is_for_light {
            true => self.light_cost + STEP_ROWS + self.n_rows_of(true),
            false => 0,
        };
        let mut group = 0;
        while group < self.groups.len() {
            if is_for_light && !self.groups[group].is_light {
                group += 1;
                continue;
            }
            match catching(|| self.groups[group].step(workspaces)) {
                Ok(ended) => {
                    self.ended.extend(ended);
                    group += 1;
                }
                Err(message) => self.dissolve(group, message),
            }
        }
        self.groups.retain(|group| !group.is_empty());
        mem::take(&mut self.ended)
    }

    fn grown(&mut self) -> Vec<Grown> {
        self.groups.iter_mut().flat_map(Group::grown).collect()
    }

    fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.retries.is_empty() && self.ended.is_empty()
    }

    fn n_rows(&self) -> usize {
        let others = match self.is_for_light() {
            true => 0,
            false => self.n_rows_of(false),
        };
        self.n_rows_of(true) + others
    }

    fn load(&self) -> Load {
        let lines = self.groups.iter().flat_map(|group| group.lines.values());
        let (mut n_lines, mut n_rows, mut n_light_rows) = (0, 0, 0);
        for line in lines.chain(&self.retries) {
            n_lines += 1;
            n_rows += line.n_rows();
            n_light_rows += if line.is_light { line.n_rows() } else { 0 };
        }
        let longest = self.groups.iter().map(Group::longest).max();
        Load {
            n_lines,
            n_rows,
            longest: longest.unwrap_or(0),
            n_light_rows,
        }
    }
}

/// Returns the result of a computation, or the message of its panic.
pub(super) fn catching<R>(compute: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(compute)).map_err(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        message
            .unwrap_or("a panic without a message")
            .lines()
            .collect::<Vec<_>>()
            .join("; ")
    })
}

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
}

impl Batch for WholeBatch<'_> {
    fn add(&mut self, lines: Vec<Line>, _: &mut Workspaces) {
        self.lines.extend(lines);
    }

    /// Translates the first line, and all others with the same search.
    fn step(&mut self, _: &mut Workspaces) -> Vec<Ended> {
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

    fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn load(&self) -> Load {
        Load {
            n_lines: self.lines.len(),
            n_rows: self.lines.iter().map(Line::n_rows).sum(),
            longest: self.lines.iter().map(Line::n_tokens).max().unwrap_or(0),
            n_light_rows: 0,
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
