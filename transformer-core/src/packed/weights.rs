//! Packing: from named tensors to layers.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use super::ComputePrecision;
use super::attention::Heads;
use super::layers::{
    PackedCrossAttention, PackedDecoderLayer, PackedEncoderLayer, PackedFeedForward,
    PackedSelfAttention, Stack,
};
use super::linear::PackedLinear;
use super::norm::{PackedNorm, PackedResidual};
use super::products::PackedMatrix;
use crate::LoadError;
use crate::config::TransformerConfig;
use crate::directory::{ChannelAxis, StoredTensor, StoredTensors, quantize_matrix};

/// A matrix as it is stored.
enum WeightMatrix<'a> {
    F32(Cow<'a, [f32]>),
    /// Each element is an integer from −127 to 127 times the scale of its channel: of its row in a
    /// matrix with a row per token, else of its column.
    Int8 {
        integers: Cow<'a, [i8]>,
        scales: Cow<'a, [f32]>,
    },
}

/// The vectors of the tokens of a vocabulary, not scaled.
#[derive(Debug)]
pub(super) enum Embeddings {
    /// `[vocab, d_model]`.
    F32(Vec<f32>),
    /// `[vocab, d_model]` and `[vocab]`.
    Int8 { integers: Vec<i8>, scales: Vec<f32> },
}

/// Reads tensors and packs them.
pub(super) struct Packer<'a> {
    pub(super) weights: &'a StoredTensors,
    pub(super) config: &'a TransformerConfig,
    pub(super) precision: ComputePrecision,
}

