//! [`Noise`]: changes of training sources, so that a model learns to read such text.

use crate::config::ConfigError;
use crate::config::range::{fraction, require};

/// The probabilities of another case and of typing errors in training sources.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Probability that a line is written in lower case.
    pub lowercase: f64,
    /// Probability that a line is written in upper case.
    pub uppercase: f64,
    /// Probability that a word of at least four letters has a typing error.
    pub typos: f64,
}

impl Noise {
    /// Returns whether no source is changed.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the probabilities.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        fraction(("data.noise_lowercase", self.lowercase))?;
        fraction(("data.noise_uppercase", self.uppercase))?;
        fraction(("data.noise_typos", self.typos))?;
        let is_allowed = self.lowercase + self.uppercase <= 1.0;
        let allowed = "at most 1 - `data.noise_lowercase`";
        require(
            ("data.noise_uppercase", self.uppercase),
            is_allowed,
            allowed,
        )
    }
}
