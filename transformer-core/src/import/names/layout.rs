//! [`Layout`]: how another program stores a parameter in a tensor.

/// The tensor of a state dict from which a parameter is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SourceTensor {
    /// Its key in the state dict.
    pub(crate) name: String,
    pub(crate) layout: Layout,
}

/// The layout of a parameter in another program's tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    /// That of the parameter.
    Same,
    /// The weight of an `nn.Linear`: `[out, in]`, the transpose of the parameter.
    Linear,
    /// Rows of packed projections, from row `start` on, of `n_rows` in total.
    Packed { start: usize, n_rows: usize },
    /// To be multiplied by a factor.
    Scaled(f64),
}

impl Layout {
    /// Returns the shape of the tensor for a parameter of this shape.
    pub(in crate::import) fn tensor_shape(self, parameter_shape: &[usize]) -> Vec<usize> {
        match (self, parameter_shape) {
            (Self::Linear, [d_in, d_out]) => vec![*d_out, *d_in],
            (Self::Packed { n_rows, .. }, [d_in, _]) => vec![n_rows, *d_in],
            (Self::Packed { n_rows, .. }, _) => vec![n_rows],
            (Self::Same | Self::Scaled(_) | Self::Linear, _) => parameter_shape.to_vec(),
        }
    }

    /// Returns the values of the parameter from those of the tensor.
    pub(in crate::import) fn convert(
        self,
        values: Vec<f32>,
        parameter_shape: &[usize],
    ) -> Vec<f32> {
        match (self, parameter_shape) {
            (Self::Linear, [d_in, _]) => transpose(&values, *d_in),
            (Self::Packed { start, .. }, [d_in, d_out]) => {
                transpose(&values[start * d_in..][..d_out * d_in], *d_in)
            }
            (Self::Packed { start, .. }, _) => {
                values[start..][..parameter_shape.iter().product()].to_vec()
            }
            (Self::Scaled(factor), _) => {
                let scale = |value| (f64::from(value) * factor) as f32;
                values.into_iter().map(scale).collect()
            }
            (Self::Same | Self::Linear, _) => values,
        }
    }
}

/// Transposes a matrix with rows of `n_columns` values.
pub(crate) fn transpose(values: &[f32], n_columns: usize) -> Vec<f32> {
    let column = |first: usize| values[first..].iter().step_by(n_columns).copied();
    (0..n_columns).flat_map(column).collect()
}

/// Returns the index of the sub-layer, within its layer, of a residual block.
pub(super) fn sub_layer(stack: &str, block: &str) -> Option<usize> {
    match (stack, block.strip_suffix("_residual")?) {
        (_, "self_attention") => Some(0),
        ("decoder", "cross_attention") | ("encoder", "feed_forward") => Some(1),
        ("decoder", "feed_forward") => Some(2),
        _ => None,
    }
}

/// Returns PyTorch's name for a parameter of layer normalization.
pub(super) fn gain_or_bias(kind: &str) -> Option<&'static str> {
    match kind {
        "gamma" => Some("weight"),
        "beta" => Some("bias"),
        _ => None,
    }
}

/// Returns the layout of a parameter of a linear layer.
pub(super) fn linear_layout(kind: &str) -> Layout {
    if kind == "weight" {
        Layout::Linear
    } else {
        Layout::Same
    }
}
