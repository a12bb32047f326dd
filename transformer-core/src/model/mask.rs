//! [`Mask`]: the keys that are hidden from each query (§3.1, §3.2.3); `true` = hidden.

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};

use crate::padded::Padded;

/// Hides keys from queries in one attention, or adds a bias to their scores.
///
/// [`and`](Self::and) combines masks: a key is hidden if any of them hides it, and biases are added. If all keys are
/// hidden from a query, its weights are zero, never NaN.
///
/// # Example
///
/// ```
/// use burn::tensor::Tensor;
/// use transformer_core::{Mask, device};
///
/// let (_, device) = device::choose(None)?;
/// // Two queries that see the keys up to their own position; the weight of the first key is halved.
/// let causal = Mask::causal(0, 2, &device).expect("the second key is hidden from the first query");
/// let bias = Tensor::<4>::from_floats([[[[-0.6931, 0.0]]]], &device);
/// let mask = causal.and(Mask::additive(bias));
/// # let _ = mask;
/// # Ok::<(), device::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mask {
    /// `[batch or 1, n_heads or 1, queries or 1, keys]`.
    pub(super) hidden: Option<Tensor<4, Bool>>,
    /// `[batch or 1, n_heads or 1, queries or 1, keys]`, finite; added to the scores.
    pub(super) bias: Option<Tensor<4>>,
    /// True if all keys may be hidden from a query; its weights must then be set to zero.
    pub(super) may_hide_all: bool,
}

/// Masks in addition to padding and causality; each applies to all layers of its kind.
///
/// Default: none.
#[derive(Clone, Debug, Default)]
pub struct AttentionMasks {
    /// For the encoder's self-attention: `[batch or 1, n_heads or 1, src_len or 1, src_len]`.
    pub encoder: Option<Mask>,
    /// For the decoder's self-attention: `[batch or 1, n_heads or 1, len or 1, n_decoded]`. A decoder with a recurrence
    /// in its place panics.
    pub decoder: Option<Mask>,
    /// For the attention from the decoder to the memory: `[batch or 1, n_heads or 1, len or 1, src_len]`.
    pub cross: Option<Mask>,
}

impl Mask {
    /// Hides keys where `hidden` is `true`.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch or 1, n_heads or 1, queries or 1, keys]`
    pub fn hidden(hidden: Tensor<4, Bool>) -> Self {
        Self::of(hidden, true)
    }

    /// Adds a bias to the scores before the softmax; `-inf` hides a key.
    ///
    /// This is the float mask of PyTorch and BERT. A bias that is low but finite, for example BERT's −10,000, makes the
    /// weight of a key zero if other keys lack it, but has no effect if all keys of a query have it. Sums of score and
    /// bias are clamped to at least −5·10⁸ (in half precision −5·10³).
    ///
    /// # Shapes
    ///
    /// - `bias`: `[batch or 1, n_heads or 1, queries or 1, keys]`
    pub fn additive(bias: Tensor<4>) -> Self {
        // Only −∞ is below the lowest finite number.
        let hidden = bias.clone().lower_elem(lowest_finite(bias.dtype()));
        Self {
            bias: Some(bias.mask_fill(hidden.clone(), 0.0)),
            hidden: Some(hidden),
            may_hide_all: true,
        }
    }

    /// Hides padding: in each row of the batch, the same keys from all queries.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch, keys]`
    pub fn padding(hidden: Tensor<2, Bool>) -> Self {
        Self::padding_of(hidden, true)
    }

    /// Like [`padding`](Self::padding); `may_hide_all` is true if a row may be all padding.
    pub(crate) fn padding_of(hidden: Tensor<2, Bool>, may_hide_all: bool) -> Self {
        let [batch, len] = hidden.dims();
        Self::of(hidden.reshape([batch, 1, 1, len]), may_hide_all)
    }

    /// Hides the padding of a batch; `None` if it has none.
    pub(crate) fn of_padded(batch: &Padded) -> Option<Self> {
        let hidden = batch.mask()?;
        Some(Self::padding_of(hidden, batch.has_empty()))
    }

    /// Hides the future: query `i` is at position `offset + i` and sees the keys up to that position.
    ///
    /// Returns `None` for a single query: it is at the last position and sees all keys.
    pub fn causal(offset: usize, n_queries: usize, device: &Device) -> Option<Self> {
        Self::causal_window(None, offset, n_queries, device)
    }

