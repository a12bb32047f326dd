//! Sentences as tensors: the input of one training step.

use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::Padded;
use transformer_core::text::{BOS, EOS};
use transformer_translate::batches_within;

use crate::corpus::SentencePair;

/// A batch of sentence pairs as tensors.
///
/// The encoder reads `src EOS`, the decoder reads `BOS tgt`, and the labels are `tgt EOS`: the
/// label at a position is the token after the decoder's input there (teacher forcing).
#[derive(Clone, Debug)]
pub struct Batch {
    /// The encoder's input: each source sentence and `EOS`.
    pub src: Padded,
    /// The decoder's input: `BOS` and each target sentence.
    pub tgt: Padded,
    /// The labels of all sentences, concatenated, without padding: `[n_labels]`.
    pub labels: Tensor<1, Int>,
    /// Position of each label in the flattened target, `[batch * tgt_len]`: `[n_labels]`.
    pub label_positions: Tensor<1, Int>,
    /// Numbers of sentences, tokens and elements.
    pub size: BatchSize,
}

/// One device's share of an update: micro-batches, with gradients that are accumulated.
#[derive(Clone, Debug)]
pub struct Update {
    /// Number of the update, from 0.
    pub number: u64,
    /// The micro-batches, computed one after the other. Each is split into one shard per thread, or
    /// fewer if it has fewer sentences.
    pub micro_batches: Vec<Vec<Batch>>,
    /// Size of this device's micro-batches.
    pub size: BatchSize,
    /// Target tokens of the whole update, on all devices; summed losses are divided by this number.
    pub n_labels: usize,
    /// Seed of this update's randomness (dropout).
    pub seed: u64,
    /// Index of this device's first shard among the shards of all devices.
    pub first_shard: u64,
    /// Progress and timing of the interval up to this update.
    pub timing: IntervalTiming,
}

/// The split of an update: every device gets the same number of micro-batches, and the threads of a device split each
/// of them into shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardSpec {
    /// Number of devices, of all processes together.
    pub n_devices: usize,
    /// Index of this device among them, from 0.
    pub device: usize,
    /// Number of shards per micro-batch, one per thread.
    pub n_shards: usize,
    /// Maximum size of a micro-batch: its sentences times the tokens of the longest side, including `EOS`. A
    /// micro-batch that noise has made larger is split. The plan has the same limit for the text without noise.
    pub max_tokens: usize,
}

impl ShardSpec {
    /// Returns the split for a single device with `n_shards` threads, without a limit of size.
    pub fn single_device(n_shards: usize) -> Self {
        Self {
            n_devices: 1,
            device: 0,
            n_shards,
            max_tokens: usize::MAX,
        }
    }
}

/// The size of a batch, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize {
    /// Sentence pairs.
    pub n_sentences: usize,
    /// Source tokens, `EOS` included, padding excluded.
    pub n_src_tokens: usize,
    /// Target tokens to predict, `EOS` included, padding excluded.
    pub n_labels: usize,
    /// Elements of the source and the target tensor, padding included.
    pub n_elements: usize,
}

/// Progress and timing of an interval up to and including one update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalTiming {
    /// Target tokens of the interval's updates so far, including this one.
    pub n_labels: u64,
    /// Start of the interval; `None` if it is not timed.
    pub started: Option<Instant>,
    /// Time spent loading batches while no update was computed.
    pub waited: Duration,
}

