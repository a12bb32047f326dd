//! [`PositionVectors`]: positional encodings.

use std::borrow::Cow;

use super::weights::Packer;
use crate::LoadError;
use crate::config::{Place, Positions, Stack};
use crate::model::sinusoid_table;

/// Number of positions with sinusoids that are computed in advance.
const N_SINUSOIDS: usize = 128;

/// Positional encodings of the first positions: all learned ones, or the first sinusoids.
pub(super) struct PositionVectors {
    kind: Positions,
    /// The position of a sequence's first token, to which the first vector belongs.
    first: usize,
    /// `[positions, d_model]`.
    vectors: Vec<f32>,
}

impl PositionVectors {
    pub(super) fn pack(packer: &Packer<'_>, stack: Stack) -> Result<Self, LoadError> {
        let config = packer.config;
        let (kind, first) = (config.positions, config.first_position);
        let vectors = match kind {
            Positions::None => Vec::new(),
            Positions::Learned => {
                packer.floats(Place::Positions(stack))?[first * config.d_model..].to_vec()
            }
            sinusoidal => sinusoid_table(sinusoidal, first, N_SINUSOIDS, config.d_model),
        };
        Ok(Self {
            kind,
            first,
            vectors,
        })
    }

    /// Returns the encodings of `n` tokens after `offset` others, `[n, d_model]`; none without positions.
    pub(super) fn vectors(&self, offset: usize, n: usize, d_model: usize) -> Cow<'_, [f32]> {
        let stored = offset * d_model..(offset + n) * d_model;
        match self.kind {
            Positions::None => Cow::Borrowed(&[]),
            Positions::Learned => {
                let most = self.vectors.len() / d_model;
                assert!(
                    offset + n <= most,
                    "a sequence of {} tokens exceeds the {most} learned positions",
                    offset + n
                );
                Cow::Borrowed(&self.vectors[stored])
            }
            sinusoidal if offset + n > N_SINUSOIDS => {
                Cow::Owned(sinusoid_table(sinusoidal, self.first + offset, n, d_model))
            }
            _ => Cow::Borrowed(&self.vectors[stored]),
        }
    }
}
