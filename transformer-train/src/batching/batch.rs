//! Sentences as tensors: what one training step takes.

use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::Padded;
use transformer_core::text::{BOS, EOS};

use crate::corpus::SentencePair;

/// Holds the sentences of one shard of an update on the device.
///
/// The source is followed by EOS. The decoder reads BOS and the target; its labels are the target and
/// EOS, so every label is the token after the one that the decoder reads at that place.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The source sentences, EOS behind each.
    pub src: Padded,
    /// The decoder's input: BOS before each target sentence.
    pub tgt: Padded,
    /// The labels of all sentences, one after the other, without padding: `[n_labels]`.
    pub labels: Tensor<1, Int>,
    /// Where each label's place is in the flattened `[batch * tgt_len]`: `[n_labels]`.
    pub label_places: Tensor<1, Int>,
    /// How many cells the batch has and how many hold tokens.
    pub size: BatchSize,
}

/// Holds the micro-batches of one update that one device computes; the gradients of all are added up.
#[derive(Clone, Debug)]
pub struct Update {
    /// Number of the update, from 0.
    pub number: u64,
    /// The micro-batches, computed one after the other. Each is a batch for every thread that shares it, or
    /// fewer where there are fewer sentences.
    pub micro_batches: Vec<Vec<Batch>>,
    /// Cells and tokens of these micro-batches.
    pub size: BatchSize,
    /// Target tokens of the whole update, on all devices, by which every loss is divided.
    pub n_labels: usize,
    /// Seed of the randomness of this update (dropout).
    pub seed: u64,
    /// Number of batches of this update that come before these, on other devices.
    pub n_before: u64,
    /// What is trained of the interval with this update.
    pub clock: Clock,
}

/// Says how an update is dealt out to devices, each of which computes as many micro-batches, and to the
/// threads of a device, which share each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Number of devices.
    pub n_devices: usize,
    /// Number of this device, from 0.
    pub device: usize,
    /// Number of threads that share a micro-batch.
    pub n_shards: usize,
}

impl Deal {
    /// Gives everything to one device, whose threads share it.
    pub fn to_one_device(n_shards: usize) -> Self {
        Self {
            n_devices: 1,
            device: 0,
            n_shards,
        }
    }
}

/// Counts the cells of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize {
    /// Sentence pairs.
    pub n_sentences: usize,
    /// Source tokens, EOS included.
    pub n_src_tokens: usize,
    /// Target tokens to predict, EOS included.
    pub n_labels: usize,
    /// Cells of the source and the target tensor, padding included.
    pub n_cells: usize,
}

/// Tells how much of an interval is trained with an update, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Labels of the interval's updates, this one included.
    pub n_labels: u64,
    /// When the interval began; `None` where nobody measures it.
    pub started: Option<Instant>,
    /// Time in which sentences were read and put on the device, and nothing was trained.
    pub waited: Duration,
}

impl Batch {
    /// Puts the pairs on the device.
    ///
    /// # Panics
    ///
    /// Panics if there is no pair.
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
        let mut places = Vec::new();
        for (row, pair) in pairs.iter().enumerate() {
            labels.extend(with_eos(&pair.tgt).into_iter().map(i64::from));
            places.extend((0..=pair.tgt.len()).map(|place| (row * tgt_len + place) as i64));
        }
        let n_labels = labels.len();
        let size = BatchSize {
            n_sentences: pairs.len(),
            n_src_tokens: pairs.iter().map(|pair| pair.src.len() + 1).sum(),
            n_labels,
            n_cells: [&src, &tgt]
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
            label_places: tensor(places),
            size,
        }
    }
}