impl Batch {
    /// Creates the tensors of a batch on a device.
    ///
    /// # Panics
    ///
    /// Panics if `pairs` is empty.
    pub fn new(pairs: &[SentencePair], device: &Device) -> Self {
        let with_eos = |ids: &[u32]| -> Vec<u32> { ids.iter().copied().chain([EOS]).collect() };
        let src: Vec<Vec<u32>> = pairs.iter().map(|pair| with_eos(&pair.src)).collect();
        let tgt: Vec<Vec<u32>> = pairs
            .iter()
            .map(|pair| [BOS].into_iter().chain(pair.tgt.iter().copied()).collect())
            .collect();
        let src = Padded::new(&src, device);
        let tgt_len = tgt.iter().map(Vec::len).max().unwrap_or(1);
        let tgt = Padded::new(&tgt, device);

        let mut labels = Vec::new();
        let mut positions = Vec::new();
        for (row, pair) in pairs.iter().enumerate() {
            labels.extend(with_eos(&pair.tgt).into_iter().map(i64::from));
            positions.extend((0..=pair.tgt.len()).map(|index| (row * tgt_len + index) as i64));
        }
        let n_labels = labels.len();
        let size = BatchSize {
            n_sentences: pairs.len(),
            n_src_tokens: pairs.iter().map(|pair| pair.src.len() + 1).sum(),
            n_labels,
            n_elements: [&src, &tgt]
                .iter()
                .map(|padded| padded.ids().dims().iter().product::<usize>())
                .sum(),
        };
        let tensor = |values: Vec<i64>| {
            Tensor::<1, Int>::from_data(TensorData::new(values, [n_labels]), device)
        };
        Self {
            src,
            tgt,
            labels: tensor(labels),
            label_positions: tensor(positions),
            size,
        }
    }
}

impl Update {
    /// Selects a device's micro-batches from those of a whole update, splits each into micro-batches within the limit
    /// and these into shards, and creates their tensors on the device.
    ///
    /// # Panics
    ///
    /// Panics if a micro-batch is empty, `shard_spec` has no shards, or the number of micro-batches
    /// is not a multiple of the number of devices.
    pub fn new(
        micro_batches: Vec<Vec<SentencePair>>,
        number: u64,
        seed: u64,
        shard_spec: ShardSpec,
        device: &Device,
    ) -> Self {
        let n_own = micro_batches.len() / shard_spec.n_devices;
        assert_eq!(
            n_own * shard_spec.n_devices,
            micro_batches.len(),
            "every device has the same number of micro-batches"
        );
        let pairs = micro_batches.iter().flatten();
        let n_labels = pairs.map(|pair| pair.tgt.len() + 1).sum();
        let n_shards = |pairs: &Vec<SentencePair>| shard_spec.n_shards.min(pairs.len());
        let first = shard_spec.device * n_own;
        let within = |pairs| parts_within(shard_spec.max_tokens, pairs);
        let mut parts: Vec<_> = micro_batches.into_iter().map(within).collect();
        let before = parts[..first].iter().flatten();
        let first_shard = before.map(n_shards).sum::<usize>() as u64;
        let own = parts.drain(first..first + n_own).flatten();
        let micro_batches: Vec<Vec<Batch>> = own
            .map(|pairs| shards(pairs, shard_spec.n_shards, device))
            .collect();
        let size = micro_batches.iter().flatten().map(|batch| batch.size).sum();
        Self {
            number,
            micro_batches,
            size,
            n_labels,
            seed,
            first_shard,
            timing: IntervalTiming::default(),
        }
    }
}

/// Splits a micro-batch that is larger than `max_tokens` into the fewest parts that pairs of similar length allow.
fn parts_within(max_tokens: usize, pairs: Vec<SentencePair>) -> Vec<Vec<SentencePair>> {
    let width = |pair: &SentencePair| pair.src.len().max(pair.tgt.len()) + 1;
    let widest = pairs.iter().map(width).max().unwrap_or(0);
    if widest.saturating_mul(pairs.len()) <= max_tokens {
        return vec![pairs];
    }
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|index| width(&pairs[*index]));
    let parts = batches_within(max_tokens, order, |index| width(&pairs[index]));
    let part = |indices: Vec<usize>| indices.iter().map(|index| pairs[*index].clone()).collect();
    parts.into_iter().map(part).collect()
}

/// Distributes pairs over `n_shards` batches in turn; fewer pairs give one batch each.
fn shards(pairs: Vec<SentencePair>, n_shards: usize, device: &Device) -> Vec<Batch> {
    let mut shards = vec![Vec::new(); n_shards.min(pairs.len())];
    let n_shards = shards.len();
    for (index, pair) in pairs.into_iter().enumerate() {
        shards[index % n_shards].push(pair);
    }
    shards
        .iter()
        .map(|pairs| Batch::new(pairs, device))
        .collect()
}

