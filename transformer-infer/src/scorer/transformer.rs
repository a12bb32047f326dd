//! [`Scorer`]: scores next tokens with a Transformer.

use std::fmt;

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData, Transaction, activation};
use transformer_core::cpu::{self, Normalizer};
use transformer_core::device::is_in_memory;
use transformer_core::text::EOS;
use transformer_core::{AttentionMaps, AttentionMasks, DecoderState, Padded, Transformer};

use crate::batch::assert_in_vocabulary;
use crate::search::{Best, NEVER_GENERATED, NextToken, best_few_of_row};

/// The most tokens of a row that a device chooses itself: of more, CubeCL's kernel (cubek-reduce 0.3.1) does not keep all
/// in registers.
const MAX_CHOSEN_BY_DEVICE: usize = 32;

/// Why a scorer has a state: only a selection of rows takes it, and puts another in its place.
const HAS_STATE: &str = "an earlier selection of rows panicked";

/// Scores next tokens with a Transformer, each row being the translation of one source.
///
/// The sources are encoded once, when it is made. Each step uploads one token a row and reads the
/// device once.
pub struct Scorer<'a> {
    model: &'a Transformer,
    device: Device,
    /// Absent only while rows are selected.
    state: Option<DecoderState>,
    n_rows: usize,
    /// Number of source tokens of each row, EOS included.
    src_lens: Vec<usize>,
    vocab_size: usize,
    /// `[1, vocab]`: −∞ for the tokens that are never generated, 0 for all others.
    bans: Tensor<2>,
}

impl<'a> Scorer<'a> {
    /// Encodes the sources, given without EOS, and prepares to translate them.
    ///
    /// The model must not be in training: take [`valid`](burn::module::Module::valid) of one that is.
    ///
    /// # Panics
    ///
    /// Panics if there is no source at all, if an id is not in the source vocabulary, or if learned positions run
    /// out. Every step panics at a last token that is not in the target vocabulary.
    pub fn new<S: AsRef<[u32]>>(model: &'a Transformer, sources: &[S]) -> Self {
        let weight = model.output_weight();
        let (device, [vocab_size, _]) = (weight.device(), weight.dims());
        let ended: Vec<Vec<u32>> = sources
            .iter()
            .map(|source| [source.as_ref(), &[EOS]].concat())
            .collect();
        let state = model.begin(&model.encode(&Padded::new(&ended, &device)));
        let mut bans = vec![0.0_f32; vocab_size];
        for id in NEVER_GENERATED {
            if let Some(ban) = bans.get_mut(id as usize) {
                *ban = f32::NEG_INFINITY;
            }
        }
        let bans = TensorData::new(bans, [1, vocab_size]);
        // They are added to log-probabilities, which are of single precision on every device.
        let bans = Tensor::from_data(bans, (&device, DType::F32));
        Self {
            model,
            device,
            state: Some(state),
            n_rows: sources.len(),
            src_lens: ended.iter().map(Vec::len).collect(),
            vocab_size,
            bans,
        }
    }

    /// Moves all rows on by one token, and keeps the attention maps where they are asked for. Returns logits.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, vocab]`
    fn advance(&mut self, last_tokens: &[u32], maps: Option<&mut AttentionMaps>) -> Tensor<2> {
        assert_in_vocabulary("target", last_tokens, self.vocab_size);
        let column: Vec<i64> = last_tokens.iter().copied().map(i64::from).collect();
        let column = TensorData::new(column, [last_tokens.len(), 1]);
        let last_tokens = Tensor::<2, Int>::from_data(column, &self.device);
        let (model, masks) = (self.model, AttentionMasks::default());
        let state = self.state.as_mut().expect(HAS_STATE);
        let logits = model.decode_with(last_tokens, state, &masks, maps); // [batch, 1, vocab]
        // Sums of many log-probabilities need single precision, whatever the model computes in.
        logits
            .reshape([self.n_rows, self.vocab_size])
            .cast(FloatDType::F32)
    }

    /// Returns the log-probabilities that logits mean, or the logits where the [host](Self::finished) goes on.
    fn log_softmax(&self, logits: Tensor<2>) -> Tensor<2> {
        match is_in_memory(&self.device) {
            true => logits,
            false => activation::log_softmax(logits, 1),
        }
    }

    /// Returns the log-probabilities, row after row, of what [`log_softmax`](Self::log_softmax) returned.
    fn finished(&self, data: TensorData) -> Vec<f32> {
        let mut numbers = read_numbers(data);
        if is_in_memory(&self.device) {
            cpu::log_softmax(&mut numbers, self.vocab_size);
        }
        numbers
    }

