//! Packing: from named tensors to layers and positional encodings.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;
use transformer_kernels::PackedMatrix;
use transformer_kernels::attention::Heads;

use super::ComputePrecision;
use super::layers::PackedLinear;
use super::layers::{
    PackedCrossAttention, PackedDecoderLayer, PackedEncoderLayer, PackedFeedForward, PackedMixing,
    PackedRecurrence, PackedSelfAttention, Stack,
};
use super::norm::{self, PackedResidual};
use crate::LoadError;
use crate::config::{self, Linear, Mixing, Part, Place, Positions, SubLayer, TransformerConfig};
use crate::directory::{ChannelAxis, StoredTensor, StoredTensors, quantize_matrix};
use crate::model::sinusoid_table;

/// A matrix as it is stored; `[vocab, d_model]`, not scaled, if its rows are the vectors of tokens.
#[derive(Debug)]
pub(super) enum WeightMatrix {
    F32(Vec<f32>),
    /// Each element is an integer from −127 to 127 times the scale of its channel: of its row in a
    /// matrix with a row per token, else of its column.
    Int8 {
        integers: Vec<i8>,
        scales: Vec<f32>,
    },
}

pub(super) struct Packer<'a> {
    pub(super) weights: &'a StoredTensors,
    pub(super) config: &'a TransformerConfig,
    pub(super) precision: ComputePrecision,
}