    /// Hides the future, and keys more than `window` positions back.
    pub(crate) fn causal_window(
        window: Option<usize>,
        offset: usize,
        n_queries: usize,
        device: &Device,
    ) -> Option<Self> {
        let window = window.unwrap_or(usize::MAX);
        Self::by_position(offset, n_queries, device, |query, key| {
            key > query || query - key > window
        })
    }

    /// Hides keys more than `window` positions away (§4, restricted self-attention): query `i` is
    /// at position `offset + i`, key `j` at position `j`, and there are `offset + n_queries` keys.
    ///
    /// Returns `None` if no key is that far away.
    pub fn window(window: usize, offset: usize, n_queries: usize, device: &Device) -> Option<Self> {
        Self::by_position(offset, n_queries, device, |query, key| {
            query.abs_diff(key) > window
        })
    }

    /// Hides the keys for which `is_hidden` is true, given the positions of query and key.
    fn by_position(
        offset: usize,
        n_queries: usize,
        device: &Device,
        is_hidden: impl Fn(usize, usize) -> bool,
    ) -> Option<Self> {
        let n_keys = offset + n_queries;
        let queries = offset..n_keys;
        let hidden: Vec<bool> = queries
            .flat_map(|query| (0..n_keys).map(move |key| (query, key)))
            .map(|(query, key)| is_hidden(query, key))
            .collect();
        if !hidden.contains(&true) {
            return None;
        }
        let data = TensorData::new(hidden, [1, 1, n_queries, n_keys]);
        // Every query sees at least its own position.
        Some(Self::of(Tensor::from_data(data, device), false))
    }

    fn of(hidden: Tensor<4, Bool>, may_hide_all: bool) -> Self {
        Self {
            hidden: Some(hidden),
            bias: None,
            may_hide_all,
        }
    }

    /// Combines two masks: a key is hidden if either hides it, and both biases are added.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        // Two masks may hide all keys from a query where neither does alone.
        let both_hide = self.hidden.is_some() && other.hidden.is_some();
        let hidden = match (self.hidden, other.hidden) {
            (Some(hidden), Some(other)) => {
                let shape = broadcast(hidden.dims(), other.dims());
                Some(hidden.expand(shape).bool_or(other.expand(shape)))
            }
            (hidden, other) => hidden.or(other),
        };
        let bias = match (self.bias, other.bias) {
            (Some(bias), Some(other)) => {
                let dtype = wider(bias.dtype(), other.dtype());
                Some(other.cast(dtype) + bias.cast(dtype))
            }
            (bias, other) => bias.or(other),
        };
        Self {
            hidden,
            bias,
            may_hide_all: self.may_hide_all || other.may_hide_all || both_hide,
        }
    }

    /// Combines two masks, either of which may be absent.
    pub(crate) fn join(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        }
    }

    /// Returns the hidden keys (`true` = hidden), or `None` if there are none.
    ///
    /// Axes of size 1 broadcast.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch or 1, n_heads or 1, queries or 1, keys]`
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::{Mask, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let causal = Mask::causal(0, 2, &device).and_then(|mask| mask.hidden_keys());
    /// let hidden: Vec<bool> = causal.expect("the second key is hidden from the first query")
    ///     .into_data().iter::<bool>().collect();
    /// assert_eq!(hidden, [false, true, false, false]);
    /// # Ok::<(), device::DeviceError>(())
    /// ```
    pub fn hidden_keys(&self) -> Option<Tensor<4, Bool>> {
        self.hidden.clone()
    }

    /// Checks that every axis is 1 or that of the scores: a larger one would broadcast the scores.
    ///
    /// # Panics
    ///
    /// Panics if one is not.
    pub(crate) fn assert_fits(&self, scores: [usize; 4]) {
        let hidden = self.hidden.as_ref().map(|hidden| hidden.dims());
        let bias = self.bias.as_ref().map(|bias| bias.dims());
        for mask in [hidden, bias].into_iter().flatten() {
            let fits = mask.iter().zip(scores).all(|(&m, s)| m == 1 || m == s);
            assert!(
                fits,
                "a mask of shape {mask:?} does not fit attention of shape {scores:?} (batch, n_heads, \
                 queries, keys)"
            );
        }
    }

    /// Selects rows of the batch, in the given order.
    pub(crate) fn select(self, rows: Tensor<1, Int>) -> Self {
        // A mask of one row is broadcast to all rows.
        let hidden = self.hidden.map(|hidden| match hidden.dims() {
            [1, ..] => hidden,
            _ => hidden.select(0, rows.clone()),
        });
        let bias = self.bias.map(|bias| match bias.dims() {
            [1, ..] => bias,
            _ => bias.select(0, rows),
        });
        Self {
            hidden,
            bias,
            may_hide_all: self.may_hide_all,
        }
    }
}

