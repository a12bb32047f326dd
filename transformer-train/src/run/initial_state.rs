//! The origin of a run's weights and tokenizers: a fresh start, a trained model, or the run in the folder.

use transformer_core::directory::{ModelDirectory, Tokenizers};

use super::finetune;
use super::folder::RunFolder;
use crate::config::{EmbeddingSettings, Experiment, check_tokenizer};
use crate::error::TrainError;

/// The state of a run before it reads its text.
pub(crate) struct InitialState {
    /// True if the run starts at its first update.
    pub(super) is_fresh: bool,
    /// The tokenizers, unless they are trained on the text.
    pub(super) tokenizers: Option<Tokenizers>,
    /// The trained model that provides the config and the tokenizers.
    pub(super) base: Option<ModelDirectory>,
}

impl InitialState {
    /// Reads the trained model of a fresh run, if the experiment has one, or the published model of a resumed run.
    pub(crate) fn new(
        experiment: &Experiment,
        folder: &RunFolder,
        is_resumed: bool,
    ) -> Result<Self, TrainError> {
        if is_resumed {
            return Self::resumed(experiment, folder.published());
        }
        check_tokenizer(experiment)?;
        let base = finetune::base(experiment, None)?;
        if base.is_some() && finetune::is_of(experiment, &folder.directory) {
            let path = folder.directory.clone();
            return Err(TrainError::OwnModel { path });
        }
        Ok(Self {
            is_fresh: true,
            tokenizers: base.as_ref().map(|it| it.tokenizers().clone()),
            base,
        })
    }

    /// Returns the state of a resumed run. `published` is its model, if it can be read.
    fn resumed(
        experiment: &Experiment,
        published: Option<ModelDirectory>,
    ) -> Result<Self, TrainError> {
        let known = published.as_ref().map(|it| it.tokenizers().clone());
        let base = finetune::base(experiment, published)?;
        Ok(Self {
            is_fresh: false,
            tokenizers: known.or_else(|| base.as_ref().map(|it| it.tokenizers().clone())),
            base,
        })
    }

    /// Returns the settings of the initial embeddings; a resumed run has its embeddings in its checkpoint.
    pub(super) fn embeddings(&self, experiment: &Experiment) -> EmbeddingSettings {
        let settings = experiment.embeddings.clone();
        match self.is_fresh {
            true => settings,
            false => EmbeddingSettings {
                src_word_vectors: None,
                tgt_word_vectors: None,
                ..settings
            },
        }
    }
}
