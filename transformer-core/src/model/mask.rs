//! Which keys a query may see (§3.1, §3.2.3); `true` = hidden.

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};

/// Hides keys from queries in one attention, or makes some of them weigh less.
///
/// Masks meet with [`and`](Self::and): a key is seen if all of them let it be seen, and their biases
/// add up. A query that sees no key at all attends to nothing: its weights are zero and never NaN.
///
/// # Example
///
/// ```
/// use burn::tensor::Tensor;
/// use transformer_core::{Mask, device};
///
/// let (_, device) = device::choose(None)?;
/// // Two queries that see the keys up to their own place, and the first key only half as well.
/// let causal = Mask::causal(0, 2, &device).expect("the first query must not see the second key");
/// let bias = Tensor::<4>::from_floats([[[[-0.6931, 0.0]]]], &device);
/// let mask = causal.and(Mask::additive(bias));
/// # let _ = mask;
/// # Ok::<(), device::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mask {
    /// `[batch or 1, n_heads or 1, queries or 1, keys]`.
    hidden: Option<Tensor<4, Bool>>,
    /// `[batch or 1, n_heads or 1, queries or 1, keys]`, finite; added to the scores.
    bias: Option<Tensor<4>>,
    /// Whether a row may hide all of its keys, so that its weights must be set to zero.
    may_hide_all: bool,
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

    /// Adds numbers to the scores before the softmax; `-inf` hides a key altogether.
    ///
    /// This is the float mask of PyTorch and BERT. Numbers that are low but finite, BERT's −10,000 for
    /// example, hide a key beside others that are seen; a row of nothing else is a softmax like any other.
    /// Sums of score and bias below −5·10⁸ (in half precision −5·10³) count as that.
    ///
    /// # Shapes
    ///
    /// - `bias`: `[batch or 1, n_heads or 1, queries or 1, keys]`
    pub fn additive(bias: Tensor<4>) -> Self {
        // Below every finite number there is only −∞.
        let hidden = bias.clone().lower_elem(lowest_finite(bias.dtype()));
        Self {
            bias: Some(bias.mask_fill(hidden.clone(), 0.0)),
            hidden: Some(hidden),
            may_hide_all: true,
        }
    }

    /// Hides padding: the same keys from every query of a row of the batch.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch, keys]`
    pub fn padding(hidden: Tensor<2, Bool>) -> Self {
        Self::padding_of(hidden, true)
    }

    /// Hides padding where it is known whether a row is nothing but padding.
    pub(crate) fn padding_of(hidden: Tensor<2, Bool>, may_hide_all: bool) -> Self {
        let [batch, len] = hidden.dims();
        Self::of(hidden.reshape([batch, 1, 1, len]), may_hide_all)
    }

    /// Hides the future: query `i` stands at place `offset + i` and sees the keys up to that place.
    ///
    /// Returns `None` for a single query, which is the last place and sees everything.
    pub fn causal(offset: usize, n_queries: usize, device: &Device) -> Option<Self> {
        Self::causal_window(None, offset, n_queries, device)
    }

    /// Hides the future, and what is more than `window` places back.
    pub(crate) fn causal_window(
        window: Option<usize>,
        offset: usize,
        n_queries: usize,
        device: &Device,
    ) -> Option<Self> {
        let window = window.unwrap_or(usize::MAX);
        Self::places(offset, n_queries, device, |query, key| {
            key > query || query - key > window
        })
    }

    /// Hides what is more than `window` places away (§4, restricted self-attention): query `i` stands
    /// at place `offset + i`, key `j` at place `j`, and there are `offset + n_queries` keys.
    ///
    /// Returns `None` where nothing is that far away.
    pub fn window(window: usize, offset: usize, n_queries: usize, device: &Device) -> Option<Self> {
        Self::places(offset, n_queries, device, |query, key| {
            query.abs_diff(key) > window
        })
    }

    /// Hides the keys of which the function says so, given the places of query and key.
    fn places(
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
        // Every query sees at least its own place.
        Some(Self::of(Tensor::from_data(data, device), false))
    }

    fn of(hidden: Tensor<4, Bool>, may_hide_all: bool) -> Self {
        Self {
            hidden: Some(hidden),
            bias: None,
            may_hide_all,
        }
    }

    /// Joins two masks of one attention: hides what either hides, adds what both add.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        // Together, two masks may hide a row that neither hides alone.
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

    /// Joins masks of which either may be absent.
    pub(crate) fn join(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        }
    }

    /// Returns which keys are hidden (`true` = hidden), or `None` where none is.
    ///
    /// Axes of one element stand for any number of them.
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
    /// let hidden: Vec<bool> = causal.expect("the first query must not see the second key")
    ///     .into_data().iter::<bool>().collect();
    /// assert_eq!(hidden, [false, true, false, false]);
    /// # Ok::<(), device::DeviceError>(())
    /// ```
    pub fn hidden_keys(&self) -> Option<Tensor<4, Bool>> {
        self.hidden.clone()
    }

    /// Returns what it adds to the scores, if it adds anything.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch or 1, n_heads or 1, queries or 1, keys]`, finite
    pub(crate) fn bias(&self) -> Option<Tensor<4>> {
        self.bias.clone()
    }

    /// Checks that every axis is one, or that of the scores: a larger one would stretch them.
    ///
    /// # Panics
    ///
    /// Panics if it is not.
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

    /// Adds the bias, and makes the scores of hidden keys so low that their exponentials are zero beside any
    /// other.
    pub(crate) fn hide_scores(&self, scores: Tensor<4>) -> Tensor<4> {
        let lowest = lowest(scores.dtype());
        match (&self.bias, &self.hidden) {
            (None, None) => scores,
            // A sum costs the backward pass nothing; to replace scores is another pass over all of them.
            (None, Some(hidden)) => {
                let kind = (&scores.device(), scores.dtype());
                let lowering = Tensor::zeros(hidden.dims(), kind).mask_fill(hidden.clone(), lowest);
                scores + lowering
            }
            (Some(bias), hidden) => {
                // What is seen stays above what is hidden, however low its bias.
                let bias = match (bias.dtype(), scores.dtype()) {
                    (bias_dtype, dtype) if bias_dtype == dtype => bias.clone(),
                    (_, dtype) => {
                        let lowest = lowest_finite(dtype);
                        bias.clone().clamp(lowest, -lowest).cast(dtype)
                    }
                };
                let scores = (scores + bias).clamp_min(lowest / 2.0);
                match hidden {
                    // The bias of another mask may be high where this one hides.
                    Some(hidden) => scores.mask_fill(hidden.clone(), lowest),
                    None => scores,
                }
            }
        }
    }

    /// Sets the weights of a row that sees nothing to zero: there, all scores are equally low.
    pub(crate) fn hide_weights(&self, weights: Tensor<4>) -> Tensor<4> {
        match &self.hidden {
            Some(hidden) if self.may_hide_all => weights.mask_fill(hidden.clone(), 0.0),
            _ => weights,
        }
    }

    /// Keeps the given rows of the batch, in the given order.
    pub(crate) fn select(self, rows: Tensor<1, Int>) -> Self {
        // A mask of one row serves every row.
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

/// Returns a score so low that its exponential is zero beside any other.
fn lowest(dtype: DType) -> f64 {
    // Half precision ends at 65,504, and its exponential is zero far before −10⁴.
    if dtype == DType::F16 { -1e4 } else { -1e9 }
}

/// Returns the lowest number that is not −∞.
fn lowest_finite(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => -65_504.0,
        // `f32::MIN` is −∞ there.
        DType::BF16 => f64::from(f32::from_bits(0xFF7F_0000)),
        _ => f64::from(f32::MIN),
    }
}