impl Packer<'_> {
    pub(super) fn encoder(&self) -> Result<Stack<PackedEncoderLayer>, LoadError> {
        let (stack, n_layers) = (config::Stack::Encoder, self.config.n_encoder_layers);
        let layers = (0..n_layers).into_par_iter().map(|layer| {
            let at = |part| SubLayer { stack, layer, part };
            Ok(PackedEncoderLayer {
                self_attention: self.self_attention(at(Part::SelfAttention))?,
                feed_forward: PackedFeedForward::pack(self, at(Part::FeedForward))?,
            })
        });
        let layers = layers.collect::<Result<_, LoadError>>()?;
        self.stack(stack, layers, self.config.encoder_window)
    }

    pub(super) fn decoder(&self) -> Result<Stack<PackedDecoderLayer>, LoadError> {
        let (stack, n_layers) = (config::Stack::Decoder, self.config.n_decoder_layers);
        let layers = (0..n_layers).into_par_iter().map(|layer| {
            let at = |part| SubLayer { stack, layer, part };
            let mixing = match self.config.decoder_mixing {
                Mixing::SelfAttention => {
                    PackedMixing::SelfAttention(self.self_attention(at(Part::SelfAttention))?)
                }
                Mixing::Ssru => PackedMixing::Recurrence(self.recurrence(at(Part::Recurrence))?),
            };
            Ok(PackedDecoderLayer {
                mixing,
                cross_attention: self.cross_attention(at(Part::CrossAttention))?,
                feed_forward: PackedFeedForward::pack(self, at(Part::FeedForward))?,
            })
        });
        let layers = layers.collect::<Result<_, LoadError>>()?;
        self.stack(stack, layers, self.config.decoder_window)
    }

    fn stack<L>(
        &self,
        stack: config::Stack,
        layers: Vec<L>,
        window: Option<usize>,
    ) -> Result<Stack<L>, LoadError> {
        let final_norm = match self.config.final_norm {
            true => Some(norm::pack(self, |vector| Place::FinalNorm(stack, vector))?),
            false => None,
        };
        Ok(Stack {
            layers,
            final_norm,
            heads: Heads {
                n_heads: self.config.n_heads,
                d_k: self.config.head_d_k(),
                d_v: self.config.head_d_v(),
            },
            window,
        })
    }

    fn self_attention(&self, at: SubLayer) -> Result<PackedSelfAttention, LoadError> {
        Ok(PackedSelfAttention {
            queries_keys_values: self.linear(at, &[Linear::Query, Linear::Key, Linear::Value])?,
            output: self.linear(at, &[Linear::Output])?,
            residual: self.residual(at)?,
        })
    }

    fn recurrence(&self, at: SubLayer) -> Result<PackedRecurrence, LoadError> {
        Ok(PackedRecurrence {
            candidates_forgets: self.linear(at, &[Linear::Candidate, Linear::Forget])?,
            residual: self.residual(at)?,
        })
    }

    fn cross_attention(&self, at: SubLayer) -> Result<PackedCrossAttention, LoadError> {
        Ok(PackedCrossAttention {
            queries: self.linear(at, &[Linear::Query])?,
            keys_values: self.linear(at, &[Linear::Key, Linear::Value])?,
            output: self.linear(at, &[Linear::Output])?,
            residual: self.residual(at)?,
        })
    }

    pub(super) fn residual(&self, at: SubLayer) -> Result<PackedResidual, LoadError> {
        Ok(PackedResidual {
            norm: norm::pack(self, |vector| Place::Norm(at, vector))?,
            placement: self.config.norm_placement,
        })
    }

    /// Packs linear layers with the same input as one.
    pub(super) fn linear(
        &self,
        at: SubLayer,
        layers: &[Linear],
    ) -> Result<PackedLinear, LoadError> {
        let mut bias = Vec::new();
        let has_bias = |layer: &Linear| self.config.has_bias(at.part, *layer);
        if layers.iter().any(has_bias) {
            for layer in layers {
                match has_bias(layer) {
                    true => bias.extend_from_slice(&self.floats(Place::Bias(at, *layer))?),
                    false => bias.resize(bias.len() + self.config.widths(*layer)[1], 0.0),
                }
            }
        }
        let matrices = layers.iter().map(|layer| {
            let [_, width] = self.config.widths(*layer);
            let matrix = self.matrix(Place::Matrix(at, *layer), ChannelAxis::Columns)?;
            Ok((matrix, width))
        });
        let mut matrices = matrices.collect::<Result<Vec<_>, LoadError>>()?;
        let [d_in, _] = self.config.widths(layers[0]);
        let d_out = matrices.iter().map(|(_, width)| width).sum();
        let joined = match matrices.len() {
            1 => matrices.remove(0).0,
            _ => join_columns(&matrices, d_in),
        };
        let (shape, strides) = ([d_in, d_out], [d_out, 1]);
        let matrix = match joined {
            WeightMatrix::F32(values) => PackedMatrix::f32(&values, shape, strides),
            WeightMatrix::Int8 { integers, scales } => {
                PackedMatrix::int8(&integers, shape, strides, scales)
            }
        };
        Ok(PackedLinear::new(matrix, bias, shape))
    }

    /// Returns the elements of a tensor of floats, in row-major order.
    pub(super) fn floats(&self, parameter: Place) -> Result<Vec<f32>, LoadError> {
        let shape = self.config.shape(parameter);
        let stored = self.weights.take(&parameter.to_string(), &shape)?;
        Ok(stored
            .into_floats()
            .unwrap_or_else(|| unreachable!("only matrices of layers are stored with scales")))
    }

    /// Returns a matrix in the format of the products.
    fn matrix(&self, parameter: Place, channels: ChannelAxis) -> Result<WeightMatrix, LoadError> {
        let shape = self.config.shape(parameter);
        let stored = self.weights.take(&parameter.to_string(), &shape)?;
        let shape = [shape[0], shape[1]];
        let rounded = |(integers, scales)| WeightMatrix::Int8 { integers, scales };
        Ok(match (self.precision, stored) {
            (ComputePrecision::Int8, StoredTensor::Int8 { values, scales }) => {
                rounded((values, scales))
            }
            (ComputePrecision::Int8, StoredTensor::F32(values)) => {
                rounded(quantize_matrix(&values, |value| value, shape, channels))
            }
            (ComputePrecision::Int8, StoredTensor::Divided { values, divisor }) => {
                let value = |integer| f32::from(integer) / divisor;
                rounded(quantize_matrix::<i8>(&values, value, shape, channels))
            }
            (ComputePrecision::F32, StoredTensor::Int8 { values, scales }) => {
                let value = |(index, integer): (usize, &i8)| {
                    let scale = match channels {
                        ChannelAxis::Rows => scales[index / shape[1]],
                        ChannelAxis::Columns => scales[index % shape[1]],
                    };
                    f32::from(*integer) * scale
                };
                WeightMatrix::F32(values.iter().enumerate().map(value).collect())
            }
            (ComputePrecision::F32, stored) => {
                WeightMatrix::F32(stored.into_floats().unwrap_or_default())
            }
        })
    }

    /// Reads a matrix with a row per token.
    pub(super) fn embeddings(&self, parameter: Place) -> Result<Arc<WeightMatrix>, LoadError> {
        self.matrix(parameter, ChannelAxis::Rows).map(Arc::new)
    }

    pub(super) fn output_bias(&self) -> Result<Vec<f32>, LoadError> {
        match self.config.output_bias {
            true => self.floats(Place::OutputBias),
            false => Ok(Vec::new()),
        }
    }
}

