//! [`Group`]: lines of equal searches, which are decoded together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::line::{Ended, Grown, Line};
use super::model::{BatchModel, Workspaces};
use crate::scorer::is_limited;
use transformer_search::{Found, RunningSearch, Search};

/// Lines of equal searches. Their rows are the rows of one model, and grow by one token in each step.
pub(super) struct Group<'m> {
    search: Search,
    /// Lines with phrases need all scores at each step, and are not mixed with others.
    has_phrases: bool,
    /// True for a line that is translated again because its batch panicked.
    is_retry: bool,
    running: RunningSearch,
    model: Box<dyn BatchModel + 'm>,
    /// The lines by their keys in the search.
    lines: BTreeMap<usize, Line>,
    next_key: usize,
}

impl<'m> Group<'m> {
    /// Creates a group for lines like this one.
    pub(super) fn like(line: &Line, is_retry: bool, model: Box<dyn BatchModel + 'm>) -> Self {
        let search = line.job.shared_search.clone();
        let has_phrases = !line.request.phrases.is_empty();
        Self {
            running: RunningSearch::new(&search, has_phrases),
            search,
            has_phrases,
            is_retry,
            model,
            lines: BTreeMap::new(),
            next_key: 0,
        }
    }

    /// Returns whether a line can join.
    pub(super) fn takes(&self, line: &Line) -> bool {
        !self.is_retry
            && self.has_phrases != line.request.phrases.is_empty()
            && self.search == line.job.shared_search
    }

    /// Encodes lines, and adds them.
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

    pub(super) fn into_lines(self) -> impl Iterator<Item = Line> {
        self.lines.into_values()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn is_retry(&self) -> bool {
        self.is_retry
    }

    /// Returns the number of rows of the next step.
    pub(super) fn n_rows(&self) -> usize {
        self.running.n_rows()
    }

    /// Returns the number of tokens of the longest row: source and translation so far.
    pub(super) fn longest(&self) -> usize {
        let longest = self.lines().map(Line::n_tokens).max().unwrap_or(0);
        longest + self.model.n_steps()
    }
}