/// Returns the precision in which numbers of both are finite.
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
    fn one_query_at_the_end_sees_everything() {
        assert!(Mask::causal(4, 1, &device()).is_none());
    }

    #[test]
    fn a_window_hides_what_is_farther_away() {
        let mask = Mask::window(1, 2, 2, &device());
        // Places 2 and 3 of 0 to 3.
        let expected = vec![true, false, false, false, true, true, false, false];
        assert_eq!(hidden(mask), Some(expected));
    }

    #[test]
    fn a_window_as_wide_as_the_sequence_is_no_mask() {
        assert!(Mask::window(4, 0, 5, &device()).is_none());
        assert!(Mask::window(3, 0, 5, &device()).is_some());
    }

    #[test]
    fn a_key_is_seen_if_both_masks_let_it_be_seen() {
        let window = Mask::window(1, 0, 3, &device()).expect("the ends are two places apart");
        let causal = Mask::causal(0, 3, &device()).expect("there is a future");
        let expected = vec![
            false, true, true, //
            false, false, true, //
            true, false, false,
        ];
        assert_eq!(hidden(Some(window.and(causal))), Some(expected));
    }

    #[test]
    fn minus_infinity_hides_and_other_numbers_are_added() {
        let bias = Tensor::<4>::from_floats([[[[f32::NEG_INFINITY, -2.0, 0.5]]]], &device());
        let mask = Mask::additive(bias);
        let weights = mask.hide_weights(mask.hide_scores(Tensor::zeros([1, 1, 1, 3], &device())));
        let scores: Vec<f32> = weights.into_data().iter::<f32>().collect();
        assert_eq!(scores, [0.0, -2.0, 0.5]);
        assert_eq!(hidden(Some(mask)), Some(vec![true, false, false]));
    }

    /// What is finite in one precision stays so, whichever mask comes first and whatever the model computes in.
    #[test]
    fn a_bias_beyond_half_precision_makes_no_infinity() {
        // Not every backend has half precision.
        let (_, device) = device::choose(Some("flex")).expect("tests have the default backend");
        let mask = |bias: f32, dtype: FloatDType| {
            let bias = Tensor::<4>::from_data([[[[bias, 0.0]]]], &device);
            Mask::additive(bias.cast(dtype))
        };
        let (large, small) = (mask(1e5, FloatDType::F32), mask(1.0, FloatDType::F16));
        for both in [large.clone().and(small.clone()), small.and(large.clone())] {
            let scores = both.hide_scores(Tensor::zeros([1, 1, 1, 2], (&device, DType::F32)));
            let scores: Vec<f32> = scores.into_data().iter::<f32>().collect();
            assert_eq!(scores, [100_001.0, 0.0]);
        }
        let scores = large.hide_scores(Tensor::zeros([1, 1, 1, 2], (&device, DType::F16)));
        let scores: Vec<f32> = scores.into_data().iter::<f32>().collect();
        assert_eq!(scores, [65_504.0, 0.0]);
    }

    #[test]
    fn minus_infinity_hides_in_every_precision() {
        // Not every backend has them.
        let (_, flex) = device::choose(Some("flex")).expect("tests have the default backend");
        for dtype in [FloatDType::BF16, FloatDType::F16] {
            let bias = Tensor::<4>::from_floats([[[[f32::NEG_INFINITY, -2.0]]]], &flex);
            let mask = Mask::additive(bias.cast(dtype));
            assert_eq!(hidden(Some(mask)), Some(vec![true, false]), "{dtype:?}");
        }
    }

    #[test]
    fn what_one_mask_hides_stays_hidden_however_high_the_bias_of_another() {
        let hidden = Tensor::<4, Bool>::from_data([[[[true, false]]]], &device());
        let bias = Tensor::<4>::from_floats([[[[3e9, 0.0]]]], &device());
        let mask = Mask::hidden(hidden).and(Mask::additive(bias));
        let scores = mask.hide_scores(Tensor::zeros([1, 1, 1, 2], &device()));
        let weights: Vec<f32> = burn::tensor::activation::softmax(scores, 3)
            .into_data()
            .iter::<f32>()
            .collect();
        assert_eq!(weights, [0.0, 1.0]);
    }

    #[test]
    fn what_is_seen_weighs_more_than_what_is_hidden_however_low_its_bias() {
        let bias = [f32::MIN, f32::MIN, f32::NEG_INFINITY];
        let mask = Mask::additive(Tensor::<4>::from_floats([[[bias]]], &device()));
        let scores = mask.hide_scores(Tensor::zeros([1, 1, 1, 3], &device()));
        let weights = mask.hide_weights(burn::tensor::activation::softmax(scores, 3));
        let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
        assert_eq!(weights, [0.5, 0.5, 0.0]);
    }

    #[test]
    #[should_panic(expected = "does not fit attention of shape [1, 1, 1, 2]")]
    fn a_mask_for_more_queries_than_there_are_is_refused() {
        let mask = Mask::causal(0, 2, &device()).expect("there is a future");
        mask.assert_fits([1, 1, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_mask_for_a_larger_batch_is_refused() {
        let hidden = Tensor::<2, Bool>::from_data([[true, false], [false, false]], &device());
        Mask::padding(hidden).assert_fits([1, 3, 1, 2]);
    }
}
