//! [`RunningSearch`]: the loop of every search, with sentences that come and go between its steps.

use std::mem;

use super::hypothesis::Prefix;
use super::next_token::select_rows;
use super::processors::{Predicted, Processors};
use super::sentence_beam::{Beam, n_candidates};
use super::sequences::Sequences;
use super::{Hypothesis, NextToken, Request, Sampling, Search};

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Beam,
    Greedy,
    Sampling(Sampling),
}

/// The search of many sentences at once, by one token of each in every step.
///
/// Between two steps, sentences may be [added](Self::add) and [removed](Self::retain). The model has the rows of all of
/// them: a sentence is added together with one row after the others, and each step selects the rows that stay. The
/// result of a sentence does not depend on the others.
#[derive(Debug)]
pub struct RunningSearch {
    search: Search,
    kind: Kind,
    sentences: Vec<Sentence>,
    /// The rows of the model that stay for the next step: those of the first sentence, then those of the next.
    rows: Vec<usize>,
    /// Number of rows of the model.
    n_model_rows: usize,
    /// Results that needed no step.
    found: Vec<Found>,
}

/// The result of a sentence.
#[derive(Debug)]
pub struct Found {
    /// The key of the sentence.
    pub key: usize,
    /// The hypotheses, best first.
    pub hypotheses: Vec<Hypothesis>,
}

#[derive(Debug)]
struct Sentence {
    key: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Beam(Box<Beam>),
    Sequences(Sequences),
}

impl RunningSearch {
    /// Creates a search without sentences. Sentences with phrases need their own search, unless it is a beam search.
    pub fn new(search: &Search, with_phrases: bool) -> Self {
        let kind = match &search.sampling {
            Some(sampling) => Kind::Sampling(*sampling),
            None if search.beam_size > 1 || with_phrases => Kind::Beam,
            None => Kind::Greedy,
        };
        Self::of_kind(search, kind)
    }

    fn of_kind(search: &Search, kind: Kind) -> Self {
        Self {
            search: search.clone(),
            kind,
            sentences: Vec::new(),
            rows: Vec::new(),
            n_model_rows: 0,
            found: Vec::new(),
        }
    }

    /// Searches for the outputs of all rows of a model, each with a request, until none is left.
    pub(super) fn run(
        model: &mut impl NextToken,
        requests: &[Request],
        search: &Search,
        kind: Kind,
        n_best: usize,
    ) -> Vec<Vec<Hypothesis>> {
        assert_eq!(model.n_rows(), requests.len(), "each row needs one request");
        let mut running = Self::of_kind(search, kind);
        for (key, request) in requests.iter().enumerate() {
            running.add(key, request.clone(), n_best);
        }
        let mut results = vec![Vec::new(); requests.len()];
        while !running.is_empty() {
            for Found { key, hypotheses } in running.step(model) {
                results[key] = hypotheses;
            }
        }
        results
    }

    /// Adds a sentence with the next row of the model; it gets at most `n_best` hypotheses, or that many samples.
    pub fn add(&mut self, key: usize, request: Request, n_best: usize) {
        let row = self.n_model_rows;
        self.n_model_rows += 1;
        let n_samples = match self.kind {
            Kind::Sampling(_) => n_best.max(1),
            Kind::Beam | Kind::Greedy => 1,
        };
        if request.max_len == 0 {
            let nothing = Prefix::default().cut(&self.search);
            let hypotheses = vec![nothing; n_samples];
            self.found.push(Found { key, hypotheses });
            return;
        }
        let state = match self.kind {
            Kind::Beam => State::Beam(Box::new(Beam::new(request, n_best.max(1), &self.search))),
            Kind::Greedy | Kind::Sampling(_) => {
                State::Sequences(Sequences::new(request, n_samples))
            }
        };
        self.rows.extend(vec![row; n_samples]);
        self.sentences.push(Sentence { key, state });
    }