/// Returns the lowest finite value.
pub(super) fn lowest_finite(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => -65_504.0,
        // `f32::MIN` rounds to −∞.
        DType::BF16 => f64::from(f32::from_bits(0xFF7F_0000)),
        _ => f64::from(f32::MIN),
    }
}

/// Returns an element type in which the values of both are finite.
fn wider(one: DType, other: DType) -> DType {
    match one == other {
        true => one,
        false if one == DType::F64 || other == DType::F64 => DType::F64,
        false => DType::F32,
    }
}

fn broadcast(one: [usize; 4], other: [usize; 4]) -> [usize; 4] {
    std::array::from_fn(|axis| one[axis].max(other[axis]))
}

#[cfg(test)]
mod tests {
    use burn::tensor::FloatDType;

    use super::*;
    use crate::device;

    fn device() -> Device {
        device::choose(None)
            .expect("tests are built with a backend")
            .1
    }

    fn hidden(mask: Option<Mask>) -> Option<Vec<bool>> {
        let hidden = mask?.hidden_keys()?;
        Some(hidden.into_data().iter::<bool>().collect())
    }

    #[test]
    fn the_causal_mask_counts_from_the_offset() {
        let mask = Mask::causal(1, 2, &device());
        let expected = vec![false, false, true, false, false, false];
        assert_eq!(hidden(mask), Some(expected));
    }

    #[test]
    fn a_single_query_at_the_end_needs_no_causal_mask() {
        assert!(Mask::causal(4, 1, &device()).is_none());
    }

    #[test]
    fn a_window_hides_keys_that_are_farther_away() {
        let mask = Mask::window(1, 2, 2, &device());
        // Positions 2 and 3 of 0 to 3.
        let expected = vec![true, false, false, false, true, true, false, false];
        assert_eq!(hidden(mask), Some(expected));
    }

    #[test]
    fn a_window_as_wide_as_the_sequence_needs_no_mask() {
        assert!(Mask::window(4, 0, 5, &device()).is_none());
        assert!(Mask::window(3, 0, 5, &device()).is_some());
    }

    #[test]
    fn a_key_is_hidden_if_either_mask_hides_it() {
        let window = Mask::window(1, 0, 3, &device()).expect("the ends are two positions apart");
        let causal = Mask::causal(0, 3, &device()).expect("there is a future");
        let expected = vec![
            false, true, true, //
            false, false, true, //
            true, false, false,
        ];
        assert_eq!(hidden(Some(window.and(causal))), Some(expected));
    }

    #[test]
    fn minus_infinity_hides_in_every_element_type() {
        // Not every backend has these element types.
        let (_, flex) = device::choose(Some("flex")).expect("tests have the default backend");
        for dtype in [FloatDType::BF16, FloatDType::F16] {
            let bias = Tensor::<4>::from_floats([[[[f32::NEG_INFINITY, -2.0]]]], &flex);
            let mask = Mask::additive(bias.cast(dtype));
            assert_eq!(hidden(Some(mask)), Some(vec![true, false]), "{dtype:?}");
        }
    }

    #[test]
    #[should_panic(expected = "does not fit attention of shape [1, 1, 1, 2]")]
    fn a_mask_for_more_queries_is_rejected() {
        let mask = Mask::causal(0, 2, &device()).expect("there is a future");
        mask.assert_fits([1, 1, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_mask_for_a_larger_batch_is_rejected() {
        let hidden = Tensor::<2, Bool>::from_data([[true, false], [false, false]], &device());
        Mask::padding(hidden).assert_fits([1, 3, 1, 2]);
    }
}
