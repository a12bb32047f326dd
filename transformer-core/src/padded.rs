//! [`Padded`]: sequences of different lengths as one tensor and its padding mask.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use crate::text::PAD;

/// A batch of token sequences, padded on the right to the length of the longest one.
#[derive(Clone, Debug)]
pub struct Padded {
    ids: Tensor<2, Int>,
    mask: Option<Tensor<2, Bool>>,
    has_empty: bool,
    /// The largest id, padding excluded; `None` if all sequences are empty, or the ids were given as a tensor.
    largest_id: Option<u32>,
}

impl Padded {
    /// Pads the sequences on the right with [`PAD`] and copies them to the device.
    ///
    /// The tensor has at least one column: a batch of empty sequences is one column of padding.
    ///
    /// # Panics
    ///
    /// Panics if there are no sequences.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::{Padded, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let batch = Padded::new(&[vec![5, 6, 7], vec![8]], &device);
    /// assert_eq!(batch.ids().dims(), [2, 3]);
    /// # Ok::<(), device::DeviceError>(())
    /// ```
    pub fn new<S: AsRef<[u32]>>(sequences: &[S], device: &Device) -> Self {
        assert!(!sequences.is_empty(), "a batch needs at least one sequence");
        let lengths = sequences.iter().map(|sequence| sequence.as_ref().len());
        let longest = lengths.clone().max().unwrap_or(0);
        let shortest = lengths.min().unwrap_or(0);
        let len = longest.max(1);
        let shape = [sequences.len(), len];
        let all_ids = sequences.iter().flat_map(|sequence| sequence.as_ref());
        let largest_id = all_ids.copied().max();
        let mut ids = vec![i64::from(PAD); sequences.len() * len];
        for (row, sequence) in ids.chunks_exact_mut(len).zip(sequences) {
            for (cell, id) in row.iter_mut().zip(sequence.as_ref()) {
                *cell = i64::from(*id);
            }
        }
        let mask = (shortest < len).then(|| {
            let hidden = sequences
                .iter()
                .flat_map(|sequence| (0..len).map(|position| position >= sequence.as_ref().len()))
                .collect::<Vec<_>>();
            Tensor::from_data(TensorData::new(hidden, shape), device)
        });
        Self {
            ids: Tensor::from_data(TensorData::new(ids, shape), device),
            mask,
            has_empty: shortest == 0,
            largest_id,
        }
    }

    /// Wraps ids and a padding mask that are already tensors, for example from a batcher of Burn.
    ///
    /// `hidden` is `true` for padding; `None` means no padding. The tensors are not read from the
    /// device: with a mask, every row may be all padding, and ids are not checked against a
    /// vocabulary (see [`Transformer`](crate::Transformer)).
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`, padded on the right: positions are counted from the left
    /// - `hidden`: `[batch, len]`
    ///
    /// # Panics
    ///
    /// Panics if the batch has no rows or no columns, or the mask has another shape.
    ///
    /// # Example
    ///
    /// ```
    /// use burn::tensor::{Int, Tensor};
    /// use transformer_core::{Padded, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let ids = Tensor::<2, Int>::from_data([[5, 6, 7], [8, 0, 0]], &device);
    /// let hidden = ids.clone().equal_elem(0); // PAD
    /// let batch = Padded::from_tensors(ids, Some(hidden));
    /// assert_eq!(batch.ids().dims(), [2, 3]);
    /// # Ok::<(), device::DeviceError>(())
    /// ```
    pub fn from_tensors(ids: Tensor<2, Int>, hidden: Option<Tensor<2, Bool>>) -> Self {
        let shape = ids.dims();
        assert!(
            !shape.contains(&0),
            "a batch needs at least one row and one column, but its shape is {shape:?}"
        );
        if let Some(hidden) = &hidden {
            assert_eq!(hidden.dims(), shape, "the mask has the shape of the ids");
        }
        Self {
            ids,
            has_empty: hidden.is_some(),
            mask: hidden,
            largest_id: None,
        }
    }

    /// Returns the token ids.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, len]`
    pub fn ids(&self) -> Tensor<2, Int> {
        self.ids.clone()
    }

    /// Returns the padding mask (`true` = hidden), or `None` without padding.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, len]`
    pub fn mask(&self) -> Option<Tensor<2, Bool>> {
        self.mask.clone()
    }

    /// Returns whether a row may be all padding: a sequence is empty, or a mask was given as a tensor.
    pub fn has_empty(&self) -> bool {
        self.has_empty
    }

    /// Checks that all ids are in the source vocabulary, without reading from the device.
    ///
    /// # Panics
    ///
    /// Panics if an id is not.
    pub(crate) fn assert_in_vocabulary(&self, vocab_size: usize) {
        if let Some(id) = self.largest_id {
            assert!(
                (id as usize) < vocab_size,
                "the source has the id {id}, which is not in its vocabulary of {vocab_size} tokens"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::random_model;
    use crate::{TransformerConfig, device};

    #[test]
    fn shorter_sequences_are_padded_and_masked_on_the_right() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let batch = Padded::new(&[vec![5, 6, 7], vec![8], vec![]], &device);
        let ids: Vec<i64> = batch.ids().into_data().iter::<i64>().collect();
        assert_eq!(ids, [5, 6, 7, 8, 0, 0, 0, 0, 0]);
        let mask = batch.mask().expect("two rows are padded").into_data();
        let mask: Vec<bool> = mask.iter::<bool>().collect();
        assert_eq!(
            mask,
            [false, false, false, false, true, true, true, true, true]
        );
        assert!(batch.has_empty());
    }

    #[test]
    fn a_batch_from_tensors_equals_the_batch_from_sequences() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 8,
            ..TransformerConfig::tiny(9, 9)
        };
        let model = random_model(&config, &device, 1);
        let from_sequences = Padded::new(&[vec![5, 6, 3], vec![8, 3], vec![]], &device);
        let from_tensors = Padded::from_tensors(from_sequences.ids(), from_sequences.mask());
        let states = |batch| model.encode(batch).states().into_data();
        states(&from_tensors).assert_eq(&states(&from_sequences), true);
        let whole = Padded::new(&[[5, 6], [7, 8]], &device);
        let from_tensors = Padded::from_tensors(whole.ids(), None);
        states(&from_tensors).assert_eq(&states(&whole), true);
    }

    #[test]
    #[should_panic(expected = "the mask has the shape of the ids")]
    fn a_mask_of_another_shape_is_rejected() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let (batch, other) = (
            Padded::new(&[[5, 6]], &device),
            Padded::new(&[vec![5], vec![]], &device),
        );
        let _ = Padded::from_tensors(batch.ids(), other.mask());
    }

    #[test]
    fn sequences_of_one_length_have_no_mask() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let batch = Padded::new(&[[5, 6], [7, 8]], &device);
        assert!(batch.mask().is_none());
    }
}
