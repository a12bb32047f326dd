//! [`FairQueue`]: the waiting lines, in the order in which callers take turns.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

use super::group::Line;
use super::job::Progress;

/// Number of tokens, times rows, that a caller may translate in its turn: a few sentences.
const TOKENS_PER_TURN: usize = 256;

/// Maximum number of turns that a caller waits for an expensive line.
const MOST_TURNS: usize = 64;

/// Number of callers among whom one with few lines is looked for, between two steps.
const CALLERS_LOOKED_AT: usize = 64;

/// The waiting lines. Callers take turns by deficit round robin (Shreedhar & Varghese 1995,
/// <https://doi.org/10.1145/217391.217453>): in every round each gets the same number of tokens, and unused tokens
/// count for the next round. So the lines of a caller wait for a few lines of each other caller, not for all.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    callers: HashMap<u64, Waiting>,
    /// The callers with lines; it is the first one's turn.
    turns: VecDeque<u64>,
    pub(super) sums: Sums,
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) n_lines: usize,
    /// Number of source tokens, EOS included.
    pub(super) n_tokens: usize,
    /// Number of those that the limit of the queue applies to.
    pub(super) n_limited_tokens: usize,
    pub(super) n_rows: usize,
}

impl Sums {
    fn add(&mut self, line: &Line) {
        self.n_lines += 1;
        self.n_tokens += line.n_tokens();
        self.n_limited_tokens += line.n_limited_tokens();
        self.n_rows += line.n_rows();
    }

    fn remove(&mut self, line: &Line) {
        self.n_lines -= 1;
        self.n_tokens -= line.n_tokens();
        self.n_limited_tokens -= line.n_limited_tokens();
        self.n_rows -= line.n_rows();
    }
}

#[derive(Debug)]
struct Waiting {
    lines: VecDeque<Line>,
    sums: Sums,
    /// Number of tokens that the caller may still translate in this round.
    credit: usize,
    /// True if it has its first turn because of a line that waits again.
    is_again: bool,
}

impl FairQueue {
    /// Adds a line after the others of its caller, or before them if it waits again. A caller that has no others then gets
    /// a turn after those that wait again, too, and before all others: it waited for a turn with the translation that was
    /// not good enough. A line waits again only as often as there are ways to translate it.
    pub(super) fn push(&mut self, line: Line) {
        self.sums.add(&line);
        let caller = line.job.caller;
        if !self.callers.contains_key(&caller) {
            let is_again = |other: &&u64| self.callers[*other].is_again;
            let turn = match line.is_again {
                true => self.turns.iter().take_while(is_again).count(),
                false => self.turns.len(),
            };
            self.turns.insert(turn, caller);
        }
        let waiting = self.callers.entry(caller).or_insert_with(|| Waiting {
            lines: VecDeque::new(),
            sums: Sums::default(),
            credit: TOKENS_PER_TURN.max(if line.is_again { charge(&line) } else { 0 }),
            is_again: line.is_again,
        });
        waiting.sums.add(&line);
        match line.is_again {
            true => waiting.lines.push_front(line),
            false => waiting.lines.push_back(line),
        }
    }

    /// Takes the next line, if it passes the test. Otherwise it stays the next one, except for lines that wait again.
    pub(super) fn pop_if(&mut self, test: impl FnOnce(&Line) -> bool) -> Option<Line> {
        let caller = self.next_caller()?;
        let line = self.callers.get(&caller)?.lines.front()?;
        let is_light = line.job.is_light();
        test(line).then(|| self.pop_of(caller, is_light)).flatten()
    }

    /// Takes the next line of a caller that has only a few, if it passes the test. It is the caller's turn last then. Looks
    /// at the first callers only.
    pub(super) fn pop_light_if(&mut self, test: impl Fn(&Line) -> bool) -> Option<Line> {
        let front = |caller: &u64| self.callers.get(caller)?.lines.front();
        let is_light = |line: &Line| line.job.is_light() && test(line);
        let mut callers = self.turns.iter().take(CALLERS_LOOKED_AT);
        let caller = *callers.find(|caller| front(caller).is_some_and(is_light))?;
        let line = self.pop_of(caller, true);
        if let Some(waiting) = self.callers.get_mut(&caller) {
            waiting.is_again = false;
            self.turns.retain(|other| *other != caller);
            self.turns.push_back(caller);
        }
        line
    }

    /// Takes the next line of a caller.
    fn pop_of(&mut self, caller: u64, is_light: bool) -> Option<Line> {
        let waiting = self.callers.get_mut(&caller)?;
        let mut line = waiting.lines.pop_front()?;
        line.is_light = is_light;
        waiting.credit = waiting.credit.saturating_sub(charge(&line));
        waiting.sums.remove(&line);
        if waiting.lines.is_empty() {
            self.callers.remove(&caller);
            match self.turns.front() == Some(&caller) {
                true => drop(self.turns.pop_front()),
                false => self.turns.retain(|other| *other != caller),
            }
        }
        self.sums.remove(&line);
        Some(line)
    }

    /// Gives the turn to the next caller with enough credit for its first line.
    fn next_caller(&mut self) -> Option<u64> {
        loop {
            let caller = *self.turns.front()?;
            let waiting = self.callers.get_mut(&caller)?;
            if waiting.credit >= charge(waiting.lines.front()?) {
                return Some(caller);
            }
            waiting.credit += TOKENS_PER_TURN;
            waiting.is_again = false;
            self.turns.rotate_left(1);
        }
    }

    /// Removes and returns the lines of a job of a caller.
    pub(super) fn remove(&mut self, caller: u64, job: &Arc<Progress>) -> Vec<Line> {
        let Some(waiting) = self.callers.get_mut(&caller) else {
            return Vec::new();
        };
        let (removed, kept): (VecDeque<Line>, _) = mem::take(&mut waiting.lines)
            .into_iter()
            .partition(|line| Arc::ptr_eq(&line.job.progress, job));
        waiting.lines = kept;
        for line in &removed {
            waiting.sums.remove(line);
            self.sums.remove(line);
        }
        if waiting.lines.is_empty() {
            self.callers.remove(&caller);
            self.turns.retain(|other| *other != caller);
        }
        removed.into()
    }

    pub(super) fn take_all(&mut self) -> Vec<Line> {
        let callers = mem::take(self).callers;
        callers.into_values().flat_map(|it| it.lines).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sums.n_lines == 0
    }

    /// Returns whether a caller with `n_tokens` more limited tokens has at most an equal part of a limit for all callers.
    pub(super) fn is_within_share(&self, caller: u64, n_tokens: usize, limit: usize) -> bool {
        let waiting = self.callers.get(&caller);
        let n_callers = self.callers.len() + usize::from(waiting.is_none());
        let of_caller = waiting.map_or(0, |waiting| waiting.sums.n_limited_tokens);
        of_caller.saturating_add(n_tokens) <= limit / n_callers
    }

    /// Returns the number of tokens that are taken until a caller has all its own and `n_tokens` more: as many of each
    /// other caller, if it has so many.
    pub(super) fn n_tokens_before(&self, caller: u64, n_tokens: usize) -> usize {
        let own = self.callers.get(&caller).map_or(0, |own| own.sums.n_tokens);
        let own = own.saturating_add(n_tokens);
        let others = self.callers.iter().filter(|(id, _)| **id != caller);
        let others: usize = others.map(|(_, other)| other.sums.n_tokens.min(own)).sum();
        own.saturating_add(others)
    }
}

fn charge(line: &Line) -> usize {
    line.cost().min(MOST_TURNS * TOKENS_PER_TURN)
}
