//! Translations seen from within: attention to the source for given translations, and the ranges of activations, for
//! formats that fix their scales.

use std::cmp::Reverse;
use std::ops::Range;

use super::decoder::Recorded;
use super::{PackedTransformer, Workspace};
use crate::text::{BOS, EOS};

impl PackedTransformer {
    /// Returns what the decoder attends to in the sentences while it reads given tokens: the mean over some heads of one
    /// layer, from 0. `targets` has the index of a sentence and the tokens that follow it, BOS first.
    ///
    /// # Shapes
    ///
    /// - returns, for each target: `[tgt_len, src_len]`
    ///
    /// # Panics
    ///
    /// Panics as [`begin`](Self::begin) and [`step`](Self::step) do, or if a sentence, the layer or a head does not exist,
    /// or if there is no head.
    pub fn cross_attention<S: AsRef<[u32]>>(
        &self,
        sentences: &[S],
        targets: &[(usize, &[u32])],
        layer: usize,
        heads: Range<usize>,
        workspace: &mut Workspace,
    ) -> Vec<Vec<f32>> {
        assert!(layer < self.config().n_decoder_layers, "the layer exists");
        let exist = !heads.is_empty() && heads.end <= self.config().n_heads;
        assert!(exist, "there are heads, and all exist");
        // The longest first, so that the rows of a step are the first ones.
        let mut order: Vec<usize> = (0..targets.len()).collect();
        order.sort_by_key(|index| Reverse(targets[*index].1.len()));
        let rows: Vec<usize> = order.iter().map(|index| targets[*index].0).collect();
        let mut state = self.begin(sentences, workspace);
        state.select(&rows);
        let mut attention = vec![Vec::new(); targets.len()];
        for step in 0.. {
            let tokens = order.iter().map_while(|index| targets[*index].1.get(step));
            let tokens: Vec<u32> = tokens.copied().collect();
            if tokens.is_empty() {
                break;
            }
            if tokens.len() < state.n_rows() {
                state.select(&(0..tokens.len()).collect::<Vec<_>>());
            }
            let (heads, weights) = (heads.clone(), Vec::new());
            let mut recorded = Recorded {
                layer,
                heads,
                weights,
            };
            self.advance(&mut state, &tokens, workspace, Some(&mut recorded));
            for (index, weights) in order.iter().zip(recorded.weights) {
                attention[*index].extend(weights);
            }
        }
        attention
    }
}

impl PackedTransformer {
    /// Translates a source with EOS greedily, and returns the largest magnitude in the input of each matrix product, in
    /// the order of the products: in the first list those before the first target token, and in each other list those of
    /// one token.
    ///
    /// # Panics
    ///
    /// Panics as [`begin`](Self::begin) does, and if the translation is longer than the learned positions.
    pub(crate) fn largest_inputs(&self, source: &[u32], max_len: usize) -> Vec<Vec<f32>> {
        let mut workspace = Workspace::new();
        workspace.kernels.largest_inputs = Some(Vec::new());
        let take = |workspace: &mut Workspace| {
            let found = workspace.kernels.largest_inputs.replace(Vec::new());
            found.unwrap_or_default()
        };
        let mut state = self.begin(&[source], &mut workspace);
        let mut all = vec![take(&mut workspace)];
        let mut last = BOS;
        for _ in 0..max_len {
            let logits = self.step(&mut state, &[last], &mut workspace);
            let ordinary = (EOS..).zip(&logits[EOS as usize..]);
            let best = ordinary.max_by(|a, b| a.1.total_cmp(b.1));
            last = best.map_or(EOS, |(id, _)| id);
            all.push(take(&mut workspace));
            if last == EOS {
                break;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Int, Tensor};

    use super::super::ComputePrecision;
    use super::super::tests::{assert_close, configs, cpu, random_model, sentences};
    use super::*;
    use crate::Padded;
    use crate::text::BOS;

    #[test]
    fn attention_to_the_source_is_that_of_the_module() {
        for config in configs() {
            let model = random_model(&config);
            let packed = PackedTransformer::of(&model, ComputePrecision::F32);
            let sentences = sentences();
            let targets: Vec<(usize, &[u32])> =
                vec![(0, &[BOS, 5]), (1, &[BOS, 7, 6, 5]), (0, &[BOS])];
            let mut workspace = Workspace::new();
            let layers = 0..config.n_decoder_layers;
            let all = layers.flat_map(|layer| [(layer, 0..config.n_heads), (layer, 1..2)]);
            for (layer, heads) in all {
                let found = packed.cross_attention(
                    &sentences,
                    &targets,
                    layer,
                    heads.clone(),
                    &mut workspace,
                );
                for ((sentence, tokens), found) in targets.iter().zip(found) {
                    let memory =
                        model.encode(&Padded::new(&sentences[*sentence..=*sentence], &cpu()));
                    let ids: Vec<i64> = tokens.iter().map(|id| i64::from(*id)).collect();
                    let ids = Tensor::<1, Int>::from_data(&ids[..], &cpu()).unsqueeze();
                    let maps = model.cross_attention(ids, &mut model.begin(&memory), layer);
                    let map = maps.narrow(1, heads.start, heads.len()).mean_dim(1);
                    let map = map.into_data();
                    assert_close(&found, map.as_slice::<f32>().expect("weights are f32"));
                }
            }
        }
    }
}
