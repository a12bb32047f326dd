//! [`Group`]: lines of equal searches, which are decoded together; [`Line`]: a waiting or running line of a job, as
//! tokens; and [`BatchModel`]: the model of a group, with rows that can move to another thread between two steps.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use transformer_core::PackedTransformer;
use transformer_core::packed::{PackedState, Workspace};
use transformer_core::text::Direction;
use transformer_search::{
    Ensemble, EnsembleMean, Found, Hypothesis, Request, RunningSearch, Search,
};

use super::job::JobState;
use crate::TranslatorError;
use crate::scorer::{PackedScorer, ended, is_limited};

/// The workspaces of a thread: one for each model of an ensemble.
pub(super) type Workspaces = Vec<Workspace>;

pub(super) trait BatchModel: Send {
    /// Encodes sources, given without EOS, and adds a row for each after the others. A shortlist of the model limits
    /// the output of those for which `is_limited` is true.
    fn join(&mut self, sources: &[&[u32]], is_limited: &[bool], workspaces: &mut Workspaces);

    fn step(&mut self, search: &mut RunningSearch, workspaces: &mut Workspaces) -> Vec<Found>;

    /// Returns the number of steps with stored keys and values.
    fn n_steps(&self) -> usize;
}

#[derive(Debug)]
pub(super) struct PackedModels<'m> {
    models: Vec<&'m PackedTransformer>,
    states: Vec<PackedState>,
    mean: EnsembleMean,
}

impl<'m> PackedModels<'m> {
    pub(super) fn new(models: &[&'m PackedTransformer], search: &Search) -> Self {
        Self {
            models: models.to_vec(),
            states: models.iter().map(|model| model.without_rows()).collect(),
            mean: search.ensemble,
        }
    }
}

impl BatchModel for PackedModels<'_> {
    fn join(&mut self, sources: &[&[u32]], is_limited: &[bool], workspaces: &mut Workspaces) {
        workspaces.resize_with(self.models.len(), Workspace::new);
        let models = self.models.iter().zip(&mut self.states);
        for ((model, state), workspace) in models.zip(workspaces) {
            let sources = ended(sources, model.config());
            state.join(model.begin_limited(&sources, is_limited, workspace));
        }
    }

    fn step(&mut self, search: &mut RunningSearch, workspaces: &mut Workspaces) -> Vec<Found> {
        workspaces.resize_with(self.models.len(), Workspace::new);
        let parts = mem::take(&mut self.states)
            .into_iter()
            .zip(workspaces.drain(..));
        let scorers = self.models.iter().zip(parts);
        let mut scorers: Vec<PackedScorer<'_>> = scorers
            .map(|(model, (state, workspace))| PackedScorer::resume(model, state, workspace))
            .collect();
        let found = match scorers.as_mut_slice() {
            [scorer] => search.step(scorer),
            _ => {
                let mut ensemble = Ensemble::new(scorers, self.mean);
                let found = search.step(&mut ensemble);
                scorers = ensemble.into_members();
                found
            }
        };
        let parts = scorers.into_iter().map(PackedScorer::suspend);
        (self.states, *workspaces) = parts.unzip();
        found
    }

    fn n_steps(&self) -> usize {
        let n_steps = self.states.iter().map(PackedState::n_steps);
        n_steps.max().unwrap_or(0)
    }
}

/// Lines of equal searches. Their rows are the rows of one model, and grow by one token in each step.
pub(super) struct Group<'m> {
    search: Search,
    /// Lines with phrases need all scores at each step, and are not mixed with others.
    has_phrases: bool,
    /// True for a line that is translated again because its batch panicked.
    pub(super) is_retry: bool,
    pub(super) is_light: bool,
    running: RunningSearch,
    model: Box<dyn BatchModel + 'm>,
    /// The lines by their keys in the search.
    pub(super) lines: BTreeMap<usize, Line>,
    next_key: usize,
}

impl<'m> Group<'m> {
    pub(super) fn like(line: &Line, is_retry: bool, model: Box<dyn BatchModel + 'm>) -> Self {
        let search = line.job.shared_search.clone();
        let has_phrases = !line.request.phrases.is_empty();
        Self {
            running: RunningSearch::new(&search, has_phrases),
            search,
            has_phrases,
            is_retry,
            is_light: line.is_light,
            model,
            lines: BTreeMap::new(),
            next_key: 0,
        }
    }

    pub(super) fn takes(&self, line: &Line) -> bool {
        !self.is_retry
            && self.is_light == line.is_light
            && self.has_phrases != line.request.phrases.is_empty()
            && self.search == line.job.shared_search
    }