    /// Moves all rows on by one token, and returns the log-probabilities of what may be generated, and −∞ of the rest.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, vocab]`
    fn device_log_probs(&mut self, last_tokens: &[u32]) -> Tensor<2> {
        activation::log_softmax(self.advance(last_tokens, None), 1) + self.bans.clone()
    }

    /// Moves all rows on by one token, and returns the `n` likeliest tokens that may follow each.
    fn chosen_by_host(&mut self, last_tokens: &[u32], n: usize) -> Vec<Vec<Best>> {
        let logits = read_numbers(self.advance(last_tokens, None).into_data());
        let normalizers = cpu::normalizers(&logits, self.vocab_size);
        let of_rows = logits.chunks(self.vocab_size).zip(normalizers);
        of_rows
            .map(|(row, normalizer)| best_few_of_row(row, normalizer, n))
            .collect()
    }

    /// Moves all rows on by one token, and returns the `n` likeliest tokens that may follow each.
    ///
    /// What the device chooses is looked at before it is believed. CubeCL's kernel begins with tokens that do not exist,
    /// and leaves them where it finds nothing finite, or where it is wrong ([issue 422][issue]).
    ///
    /// [issue]: https://github.com/tracel-ai/cubek/issues/422
    fn chosen_by_device(&mut self, last_tokens: &[u32], n: usize) -> Vec<Vec<Best>> {
        let log_probs = self.device_log_probs(last_tokens);
        let n_banned = NEVER_GENERATED
            .iter()
            .filter(|id| (**id as usize) < self.vocab_size)
            .count();
        let n = n.min(self.vocab_size - n_banned);
        if n > 0 {
            let (values, ids) = log_probs.clone().topk_with_indices(n, 1);
            let chosen = read_pairs(values, ids);
            let exist = chosen.into_iter().filter(|(log_prob, id)| {
                log_prob.is_finite() && (0..self.vocab_size as i64).contains(id)
            });
            let best: Vec<Best> = exist
                .map(|(log_prob, id)| Best {
                    id: id as u32,
                    log_prob,
                })
                .collect();
            let is_in_order =
                |row: &[Best]| row.is_sorted_by(|a, b| (b.log_prob, a.id) < (a.log_prob, b.id));
            if best.len() == n * self.n_rows && best.chunks(n).all(is_in_order) {
                return best.chunks(n).map(<[Best]>::to_vec).collect();
            }
        }
        let log_probs = read_numbers(log_probs.into_data());
        let rows = log_probs.chunks(self.vocab_size);
        rows.map(|row| best_few_of_row(row, Normalizer::default(), n))
            .collect()
    }
}

/// Reads log-probabilities and the tokens that they are of, both at once.
fn read_pairs(log_probs: Tensor<2>, ids: Tensor<2, Int>) -> Vec<(f32, i64)> {
    let read = Transaction::default()
        .register(log_probs)
        .register(ids)
        .execute();
    let [log_probs, ids] = read.as_slice() else {
        unreachable!("a transaction returns what was registered");
    };
    log_probs.iter::<f32>().zip(ids.iter::<i64>()).collect()
}

fn read_numbers(data: TensorData) -> Vec<f32> {
    data.try_into_vec_as::<f32>()
        .expect("every float type converts to f32")
}

