//! [`Layout`]: how another program stores a parameter in a tensor.

use burn::tensor::TensorData;

use crate::config::{Linear, Place, TransformerConfig, Vector};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    Same,
    /// Rows of one or several `nn.Linear`, from row `start` on, of `n_rows` in total. The matrix of an `nn.Linear` is
    /// `[out, in]`, the transpose of the parameter.
    Linear {
        start: usize,
        n_rows: usize,
    },
    /// To be multiplied by a factor.
    Scaled(f64),
}

impl Layout {
    /// Returns the layout of a linear layer that is stored with others as one.
    pub(crate) fn linear(linear: Linear, all: &[Linear], config: &TransformerConfig) -> Self {
        let n_rows = |linears: &[Linear]| linears.iter().map(|it| config.widths(*it)[1]).sum();
        let n_before = all.iter().position(|it| *it == linear).unwrap_or(0);
        Self::Linear {
            start: n_rows(&all[..n_before]),
            n_rows: n_rows(all),
        }
    }

    /// Returns PyTorch's layout of a parameter that does not share its tensor.
    pub(super) fn of(parameter: Place, config: &TransformerConfig) -> Self {
        match parameter {
            Place::Matrix(_, linear) | Place::Bias(_, linear) => {
                Self::linear(linear, &[linear], config)
            }
            _ => Self::Same,
        }
    }

    /// Returns the shape of the tensor for a parameter of this shape.
    pub(in crate::import) fn tensor_shape(self, parameter_shape: &[usize]) -> Vec<usize> {
        match (self, parameter_shape) {
            (Self::Linear { n_rows, .. }, [d_in, _]) => vec![n_rows, *d_in],
            (Self::Linear { n_rows, .. }, _) => vec![n_rows],
            (Self::Same | Self::Scaled(_), _) => parameter_shape.to_vec(),
        }
    }

    /// Returns the tensor for a parameter, or its rows of the tensor.
    pub(crate) fn tensor(self, parameter: &TensorData) -> TensorData {
        let values = || parameter.iter::<f32>();
        match (self, &parameter.shape()[..]) {
            (Self::Linear { .. }, &[d_in, d_out]) => {
                let rows = transpose(&values().collect::<Vec<f32>>(), d_out);
                TensorData::new(rows, [d_out, d_in])
            }
            (Self::Scaled(factor), shape) => {
                let unscaled = values().map(|value| (f64::from(value) / factor) as f32);
                TensorData::new(unscaled.collect::<Vec<f32>>(), shape)
            }
            (Self::Same | Self::Linear { .. }, _) => parameter.clone(),
        }
    }

    /// Returns the values of the parameter from those of the tensor.
    pub(in crate::import) fn convert(
        self,
        values: Vec<f32>,
        parameter_shape: &[usize],
    ) -> Vec<f32> {
        match (self, parameter_shape) {
            (Self::Linear { start, .. }, [d_in, d_out]) => {
                transpose(&values[start * d_in..][..d_out * d_in], *d_in)
            }
            (Self::Linear { start, .. }, _) => {
                values[start..][..parameter_shape.iter().product()].to_vec()
            }
            (Self::Scaled(factor), _) => {
                let scale = |value| (f64::from(value) * factor) as f32;
                values.into_iter().map(scale).collect()
            }
            (Self::Same, _) => values,
        }
    }
}

fn transpose(values: &[f32], n_columns: usize) -> Vec<f32> {
    let column = |first: usize| values[first..].iter().step_by(n_columns).copied();
    (0..n_columns).flat_map(column).collect()
}

/// Returns the name of a linear layer in a list; `None` if it is not there.
pub(super) fn name_of(
    linear: Linear,
    names: impl IntoIterator<Item = (Linear, &'static str)>,
) -> Option<&'static str> {
    let mut names = names.into_iter();
    names.find_map(|(named, name)| (named == linear).then_some(name))
}

pub(crate) const fn kind(parameter: Place) -> &'static str {
    match parameter {
        Place::Bias(..) | Place::OutputBias => "bias",
        Place::EmbeddingNorm(_, Vector::Offset)
        | Place::Norm(_, Vector::Offset)
        | Place::FinalNorm(_, Vector::Offset) => "bias",
        _ => "weight",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_was_written_is_read_back() {
        let values: Vec<f32> = (0..6_u8).map(f32::from).collect();
        let parameter = TensorData::new(values.clone(), [2, 3]);
        let linear = Layout::Linear {
            start: 0,
            n_rows: 3,
        };
        for layout in [Layout::Same, Layout::Scaled(0.5), linear] {
            let tensor = layout.tensor(&parameter);
            assert_eq!(tensor.shape().to_vec(), layout.tensor_shape(&[2, 3]));
            let stored = tensor.iter::<f32>().collect();
            assert_eq!(layout.convert(stored, &[2, 3]), values, "{layout:?}");
        }
    }
}