    pub(super) fn join(&mut self, lines: Vec<Line>, workspaces: &mut Workspaces) {
        let keys = self.next_key..self.next_key + lines.len();
        self.next_key = keys.end;
        // First, so that they are not lost if the model panics.
        self.lines.extend(keys.clone().zip(lines));
        let new = keys.map(|key| (key, &self.lines[&key]));
        let sources: Vec<&[u32]> = new.clone().map(|(_, line)| line.ids.as_slice()).collect();
        let are_limited = new.clone().map(|(_, line)| is_limited(&line.request));
        let are_limited: Vec<bool> = are_limited.collect();
        self.model.join(&sources, &are_limited, workspaces);
        for (key, line) in new {
            let n_best = line.job.search.n_best;
            self.running.add(key, line.request.clone(), n_best);
        }
    }

    /// Removes the lines of cancelled jobs, and returns their number.
    pub(super) fn remove_cancelled(&mut self) -> usize {
        let n_lines = self.lines.len();
        self.lines.retain(|_, line| !line.is_cancelled());
        let n_removed = n_lines - self.lines.len();
        if n_removed > 0 {
            let lines = &self.lines;
            self.running.retain(|key| lines.contains_key(&key));
        }
        n_removed
    }

    /// Decodes one token of each row, and returns the lines that ended.
    pub(super) fn step(&mut self, workspaces: &mut Workspaces) -> Vec<Ended> {
        let found = self.model.step(&mut self.running, workspaces).into_iter();
        let ended = found.filter_map(|Found { key, hypotheses }| {
            let line = self.lines.remove(&key)?;
            let result = Ok(hypotheses);
            Some(Ended { line, result })
        });
        ended.collect()
    }

    /// Returns the tokens so far of the lines that are streamed, if there are more than were returned before.
    pub(super) fn grown(&mut self) -> impl Iterator<Item = Grown> {
        let Self { running, lines, .. } = self;
        running.growing().filter_map(|(key, ids)| {
            let line = lines.get_mut(&key).filter(|line| line.job.is_streamed)?;
            if ids.len() <= line.n_reported {
                return None;
            }
            line.n_reported = ids.len();
            Some(Grown {
                job: Arc::clone(&line.job),
                index: line.index,
                ids: ids.to_vec(),
            })
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn n_rows(&self) -> usize {
        self.running.n_rows()
    }

    /// Returns the number of tokens of the longest row: source and translation so far.
    pub(super) fn longest(&self) -> usize {
        let longest = self.lines.values().map(Line::n_tokens).max().unwrap_or(0);
        longest + self.model.n_steps()
    }
}

pub(super) type LineResult = Result<Vec<Hypothesis>, TranslatorError>;

#[derive(Debug)]
pub(super) struct Line {
    pub(super) job: Arc<JobState>,
    pub(super) index: usize,
    pub(super) ids: Vec<u32>,
    pub(super) request: Request,
    /// Number of tokens of the source before it was cut.
    pub(super) n_src_tokens: usize,
    pub(super) direction: Direction,
    pub(super) terms: Vec<String>,
    /// Maximum number of rows that its search needs.
    pub(super) n_rows: usize,
    /// The result, if known without a search.
    pub(super) known: Option<LineResult>,
    /// True if its caller had few lines when it was taken from the queue.
    pub(super) is_light: bool,
    /// True if it waits before the other lines of its caller.
    pub(super) is_again: bool,
    /// The number of tokens reported last. If its batch panics, it starts over, and they are not reported again.
    pub(super) n_reported: usize,
}

#[derive(Debug)]
pub(super) struct Ended {
    pub(super) line: Line,
    pub(super) result: LineResult,
}

/// A line with one more token in its translation.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) job: Arc<JobState>,
    pub(super) index: usize,
    pub(super) ids: Vec<u32>,
}

impl Line {
    /// Returns the number of source tokens, EOS included.
    pub(super) fn n_tokens(&self) -> usize {
        self.ids.len() + 1
    }

    /// Returns the number of its tokens that count towards the limit of waiting tokens.
    pub(super) fn n_limited_tokens(&self) -> usize {
        if self.job.is_limited {
            self.n_tokens()
        } else {
            0
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        match self.known {
            Some(_) => 0,
            None => self.n_rows,
        }
    }

    /// Returns the cost of its translation, in tokens of all rows.
    pub(super) fn cost(&self) -> usize {
        self.n_tokens().saturating_mul(self.n_rows().max(1))
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.job.progress.is_cancelled()
    }
}