impl NextToken for Scorer<'_> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let logits = self.advance(last_tokens, None);
        self.finished(self.log_softmax(logits).into_data())
    }

    /// Returns as attention the mean over the heads of the last decoder layer, to the source and its EOS.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let mut maps = AttentionMaps::default();
        let logits = self.advance(last_tokens, Some(&mut maps));
        let last_layer = maps.cross.pop();
        let last_layer = last_layer.expect("a decoder has at least one layer");
        let [batch, _, _, src_len] = last_layer.dims(); // [batch, n_heads, 1, src_len]
        let attention = last_layer.mean_dim(1).reshape([batch, src_len]);
        let read = Transaction::default()
            .register(self.log_softmax(logits))
            .register(attention)
            .execute();
        let Ok([log_probs, attention]) = <[TensorData; 2]>::try_from(read) else {
            unreachable!("a transaction returns what was registered");
        };
        let attention = read_numbers(attention);
        let rows = attention.chunks_exact(src_len).zip(&self.src_lens);
        let rows = rows.map(|(weights, len)| weights[..*len].to_vec());
        let rows = rows.collect();
        (self.finished(log_probs), rows)
    }

    fn best(&mut self, last_tokens: &[u32]) -> Vec<Best> {
        if is_in_memory(&self.device) {
            let best = self.chosen_by_host(last_tokens, 1).into_iter();
            return best
                .map(|row| row.first().copied().unwrap_or(Best::NONE))
                .collect();
        }
        let (log_probs, ids) = self.device_log_probs(last_tokens).max_dim_with_indices(1);
        let best = read_pairs(log_probs, ids).into_iter();
        best.map(|(log_prob, id)| Best {
            id: id as u32,
            log_prob,
        })
        .collect()
    }

    /// Chooses on a device with memory of its own, from which a whole vocabulary for each row would have to be copied, and
    /// on the host where logits lie there.
    fn best_few(&mut self, last_tokens: &[u32], n: usize) -> Option<Vec<Vec<Best>>> {
        if is_in_memory(&self.device) {
            return Some(self.chosen_by_host(last_tokens, n));
        }
        (n <= MAX_CHOSEN_BY_DEVICE).then(|| self.chosen_by_device(last_tokens, n))
    }

    fn select(&mut self, rows: &[usize]) {
        assert!(
            rows.iter().all(|row| *row < self.n_rows),
            "rows that do not exist are selected"
        );
        // A clone would keep the old tensors until all new ones are made.
        let state = self.state.take().expect(HAS_STATE);
        self.state = Some(state.select(rows));
        self.n_rows = rows.len();
        self.src_lens = rows.iter().map(|row| self.src_lens[*row]).collect();
    }
}

impl fmt::Debug for Scorer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n_rows, vocab_size, ..
        } = self;
        let n_decoded = self.state.as_ref().map_or(0, DecoderState::n_decoded);
        write!(
            f,
            "Scorer {{ n_rows: {n_rows}, vocab_size: {vocab_size}, n_decoded: {n_decoded} }}"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use transformer_core::text::BOS;
    use transformer_core::{TransformerConfig, device};

    use super::*;

    const VOCAB_SIZE: usize = 300;

    fn model() -> Transformer {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests are built with a backend");
        let config = TransformerConfig {
            d_model: 16,
            d_ff: 32,
            ..TransformerConfig::tiny(VOCAB_SIZE, VOCAB_SIZE)
        };
        config.init(&device).expect("the config describes a model")
    }

    /// Two rows are few, for which a GPU takes other kernels than for many.
    #[test]
    fn what_a_device_chooses_is_what_the_host_would_choose() {
        let model = model();
        // 400 are more than there are.
        for (n_rows, n) in [(2, 1), (1, 8), (2, 32), (70, 8), (2, 400)] {
            let source = |row: u32| vec![4 + row, 5, 6 + row % 3];
            let sources: Vec<Vec<u32>> = (0..n_rows).map(source).collect();
            let mut on_device = Scorer::new(&model, &sources);
            let mut on_host = Scorer::new(&model, &sources);
            let mut last_tokens = vec![BOS; sources.len()];
            for _ in 0..3 {
                let found = on_device.chosen_by_device(&last_tokens, n);
                let log_probs = on_host.log_probs(&last_tokens);
                assert_eq!(found.len(), sources.len());
                for (found, row) in found.iter().zip(log_probs.chunks(VOCAB_SIZE)) {
                    assert_is_best(found, row, n);
                }
                last_tokens = found.iter().map(|row| row[0].id).collect();
            }
        }
    }

    fn assert_is_best(found: &[Best], row: &[f32], n: usize) {
        let mut allowed: Vec<f32> = row[EOS as usize..].to_vec();
        allowed.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(found.len(), n.min(allowed.len()), "{found:?}");
        let ids: BTreeSet<u32> = found.iter().map(|best| best.id).collect();
        assert_eq!(ids.len(), found.len(), "{found:?}");
        for (best, expected) in found.iter().zip(allowed) {
            // A GPU may sum in another order each time.
            let near = |log_prob: f32| (log_prob - expected).abs() < 1e-4;
            assert!(best.id >= EOS && near(best.log_prob) && near(row[best.id as usize]));
        }
    }

    #[test]
    fn a_device_of_its_own_chooses_not_too_many() {
        let model = model();
        let mut scorer = Scorer::new(&model, &[[4, 5]]);
        assert!(scorer.best_few(&[BOS], 4).is_some());
        let many = scorer.best_few(&[BOS], MAX_CHOSEN_BY_DEVICE + 1);
        assert_eq!(many.is_some(), is_in_memory(&scorer.device));
        // What returned nothing has done nothing.
        let state = scorer.state.as_ref().map(DecoderState::n_decoded);
        assert_eq!(state, Some(1 + usize::from(many.is_some())));
    }
}