/// Puts matrices of the same format side by side, given with their numbers of columns.
fn join_columns(matrices: &[(WeightMatrix, usize)], n_rows: usize) -> WeightMatrix {
    let n_columns: usize = matrices.iter().map(|(_, width)| width).sum();
    let (mut floats, mut integers, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    for (matrix, _) in matrices {
        if let WeightMatrix::Int8 { scales: part, .. } = matrix {
            scales.extend_from_slice(part);
        }
    }
    match scales.is_empty() {
        true => floats.reserve_exact(n_rows * n_columns),
        false => integers.reserve_exact(n_rows * n_columns),
    }
    for row in 0..n_rows {
        for (matrix, width) in matrices {
            let columns = row * width..(row + 1) * width;
            match matrix {
                WeightMatrix::F32(values) => floats.extend_from_slice(&values[columns]),
                WeightMatrix::Int8 { integers: part, .. } => {
                    integers.extend_from_slice(&part[columns]);
                }
            }
        }
    }
    match scales.is_empty() {
        true => WeightMatrix::F32(floats),
        false => WeightMatrix::Int8 { integers, scales },
    }
}

/// For matrices with a row for each token.
impl WeightMatrix {
    /// Packs the transpose, for logits.
    pub(super) fn projection(&self, bias: Vec<f32>, d_model: usize) -> PackedLinear {
        let n_tokens = match self {
            Self::F32(values) => values.len() / d_model,
            Self::Int8 { scales, .. } => scales.len(),
        };
        let (shape, strides) = ([d_model, n_tokens], [1, d_model]);
        let matrix = match self {
            Self::F32(values) => PackedMatrix::f32(values, shape, strides),
            Self::Int8 { integers, scales } => {
                PackedMatrix::int8(integers, shape, strides, scales.clone())
            }
        };
        PackedLinear::new(matrix, bias, shape)
    }

    /// Packs the rows of some tokens, for their logits alone; `bias` is that of all tokens.
    pub(super) fn projection_of(&self, ids: &[u32], bias: &[f32], d_model: usize) -> PackedLinear {
        let bias = match bias.is_empty() {
            true => Vec::new(),
            false => ids.iter().map(|id| bias[*id as usize]).collect(),
        };
        let rows = match self {
            Self::F32(values) => Self::F32(rows(values, ids, d_model)),
            Self::Int8 { integers, scales } => Self::Int8 {
                integers: rows(integers, ids, d_model),
                scales: rows(scales, ids, 1),
            },
        };
        rows.projection(bias, d_model)
    }

    /// Writes the vector of a token, times `factor`.
    pub(super) fn write(&self, token: usize, factor: f32, vector: &mut [f32]) {
        let elements = token * vector.len()..(token + 1) * vector.len();
        match self {
            Self::F32(values) => {
                for (element, value) in vector.iter_mut().zip(&values[elements]) {
                    *element = value * factor;
                }
            }
            Self::Int8 { integers, scales } => {
                let factor = scales[token] * factor;
                for (element, integer) in vector.iter_mut().zip(&integers[elements]) {
                    *element = f32::from(*integer) * factor;
                }
            }
        }
    }
}

fn rows<T: Copy>(matrix: &[T], ids: &[u32], width: usize) -> Vec<T> {
    let mut rows = Vec::with_capacity(ids.len() * width);
    for id in ids {
        rows.extend_from_slice(&matrix[*id as usize * width..][..width]);
    }
    rows
}

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
    pub(super) fn pack(packer: &Packer<'_>, stack: config::Stack) -> Result<Self, LoadError> {
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