    /// Returns whether there is nothing left to do.
    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty() && self.found.is_empty()
    }

    /// Returns the number of rows of the next step.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the tokens so far of each sentence with a single output of final tokens; empty before its first token.
    pub fn growing(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.sentences.iter().filter_map(|sentence| {
            let ids = match &sentence.state {
                State::Sequences(sequences) => sequences.only()?,
                State::Beam(_) => return None,
            };
            (!ids.is_empty()).then_some((sentence.key, ids))
        })
    }

    /// Removes the sentences with keys that do not pass the test. Their rows leave the model with the next step.
    pub fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        self.found.retain(|found| is_kept(found.key));
        if self.sentences.iter().all(|sentence| is_kept(sentence.key)) {
            return;
        }
        let mut rows = mem::take(&mut self.rows).into_iter();
        self.sentences.retain(|sentence| {
            let is_kept = is_kept(sentence.key);
            let of_sentence = rows.by_ref().take(sentence.prefixes().len());
            match is_kept {
                true => self.rows.extend(of_sentence),
                false => of_sentence.for_each(drop),
            }
            is_kept
        });
    }

    /// Runs the model on the last token of each row, appends one token to each sentence, and returns the results of
    /// those that ended.
    ///
    /// # Panics
    ///
    /// Panics if the model does not have the rows of this search.
    pub fn step(&mut self, model: &mut impl NextToken) -> Vec<Found> {
        let mut found = mem::take(&mut self.found);
        if self.sentences.is_empty() {
            return found;
        }
        assert_eq!(
            model.n_rows(),
            self.n_model_rows,
            "the model has the rows of the search"
        );
        select_rows(model, &self.rows);
        let predicted = self.predict(model);
        let mut first_row = 0;
        self.rows.clear();
        let mut unfinished = Vec::with_capacity(self.sentences.len());
        for mut sentence in mem::take(&mut self.sentences) {
            let n_rows = sentence.prefixes().len();
            let parents = sentence.advance(&predicted, first_row, &self.search, self.kind);
            if sentence.is_done(&self.search) {
                found.push(sentence.into_found(&self.search));
            } else {
                let rows = parents.into_iter().map(|parent| first_row + parent);
                self.rows.extend(rows);
                unfinished.push(sentence);
            }
            first_row += n_rows;
        }
        self.n_model_rows = first_row;
        self.sentences = unfinished;
        found
    }

    fn predict(&self, model: &mut impl NextToken) -> Predicted {
        let processors = Processors::new(&self.search);
        let rows = self.sentences.iter().flat_map(|sentence| {
            let prefixes = sentence.prefixes().iter();
            prefixes.map(|prefix| (sentence.request(), prefix))
        });
        let k = match self.kind {
            Kind::Beam => Some(n_candidates(&self.search)),
            Kind::Greedy => Some(1),
            Kind::Sampling(_) => None,
        };
        let top_k = k.and_then(|k| processors.top_k(model, rows.clone(), k));
        top_k.map_or_else(
            || Predicted::All(processors.predict(model, rows)),
            Predicted::TopK,
        )
    }
}

impl Sentence {
    fn request(&self) -> &Request {
        match &self.state {
            State::Beam(beam) => &beam.request,
            State::Sequences(sequences) => &sequences.request,
        }
    }

    /// Returns the unfinished outputs: one for each row of the model.
    fn prefixes(&self) -> &[Prefix] {
        match &self.state {
            State::Beam(beam) => &beam.beam,
            State::Sequences(sequences) => &sequences.prefixes,
        }
    }

    /// Appends one token to all prefixes, and returns for each new prefix the index of its parent.
    fn advance(
        &mut self,
        predicted: &Predicted,
        first_row: usize,
        search: &Search,
        kind: Kind,
    ) -> Vec<usize> {
        let sampling = match &kind {
            Kind::Sampling(sampling) => Some(sampling),
            Kind::Beam | Kind::Greedy => None,
        };
        match &mut self.state {
            State::Beam(beam) => beam.advance(predicted, first_row, search),
            State::Sequences(it) => it.advance(predicted, first_row, search, sampling),
        }
    }

    fn is_done(&self, search: &Search) -> bool {
        match &self.state {
            State::Beam(beam) => beam.is_done(search),
            State::Sequences(sequences) => sequences.prefixes.is_empty(),
        }
    }

    fn into_found(self, search: &Search) -> Found {
        let hypotheses = match self.state {
            State::Beam(beam) => beam.into_hypotheses(search),
            State::Sequences(sequences) => sequences.into_hypotheses(),
        };
        Found {
            key: self.key,
            hypotheses,
        }
    }
}