impl Packer<'_> {
    pub(super) fn encoder(&self) -> Result<Stack<PackedEncoderLayer>, LoadError> {
        let layers = (0..self.config.n_encoder_layers)
            .into_par_iter()
            .map(|index| {
                let layer = format!("encoder.layers.{index}");
                Ok(PackedEncoderLayer {
                    self_attention: self.self_attention(&layer)?,
                    feed_forward: self.feed_forward(&layer)?,
                })
            });
        self.stack(
            "encoder",
            layers.collect::<Result<_, LoadError>>()?,
            self.config.encoder_window,
        )
    }

    pub(super) fn decoder(&self) -> Result<Stack<PackedDecoderLayer>, LoadError> {
        let layers = (0..self.config.n_decoder_layers)
            .into_par_iter()
            .map(|index| {
                let layer = format!("decoder.layers.{index}");
                Ok(PackedDecoderLayer {
                    self_attention: self.self_attention(&layer)?,
                    cross_attention: self.cross_attention(&layer)?,
                    feed_forward: self.feed_forward(&layer)?,
                })
            });
        self.stack(
            "decoder",
            layers.collect::<Result<_, LoadError>>()?,
            self.config.decoder_window,
        )
    }

    fn stack<L>(
        &self,
        name: &str,
        layers: Vec<L>,
        window: Option<usize>,
    ) -> Result<Stack<L>, LoadError> {
        let final_norm = match self.config.final_norm {
            true => Some(self.norm(&format!("{name}.final_norm"))?),
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

    fn self_attention(&self, layer: &str) -> Result<PackedSelfAttention, LoadError> {
        let name = format!("{layer}.self_attention");
        Ok(PackedSelfAttention {
            queries_keys_values: self.projections(&name, &["query", "key", "value"])?,
            output: self.attention_output(&name)?,
            residual: self.residual(&name)?,
        })
    }

    fn cross_attention(&self, layer: &str) -> Result<PackedCrossAttention, LoadError> {
        let name = format!("{layer}.cross_attention");
        Ok(PackedCrossAttention {
            queries: self.projections(&name, &["query"])?,
            keys_values: self.projections(&name, &["key", "value"])?,
            output: self.attention_output(&name)?,
            residual: self.residual(&name)?,
        })
    }

    fn feed_forward(&self, layer: &str) -> Result<PackedFeedForward, LoadError> {
        let name = format!("{layer}.feed_forward");
        let (d_model, d_ff) = (self.config.d_model, self.config.d_ff);
        Ok(PackedFeedForward {
            inner: self.linear(&[(format!("{name}.inner"), d_ff)], d_model, true)?,
            outer: self.linear(&[(format!("{name}.outer"), d_model)], d_ff, true)?,
            activation: self.config.activation,
            residual: self.residual(&name)?,
        })
    }

    fn projections(&self, attention: &str, kinds: &[&str]) -> Result<PackedLinear, LoadError> {
        let (n_heads, bias) = (self.config.n_heads, self.config.attention_bias);
        let part = |kind: &&str| {
            let width = match *kind {
                "value" => self.config.head_d_v(),
                _ => self.config.head_d_k(),
            };
            (format!("{attention}.{kind}"), n_heads * width)
        };
        let parts: Vec<(String, usize)> = kinds.iter().map(part).collect();
        self.linear(&parts, self.config.d_model, bias)
    }

    fn attention_output(&self, attention: &str) -> Result<PackedLinear, LoadError> {
        let d_in = self.config.n_heads * self.config.head_d_v();
        let part = (format!("{attention}.output"), self.config.d_model);
        self.linear(&[part], d_in, self.config.attention_bias)
    }

    fn residual(&self, sublayer: &str) -> Result<PackedResidual, LoadError> {
        Ok(PackedResidual {
            norm: self.norm(&format!("{sublayer}_residual.norm"))?,
            placement: self.config.norm_placement,
        })
    }

    fn norm(&self, name: &str) -> Result<PackedNorm, LoadError> {
        let vector = |kind| {
            let name = format!("{name}.{kind}");
            self.floats(&name, &[self.config.d_model])
        };
        Ok(PackedNorm {
            gamma: vector("gamma")?.into_owned(),
            beta: vector("beta")?.into_owned(),
            epsilon: self.config.norm_epsilon as f32,
        })
    }

    /// Packs linear layers with the same input, given by name and number of output features, as one.
    fn linear(
        &self,
        parts: &[(String, usize)],
        d_in: usize,
        has_bias: bool,
    ) -> Result<PackedLinear, LoadError> {
        let d_out = parts.iter().map(|(_, width)| width).sum();
        let mut bias = Vec::new();
        if has_bias {
            for (name, width) in parts {
                let name = format!("{name}.bias");
                bias.extend_from_slice(&self.floats(&name, &[*width])?);
            }
        }
        let matrices = parts.iter().map(|(name, width)| {
            let shape = [d_in, *width];
            let matrix = self.matrix(&format!("{name}.weight"), shape)?;
            Ok((self.converted(matrix, shape, ChannelAxis::Columns), *width))
        });
        let mut matrices = matrices.collect::<Result<Vec<_>, LoadError>>()?;
        let joined = match matrices.len() {
            1 => matrices.remove(0).0,
            _ => join_columns(&matrices, d_in),
        };
        let (shape, strides) = ([d_in, d_out], [d_out, 1]);
        let matrix = match joined {
            WeightMatrix::F32(values) => PackedMatrix::f32(&values, shape, strides),
            WeightMatrix::Int8 { integers, scales } => {
                PackedMatrix::int8(&integers, shape, strides, scales.into_owned())
            }
        };
        Ok(PackedLinear::new(matrix, bias, shape))
    }

    /// Returns the elements of a tensor of floats, in row-major order.
    pub(super) fn floats(&self, name: &str, shape: &[usize]) -> Result<Cow<'_, [f32]>, LoadError> {
        match self.weights.get(name, shape)? {
            StoredTensor::F32(values) => Ok(values),
            StoredTensor::Int8 { .. } => {
                unreachable!("only matrices of layers are stored as integers")
            }
        }
    }

    fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<WeightMatrix<'_>, LoadError> {
        Ok(match self.weights.get(name, &shape)? {
            StoredTensor::F32(values) => WeightMatrix::F32(values),
            StoredTensor::Int8 { values, scales } => WeightMatrix::Int8 {
                integers: Cow::Borrowed(values),
                scales: Cow::Borrowed(scales),
            },
        })
    }

    /// Reads a matrix with a row per token.
    pub(super) fn embeddings(
        &self,
        name: &str,
        vocab: usize,
    ) -> Result<Arc<Embeddings>, LoadError> {
        let shape = [vocab, self.config.d_model];
        let matrix = self.matrix(name, shape)?;
        Ok(Arc::new(
            match self.converted(matrix, shape, ChannelAxis::Rows) {
                WeightMatrix::F32(values) => Embeddings::F32(values.into_owned()),
                WeightMatrix::Int8 { integers, scales } => Embeddings::Int8 {
                    integers: integers.into_owned(),
                    scales: scales.into_owned(),
                },
            },
        ))
    }

    /// Packs the transpose of a matrix with a row per token, for logits.
    pub(super) fn projection(&self, embeddings: &Embeddings) -> Result<PackedLinear, LoadError> {
        let (d_model, vocab) = (self.config.d_model, self.config.tgt_vocab_size);
        let bias = match self.config.output_bias {
            true => self.floats("output_bias", &[vocab])?.into_owned(),
            false => Vec::new(),
        };
        let (shape, strides) = ([d_model, vocab], [1, d_model]);
        let matrix = match embeddings {
            Embeddings::F32(values) => PackedMatrix::f32(values, shape, strides),
            Embeddings::Int8 { integers, scales } => {
                PackedMatrix::int8(integers, shape, strides, scales.clone())
            }
        };
        Ok(PackedLinear::new(matrix, bias, shape))
    }

    /// Converts a matrix to the format of the products.
    fn converted<'m>(
        &self,
        matrix: WeightMatrix<'m>,
        shape: [usize; 2],
        channels: ChannelAxis,
    ) -> WeightMatrix<'m> {
        match (self.precision, matrix) {
            (ComputePrecision::Int8, WeightMatrix::F32(values)) => {
                let (integers, scales) = quantize_matrix(&values, shape, channels);
                let (integers, scales) = (Cow::Owned(integers), Cow::Owned(scales));
                WeightMatrix::Int8 { integers, scales }
            }
            (ComputePrecision::F32, WeightMatrix::Int8 { integers, scales }) => {
                let columns = shape[1];
                let value = |(index, integer): (usize, &i8)| {
                    let scale = match channels {
                        ChannelAxis::Rows => scales[index / columns],
                        ChannelAxis::Columns => scales[index % columns],
                    };
                    f32::from(*integer) * scale
                };
                WeightMatrix::F32(integers.iter().enumerate().map(value).collect())
            }
            (_, matrix) => matrix,
        }
    }
}

/// Puts matrices of the same format side by side, given with their numbers of columns.
fn join_columns(matrices: &[(WeightMatrix<'_>, usize)], n_rows: usize) -> WeightMatrix<'static> {
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
        true => WeightMatrix::F32(Cow::Owned(floats)),
        false => WeightMatrix::Int8 {
            integers: Cow::Owned(integers),
            scales: Cow::Owned(scales),
        },
    }
}

impl Embeddings {
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