impl Update {
    /// Takes from the micro-batches of a whole update those of a device, deals the pairs of each out to the
    /// threads, and puts them on the device.
    ///
    /// # Panics
    ///
    /// Panics if a micro-batch has no pair, there is no thread, or the devices cannot have as many
    /// micro-batches each.
    pub fn new(
        mut micro_batches: Vec<Vec<SentencePair>>,
        number: u64,
        seed: u64,
        deal: Deal,
        device: &Device,
    ) -> Self {
        let n_own = micro_batches.len() / deal.n_devices;
        assert_eq!(
            n_own * deal.n_devices,
            micro_batches.len(),
            "devices have as many micro-batches each"
        );
        let pairs = micro_batches.iter().flatten();
        let n_labels = pairs.map(|pair| pair.tgt.len() + 1).sum();
        let n_shards = |pairs: &Vec<SentencePair>| deal.n_shards.min(pairs.len());
        let first = deal.device * n_own;
        let n_before = micro_batches[..first].iter().map(n_shards).sum::<usize>() as u64;
        let own = micro_batches.drain(first..first + n_own);
        let micro_batches: Vec<Vec<Batch>> = own
            .map(|pairs| shards(pairs, deal.n_shards, device))
            .collect();
        let size = micro_batches.iter().flatten().map(|batch| batch.size).sum();
        Self {
            number,
            micro_batches,
            size,
            n_labels,
            seed,
            n_before,
            clock: Clock::default(),
        }
    }
}

/// Deals pairs out to as many batches, or one each.
fn shards(pairs: Vec<SentencePair>, n_shards: usize, device: &Device) -> Vec<Batch> {
    let mut hands = vec![Vec::new(); n_shards.min(pairs.len())];
    let n_hands = hands.len();
    for (index, pair) in pairs.into_iter().enumerate() {
        hands[index % n_hands].push(pair);
    }
    hands
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
            n_cells: total.n_cells + size.n_cells,
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
        let numbers =
            |tensor: Tensor<1, Int>| -> Vec<i64> { tensor.into_data().iter::<i64>().collect() };
        assert_eq!(numbers(batch.tgt.ids().flatten(0, 1)), [2, 5, 6, 2, 4, 0]);
        assert_eq!(numbers(batch.labels), [5, 6, 3, 4, 3]);
        assert_eq!(numbers(batch.label_places), [0, 1, 2, 3, 4]);
        assert_eq!(numbers(batch.src.ids().flatten(0, 1)), [9, 3, 0, 7, 8, 3]);
        let size = BatchSize {
            n_sentences: 2,
            n_src_tokens: 5,
            n_labels: 5,
            n_cells: 12,
        };
        assert_eq!(batch.size, size);
    }

    #[test]
    fn every_pair_is_in_one_shard() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let pair = |id: u32| SentencePair {
            src: vec![id; 2],
            tgt: vec![id],
        };
        let micro_batches = vec![(4..9).map(pair).collect(), vec![pair(9)]];
        let update = Update::new(micro_batches, 3, 1, Deal::to_one_device(2), &device);
        let sentences: Vec<Vec<usize>> = update
            .micro_batches
            .iter()
            .map(|shards| shards.iter().map(|shard| shard.size.n_sentences).collect())
            .collect();
        assert_eq!(sentences, [vec![3, 2], vec![1]]);
        assert_eq!((update.size.n_sentences, update.size.n_labels), (6, 12));
    }

    #[test]
    fn devices_have_a_part_of_the_batches_each_and_know_the_tokens_of_all() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let pair = |id: u32| SentencePair {
            src: vec![id],
            tgt: vec![id; id as usize - 3],
        };
        // Targets of 1, 2, 3 and 4 tokens, and EOS each.
        let micro_batches = vec![vec![pair(4), pair(5)], vec![pair(6), pair(7)]];
        let parts = [0, 1].map(|number| {
            let deal = Deal {
                n_devices: 2,
                device: number,
                n_shards: 2,
            };
            let update = Update::new(micro_batches.clone(), 3, 1, deal, &device);
            (update.size.n_labels, update.n_labels, update.n_before)
        });
        assert_eq!(parts, [(5, 14, 0), (9, 14, 2)]);
    }
}