impl std::iter::Sum for BatchSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), |total, size| Self {
            n_sentences: total.n_sentences + size.n_sentences,
            n_src_tokens: total.n_src_tokens + size.n_src_tokens,
            n_labels: total.n_labels + size.n_labels,
            n_elements: total.n_elements + size.n_elements,
        })
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::device;

    use super::*;

    #[test]
    fn labels_are_the_inputs_shifted_by_one() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let pairs = [
            SentencePair {
                src: vec![9],
                tgt: vec![5, 6],
            },
            SentencePair {
                src: vec![7, 8],
                tgt: vec![4],
            },
        ];
        let batch = Batch::new(&pairs, &device);
        let ids =
            |tensor: Tensor<1, Int>| -> Vec<i64> { tensor.into_data().iter::<i64>().collect() };
        assert_eq!(ids(batch.tgt.ids().flatten(0, 1)), [2, 5, 6, 2, 4, 0]);
        assert_eq!(ids(batch.labels), [5, 6, 3, 4, 3]);
        assert_eq!(ids(batch.label_positions), [0, 1, 2, 3, 4]);
        assert_eq!(ids(batch.src.ids().flatten(0, 1)), [9, 3, 0, 7, 8, 3]);
        let size = BatchSize {
            n_sentences: 2,
            n_src_tokens: 5,
            n_labels: 5,
            n_elements: 12,
        };
        assert_eq!(batch.size, size);
    }

    #[test]
    fn a_micro_batch_that_noise_made_larger_is_split_by_length() {
        let pair = |n_src: usize| SentencePair {
            src: vec![9; n_src],
            tgt: vec![5],
        };
        let lengths = |sources: [usize; 5], max_tokens| -> Vec<Vec<usize>> {
            let parts = parts_within(max_tokens, sources.map(pair).into());
            let lengths = |part: &Vec<SentencePair>| part.iter().map(|it| it.src.len()).collect();
            parts.iter().map(lengths).collect()
        };
        assert_eq!(lengths([2, 3, 1, 3, 3], 20), [[2, 3, 1, 3, 3]]);
        // Five times ten tokens are too many; four times four and one times ten are not.
        let expected = [vec![1, 2, 3, 3], vec![9]];
        assert_eq!(lengths([2, 9, 1, 3, 3], 20), expected);
    }

    #[test]
    fn every_pair_is_in_exactly_one_shard() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let pair = |id: u32| SentencePair {
            src: vec![id; 2],
            tgt: vec![id],
        };
        let micro_batches = vec![(4..9).map(pair).collect(), vec![pair(9)]];
        let update = Update::new(micro_batches, 3, 1, ShardSpec::single_device(2), &device);
        let sentences: Vec<Vec<usize>> = update
            .micro_batches
            .iter()
            .map(|shards| shards.iter().map(|shard| shard.size.n_sentences).collect())
            .collect();
        assert_eq!(sentences, [vec![3, 2], vec![1]]);
        assert_eq!((update.size.n_sentences, update.size.n_labels), (6, 12));
    }

    #[test]
    fn a_device_has_its_own_micro_batches_and_the_token_count_of_all_devices() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let pair = |id: u32| SentencePair {
            src: vec![id],
            tgt: vec![id; id as usize - 3],
        };
        // Targets of 1, 2, 3 and 4 tokens, each followed by EOS.
        let micro_batches = vec![vec![pair(4), pair(5)], vec![pair(6), pair(7)]];
        let found = [0, 1].map(|index| {
            let shard_spec = ShardSpec {
                n_devices: 2,
                device: index,
                ..ShardSpec::single_device(2)
            };
            let update = Update::new(micro_batches.clone(), 3, 1, shard_spec, &device);
            (update.size.n_labels, update.n_labels, update.first_shard)
        });
        assert_eq!(found, [(5, 14, 0), (9, 14, 2)]);
    }
}
