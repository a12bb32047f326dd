//! [`BatchModel`]: the model of a group of lines; its rows can move to another thread between two steps.

use std::mem;

use transformer_core::PackedTransformer;
use transformer_core::packed::{PackedState, Workspace};

use crate::scorer::{PackedScorer, ended};
use transformer_search::{Ensemble, EnsembleMean, Found, RunningSearch, Search};

/// The workspaces of a thread: one for each model of an ensemble.
pub(super) type Workspaces = Vec<Workspace>;

/// The rows of a group of lines.
pub(super) trait BatchModel: Send {
    /// Encodes sources, given without EOS, and adds a row for each after the others. A shortlist of the model limits
    /// the output of those for which `is_limited` is true.
    fn join(&mut self, sources: &[&[u32]], is_limited: &[bool], workspaces: &mut Workspaces);

    /// Takes a step of the search that these rows belong to.
    fn step(&mut self, search: &mut RunningSearch, workspaces: &mut Workspaces) -> Vec<Found>;

    /// Returns the number of steps with stored keys and values.
    fn n_steps(&self) -> usize;
}

/// Packed models: one, or an ensemble.
#[derive(Debug)]
pub(super) struct PackedModels<'m> {
    models: Vec<&'m PackedTransformer>,
    /// One state for each model.
    states: Vec<PackedState>,
    mean: EnsembleMean,
}

impl<'m> PackedModels<'m> {
    /// Makes a group's model without rows.
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
